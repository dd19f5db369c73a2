/* SPDX-License-Identifier: BSD-3-Clause */
/* packs_state.h - the packs of a mount, as a part of struct fs; see packs.h */
#ifndef B2F_FUSE_PACKS_STATE_H
#define B2F_FUSE_PACKS_STATE_H

#include <pthread.h>
#include <sys/queue.h>

#include "b2frame/frame.h"
#include "node.h"

struct fs_pack;
struct fs_member;

struct fs_packs {
	struct fs_volume volume;
	pthread_mutex_t lock;
	/* All that the kernel knows something of; under the lock. */
	struct fs_pack *first;
	/* Those whose file is open; likewise. */
	size_t nopen;
	/* Members whose data are open and not used, longest first; likewise. */
	TAILQ_HEAD(fs_pack_idle, fs_member) idle;
	size_t nidle;
	/* What could not be opened last, not to log it each time; likewise. */
	struct b2f_frame_stamp failed;
};

#endif
