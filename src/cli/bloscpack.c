/* SPDX-License-Identifier: BSD-3-Clause */
/* bloscpack.c - what commands that make Bloscpack files have in common */
#include "cli/bloscpack.h"

#include <string.h>

/* The code of LZ4 (b2f_codec_code_name()), and the id of shuffle. */
#define CODEC_LZ4 1
#define SHUFFLE	  1

/* Decoded bytes of a chunk. */
#define CHUNKSIZE (1 << 20)

static const char *const sums[] = {"none", "adler32", "crc32", "md5", "sha1",
				   "sha224", "sha256", "sha384", "sha512"};

int cli_bloscpack_checksum(const struct cli_option *option, void *checksum,
			   const char *value)
{
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		if (strcmp(sums[i], value) == 0) {
			*(const char **)checksum = value;
			return 0;
		}
	return cli_option_refuse(option, value, "a checksum of Bloscpack");
}

struct b2f_settings cli_bloscpack_scratch(const struct b2f_settings *settings)
{
	struct b2f_settings fast = b2f_settings_default();

	fast.codec = CODEC_LZ4;
	fast.clevel = 1;
	fast.typesize = settings->typesize;
	/* Chunks of the file may be small, and files are one per chunk here. */
	fast.chunksize = CHUNKSIZE;
	if (fast.typesize < CHUNKSIZE)
		fast.chunksize -= CHUNKSIZE % (int32_t)fast.typesize;
	else
		fast.chunksize = (int32_t)fast.typesize;
	memset(fast.filters, 0, B2F_SLOTS);
	fast.filters[B2F_SLOTS - 1] = SHUFFLE;
	return fast;
}
