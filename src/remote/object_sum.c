/* SPDX-License-Identifier: BSD-3-Clause */
/* object_sum.c - the checksum of an object, as an S3 server keeps it: CRC-32 */
#include "remote/object_sum.h"

#include <string.h>
#include <zlib.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789+/";

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
	/* 32 bits and four zero bits: six digits. */
	uint64_t bits = (uint64_t)sum << 4;

	for (int i = 0; i < 6; i++)
		out[i] = digits[bits >> (30 - 6 * i) & 63];
	memcpy(out + 6, "==", 3);
}

bool b2f_object_sum_read(const char *text, uint32_t *out)
{
	uint64_t bits = 0;

	/* A checksum of part checksums ends in "-N". */
	if (strlen(text) != 8 || strcmp(text + 6, "==") != 0)
		return false;
	for (int i = 0; i < 6; i++) {
		const char *at = strchr(digits, text[i]);

		if (!at)
			return false;
		bits = bits << 6 | (uint64_t)(at - digits);
	}
	*out = (uint32_t)(bits >> 4);
	return true;
}
