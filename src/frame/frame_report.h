/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_report.h - puts failures into words, with frame, chunk and file
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.  Threads: any.
 */
#ifndef B2F_FRAME_FRAME_REPORT_H
#define B2F_FRAME_FRAME_REPORT_H

#include "frame/frame.h"

/*
 * Logs that something about @frame failed with @err because of @why (NULL or
 * empty: strerror), and returns @err.
 */
int b2f_frame_report(const struct b2f_frame *frame, int err,
		     const struct b2f_why *why);

/*
 * Logs once that another program has changed @frame (-ESTALE), for operations
 * that need one version.
 */
void b2f_frame_report_stale(struct b2f_frame *frame);

/*
 * b2f_frame_report() for chunk @nchunk of entry @raw; names its file, and the
 * unit if it is >= 0. -ESTALE is a debug message only: a file opens its frame
 * again.
 */
int b2f_frame_report_entry(const struct b2f_frame *frame, uint64_t nchunk,
			   uint64_t raw, int64_t unit, int err,
			   const struct b2f_why *why);

/* The place in its file of the chunk of entry @raw, in a contiguous frame. */
uint64_t b2f_frame_chunk_off(const struct b2f_frame *frame, uint64_t raw);

/* b2f_frame_report_entry() for chunk @nchunk of the index. */
int b2f_frame_report_chunk(const struct b2f_frame *frame, uint64_t nchunk,
			   int err, const struct b2f_why *why);

/*
 * The header of the sparse frame with this @index failed to parse with @err: is
 * it damaged, though the error says otherwise?  It is if the index ends in a
 * checksum: C-Blosc2 writes none, and a program that does could read what it
 * had written.  Returns B2F_ECORRUPT, or @err.
 */
B2F_MUST_CHECK
int b2f_frame_judge_header(const struct b2f_object *index, int err,
			   struct b2f_why *why);

#endif
