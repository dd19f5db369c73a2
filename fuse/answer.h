/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.h - fills the answer to a request for names
 *
 * Layer: fuse.  Threads: one at a time.
 */
#ifndef B2F_FUSE_ANSWER_H
#define B2F_FUSE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "b2frame/error.h"
#include "fuse_api.h"

struct fs_node;

struct fs_answer {
	fuse_req_t req;
	/* READDIRPLUS: the answer has attributes. */
	bool plus;
	char *buf;
	size_t size;
	size_t used;
	/* The inode numbers in it, each with a reference. */
	fuse_ino_t *inos;
	size_t ninos;
};

/*
 * @size: the bytes that the kernel asks for.  End with fs_answer_fini().
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_answer_init(struct fs_answer *answer, fuse_req_t req, size_t size,
		   bool plus);
void fs_answer_fini(struct fs_answer *answer);

/* Is there room for @name? */
bool fs_answer_has_room(const struct fs_answer *answer, const char *name);

/*
 * Adds @name; if @entry has no node, only with the number and the type.  @next:
 * the position of the next name.  False: there is no room left.
 */
bool fs_answer_put(struct fs_answer *answer, const char *name,
		   const struct fuse_entry_param *entry, off_t next);

/* A name that was not looked up, as in struct dirent. */
struct fs_answer_name {
	const char *name;
	uint64_t ino;
	mode_t type;
};

/* The names of a directory, which stay the same meanwhile. */
struct fs_answer_names {
	struct fs_node *dir;
	/* The inode number of @dir. */
	uint64_t ino;
	size_t n;
	struct fs_answer_name (*get)(const struct fs_answer_names *names,
				     size_t i);
	/* For @get. */
	const void *of;
};

/*
 * Adds dots and names from position @off on, until there is no room left; if
 * the mount lists views, each one behind its array.
 */
void fs_answer_list(struct fs_answer *answer,
		    const struct fs_answer_names *names, off_t off);

/* Adds a name that was not looked up. */
bool fs_answer_put_name(struct fs_answer *answer, const char *name,
			uint64_t ino, mode_t type, off_t next);

#endif
