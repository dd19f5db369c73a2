/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h - inside of runtime, file and stream
 *
 * Layer: file.  May include: base/ frame/ array/ run/ (and what these show of
 * chunk/).
 *
 * Locks, none of which is held while bytes are read or decoded; for those of a
 * file that is written to see writer.h:
 *   file.lock               what a reader begins with
 *   file.heads_lock         the table of chunk heads
 *   runtime.decoders_lock   the stacks of idle decoders and encoders
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
#define B2F_ENCODERS_IDLE 16

/* Spare buffers of records, and how large they may be. */
#define B2F_SPARE_MAX	   8
#define B2F_SPARE_SIZE_MAX (4u << 20)

struct b2f_dirty;
struct b2f_encoder;
struct b2f_writer;

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
	/* Likewise encoders. */
	struct b2f_encoder *idle_encoders[B2F_ENCODERS_IDLE];
	unsigned int nidle_encoders;
	/* Written bytes that may be in memory. */
	uint64_t dirty_max;
	pthread_mutex_t dirty_lock;
	/* There are fewer of them, or fewer records are being encoded. */
	pthread_cond_t dirty_room;
	/* The rest is under dirty_lock. */
	uint64_t dirty_bytes;
	/* Of them: those of records that could not be encoded. */
	uint64_t stuck_bytes;
	/* What entries of holes take, and may take. */
	uint64_t hole_bytes;
	uint64_t hole_max;
	size_t nencoding;
	/* Buffers of records that are gone, all of spare_size bytes. */
	uint8_t *spare[B2F_SPARE_MAX];
	unsigned int nspare;
	uint32_t spare_size;
	struct b2f_dirty *dirty_oldest;
	struct b2f_dirty *dirty_newest;
};

/* The head of a chunk, shared by all who decode its units. */
struct b2f_head {
	atomic_uint refs;
	/* Holds a reference; @loaded points into it. */
	struct b2f_frame *frame;
	struct b2f_loaded *loaded;
};

struct b2f_file {
	struct b2f_runtime *runtime;
	/* The owner, and every job. */
	atomic_uint refs;
	/* Held while it becomes writable; after those of a writer. */
	pthread_mutex_t allow_lock;
	pthread_mutex_t lock;
	/* Holds a reference.  Protected by lock. */
	struct b2f_frame *frame;
	/* Grows with each other @frame.  Protected by lock. */
	uint64_t version;
	/*
	 * Names the file in the cache; another one after each change of @frame,
	 * as files of chunks may have been rewritten.  Protected by lock.
	 */
	uint64_t cache_id;
	/*
	 * It was refreshed, or merged with what others wrote, and nobody was
	 * told yet.  Protected by lock.
	 */
	bool has_news;
	/* Set once; what it has, see writer.h.  Protected by lock. */
	struct b2f_writer *writer;
	pthread_mutex_t heads_lock;
	/* By entry; NULL if empty.  Protected by heads_lock. */
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

/*
 * The frame as it is now, with a reference: it may be another one as soon as
 * the file is not locked.  No lock of the file is held.
 */
struct b2f_frame *b2f_file_frame_ref(struct b2f_file *file);

void b2f_file_ref(struct b2f_file *file);
/* Frees @file at the last one. */
void b2f_file_unref(struct b2f_file *file);

/*
 * What a reader has from its begin to its end: one version of the frame, whose
 * chunk files are not deleted meanwhile.
 */
struct b2f_reading {
	struct b2f_file *file;
	/* Holds a reference. */
	struct b2f_frame *frame;
	uint64_t version;
	uint64_t cache_id;
	/* Of the file, when it began. */
	uint64_t size;
	/* Its gate is held; NULL if nobody writes. */
	struct b2f_writer *writer;
};

/* b2f_file_size() with the file locked. */
uint64_t b2f_file_size_locked(const struct b2f_file *file);

void b2f_reading_begin(struct b2f_file *file, struct b2f_reading *out);
void b2f_reading_end(struct b2f_reading *r);

/* Where the bytes from some position on come from. */
struct b2f_source {
	/* The chunk, as long as the file wants it. */
	struct b2f_frame_span span;
	/* Its entry, and the bytes of the chunk that this names. */
	uint64_t raw;
	uint32_t nbytes;
	/* Bytes from the position on that come from there; else from ... */
	uint32_t size;
	/* ... this record (holds a reference) or, without one, are zeros. */
	struct b2f_dirty *dirty;
	bool is_zeros;
	/* The whole chunk is zeros by its entry, and nobody has written to it.
	 */
	bool is_hole;
};

/* True if the file has another version of the frame now. */
bool b2f_reading_is_old(const struct b2f_reading *r);

/*
 * After a reading that failed with @err, and has ended: true if the reader is
 * to begin anew, as another program has changed the frame.
 */
bool b2f_reading_retry(const struct b2f_reading *r, int err);

/*
 * Finds where the bytes from @off (< size) on come from.  With @out->dirty set
 * give back that reference.  Returns as b2f_frame_locate(), or -ESTALE: it is
 * old.
 */
B2F_MUST_CHECK
int b2f_reading_find(const struct b2f_reading *r, uint64_t off,
		     struct b2f_source *out);

/*
 * The head of the chunk @src, from the table or from the store.  Give *@out
 * back with b2f_head_put().  Returns as b2f_frame_load().
 */
B2F_MUST_CHECK
int b2f_reading_head(const struct b2f_reading *r, const struct b2f_source *src,
		     struct b2f_head **out);

/*
 * The same for who reads on: *@head is that of the piece before, which is often
 * the one, or NULL.  On an error it is NULL.
 */
B2F_MUST_CHECK
int b2f_reading_next_head(const struct b2f_reading *r,
			  const struct b2f_source *src, struct b2f_head **head);
void b2f_head_ref(struct b2f_head *head);
void b2f_head_put(struct b2f_head *head);

/*
 * Pins unit @unit of the chunk @loaded (its head, or all of it) in *@out,
 * decoding it if it is not in the cache.  Returns as b2f_frame_decode_unit().
 */
B2F_MUST_CHECK
int b2f_reading_unit(const struct b2f_reading *r,
		     const struct b2f_loaded *loaded, uint32_t unit,
		     struct b2f_cache_ref *out);

struct b2f_cache_key b2f_reading_key(const struct b2f_reading *r,
				     const struct b2f_loaded *loaded,
				     uint32_t unit);

/*
 * Ends writing to a file that its owner closes, so that others can write to the
 * frame, even if somebody still decodes ahead.  What is dirty is lost.
 */
void b2f_writer_end(struct b2f_file *file);

/* Frees what is left of the writer. */
void b2f_writer_free(struct b2f_file *file);

/* Copies [@off, @off + @size) of the chunk @src, by way of the cache. */
B2F_MUST_CHECK
int b2f_reading_copy(const struct b2f_reading *r, const struct b2f_source *src,
		     uint32_t off, uint8_t *buf, uint32_t size);

/* Forgets all heads, as the frame has changed. */
void b2f_file_forget_heads(struct b2f_file *file);

/* Notes a read of @stream, and queues what should be decoded ahead. */
void b2f_file_ahead(const struct b2f_reading *r, struct b2f_stream *stream,
		    uint64_t off, uint64_t size);

#endif
