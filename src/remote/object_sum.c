/* SPDX-License-Identifier: BSD-3-Clause */
/* object_sum.c - the checksum of an object, as an S3 server keeps it: CRC-32 */
#include "remote/object_sum.h"

#include <nettle/base64.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"

uint32_t b2f_object_sum(uint32_t sum, const void *data, size_t n)
{
	return (uint32_t)crc32_z(sum, n ? data : (const void *)"", n);
}

uint32_t b2f_object_sum_join(uint32_t sum, uint32_t next, uint64_t n)
{
	return (uint32_t)crc32_combine(sum, next, (z_off_t)n);
}

void b2f_object_sum_write(uint32_t sum, char out[B2F_OBJECT_SUM_TEXT])
{
	uint8_t bytes[sizeof(sum)];

	b2f_store_be32(bytes, sum);
	base64_encode_raw(out, sizeof(bytes), bytes);
	out[B2F_OBJECT_SUM_TEXT - 1] = '\0';
}

bool b2f_object_sum_read(const char *text, uint32_t *out)
{
	uint8_t bytes[BASE64_DECODE_LENGTH(B2F_OBJECT_SUM_TEXT - 1)];
	struct base64_decode_ctx ctx;
	size_t n = 0;

	/* A checksum of part checksums ends in "-N". */
	base64_decode_init(&ctx);
	if (strlen(text) != B2F_OBJECT_SUM_TEXT - 1 ||
	    !base64_decode_update(&ctx, &n, bytes, strlen(text), text) ||
	    !base64_decode_final(&ctx) || n != sizeof(*out))
		return false;
	*out = b2f_load_be32(bytes);
	return true;
}
