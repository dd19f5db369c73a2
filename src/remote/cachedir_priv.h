/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cachedir_priv.h - the cache directory, as the files of cachedir.h see it
 *
 * Layer: remote.  May include: base/ store/.  Threads: see the fields.
 */
#ifndef B2F_REMOTE_CACHEDIR_PRIV_H
#define B2F_REMOTE_CACHEDIR_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "remote/cachedir.h"

/*
 * Directories "00" to "ff"; the number of hexadecimal digits of a cell's name.
 */
#define B2F_CACHEDIR_SHARDS	256
#define B2F_CACHEDIR_SHARD_SIZE 3
#define B2F_CACHEDIR_NAME_LEN	30

/* Number of locks; each is for one group of cells. */
#define B2F_CACHEDIR_LOCKS 16

/* Prefix of the name of a file that is being written. */
#define B2F_CACHEDIR_TEMP "tmp."

struct b2f_cachedir {
	/* Constant. */
	int fd;
	uint64_t max_bytes;
	const struct b2f_log *log;
	/* For messages. */
	char *path;
	/*
	 * Held while a cell of the group is read and rewritten, so that no
	 * thread of this program loses what another one adds.
	 */
	pthread_mutex_t locks[B2F_CACHEDIR_LOCKS];
	/* Nothing is written before this time; 0: no error since. */
	atomic_ullong rests_until_ns;
	unsigned int rest_ms;
	/* Bytes written since the last scan. */
	_Atomic uint64_t uncounted;
	/* A thread of this program scans. */
	atomic_flag counting;
	/* Makes temporary names differ. */
	atomic_uint ntemp;
};

/* Writes the name of directory @shard. */
void b2f_cachedir_shard_name(unsigned int shard,
			     char out[B2F_CACHEDIR_SHARD_SIZE]);

/* Counts @n written bytes, and scans the cache when it is time. */
void b2f_cachedir_note(struct b2f_cachedir *cache, uint64_t n);

#endif
