/* SPDX-License-Identifier: BSD-3-Clause */
/* obstacle.c - why a frame cannot be written to */
#include "frame/obstacle.h"

#include "base/log_line.h"

static bool is_empty_array(const struct b2f_frame *frame)
{
	return frame->layout.is_array && !frame->layout.err &&
	       frame->header.nbytes == 0;
}

/* Is the frame a part of a file, or in a store that cannot be written to? */
static bool is_part(const struct b2f_frame *frame)
{
	return frame->offset || !frame->store->ops->write;
}

static const char *part_of(const struct b2f_frame *frame)
{
	const char *obstacle = frame->store->ops->obstacle;

	return obstacle ? obstacle : "it is a part of another file";
}

static const char vlblocks[] = "its chunks have blocks of different lengths";

const char *b2f_obstacle_in_header(const struct b2f_frame_header *h)
{
	if (b2f_frame_header_has_vlblocks(h) ||
	    (h->version > 2 && h->chunksize != 0))
		return vlblocks;
	return NULL;
}

/*
 * Can every chunk be found? With chunks of different sizes that takes the heads
 * of all, so they are read only if there are special chunks, which tell no
 * length.
 */
static bool fits_together(struct b2f_frame *frame)
{
	uint64_t n = frame->entries.n;
	bool all = frame->header.chunksize == 0 && frame->entries.nspecial;
	struct b2f_frame_span span;

	if (n && b2f_frame_span_get(frame, all ? n - 1 : 0, &span))
		return false;
	return !all || b2f_frame_map_nknown(&frame->map) == n;
}

/* If chunks have different sizes, the index need not mention their blocks. */
static bool has_vlblocks(struct b2f_frame *frame)
{
	struct b2f_chunk_info info;

	if (b2f_frame_header_has_vlblocks(&frame->header))
		return true;
	return frame->header.chunksize == 0 && frame->entries.n &&
	       !b2f_frame_chunk_info(frame, 0, &info) &&
	       info.kind == B2F_CHUNK_VLBLOCKS;
}

const char *b2f_obstacle_find(struct b2f_frame *frame, enum b2f_frame_use use)
{
	const struct b2f_frame_header *h = &frame->header;

	if (is_part(frame))
		return part_of(frame);
	/* An empty array has no chunks, and never gets any. */
	if (use == B2F_USE_FILE && is_empty_array(frame))
		return NULL;
	if (b2f_obstacle_in_header(h))
		return b2f_obstacle_in_header(h);
	if (use == B2F_USE_CHUNKS && h->chunksize == 0)
		return "its chunks have different sizes";
	if (frame->layout.is_array && use == B2F_USE_CHUNKS)
		return "it is an array";
	if (frame->layout.carrier[0])
		return "its data are elsewhere";
	if (frame->layout.objects)
		return "it holds serialized objects";
	if (frame->layout.err)
		return "its chunks are not those of its array";
	if (!fits_together(frame))
		return "its chunks do not fit together";
	if (frame->map.starts && h->chunksize != 0)
		return "its short chunk is not the last one";
	return has_vlblocks(frame) ? vlblocks : NULL;
}

/* Names the command that makes a writable frame of the same data; or "". */
static const char *way_out(struct b2f_frame *frame)
{
	const struct b2f_layout *layout = &frame->layout;

	if (is_part(frame))
		return "; bloscctl convert makes a copy that can be";
	if (layout->err || layout->objects || layout->is_array || frame->map.err)
		return "";
	if (has_vlblocks(frame))
		return "; bloscctl decompress and compress make a frame that "
		       "can be";
	return "; bloscctl recompress gives it chunks of one size";
}

int b2f_obstacle_check(struct b2f_frame *frame, enum b2f_frame_use use)
{
	const char *text;

	if (use == B2F_USE_ANY)
		text = is_part(frame) ? part_of(frame) : NULL;
	else
		text = b2f_obstacle_find(frame, use);
	if (!text)
		return 0;
	b2f_log(frame->log, B2F_LOG_WARNING,
		"%s: cannot be written to, as %s%s", frame->label, text,
		way_out(frame));
	return -EROFS;
}

const char *b2f_frame_obstacle(struct b2f_frame *frame)
{
	return b2f_obstacle_find(frame, B2F_USE_FILE);
}
