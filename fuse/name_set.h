/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * name_set.h - a set of names
 *
 * It keeps 128 bits of each name, not the name: 32 to 64 bytes per name,
 * however long that is.  A name may carry a mark, which it loses when it is
 * added once more.
 *
 * Layer: fuse.  Threads: the caller serializes the calls for one set.
 */
#ifndef B2F_FUSE_NAME_SET_H
#define B2F_FUSE_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/error.h"
#include "b2frame/names.h"

/* The set's hash of a name; the two halves are never both 0. */
struct fs_name_hash {
	uint64_t low;
	/* The lowest bit is the mark; it is 0 in a hash that is looked up. */
	uint64_t high;
};

/* Zero-initialize it; free it with fs_name_set_fini(). */
struct fs_name_set {
	/* Open addressing; a slot of zeros is free. */
	struct fs_name_hash *slots;
	/* 0 or a power of two. */
	size_t nslots;
	size_t nnames;
};

/* Names that differ in the suffix of frames alone lie beside each other. */
struct fs_name_hash fs_name_hash(const char *name);

/* Makes the hashes of @stem, which is not empty, with each suffix. */
void fs_name_hash_all(const char *stem,
		      struct fs_name_hash out[B2F_SUFFIXES]);

/* Adds @hash; if it is there, only removes its mark.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_name_set_add(struct fs_name_set *set, struct fs_name_hash hash);

/* Removes @hash, if it is there. */
void fs_name_set_remove(struct fs_name_set *set, struct fs_name_hash hash);

bool fs_name_set_has(const struct fs_name_set *set, struct fs_name_hash hash);

/* Marks @hash or unmarks it, if it is there. */
void fs_name_set_mark(struct fs_name_set *set, struct fs_name_hash hash,
		      bool mark);

bool fs_name_set_is_marked(const struct fs_name_set *set,
			   struct fs_name_hash hash);

/* Frees the contents; the set is empty then. */
void fs_name_set_fini(struct fs_name_set *set);

#endif
