/* SPDX-License-Identifier: BSD-3-Clause */
/* shuffle_v16.c - shuffle and bitshuffle with SSE2 or NEON */
#include "filter/shuffle_impl.h"

#ifdef B2F_VEC16

#include <string.h>

#define TARGET
#define VEC	 b2f_vec16
#define STEP	 16
#define OP(name) b2f_vec16_##name

B2F_SHUFFLE_INLINE b2f_vec16 load_parts(const uint8_t *p, size_t apart)
{
	(void)apart;
	return b2f_vec16_load(p);
}

B2F_SHUFFLE_INLINE void store_all(uint8_t *dst, const b2f_vec16 v[16],
				  unsigned int n)
{
	B2F_SHUFFLE_UNROLL
	for (unsigned int j = 0; j < n; j++)
		b2f_vec16_store(dst + 16 * j, v[j]);
}

B2F_SHUFFLE_INLINE void store_items(uint8_t *dst, size_t width,
				    const b2f_vec16 v[16])
{
	B2F_SHUFFLE_UNROLL
	for (size_t k = 0; k < 16; k++)
		b2f_vec16_store(dst + k * width, v[k]);
}

#include "filter/shuffle_body.h"

size_t b2f_shuffle_v16_below_8(const struct b2f_planes *planes, uint8_t *dst,
			       size_t nitems)
{
	size_t last = planes->count - 1, width = planes->count;
	size_t stride = planes->stride;
	const uint8_t *src = planes->data;
	b2f_vec16 v[16];
	uint8_t items[128];
	size_t i;

	/* Treats them as 8 planes; see b2f_shuffle_squares(). */
	for (i = 0; (i + 15) * width + 8 <= nitems * width; i += 16) {
		B2F_SHUFFLE_UNROLL
		for (size_t j = 0; j < 8; j++)
			v[j] = b2f_vec16_load(
				src + (j < last ? j : last) * stride + i);
		zip(v, 8);
		store_all(items, v, 8);
		B2F_SHUFFLE_UNROLL
		for (size_t k = 0; k < 16; k++)
			memcpy(dst + (i + k) * width, items + 8 * k, 8);
	}
	return i;
}

static bool v16_supported(void)
{
	return true;
}

const struct b2f_shuffle_variant b2f_shuffle_v16 = {
	.name = B2F_VEC16,
	.supported = v16_supported,
	.unshuffle = unshuffle,
	.plane = plane_of_rows,
	.shuffle = shuffle,
	.rows = rows_of_plane,
};

#endif
