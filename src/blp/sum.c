/* SPDX-License-Identifier: BSD-3-Clause */
/* sum.c - the checksums of Bloscpack files */
#include "blp/sum.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>
#ifdef B2F_HAVE_CRYPTO
#include <openssl/evp.h>
#endif

#include "b2frame/error.h"
#include "base/bytes.h"

/* Bytes of each sum in a message, enough to tell two sums apart. */
#define SHOWN 8

/* Bytes per call: the functions of zlib take less than size_t allows. */
#define STEP (1u << 30)

static uint32_t run(uLong (*fn)(uLong, const Bytef *, uInt), uLong start,
		    const uint8_t *data, size_t n)
{
	while (n > 0) {
		uInt step = n < STEP ? (uInt)n : STEP;

		start = fn(start, data, step);
		data += step;
		n -= step;
	}
	return (uint32_t)start;
}

static int make_adler32(const struct b2f_sum *sum, const void *data, size_t n,
			uint8_t *out)
{
	(void)sum;
	b2f_store_le32(out, run(adler32, 1, data, n));
	return 0;
}

static int make_crc32(const struct b2f_sum *sum, const void *data, size_t n,
		      uint8_t *out)
{
	(void)sum;
	b2f_store_le32(out, run(crc32, 0, data, n));
	return 0;
}

#ifdef B2F_HAVE_CRYPTO
/* Policies of a machine may have libcrypto refuse a digest. */
static int make_digest(const struct b2f_sum *sum, const void *data, size_t n,
		       uint8_t *out)
{
	unsigned int size = 0;

	if (!EVP_Digest(data, n, out, &size, sum->md(), NULL) ||
	    size != sum->size)
		return B2F_EUNSUPPORTED;
	return 0;
}

/* The functions of libcrypto return another pointer. */
#define DIGEST(name)                                                           \
	static const void *get_##name(void)                                    \
	{                                                                      \
		return EVP_##name();                                           \
	}
DIGEST(md5)
DIGEST(sha1)
DIGEST(sha224)
DIGEST(sha256)
DIGEST(sha384)
DIGEST(sha512)
#define BY_CRYPTO(name) make_digest, get_##name
#else
#define BY_CRYPTO(name) NULL, NULL
#endif

static const struct b2f_sum sums[] = {
	{"none", 0, NULL, NULL},
	{"adler32", 4, make_adler32, NULL},
	{"crc32", 4, make_crc32, NULL},
	{"md5", 16, BY_CRYPTO(md5)},
	{"sha1", 20, BY_CRYPTO(sha1)},
	{"sha224", 28, BY_CRYPTO(sha224)},
	{"sha256", 32, BY_CRYPTO(sha256)},
	{"sha384", 48, BY_CRYPTO(sha384)},
	{"sha512", 64, BY_CRYPTO(sha512)},
};

#define NSUMS (sizeof(sums) / sizeof(sums[0]))

const struct b2f_sum *b2f_sum_by_number(unsigned int number)
{
	return number < NSUMS ? &sums[number] : NULL;
}

const struct b2f_sum *b2f_sum_by_name(const char *name, unsigned int *number)
{
	for (unsigned int i = 0; i < NSUMS; i++)
		if (strcmp(sums[i].name, name) == 0) {
			*number = i;
			return &sums[i];
		}
	return NULL;
}

int b2f_sum_make(const struct b2f_sum *sum, const void *data, size_t n,
		 uint8_t *out, struct b2f_why *why)
{
	if (sum->size == 0)
		return 0;
	if (!sum->make)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "it has %s sums, which this build, made "
				   "without libcrypto, cannot check",
				   sum->name);
	if (sum->make(sum, data, n, out))
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "libcrypto makes no %s here", sum->name);
	return 0;
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
	int err = b2f_sum_make(sum, data, n, found, why);

	if (err || sum->size == 0 || memcmp(found, expected, sum->size) == 0)
		return err;
	put_hex(found, sum->size, is);
	put_hex(expected, sum->size, should);
	return b2f_why_set(why, B2F_ECORRUPT,
			   "its %s is %s%s, the file says %s%s", sum->name, is,
			   sum->size > SHOWN ? "..." : "", should,
			   sum->size > SHOWN ? "..." : "");
}
