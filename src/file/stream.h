/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h - decodes ahead of a sequential reader
 *
 * Layer: file.  May include: base/ frame/ run/.  Threads: any.
 */
#ifndef B2F_FILE_STREAM_H
#define B2F_FILE_STREAM_H

#include "file/reading.h"

/* Chunks up to this many decoded bytes are loaded whole. */
#define B2F_STREAM_WHOLE_MAX (8u << 20)

/* Notes a read of @stream, and queues what should be decoded ahead. */
void b2f_stream_note(struct b2f_stream *stream, const struct b2f_reading *r,
		     uint64_t off, uint64_t size);

/* Is @stream (or NULL: false) read in order? */
bool b2f_stream_in_order(struct b2f_stream *stream);

/* Is another reader of its file before @off, and likely to get there soon? */
bool b2f_stream_is_followed(struct b2f_stream *stream, uint64_t off);

#endif
