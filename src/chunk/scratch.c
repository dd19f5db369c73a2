/* SPDX-License-Identifier: BSD-3-Clause */
/* scratch.c - a buffer that only grows */
#include "chunk/scratch.h"

#include <errno.h>

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
