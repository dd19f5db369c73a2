/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * span.h - position and length of bytes
 *
 * Layer: base.  May include: -.  Threads: values.
 */
#ifndef B2F_BASE_SPAN_H
#define B2F_BASE_SPAN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are only read; they stay the caller's. */
struct b2f_bytes {
	const uint8_t *data;
	size_t size;
};

/* Room for bytes that are written. */
struct b2f_room {
	uint8_t *data;
	size_t size;
};

static inline struct b2f_bytes b2f_bytes_at(const uint8_t *data, size_t size)
{
	return (struct b2f_bytes){.data = data, .size = size};
}

static inline struct b2f_room b2f_room_at(uint8_t *data, size_t size)
{
	return (struct b2f_room){.data = data, .size = size};
}

#endif
