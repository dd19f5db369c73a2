/* SPDX-License-Identifier: BSD-3-Clause */
/* sum.c - the checksums of Bloscpack files */
#include "blp/sum.h"

#include <nettle/md5.h>
#include <nettle/nettle-meta.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "b2frame/error.h"
#include "base/bytes.h"

/* Bytes of each sum in a message, enough to tell two sums apart. */
#define SHOWN 8

static void make_adler32(const struct b2f_sum *sum, const void *data, size_t n,
			 uint8_t *out)
{
	(void)sum;
	b2f_store_le32(out, (uint32_t)adler32_z(1, data, n));
}

static void make_crc32(const struct b2f_sum *sum, const void *data, size_t n,
		       uint8_t *out)
{
	(void)sum;
	b2f_store_le32(out, (uint32_t)crc32_z(0, data, n));
}

static void make_digest(const struct b2f_sum *sum, const void *data, size_t n,
			uint8_t *out)
{
	union {
		struct md5_ctx md5;
		struct sha1_ctx sha1;
		struct sha256_ctx sha256;
		struct sha512_ctx sha512;
	} state;

	sum->digest->init(&state);
	sum->digest->update(&state, n, data);
	sum->digest->digest(&state, sum->size, out);
}

static const struct b2f_sum sums[] = {
	{"none", 0, NULL, NULL},
	{"adler32", 4, make_adler32, NULL},
	{"crc32", 4, make_crc32, NULL},
	{"md5", MD5_DIGEST_SIZE, make_digest, &nettle_md5},
	{"sha1", SHA1_DIGEST_SIZE, make_digest, &nettle_sha1},
	{"sha224", SHA224_DIGEST_SIZE, make_digest, &nettle_sha224},
	{"sha256", SHA256_DIGEST_SIZE, make_digest, &nettle_sha256},
	{"sha384", SHA384_DIGEST_SIZE, make_digest, &nettle_sha384},
	{"sha512", SHA512_DIGEST_SIZE, make_digest, &nettle_sha512},
};

#define NSUMS (sizeof(sums) / sizeof(sums[0]))

const struct b2f_sum *b2f_sum_by_number(unsigned int number)
{
	return number < NSUMS ? &sums[number] : NULL;
}

const struct b2f_sum *b2f_sum_by_name(const char *name)
{
	for (unsigned int i = 0; i < NSUMS; i++)
		if (strcmp(sums[i].name, name) == 0)
			return &sums[i];
	return NULL;
}

uint8_t b2f_sum_number(const struct b2f_sum *sum)
{
	return (uint8_t)(sum - sums);
}

void b2f_sum_make(const struct b2f_sum *sum, const void *data, size_t n,
		  uint8_t *out)
{
	if (sum->size > 0)
		sum->make(sum, data, n, out);
}

static void put_hex(const uint8_t *bytes, uint32_t size, char *out)
{
	uint32_t n = size < SHOWN ? size : SHOWN;

	for (uint32_t i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

int b2f_sum_check(const struct b2f_sum *sum, const void *data, size_t n,
		  const uint8_t *expected, struct b2f_why *why)
{
	char is[2 * SHOWN + 1] = "", should[2 * SHOWN + 1] = "";
	uint8_t found[B2F_SUM_SIZE_MAX];

	b2f_sum_make(sum, data, n, found);
	if (sum->size == 0 || memcmp(found, expected, sum->size) == 0)
		return 0;
	put_hex(found, sum->size, is);
	put_hex(expected, sum->size, should);
	return b2f_why_set(why, B2F_ECORRUPT,
			   "its %s is %s%s, the file says %s%s", sum->name, is,
			   sum->size > SHOWN ? "..." : "", should,
			   sum->size > SHOWN ? "..." : "");
}
