/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytes.h - bytes in memory, and integers in them, little and big endian, at
 * any alignment, and in text
 *
 * No bounds are checked here: hostile bytes come through base/cursor.h.
 *
 * Layer: base.  Threads: pure functions.
 */
#ifndef B2F_BASE_BYTES_H
#define B2F_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/*
 * Reads the hexadecimal digits, in capitals, at *@text, and moves that behind
 * them.  Returns how many there were; @out is right up to 16 of them.
 */
static inline size_t b2f_take_hex(const char **text, uint64_t *out)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = strspn(*text, digits);

	*out = 0;
	for (size_t i = 0; i < n; i++)
		*out = *out << 4 |
		       (uint64_t)(strchr(digits, (*text)[i]) - digits);
	*text += n;
	return n;
}

static inline uint16_t b2f_load_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t b2f_load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t b2f_load_be64(const uint8_t *p)
{
	return (uint64_t)b2f_load_be32(p) << 32 | b2f_load_be32(p + 4);
}

static inline uint32_t b2f_load_le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[1] << 8 | p[0];
}

static inline uint64_t b2f_load_le64(const uint8_t *p)
{
	return (uint64_t)b2f_load_le32(p + 4) << 32 | b2f_load_le32(p);
}

static inline void b2f_store_be16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void b2f_store_be32(uint8_t *p, uint32_t v)
{
	b2f_store_be16(p, (uint16_t)(v >> 16));
	b2f_store_be16(p + 2, (uint16_t)v);
}

static inline void b2f_store_be64(uint8_t *p, uint64_t v)
{
	b2f_store_be32(p, (uint32_t)(v >> 32));
	b2f_store_be32(p + 4, (uint32_t)v);
}

static inline void b2f_store_le32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

static inline void b2f_store_le64(uint8_t *p, uint64_t v)
{
	b2f_store_le32(p, (uint32_t)v);
	b2f_store_le32(p + 4, (uint32_t)(v >> 32));
}

#endif
