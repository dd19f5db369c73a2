/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_target.h - where a sparse frame is copied to, as the copy sees it
 *
 * Layer: frame.  May include: base/.  Threads: put() from any number, all else from
 * one at a time.
 */
#ifndef B2F_FRAME_COPY_TARGET_H
#define B2F_FRAME_COPY_TARGET_H

#include "b2frame/copy_frame.h"
#include "base/why.h"

/* A chunk that has an object of its own. */
struct b2f_copy_chunk {
	/* Which one it is, its entry, and its number there. */
	uint64_t nchunk;
	uint64_t raw;
	uint64_t from;
	/* By begin(): its number at the target, and whether it is there. */
	uint64_t to;
	bool is_there;
};

struct b2f_copy_list {
	/* In the order of their numbers, each of which is there once. */
	struct b2f_copy_chunk *chunks;
	size_t n;
	/* What is copied. */
	struct b2f_frame_stamp version;
	/* By begin(): all of it is there, with its index. */
	bool is_done;
};

struct b2f_copy_ops {
	/*
	 * Looks what is there, and chooses numbers.  Returns 0, -EEXIST or another
	 * error.
	 */
	int (*begin)(struct b2f_copy_target *target, struct b2f_copy_list *list,
		     struct b2f_why *why);
	/* Puts the @size bytes of @chunk there.  Returns 0 or an error. */
	int (*put)(struct b2f_copy_target *target,
		   const struct b2f_copy_chunk *chunk, const void *bytes,
		   size_t size, struct b2f_why *why);
	/* Makes it a frame by the @size bytes at @index.  Returns 0 or an error. */
	int (*finish)(struct b2f_copy_target *target, const void *index,
		      size_t size, struct b2f_why *why);
	void (*free)(struct b2f_copy_target *target);
};

/* The first member of every kind. */
struct b2f_copy_target {
	const struct b2f_copy_ops *ops;
	const struct b2f_log *log;
	/* What messages call it; malloc'ed. */
	char *label;
};

/*
 * Lists the chunks of the sparse @frame in @list, which is zero.  Returns 0, -ENOMEM or
 * B2F_EUNSUPPORTED (one is named twice; logged); end with b2f_copy_list_fini().
 */
B2F_MUST_CHECK
int b2f_copy_list_make(const struct b2f_frame *frame,
		       struct b2f_copy_list *list);
void b2f_copy_list_fini(struct b2f_copy_list *list);

/*
 * The index of @frame, with the numbers that the chunks of @list have at the target: as
 * it is stored, if these are the same.  Malloc'ed.  Returns 0, -ESTALE (it is another
 * one now), or an error of the store or of b2f_index_write(), logged.
 */
B2F_MUST_CHECK
int b2f_copy_index(const struct b2f_frame *frame,
		   const struct b2f_copy_list *list, uint8_t **out,
		   size_t *size);

/* The chunk of @list with the number @from, or NULL. */
struct b2f_copy_chunk *b2f_copy_find(const struct b2f_copy_list *list,
				     uint64_t from);

#endif
