/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shuffle_body.h - shuffle and bitshuffle, with vectors of 16 or 32 bytes
 *
 * shuffle_v16.c and shuffle_avx2.c include it, after they have defined:
 *
 *   TARGET      the attribute of functions that use the vectors, or nothing
 *   VEC, STEP   a vector, and its bytes
 *   OP(name)    load, store, fill; and operations that work in each half of 32
 *               bytes on its own: zip_lo, zip_hi, bits_down, bits_up
 *
 * and with these names that depend on the halves, of which the second one has
 * the second half of the items:
 *
 *   load_parts()    16 bytes, and for the second half those some bytes on
 *   store_all()     the vectors one after the other: first all first halves
 *   store_items()   16 bytes each to 16 (or 32) items
 *
 * Layer: filter.  Threads: pure functions.
 */
#ifdef VEC

/* The interleaving of shuffle_impl.h, @steps times, with @n vectors. */
TARGET B2F_SHUFFLE_INLINE void zip_steps(VEC v[16], unsigned int n,
					 unsigned int steps)
{
	VEC t[16];

	B2F_SHUFFLE_UNROLL
	for (unsigned int step = 0; step < steps; step++) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n / 2; j++) {
			t[2 * j] = OP(zip_lo)(v[j], v[j + n / 2]);
			t[2 * j + 1] = OP(zip_hi)(v[j], v[j + n / 2]);
		}
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = t[j];
	}
}

/* Interleaves the bytes of @n vectors (2, 4, 8 or 16). */
TARGET B2F_SHUFFLE_INLINE void zip(VEC v[16], unsigned int n)
{
	zip_steps(v, n, n == 2 ? 1 : n == 4 ? 2 : n == 8 ? 3 : 4);
}

/* Loads @n vectors as store_all() stores them, and undoes zip(). */
TARGET B2F_SHUFFLE_INLINE void load_unzipped(VEC v[16], const uint8_t *src,
					     unsigned int n)
{
	B2F_SHUFFLE_UNROLL
	for (unsigned int j = 0; j < n; j++)
		v[j] = load_parts(src + 16 * j, 16 * n);
	zip_steps(v, n, 4);
}

/* Widths that are a power of 2: the result of zip() is stored unchanged. */
TARGET B2F_SHUFFLE_INLINE size_t unshuffle_pow2(const struct b2f_planes *planes,
						unsigned int n, uint8_t *dst,
						size_t nitems)
{
	VEC v[16];
	/* Copies, as the compiler must think that stores change the struct. */
	const uint8_t *src = planes->data;
	size_t stride = planes->stride, i;

	for (i = 0; i + STEP <= nitems; i += STEP) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			v[j] = OP(load)(src + j * stride + i);
		zip(v, n);
		store_all(dst + i * n, v, n);
	}
	return i;
}

TARGET B2F_SHUFFLE_INLINE void square(const struct b2f_planes *planes,
				      size_t last, uint8_t *dst, size_t width)
{
	VEC v[16];

	B2F_SHUFFLE_UNROLL
	for (size_t j = 0; j < 16; j++)
		v[j] = OP(load)(planes->data +
				(j < last ? j : last) * planes->stride);
	zip(v, 16);
	store_items(dst, width, v);
}

TARGET static void unshuffle_square(const struct b2f_planes *planes,
				    uint8_t *dst, size_t width)
{
	/* The same code twice, as a known number of planes is faster. */
	if (planes->count == 16)
		square(planes, 15, dst, width);
	else
		square(planes, planes->count - 1, dst, width);
}

TARGET static void shuffle_square(const uint8_t *src, size_t width,
				  const struct b2f_planes *planes)
{
	VEC v[16];

	B2F_SHUFFLE_UNROLL
	for (size_t i = 0; i < 16; i++)
		v[i] = load_parts(src + i * width, 16 * width);
	zip_steps(v, 16, 4);
	/*
	 * Not unrolled: @v is indexed by a variable, so it lies in memory
	 * anyway.
	 */
	for (size_t j = 0; j < planes->count; j++)
		OP(store)(planes->data + j * planes->stride, v[j]);
}

static const struct b2f_shuffle_square squares = {
	.nitems = STEP,
	.unshuffle = unshuffle_square,
	.shuffle = shuffle_square,
};

