/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings.h - settings as the header of a frame
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.
 *
 * Threads: pure functions.
 */
#ifndef B2F_FRAME_SETTINGS_H
#define B2F_FRAME_SETTINGS_H

#include "b2frame/create.h"
#include "chunk/encoder.h"
#include "frame/frame.h"

/*
 * Makes the header of an empty sparse frame without metalayers.  Returns 0, or
 * -EINVAL (invalid settings) with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_settings_header(const struct b2f_settings *settings,
			struct b2f_frame_header *out, struct b2f_why *why);

/* How to encode the chunks of @frame, or NULL, if its header is @header. */
void b2f_encode_options_of(const struct b2f_frame *frame,
			   const struct b2f_frame_header *header,
			   struct b2f_encode_options *out);

/*
 * Like b2f_settings_guess(), with a sample that may be anywhere but in the
 * filter and trial buffers of @enc.
 */
B2F_MUST_CHECK
int b2f_settings_guess_by(struct b2f_settings *settings,
			  struct b2f_encoder *enc, const void *data,
			  size_t size);

/*
 * Makes the whole index of such a frame; or, if @small, all of an empty
 * contiguous one that may become sparse.  *@out is malloc'ed.  Returns
 * 0, -ENOMEM, or -EINVAL with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_settings_index(const struct b2f_settings *settings, bool small,
		       uint8_t **out, size_t *size, struct b2f_why *why);

#endif
