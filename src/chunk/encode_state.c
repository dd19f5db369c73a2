/* SPDX-License-Identifier: BSD-3-Clause */
/* encode_state.c - what one thread needs to encode chunks */
#include <errno.h>
#include <stdlib.h>

#include "chunk/encoder.h"

int b2f_encoder_new(struct b2f_encoder **out)
{
	struct b2f_encoder *enc = calloc(1, sizeof(*enc));

	if (!enc)
		return -ENOMEM;
	b2f_codec_encoders_init(&enc->codecs);
	*out = enc;
	return 0;
}

void b2f_encoder_free(struct b2f_encoder *enc)
{
	if (!enc)
		return;
	b2f_codec_encoders_fini(&enc->codecs);
	b2f_encoder_trim(enc, 0);
	free(enc);
}

void b2f_encoder_trim(struct b2f_encoder *enc, size_t limit)
{
	struct b2f_scratch *all[] = {&enc->filter[0], &enc->filter[1],
				     &enc->trial, &enc->data, &enc->chunk};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (all[i]->size > limit)
			b2f_scratch_drop(all[i]);
	}
}
