/* SPDX-License-Identifier: BSD-3-Clause */
/* npy_pack.c - the bytes of a header as a msgpack value */
#include <stdlib.h>
#include <string.h>

#include "array/npy.h"
#include "b2frame/error.h"
#include "base/bytes.h"
#include "base/cursor.h"

enum { MARK_BIN8 = 0xc4, MARK_BIN16 = 0xc5, MARK_BIN32 = 0xc6 };

/* Writes mark and length; returns how many bytes that are, 5 at most. */
static size_t put_mark(uint8_t *p, uint32_t len)
{
	if (len <= UINT8_MAX) {
		p[0] = MARK_BIN8;
		p[1] = (uint8_t)len;
		return 2;
	}
	if (len <= UINT16_MAX) {
		p[0] = MARK_BIN16;
		b2f_store_be16(p + 1, (uint16_t)len);
		return 3;
	}
	p[0] = MARK_BIN32;
	b2f_store_be32(p + 1, len);
	return 5;
}

int b2f_npy_pack(const uint8_t *bytes, size_t len, uint8_t **packed,
		 size_t *packed_len)
{
	uint8_t *made;
	size_t n;

	if (len > UINT32_MAX)
		return B2F_ETOOBIG;
	made = malloc(len + 5);
	if (!made)
		return -ENOMEM;
	n = put_mark(made, (uint32_t)len);
	if (len > 0)
		memcpy(made + n, bytes, len);
	*packed = made;
	*packed_len = n + len;
	return 0;
}

int b2f_npy_unpack(const uint8_t *packed, size_t packed_len,
		   const uint8_t **bytes, size_t *len)
{
	struct b2f_cursor cur = b2f_cursor_at(packed, packed_len);
	const uint8_t *found;
	size_t n;

	switch (b2f_cursor_u8(&cur)) {
	case MARK_BIN8:
		n = b2f_cursor_u8(&cur);
		break;
	case MARK_BIN16:
		n = b2f_cursor_be16(&cur);
		break;
	case MARK_BIN32:
		n = b2f_cursor_be32(&cur);
		break;
	default:
		return B2F_ECORRUPT;
	}
	found = b2f_cursor_take(&cur, n);
	if (!found || b2f_cursor_left(&cur) > 0)
		return B2F_ECORRUPT;
	*bytes = found;
	*len = n;
	return 0;
}
