/* SPDX-License-Identifier: BSD-3-Clause */
/* decoder.c - what one thread needs to decode chunks */
#include "chunk/decoder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/aligned.h"

int b2f_decoder_new(struct b2f_decoder **out)
{
	struct b2f_decoder *dec = calloc(1, sizeof(*dec));

	if (!dec)
		return -ENOMEM;
	b2f_codec_states_init(&dec->codecs);
	*out = dec;
	return 0;
}

void b2f_decoder_free(struct b2f_decoder *dec)
{
	if (!dec)
		return;
	b2f_codec_states_fini(&dec->codecs);
	b2f_scratch_drop(&dec->filter);
	b2f_scratch_drop(&dec->zeros);
	b2f_scratch_drop(&dec->stored);
	b2f_scratch_drop(&dec->ref);
	free(dec);
}

void b2f_decoder_trim(struct b2f_decoder *dec, size_t limit)
{
	if (dec->filter.size > limit)
		b2f_scratch_drop(&dec->filter);
	if (dec->zeros.size > limit)
		b2f_scratch_drop(&dec->zeros);
	if (dec->stored.size > limit)
		b2f_scratch_drop(&dec->stored);
	if (dec->ref.size > limit)
		b2f_scratch_drop(&dec->ref);
}

int b2f_scratch_reserve(struct b2f_scratch *scratch, size_t size)
{
	uint8_t *data;

	if (size <= scratch->size)
		return 0;
	/* No realloc: the old bytes need not be copied. */
	data = b2f_aligned_new(size);
	if (!data)
		return -ENOMEM;
	b2f_aligned_free(scratch->data);
	scratch->data = data;
	scratch->size = size;
	return 0;
}

void b2f_scratch_drop(struct b2f_scratch *scratch)
{
	b2f_aligned_free(scratch->data);
	*scratch = (struct b2f_scratch){0};
}
