/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * anew_state.h - how far an array is that is opened with O_TRUNC (anew.h)
 *
 * Layer: fuse.  Threads: any; _begin by one that holds @lock.
 */
#ifndef B2F_FUSE_ANEW_STATE_H
#define B2F_FUSE_ANEW_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "b2frame/file_anew.h"

enum fs_anew_step {
	FS_ANEW_DUE,
	FS_ANEW_BEGUN,
	FS_ANEW_ENDED,
	FS_ANEW_SPOILED,
};

struct fs_anew_state {
	/* Held while it begins, with I/O. */
	pthread_mutex_t lock;
	_Atomic enum fs_anew_step step;
};

/* It is due. */
void fs_anew_state_init(struct fs_anew_state *state);
void fs_anew_state_fini(struct fs_anew_state *state);

static inline bool fs_anew_state_is(const struct fs_anew_state *state,
				    enum fs_anew_step step)
{
	return atomic_load(&state->step) == step;
}

/* Does the close have to go back to what is stored? */
static inline bool fs_anew_state_is_half(const struct fs_anew_state *state)
{
	return fs_anew_state_is(state, FS_ANEW_BEGUN) ||
	       fs_anew_state_is(state, FS_ANEW_SPOILED);
}

/* Begins what is due.  Returns as b2f_file_begin_anew(). */
B2F_MUST_CHECK
ssize_t fs_anew_state_begin(struct fs_anew_state *state, struct b2f_file *file,
			    const void *head, size_t size);

/* A change was refused. */
void fs_anew_state_spoil(struct fs_anew_state *state);

/* Ends what has begun.  Returns 0, also if it has ended; or -EPERM. */
B2F_MUST_CHECK
int fs_anew_state_finish(struct fs_anew_state *state, struct b2f_file *file,
			 bool may_be_zeros);

#endif
