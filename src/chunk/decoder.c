/* SPDX-License-Identifier: BSD-3-Clause */
/* decoder.c - the state of a thread that decodes chunks, and its buffers */
#include "chunk/decoder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/aligned.h"

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

void b2f_scratch_trim(struct b2f_scratch *scratch, size_t limit)
{
	if (scratch->size <= limit)
		return;
	b2f_aligned_free(scratch->data);
	*scratch = (struct b2f_scratch){0};
}

int b2f_decoder_new(struct b2f_decoder **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void b2f_decoder_free(struct b2f_decoder *dec)
{
	if (!dec)
		return;
	b2f_codec_states_fini(&dec->codecs);
	b2f_decoder_trim(dec, 0);
	free(dec);
}

void b2f_decoder_trim(struct b2f_decoder *dec, size_t limit)
{
	b2f_scratch_trim(&dec->filter, limit);
	b2f_scratch_trim(&dec->zeros, limit);
	b2f_scratch_trim(&dec->stored, limit);
	b2f_scratch_trim(&dec->ref, limit);
}

static size_t excess(const struct b2f_scratch *scratch, size_t limit)
{
	return scratch->size > limit ? scratch->size : 0;
}

size_t b2f_decoder_excess(const struct b2f_decoder *dec, size_t limit)
{
	return excess(&dec->filter, limit) + excess(&dec->zeros, limit) +
	       excess(&dec->stored, limit) + excess(&dec->ref, limit);
}
