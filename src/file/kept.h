/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kept.h - chunk files that stay open for the next block
 *
 * Opening a chunk file takes longer than reading a block of it.  So the most
 * recently read ones stay open, for all files together.
 *
 *   kept       in the table; used by any number of readers, or by none
 *   detached   its place was needed, or its file has changed: closed as soon as
 *              no reader uses it
 *
 * Layer: file.  May include: base/ frame/.  Threads: any, but b2f_kept_init()
 * and b2f_kept_fini().
 */
#ifndef B2F_FILE_KEPT_H
#define B2F_FILE_KEPT_H

#include <pthread.h>

#include "frame/frame.h"

struct b2f_file;

/* Few: each is a descriptor that the process cannot use for something else. */
#define B2F_KEPT_MAX 8

/* Names a chunk: equal keys mean the same bytes. */
struct b2f_kept_key {
	const struct b2f_file *file;
	uint64_t cache_id;
	uint64_t raw;
};

struct b2f_kept_object {
	struct b2f_kept_key key;
	struct b2f_object object;
	/* Holds a reference: the object is in its store. */
	struct b2f_frame *frame;
	/* Readers that use it, and whether it is detached.  Under the lock. */
	unsigned int nusers;
	bool detached;
};

struct b2f_kept {
	pthread_mutex_t lock;
	/* NULL if empty; the next one to be replaced.  Under lock. */
	struct b2f_kept_object *table[B2F_KEPT_MAX];
	unsigned int next;
	/* There were no descriptors left once: none is kept any more. */
	bool stopped;
};

void b2f_kept_init(struct b2f_kept *kept);
void b2f_kept_fini(struct b2f_kept *kept);

/* The one of @key, for b2f_kept_put(); NULL if there is none. */
struct b2f_kept_object *b2f_kept_get(struct b2f_kept *kept,
				     const struct b2f_kept_key *key);

/*
 * Keeps the open @object of @frame, which it takes over.  Returns it for
 * b2f_kept_put(), or NULL: without memory it is closed.
 */
struct b2f_kept_object *b2f_kept_add(struct b2f_kept *kept,
				     const struct b2f_kept_key *key,
				     struct b2f_frame *frame,
				     struct b2f_object *object);

/* NULL does nothing. */
void b2f_kept_put(struct b2f_kept *kept, struct b2f_kept_object *k);

/*
 * A file could not be opened with @err.  If that is for want of descriptors,
 * none is kept any more.  Returns whether it is, so that to try again may help.
 */
bool b2f_kept_stop(struct b2f_kept *kept, int err);

/*
 * Keeps nothing more of @file (NULL: of any): it has changed, or chunk files
 * were deleted.
 */
void b2f_kept_drop(struct b2f_kept *kept, const struct b2f_file *file);

#endif
