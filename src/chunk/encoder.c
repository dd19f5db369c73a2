/* SPDX-License-Identifier: BSD-3-Clause */
/* encoder.c - the state of a thread that encodes chunks */
#include "chunk/encoder.h"

#include <errno.h>
#include <stdlib.h>

int b2f_encoder_new(struct b2f_encoder **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void b2f_encoder_free(struct b2f_encoder *enc)
{
	if (!enc)
		return;
	b2f_codec_states_fini(&enc->codecs);
	b2f_encoder_trim(enc, 0);
	free(enc);
}

void b2f_encoder_trim(struct b2f_encoder *enc, size_t limit)
{
	b2f_scratch_trim(&enc->filter[0], limit);
	b2f_scratch_trim(&enc->filter[1], limit);
	b2f_scratch_trim(&enc->trial, limit);
	b2f_scratch_trim(&enc->data, limit);
	b2f_scratch_trim(&enc->chunk, limit);
}
