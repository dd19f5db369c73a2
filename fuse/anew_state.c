/* SPDX-License-Identifier: BSD-3-Clause */
/* anew_state.c - how far an array is that is opened with O_TRUNC */
#include "anew_state.h"

#include <errno.h>

void fs_anew_state_init(struct fs_anew_state *state)
{
	pthread_mutex_init(&state->lock, NULL);
	atomic_init(&state->step, FS_ANEW_DUE);
}

void fs_anew_state_fini(struct fs_anew_state *state)
{
	pthread_mutex_destroy(&state->lock);
}

ssize_t fs_anew_state_begin(struct fs_anew_state *state, struct b2f_file *file,
			    const void *head, size_t size)
{
	ssize_t n = b2f_file_begin_anew(file, head, size);

	if (n >= 0)
		atomic_store(&state->step, FS_ANEW_BEGUN);
	else if (n != -EAGAIN && n != -EPERM)
		atomic_store(&state->step, FS_ANEW_SPOILED);
	return n;
}

/* From BEGUN to @step. */
static void leave(struct fs_anew_state *state, enum fs_anew_step step)
{
	enum fs_anew_step begun = FS_ANEW_BEGUN;

	atomic_compare_exchange_strong(&state->step, &begun, step);
}

void fs_anew_state_spoil(struct fs_anew_state *state)
{
	leave(state, FS_ANEW_SPOILED);
}

int fs_anew_state_finish(struct fs_anew_state *state, struct b2f_file *file,
			 bool may_be_zeros)
{
	int err;

	if (fs_anew_state_is(state, FS_ANEW_ENDED))
		return 0;
	if (!fs_anew_state_is(state, FS_ANEW_BEGUN))
		return -EPERM;
	err = b2f_file_end_anew(file, may_be_zeros);
	if (!err)
		leave(state, FS_ANEW_ENDED);
	return err;
}
