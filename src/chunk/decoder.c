/* SPDX-License-Identifier: BSD-3-Clause */
/* decoder.c - what one thread needs to decode chunks */
#include "chunk/decoder.h"

#include <errno.h>
#include <stdlib.h>

/* A cache line, so that no vector load of a filter crosses one. */
#define SCRATCH_ALIGN 64

int b2f_decoder_new(struct b2f_decoder **out)
{
	struct b2f_decoder *dec = calloc(1, sizeof(*dec));

	if (!dec)
		return -ENOMEM;
	b2f_codec_states_init(&dec->codecs);
	*out = dec;
	return 0;
}

static void scratch_drop(struct b2f_scratch *scratch)
{
	free(scratch->data);
	*scratch = (struct b2f_scratch){0};
}

void b2f_decoder_free(struct b2f_decoder *dec)
{
	if (!dec)
		return;
	b2f_codec_states_fini(&dec->codecs);
	scratch_drop(&dec->filter);
	scratch_drop(&dec->zeros);
	scratch_drop(&dec->stored);
	scratch_drop(&dec->ref);
	free(dec);
}

void b2f_decoder_trim(struct b2f_decoder *dec, size_t limit)
{
	if (dec->filter.size > limit)
		scratch_drop(&dec->filter);
	if (dec->zeros.size > limit)
		scratch_drop(&dec->zeros);
	if (dec->stored.size > limit)
		scratch_drop(&dec->stored);
	if (dec->ref.size > limit)
		scratch_drop(&dec->ref);
}

int b2f_scratch_reserve(struct b2f_scratch *scratch, size_t size)
{
	uint8_t *data;
	size_t room;

	if (size <= scratch->size)
		return 0;
	/* No realloc: nobody wants the old bytes copied. */
	room = (size + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
	if (room < size)
		return -ENOMEM;
	data = aligned_alloc(SCRATCH_ALIGN, room);
	if (!data)
		return -ENOMEM;
	free(scratch->data);
	scratch->data = data;
	scratch->size = room;
	return 0;
}
