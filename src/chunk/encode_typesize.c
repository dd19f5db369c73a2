/* SPDX-License-Identifier: BSD-3-Clause */
/* encode_typesize.c - guesses the item size of bytes without a description */
#include "base/checked.h"
#include "chunk/encoder.h"

/* The number of sampled pieces, and the bytes of each. */
#define PIECES	   8
#define PIECE_SIZE (64u << 10)

/* A wider item has to save at least this part of the bytes. */
#define GAIN_PART 64

#define TYPESIZE_MAX 16

/*
 * Encodes @n bytes, shuffled as items of @typesize, with the fastest codec.
 * Returns the compressed size, or -ENOMEM.
 */
static int64_t trial_size(struct b2f_encoder *enc, uint32_t typesize,
			  const uint8_t *data, size_t n)
{
	const struct b2f_filter_block block = {.typesize = typesize};
	int64_t size;

	b2f_filter_shuffle.encode(&block, 0, data, enc->filter[0].data, n);
	size = b2f_codec_states_encode(&enc->codecs, B2F_CODEC_LZ4, 1,
				       b2f_bytes_at(enc->filter[0].data, n),
				       b2f_room_at(enc->trial.data, n));
	return size ? size : (int64_t)n;
}

/* The sum over all pieces, which lie evenly over @data. */
static int64_t sample_size(struct b2f_encoder *enc, uint32_t typesize,
			   const uint8_t *data, size_t size)
{
	size_t npieces = b2f_min_u64(PIECES, b2f_div_up_u64(size, PIECE_SIZE));
	size_t n = b2f_min_u64(size, PIECE_SIZE), off;
	int64_t sum = 0, one;

	for (size_t i = 0; i < npieces; i++) {
		off = npieces > 1 ? (size - n) / (npieces - 1) * i : 0;
		/* Pieces have to begin with an item. */
		off -= off % TYPESIZE_MAX;
		one = trial_size(enc, typesize, data + off, n);
		if (one < 0)
			return one;
		sum += one;
	}
	return sum;
}

static bool is_ascii(const uint8_t *data, size_t size)
{
	uint8_t above = 0, control = 0;

	/* Without a branch, so that the compiler takes many bytes at once. */
	for (size_t i = 0; i < size; i++) {
		above |= data[i];
		control |= data[i] < '\t';
	}
	return above < 0x80 && !control;
}

int b2f_encode_guess_typesize(struct b2f_encoder *enc, const uint8_t *data,
			      size_t size, uint32_t *out)
{
	size_t n = b2f_min_u64(size, PIECE_SIZE);
	int64_t best = INT64_MAX, sum;
	uint32_t typesize = 1;
	int err;

	*out = 1;
	if (size <= B2F_ENCODE_SHORT && is_ascii(data, size))
		return 0;
	err = b2f_scratch_reserve(&enc->filter[0], n);
	if (!err)
		err = b2f_scratch_reserve(&enc->trial, n);
	if (err)
		return err;
	for (uint32_t t = 1; t <= TYPESIZE_MAX; t *= 2) {
		sum = sample_size(enc, t, data, size);
		if (sum < 0)
			return (int)sum;
		if (sum < best - best / GAIN_PART) {
			best = sum;
			typesize = t;
		}
	}
	*out = typesize;
	return 0;
}
