/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blosclz_impl.h - the encoder of blosclz streams, for the table of codecs
 *
 * Private to src/codec. struct b2f_codec describes the three functions.
 *
 * Layer: codec.  May include: base/.  Threads: as struct b2f_codec.
 */
#ifndef B2F_CODEC_BLOSCLZ_IMPL_H
#define B2F_CODEC_BLOSCLZ_IMPL_H

#include <stddef.h>
#include <stdint.h>

int b2f_blosclz_encoder_new(void **out);
void b2f_blosclz_encoder_free(void *encoder);
int64_t b2f_blosclz_encode(void *encoder, unsigned int level,
			   const uint8_t *src, size_t src_size, uint8_t *dst,
			   size_t room);

#endif
