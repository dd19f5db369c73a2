/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h - inside of runtime, file and stream
 *
 * Layer: file.  May include: base/ frame/ array/ run/ (and what these show of
 * chunk/).
 *
 * Locks, none of which is held while bytes are read or decoded:
 *   runtime.decoders_lock   the stack of idle decoders
 *   file.heads_lock         the table of chunk heads
 */
#ifndef B2F_FILE_FILE_H
#define B2F_FILE_FILE_H

#include <pthread.h>
#include <stdatomic.h>

#include "b2frame/file.h"
#include "frame/frame.h"
#include "run/cache.h"
#include "run/pool.h"
#include "run/readahead.h"

#define B2F_DECODERS_IDLE 64

struct b2f_runtime {
	struct b2f_cache *cache;
	struct b2f_pool *pool;
	/* Largest window of one reader, bytes; 0: no readahead. */
	uint64_t window;
	/* Most decoded bytes that may wait to be decoded ahead, all readers. */
	uint64_t ahead_max;
	/* Those that wait now. */
	atomic_uint_fast64_t ahead_bytes;
	atomic_uint_fast64_t ahead_chunks;
	pthread_mutex_t decoders_lock;
	/* Decoders that nobody uses.  Protected by decoders_lock. */
	struct b2f_decoder *idle[B2F_DECODERS_IDLE];
	unsigned int nidle;
};

/* The head of a chunk, shared by all who decode its units. */
struct b2f_head {
	atomic_uint refs;
	struct b2f_loaded *loaded;
};

struct b2f_file {
	struct b2f_runtime *runtime;
	struct b2f_frame *frame;
	/* Names the file in the cache. */
	uint64_t cache_id;
	/* The owner, and every readahead job. */
	atomic_uint refs;
	pthread_mutex_t heads_lock;
	/* heads[nchunk % nheads], NULL if empty.  Protected by heads_lock. */
	struct b2f_head **heads;
	size_t nheads;
	/* Bytes of the heads in the table.  Protected by heads_lock. */
	size_t heads_bytes;
};

struct b2f_stream {
	struct b2f_readahead readahead;
};

/* A decoder for this thread, from the idle ones.  0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_runtime_decoder_get(struct b2f_runtime *runtime,
			    struct b2f_decoder **out);
void b2f_runtime_decoder_put(struct b2f_runtime *runtime,
			     struct b2f_decoder *dec);

void b2f_file_ref(struct b2f_file *file);
/* Frees @file at the last one. */
void b2f_file_unref(struct b2f_file *file);

/*
 * The head of the chunk @span, from the table or from the store.  Give *@out
 * back with b2f_head_put().  Returns as b2f_frame_load().
 */
B2F_MUST_CHECK
int b2f_file_head_get(struct b2f_file *file, const struct b2f_frame_span *span,
		      struct b2f_head **out);
void b2f_head_ref(struct b2f_head *head);
void b2f_head_put(struct b2f_head *head);

/*
 * Pins unit @unit of the chunk @loaded (its head, or all of it) in *@out,
 * decoding it if it is not in the cache.  Returns as b2f_frame_decode_unit().
 */
B2F_MUST_CHECK
int b2f_file_unit_get(struct b2f_file *file, const struct b2f_loaded *loaded,
		      uint32_t unit, struct b2f_cache_ref *out);

struct b2f_cache_key b2f_file_key(const struct b2f_file *file, uint64_t nchunk,
				  uint32_t unit);

/* Notes a read of @stream, and queues what should be decoded ahead. */
void b2f_file_ahead(struct b2f_file *file, struct b2f_stream *stream,
		    uint64_t off, uint64_t size);

#endif
