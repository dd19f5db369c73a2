/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blosclz.c - the decoder of blosclz streams (format.md 2.6)
 *
 * A stream is a row of items, literals or matches.  An item that ends SLACK
 * bytes before the ends of the buffers is copied in whole vectors, past its own
 * end: later items overwrite the bytes there.  Near the ends every copy is
 * exact.  No check is needed inside a copy, only one before it.
 */
#include "codec/codec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "base/bytes.h"

/* Fast copies may go this far beyond the end of an item. */
#define SLACK 32

/* From this length on memcpy() or memset() is worth its call. */
#define CALL_MIN 256

/* The same for memset() of one byte, which stores more at once. */
#define MEMSET_MIN 48

/* Largest near distance; as a code it announces a far distance. */
#define FAR_BASE 8192

struct blosclz {
	const uint8_t *in;
	const uint8_t *in_end;
	uint8_t *out_start;
	uint8_t *out;
	uint8_t *out_end;
};

/* The load is done before the store, so the two may overlap. */
static inline void copy16(uint8_t *dst, const uint8_t *src)
{
	uint64_t x[2];

	memcpy(x, src, 16);
	memcpy(dst, x, 16);
}

/* Copies @n literals, 1..32. */
static inline bool copy_literals(struct blosclz *s, size_t n)
{
	size_t in_left = (size_t)(s->in_end - s->in);
	size_t out_left = (size_t)(s->out_end - s->out);

	if (B2F_LIKELY(in_left >= SLACK && out_left >= SLACK)) {
		copy16(s->out, s->in);
		copy16(s->out + 16, s->in + 16);
	} else if (n <= in_left && n <= out_left) {
		memcpy(s->out, s->in, n);
	} else {
		return false;
	}
	s->in += n;
	s->out += n;
	return true;
}

/*
 * A match at a distance below 8 repeats a pattern.  The pattern fills 8 bytes
 * and is stored again and again, each time behind the last whole pattern.
 */
static inline void repeat_pattern(uint8_t *out, size_t distance, size_t n)
{
	/* Steps by which a pattern of up to 8 bytes fills 16. */
	static const uint8_t steps[8] = {16, 16, 16, 6, 16, 5, 6, 7};
	unsigned int bits = 8 * (unsigned int)distance;
	uint64_t x = b2f_load_le64(out - distance);
	size_t step = steps[distance];
	uint8_t bytes[16];

	x &= (UINT64_C(1) << bits) - 1;
	for (; bits < 64; bits *= 2)
		x |= x << bits;
	b2f_store_le64(bytes, x);
	b2f_store_le64(bytes + 8, x);
	for (size_t i = 0; i < n; i += step)
		copy16(out + i, bytes);
}

/* Copies @n bytes, and up to 15 more after them. */
static inline void copy_chunk(uint8_t *dst, const uint8_t *src, size_t n)
{
	if (n >= CALL_MIN) {
		memcpy(dst, src, n);
		return;
	}
	for (size_t i = 0; i < n; i += 16)
		copy16(dst + i, src + i);
}

/*
 * Copies @n bytes to @out from @distance before, and some more after them.  An
 * overlap repeats a pattern: each round doubles it, so that no load reads the
 * stores just before it, which would stall the processor.
 */
static inline void copy_match_fast(uint8_t *out, size_t distance, size_t n)
{
	const uint8_t *from = out - distance;

	if (B2F_LIKELY(n <= 32 && distance >= 16)) {
		copy16(out, from);
		copy16(out + 16, from + 16);
		return;
	}
	while (n > distance) {
		copy_chunk(out, from, distance);
		out += distance;
		n -= distance;
		distance *= 2;
	}
	copy_chunk(out, from, n);
}

/* Like copy_match_fast(), for distances below 8. */
static inline void copy_match_near(uint8_t *out, size_t distance, size_t n)
{
	size_t start;

	if (distance == 1 && n >= MEMSET_MIN) {
		memset(out, out[-1], n);
	} else if (B2F_LIKELY(n < CALL_MIN)) {
		repeat_pattern(out, distance, n);
	} else {
		start = 64 / distance * distance;
		repeat_pattern(out, distance, start);
		copy_match_fast(out + start, start, n - start);
	}
}

static inline bool copy_match(struct blosclz *s, size_t distance, size_t n)
{
	size_t left = (size_t)(s->out_end - s->out), fast = n;
	const uint8_t *from;

	if (distance > (size_t)(s->out - s->out_start) || n > left)
		return false;
	from = s->out - distance;
	/* Near the end, copy the last bytes, or all of them, one by one. */
	if (B2F_UNLIKELY(left - n < SLACK))
		fast = n > SLACK ? n - SLACK : 0;
	if (B2F_LIKELY(fast && distance >= 8))
		copy_match_fast(s->out, distance, fast);
	else if (fast)
		copy_match_near(s->out, distance, fast);
	for (size_t i = fast; i < n; i++)
		s->out[i] = from[i];
	s->out += n;
	return true;
}

/* The rest of a long match's length; the sum cannot overflow. */
static inline bool read_length(struct blosclz *s, size_t *n)
{
	uint8_t more;

	do {
		if (s->in == s->in_end)
			return false;
		more = *s->in++;
		*n += more;
	} while (more == 255);
	return true;
}

static inline bool read_distance(struct blosclz *s, size_t *distance)
{
	if (s->in == s->in_end)
		return false;
	*distance += *s->in++ + (size_t)1;
	if (*distance == FAR_BASE) {
		if (s->in_end - s->in < 2)
			return false;
		*distance += b2f_load_be16(s->in);
		s->in += 2;
	}
	return true;
}

static inline bool decode_match(struct blosclz *s, unsigned int ctrl)
{
	size_t distance = (size_t)(ctrl & 31) << 8;
	size_t n = (ctrl >> 5) + 2;

	if (n == 9 && !read_length(s, &n))
		return false;
	/* No stream ends with a match: a control byte has to follow. */
	return read_distance(s, &distance) && s->in != s->in_end &&
	       copy_match(s, distance, n);
}

static int blosclz_decode(void *state, const uint8_t *src, size_t src_size,
			  uint8_t *dst, size_t dst_size)
{
	struct blosclz s = {
		.in = src,
		.in_end = src + src_size,
		.out_start = dst,
		.out = dst,
		.out_end = dst + dst_size,
	};
	unsigned int ctrl;
	bool ok;

	(void)state;
	if (!src_size)
		return B2F_ECORRUPT;
	/* The high bits of the first byte are a mark of the format. */
	ctrl = *s.in++ & 31;
	for (;;) {
		if (ctrl == 31)
			/*
			 * Apart, so that the processor predicts the next item:
			 * these are common.
			 */
			ok = copy_literals(&s, 32);
		else if (ctrl < 32)
			ok = copy_literals(&s, ctrl + 1);
		else
			ok = decode_match(&s, ctrl);
		if (B2F_UNLIKELY(!ok))
			return B2F_ECORRUPT;
		if (s.in == s.in_end)
			break;
		ctrl = *s.in++;
	}
	return s.out == s.out_end ? 0 : B2F_ECORRUPT;
}

const struct b2f_codec b2f_codec_blosclz = {
	.name = "blosclz",
	.format = B2F_FORMAT_BLOSCLZ,
	.decode = blosclz_decode,
	.encoder_new = b2f_blosclz_encoder_new,
	.encoder_free = free,
	.encode = b2f_blosclz_encode,
};
