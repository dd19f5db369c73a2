/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runtime_state.h - inside of the runtime that all files share
 *
 * Layer: file.  May include: base/ run/.
 */
#ifndef B2F_FILE_RUNTIME_STATE_H
#define B2F_FILE_RUNTIME_STATE_H

#include <stdatomic.h>

#include "b2frame/runtime.h"
#include "file/budget.h"
#include "file/idle.h"
#include "file/tally.h"
#include "run/cache.h"
#include "run/pool.h"

struct b2f_head;

/* Few: each takes a descriptor away from the rest of the process. */
#define B2F_OPEN_MAX 8

/* Chunk files that stay open for the next block, of all files (head.c). */
struct b2f_open_chunks {
	/* Protects this struct and the tables of heads of all files. */
	pthread_mutex_t lock;
	/* A head was loaded. */
	pthread_cond_t loaded;
	/* NULL if empty; each is a reference.  The next one to be replaced. */
	struct b2f_head *at[B2F_OPEN_MAX];
	unsigned int next;
	/* Descriptors ran out: until then, no chunk file is kept open. */
	uint64_t stopped_until_ns;
};

struct b2f_runtime {
	struct b2f_cache *cache;
	/* Bytes that the cache may hold. */
	uint64_t cache_bytes;
	/* Small reads that could get an excerpt, or got the whole unit. */
	atomic_uint nexcerpts;
	struct b2f_pool *pool;
	/* Largest window of one reader, bytes; 0: no readahead. */
	uint64_t window;
	/* Window for local frames, unless two chunks need a larger one. */
	uint64_t near_window;
	/* Largest window for remote frames. */
	uint64_t far_window;
	/* Most decoded bytes that may wait to be decoded ahead, all readers. */
	uint64_t ahead_max;
	/* Bytes that wait now. */
	atomic_uint_fast64_t ahead_bytes;
	atomic_uint_fast64_t ahead_chunks;
	struct b2f_idle idle;
	struct b2f_open_chunks open_chunks;
	struct b2f_budget budget;
	/* Indexed by codec code. */
	struct b2f_tally tally[B2F_STATS_CODECS];
};

#endif
