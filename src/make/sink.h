/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink.h - where a frame is made: a directory, a file, or a place on a server
 *
 * Layer: make.  May include: base/ frame/ store/. Threads: put() from any
 * number, all other calls one at a time.
 */
#ifndef B2F_MAKE_SINK_H
#define B2F_MAKE_SINK_H

#include "programs/copy_frame.h"
#include "base/why.h"
#include "store/make.h"

/* A chunk that has an object of its own. */
struct b2f_copy_chunk {
	/*
	 * Its id in the source (first, for b2f_compare_u64()); number of the
	 * chunk, its entry.
	 */
	uint64_t from;
	uint64_t nchunk;
	uint64_t raw;
	/*
	 * Set by begin(): its id at the target, and whether it is there.  In a
	 * file: its first byte.
	 */
	uint64_t to;
	bool is_there;
};

struct b2f_copy_list {
	/* Sorted by their ids in the source, without duplicates. */
	struct b2f_copy_chunk *chunks;
	size_t n;
	/* The version that is copied. */
	struct b2f_frame_stamp version;
	/* Set by begin(): the whole frame is there, with its index. */
	bool is_done;
};

struct b2f_copy_ops {
	/*
	 * For a copy: looks for existing chunks, and chooses ids.  Returns 0,
	 * -EEXIST or another error.
	 */
	int (*begin)(struct b2f_copy_target *target, struct b2f_copy_list *list,
		     struct b2f_why *why);
	/* Puts the @size bytes of @chunk there.  Returns 0 or an error. */
	int (*put)(struct b2f_copy_target *target,
		   const struct b2f_copy_chunk *chunk, const void *bytes,
		   size_t size, struct b2f_why *why);
	/*
	 * Makes it a frame with the index of @size bytes; all but its name is
	 * durable.  Returns 0, an error, or for a copy 1: chunks that begin()
	 * found there have gone, so begin again.
	 */
	int (*finish)(struct b2f_copy_target *target, const void *index,
		      size_t size, struct b2f_why *why);
	/* Removes an unfinished frame, unless a copy may go on with it. */
	void (*free)(struct b2f_copy_target *target);
};

/* The first member of each kind of target. */
struct b2f_copy_target {
	const struct b2f_copy_ops *ops;
	const struct b2f_log *log;
	/* Name for messages; malloc'ed. */
	char *label;
};

/*
 * Make a new directory, by b2f_store_make() of @plan, or a new file for a
 * contiguous frame, which its owner may always read and write.  Return 0,
 * -EEXIST, -ENOMEM or an errno, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_sink_make_directory(int dirfd, const char *name,
			      const struct b2f_store_plan *plan,
			      struct b2f_copy_target **out,
			      struct b2f_why *why);
B2F_MUST_CHECK
int b2f_sink_make_file(int dirfd, const char *name, mode_t mode,
			 struct b2f_copy_target **out, struct b2f_why *why);

/*
 * Lists the chunks of the sparse @frame in @list, which is zero.  Returns 0,
 * -ENOMEM or B2F_EUNSUPPORTED (an id is named twice; logged); end with
 * b2f_copy_list_fini().
 */
B2F_MUST_CHECK
int b2f_copy_list_make(const struct b2f_frame *frame,
		       struct b2f_copy_list *list);
void b2f_copy_list_fini(struct b2f_copy_list *list);

/*
 * The index of @frame, with the chunk ids that @list has for the target; the
 * stored bytes if no id changes.  Malloc'ed.  Returns 0, -ESTALE (the frame was
 * changed), or an error of the store or of b2f_index_write(), logged.
 */
B2F_MUST_CHECK
int b2f_copy_index(const struct b2f_frame *frame,
		   const struct b2f_copy_list *list, uint8_t **out,
		   size_t *size);

/* The chunk of @list with the id @from in the source, or NULL. */
struct b2f_copy_chunk *b2f_copy_find(const struct b2f_copy_list *list,
				     uint64_t from);

#endif
