/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blosclz_ref.h - a blosclz decoder that is slow and plainly right
 *
 * Byte by byte, each one with its check: what the decoder of the library is
 * held against, by its test and its fuzzer.
 */
#ifndef B2F_TESTS_FUZZ_BLOSCLZ_REF_H
#define B2F_TESTS_FUZZ_BLOSCLZ_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blosclz_ref {
	const uint8_t *src;
	size_t src_size;
	size_t in;
	uint8_t *dst;
	size_t dst_size;
	size_t out;
	bool bad;
};

static inline unsigned int blosclz_ref_byte(struct blosclz_ref *ref)
{
	if (ref->in >= ref->src_size) {
		ref->bad = true;
		return 0;
	}
	return ref->src[ref->in++];
}

static inline void blosclz_ref_put(struct blosclz_ref *ref, uint8_t byte)
{
	if (ref->out >= ref->dst_size)
		ref->bad = true;
	else
		ref->dst[ref->out++] = byte;
}

static inline void blosclz_ref_match(struct blosclz_ref *ref, unsigned int ctrl)
{
	size_t n = (ctrl >> 5) + 2, distance, more;

	if (n == 9) {
		do {
			more = blosclz_ref_byte(ref);
			n += more;
		} while (more == 255 && !ref->bad);
	}
	distance = (ctrl & 31) * 256 + blosclz_ref_byte(ref) + 1;
	if (distance == 8192) {
		distance += blosclz_ref_byte(ref) * 256;
		distance += blosclz_ref_byte(ref);
	}
	if (distance > ref->out || ref->in == ref->src_size)
		ref->bad = true;
	for (; n > 0 && !ref->bad; n--)
		blosclz_ref_put(ref, ref->dst[ref->out - distance]);
}

/* Decodes @src up to its end or its first error. */
static inline struct blosclz_ref blosclz_ref_run(const uint8_t *src,
						 size_t src_size, uint8_t *dst,
						 size_t dst_size)
{
	struct blosclz_ref ref = {
		.src = src,
		.src_size = src_size,
		.dst = dst,
		.dst_size = dst_size,
	};
	unsigned int ctrl = blosclz_ref_byte(&ref) & 31;

	while (!ref.bad) {
		if (ctrl >= 32)
			blosclz_ref_match(&ref, ctrl);
		for (unsigned int i = 0; ctrl < 32 && i <= ctrl && !ref.bad;
		     i++)
			blosclz_ref_put(&ref, (uint8_t)blosclz_ref_byte(&ref));
		if (ref.in == ref.src_size)
			break;
		ctrl = blosclz_ref_byte(&ref);
	}
	return ref;
}

/* True if @src is a stream of exactly @dst_size bytes, then at @dst. */
static inline bool blosclz_ref_decode(const uint8_t *src, size_t src_size,
				      uint8_t *dst, size_t dst_size)
{
	struct blosclz_ref ref = blosclz_ref_run(src, src_size, dst, dst_size);

	return !ref.bad && ref.out == dst_size;
}

#endif
