/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.c - decodes ahead of a sequential reader
 *
 * The unit of readahead is the chunk: a worker reads its stored bytes at once
 * and decodes all its units into the cache.  It takes very large chunks in
 * parts, unit by unit: a window is only a small part of such a chunk.
 */
#include "file/stream.h"

#include <stdlib.h>

#include "base/checked.h"
#include "file/gather.h"
#include "file/record.h"
#include "frame/frame_chunk.h"
#include "run/readahead.h"

/*
 * For remote chunks readahead begins with this fraction of the largest window:
 * each doubling takes a round trip.
 */
#define FAR_SHARE 16

/* A reader at most this share of the cache behind another finds its units. */
#define FOLLOW_SHARE 4

struct b2f_stream {
	/* Constant. */
	struct b2f_file *file;
	uint64_t follow_max;
	/* Both under the lock of the file. */
	struct b2f_readahead readahead;
	struct b2f_stream *next;
};

struct ahead {
	struct b2f_job job;
	/* Holds a reference. */
	struct b2f_file *file;
	struct b2f_frame_span span;
	/* The bytes of the chunk that are wanted. */
	uint64_t start;
	uint64_t end;
	/* Bytes that were added to runtime.ahead_bytes. */
	uint64_t nbytes;
};

static bool is_whole(const struct ahead *a)
{
	return a->span.nbytes <= B2F_STREAM_WHOLE_MAX;
}

/* Is a reader in or before chunk @a? */
static bool is_wanted(const struct ahead *a, uint64_t head_len)
{
	uint64_t end = head_len + a->span.start + a->span.nbytes;
	B2F_HOLD(&a->file->lock);

	for (struct b2f_stream *s = a->file->streams; s; s = s->next)
		if (s->readahead.expected < end)
			return true;
	return false;
}

static void decode_ahead(struct ahead *a)
{
	struct b2f_reading r;
	struct b2f_source src;

	b2f_reading_begin(a->file, &r);
	r.in_order = true;
	if (is_wanted(a, r.frame->layout.head_len) &&
	    r.frame->layout.head_len + a->span.start + a->start < r.size &&
	    b2f_reading_find(&r, a->span.start + a->start, &src) == 0) {
		/* The written pages of a record are in memory already. */
		if (!src.record && !src.is_zeros &&
		    src.nbytes == a->span.nbytes &&
		    src.size == src.nbytes - a->start &&
		    b2f_unit_load(&r, &src, a->start, a->end, is_whole(a)))
			atomic_fetch_add(&a->file->runtime->ahead_chunks, 1);
		b2f_record_unref(src.record);
	}
	b2f_reading_end(&r);
}

static void run_ahead(struct b2f_job *job, bool cancelled)
{
	struct ahead *a = (struct ahead *)job;

	if (!cancelled)
		decode_ahead(a);
	atomic_fetch_sub(&a->file->runtime->ahead_bytes, a->nbytes);
	b2f_file_unref(a->file);
	free(a);
}

/*
 * Queues the part of chunk @span in [@start, @end).  A small chunk is taken up
 * to its end at once, so only its first range counts.
 */
static void queue_chunk(const struct b2f_reading *r,
			const struct b2f_source *src, uint64_t start,
			uint64_t end)
{
	const struct b2f_frame_span *span = &src->span;
	struct b2f_file *file = r->file;
	struct b2f_runtime *rt = file->runtime;
	struct ahead *a;

	/* Full: the reader will have to decode for itself. */
	if (atomic_load(&rt->ahead_bytes) + span->nbytes > rt->ahead_max)
		return;
	a = calloc(1, sizeof(*a));
	if (!a)
		return;
	a->file = file;
	a->span = *span;
	a->start = start > span->start ? start - span->start : 0;
	a->end = b2f_min_u64(end - span->start, span->nbytes);
	if (is_whole(a))
		a->end = span->nbytes;
	a->nbytes = a->end - a->start;
	a->job.run = run_ahead;
	/*
	 * Fetch all queued chunks now, before a worker begins them.  The chunk
	 * that the reader is in has been opened already.
	 */
	if (is_whole(a) && a->start == 0)
		b2f_frame_prefetch(r->frame, src->raw, span->nbytes);
	b2f_file_ref(file);
	atomic_fetch_add(&rt->ahead_bytes, a->nbytes);
	b2f_pool_submit(rt->pool, B2F_POOL_AHEAD, &a->job);
}

/* How far to decode ahead; at least two chunks, so that two workers decode. */
static void init_window(struct b2f_file *file, struct b2f_readahead *out)
{
	const struct b2f_runtime *rt = file->runtime;
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	uint64_t chunks = 0;

	if (frame->layout.linear && frame->header.chunksize > 0)
		chunks = 2 * (uint64_t)frame->header.chunksize;
	if (b2f_frame_is_far(frame)) {
		b2f_readahead_init(out, rt->far_window);
		out->first_window = rt->far_window / FAR_SHARE;
	} else {
		b2f_readahead_init(
			out, b2f_min_u64(rt->window, b2f_max_u64(rt->near_window,
								 chunks)));
	}
	b2f_frame_close(frame);
}

int b2f_stream_new(struct b2f_file *file, struct b2f_stream **out)
{
	struct b2f_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	init_window(file, &stream->readahead);
	stream->file = file;
	stream->follow_max = file->runtime->cache_bytes / FOLLOW_SHARE;
	pthread_mutex_lock(&file->lock);
	stream->next = file->streams;
	file->streams = stream;
	pthread_mutex_unlock(&file->lock);
	*out = stream;
	return 0;
}

void b2f_stream_free(struct b2f_stream *stream)
{
	struct b2f_stream **at;

	if (!stream)
		return;
	pthread_mutex_lock(&stream->file->lock);
	for (at = &stream->file->streams; *at != stream; at = &(*at)->next)
		;
	*at = stream->next;
	pthread_mutex_unlock(&stream->file->lock);
	free(stream);
}

bool b2f_stream_in_order(struct b2f_stream *stream)
{
	if (!stream)
		return false;
	B2F_HOLD(&stream->file->lock);
	return b2f_readahead_in_order(&stream->readahead);
}

bool b2f_stream_is_followed(struct b2f_stream *stream, uint64_t off)
{
	struct b2f_file *file = stream->file;
	B2F_HOLD(&file->lock);

	for (struct b2f_stream *s = file->streams; s; s = s->next) {
		uint64_t at = s->readahead.expected;

		if (s != stream && at < off && off - at <= stream->follow_max)
			return true;
	}
	return false;
}

void b2f_stream_note(struct b2f_stream *stream, const struct b2f_reading *r,
		     uint64_t off, uint64_t size)
{
	uint64_t head = r->frame->layout.head_len, start = 0, end = 0;
	bool wanted;

	pthread_mutex_lock(&stream->file->lock);
	wanted = b2f_readahead_note(&stream->readahead, off, size, r->size,
				    &start, &end);
	pthread_mutex_unlock(&stream->file->lock);
	if (!wanted)
		return;
	if (!r->frame->layout.linear) {
		b2f_gather_ahead(r, start, end);
		return;
	}
	end -= b2f_min_u64(end, head);
	start -= b2f_min_u64(start, head);
	while (start < end) {
		struct b2f_source src;

		if (b2f_reading_find(r, start, &src) || src.span.nbytes == 0)
			return;
		if (!src.record && !src.is_zeros)
			queue_chunk(r, &src, start, end);
		b2f_record_unref(src.record);
		start = src.span.start + src.span.nbytes;
	}
}
