/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cachedir_priv.h - the directory of a cache, as the files of cachedir.h see it
 *
 * Layer: remote.  May include: base/ store/.  Threads: see the fields.
 */
#ifndef B2F_REMOTE_CACHEDIR_PRIV_H
#define B2F_REMOTE_CACHEDIR_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "remote/cachedir.h"

/* Cells are in "00" to "ff"; their names have so many hexadecimal digits. */
#define B2F_CACHEDIR_SHARDS	256
#define B2F_CACHEDIR_SHARD_SIZE 3
#define B2F_CACHEDIR_NAME_LEN	30

/* Locks for so many groups of cells. */
#define B2F_CACHEDIR_LOCKS 16

/* Prefix of the name of a file that is being written. */
#define B2F_CACHEDIR_TEMP "tmp."

struct b2f_cachedir {
	/* These never change. */
	int fd;
	uint64_t max_bytes;
	const struct b2f_log *log;
	/* For messages. */
	char *path;
	/*
	 * Held while a cell of its group is read and written anew, so that no
	 * thread of this program undoes what another one adds.
	 */
	pthread_mutex_t locks[B2F_CACHEDIR_LOCKS];
	/* After an error nothing is written until then; 0: there was none since. */
	atomic_ullong rests_until_ns;
	unsigned int rest_ms;
	/* Written since the files were counted. */
	_Atomic uint64_t uncounted;
	/* A thread of this program counts. */
	atomic_flag counting;
	/* Makes temporary names differ. */
	atomic_uint ntemp;
};

/* The name of directory @shard. */
void b2f_cachedir_shard_name(unsigned int shard,
			     char out[B2F_CACHEDIR_SHARD_SIZE]);

/* Notes @n bytes that were written, and now and then deletes as many. */
void b2f_cachedir_note(struct b2f_cachedir *cache, uint64_t n);

#endif