TARGET B2F_SHUFFLE_INLINE size_t shuffle_pow2(const uint8_t *src,
					      unsigned int n,
					      const struct b2f_planes *planes,
					      size_t nitems)
{
	uint8_t *dst = planes->data;
	size_t stride = planes->stride, i;
	VEC v[16];

	for (i = 0; i + STEP <= nitems; i += STEP) {
		load_unzipped(v, src + i * n, n);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < n; j++)
			OP(store)(dst + j * stride + i, v[j]);
	}
	return i;
}

TARGET static void shuffle(const uint8_t *src, size_t width,
			   const struct b2f_planes *planes, size_t nitems)
{
	size_t done;

	if (planes->count == width && width == 2)
		done = shuffle_pow2(src, 2, planes, nitems);
	else if (planes->count == width && width == 4)
		done = shuffle_pow2(src, 4, planes, nitems);
	else if (planes->count == width && width == 8)
		done = shuffle_pow2(src, 8, planes, nitems);
	else if (planes->count == width && width == 16)
		done = shuffle_pow2(src, 16, planes, nitems);
	else
		done = b2f_shuffle_squares_to(&squares, src, width, planes,
					      nitems);
	b2f_shuffle_scalar_planes(src, width, planes, done, nitems);
}

TARGET static void unshuffle(const struct b2f_planes *planes, uint8_t *dst,
			     size_t width, size_t nitems)
{
	size_t done;

	if (planes->count != width || (width > 8 && width != 16))
		done = b2f_shuffle_squares(&squares, planes, dst, width,
					   nitems);
	else if (width == 2)
		done = unshuffle_pow2(planes, 2, dst, nitems);
	else if (width == 4)
		done = unshuffle_pow2(planes, 4, dst, nitems);
	else if (width == 8)
		done = unshuffle_pow2(planes, 8, dst, nitems);
	else if (width == 16)
		done = unshuffle_pow2(planes, 16, dst, nitems);
	else
		done = b2f_shuffle_v16_below_8(planes, dst, nitems);
	b2f_shuffle_scalar_items(planes, dst, width, done, nitems);
}

/*
 * In every byte place, the bits of vectors @a and @b that are @n apart change
 * places: the high ones of @a (under ~@mask) with the low ones of @b.
 */
TARGET B2F_SHUFFLE_INLINE void swap_bits(VEC *a, VEC *b, int n, VEC mask)
{
	VEC t = (OP(bits_down)(*a, n) ^ *b) & mask;

	*b ^= t;
	*a ^= OP(bits_up)(t, n);
}

/* Bit i of vector j and bit j of vector i change places. */
TARGET B2F_SHUFFLE_INLINE void transpose_bits(VEC v[16])
{
	static const uint8_t masks[3] = {0x0f, 0x33, 0x55};

	B2F_SHUFFLE_UNROLL
	for (unsigned int s = 0; s < 3; s++) {
		unsigned int n = 4 >> s;

		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++) {
			if (!(j & n))
				swap_bits(&v[j], &v[j + n], (int)n,
					  OP(fill)(masks[s]));
		}
	}
}

TARGET static void plane_of_rows(const uint8_t *rows, size_t stride,
				 uint8_t *plane, size_t nbytes)
{
	VEC v[16];
	size_t k;

	for (k = 0; k + STEP <= nbytes; k += STEP) {
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			v[j] = OP(load)(rows + j * stride + k);
		transpose_bits(v);
		zip(v, 8);
		store_all(plane + 8 * k, v, 8);
	}
	b2f_shuffle_scalar_plane(rows, stride, plane, k, nbytes);
}

TARGET static void rows_of_plane(const uint8_t *plane, uint8_t *rows,
				 size_t stride, size_t nbytes)
{
	VEC v[16];
	size_t k;

	for (k = 0; k + STEP <= nbytes; k += STEP) {
		load_unzipped(v, plane + 8 * k, 8);
		transpose_bits(v);
		B2F_SHUFFLE_UNROLL
		for (unsigned int j = 0; j < 8; j++)
			OP(store)(rows + j * stride + k, v[j]);
	}
	b2f_shuffle_scalar_rows(plane, rows, stride, k, nbytes);
}

#endif
