/* SPDX-License-Identifier: BSD-3-Clause */
/* bytedelta.c - the bytedelta filters, the right one and the old one */
#include "filter/filter.h"

#include <string.h>

#include "b2frame/error.h"
#include "filter/vec16.h"

/* Continues the running sum @sum over @data. */
static void sum_from(uint8_t *data, size_t n, uint8_t sum)
{
	for (size_t i = 0; i < n; i++) {
		sum = (uint8_t)(sum + data[i]);
		data[i] = sum;
	}
}

void b2f_bytedelta_sum_scalar(uint8_t *data, size_t n)
{
	sum_from(data, n, 0);
}

void b2f_bytedelta_sum(uint8_t *data, size_t n)
{
	size_t i = 0;

#ifdef B2F_VEC16
	b2f_vec16 last = b2f_vec16_fill(0), v;

	/* Each step depends on the one before by a single addition. */
	for (; i + 16 <= n; i += 16) {
		v = b2f_vec16_running_sum(b2f_vec16_load(data + i));
		b2f_vec16_store(data + i, b2f_vec16_add(v, last));
		last = b2f_vec16_add(last, b2f_vec16_fill_last(v));
	}
#endif
	sum_from(data + i, n - i, i ? data[i - 1] : 0);
}

static size_t channels(const struct b2f_filter_block *block, uint8_t meta)
{
	return meta ? meta : block->schunk_typesize;
}

static int bytedelta_check(const struct b2f_filter_block *block, uint8_t meta,
			   size_t nbytes, struct b2f_why *why)
{
	(void)nbytes;
	if (!channels(block, meta))
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "bytedelta needs the frame's type size");
	return 0;
}

static void bytedelta_decode(const struct b2f_filter_block *block, uint8_t meta,
			     const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	size_t nchannels = channels(block, meta);
	size_t n = nbytes / nchannels;

	(void)src; /* the same as @dst */
	if (!n)
		return;
	for (size_t c = 0; c < nchannels; c++)
		b2f_bytedelta_sum(dst + c * n, n);
}

/*
 * Undoes the filter as builds for x86 and ARM wrote it: the sum starts anew
 * where their vectors end.  Builds without SIMD wrote bytes like those of id
 * 35; nothing tells the two apart, but such builds were rare.
 */
static void bytedelta_old_decode(const struct b2f_filter_block *block,
				 uint8_t meta, const uint8_t *src, uint8_t *dst,
				 size_t nbytes)
{
	size_t nchannels = channels(block, meta);
	size_t n = nbytes / nchannels;
	size_t whole = n - n % 16;

	(void)src; /* the same as @dst */
	if (!n)
		return;
	for (size_t c = 0; c < nchannels; c++) {
		b2f_bytedelta_sum(dst + c * n, whole);
		b2f_bytedelta_sum(dst + c * n + whole, n - whole);
	}
}

/* Without the number of channels a chunk could not be read on its own. */
static bool bytedelta_encodable(unsigned int typesize, uint8_t meta)
{
	(void)typesize;
	return meta > 0;
}

/* Simple enough for the compiler to vectorize. */
static void differences(const uint8_t *restrict src, uint8_t *restrict dst,
			size_t n)
{
	dst[0] = src[0];
	for (size_t i = 1; i < n; i++)
		dst[i] = (uint8_t)(src[i] - src[i - 1]);
}

static void bytedelta_encode(const struct b2f_filter_block *block, uint8_t meta,
			     const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	size_t nchannels = channels(block, meta);
	size_t n = nbytes / nchannels, whole = n * nchannels;

	for (size_t c = 0; n && c < nchannels; c++)
		differences(src + c * n, dst + c * n, n);
	memcpy(dst + whole, src + whole, nbytes - whole);
}

const struct b2f_filter b2f_filter_bytedelta = {
	.name = "bytedelta",
	.id = B2F_FILTER_BYTEDELTA,
	.kind = B2F_FILTER_IN_PLACE,
	.check = bytedelta_check,
	.decode = bytedelta_decode,
	.encodable = bytedelta_encodable,
	.encode = bytedelta_encode,
};

const struct b2f_filter b2f_filter_bytedelta_old = {
	.name = "bytedelta_old",
	.id = B2F_FILTER_BYTEDELTA_OLD,
	.kind = B2F_FILTER_IN_PLACE,
	.check = bytedelta_check,
	.decode = bytedelta_old_decode,
};
