/* SPDX-License-Identifier: BSD-3-Clause */
/* bloscpack.c - common to all commands that make Bloscpack files */
#include "cli/bloscpack.h"

#include <string.h>

#include "words/value.h"

/* The code of LZ4 (b2f_codec_code_name()), and the id of shuffle. */
#define CODEC_LZ4 1
#define SHUFFLE	  1

/* Decoded bytes of a chunk. */
#define CHUNKSIZE (1 << 20)

static int set_checksum(const struct cli_option *option, void *checksum,
			const char *value)
{
	static const char *const sums[] = {"none",   "adler32", "crc32", "md5",
					   "sha1",   "sha224",	"sha256", "sha384",
					   "sha512", NULL};
	int64_t i;

	if (b2f_value_choice(value, sums, &i))
		return cli_option_refuse(option, value, "none, adler32, crc32, "
					"md5, sha1, sha224, sha256, "
					"sha384 or sha512");
	*(const char **)checksum = value;
	return 0;
}

const struct cli_option cli_bloscpack_options[] = {
	CLI_OPTION("checksum", 0, "SUM", set_checksum, 0,
	 "in it: none, adler32 (default), crc32, md5, sha1,\n"
	 "sha224, sha256, sha384 or sha512"),
	{0},
};

struct b2f_settings cli_bloscpack_scratch(const struct b2f_settings *settings)
{
	struct b2f_settings fast = b2f_settings_default();

	fast.codec = CODEC_LZ4;
	fast.clevel = 1;
	fast.typesize = settings->typesize;
	/* @settings may have small chunks, and a frame has a file per chunk. */
	fast.chunksize = CHUNKSIZE;
	if (fast.typesize < CHUNKSIZE)
		fast.chunksize -= CHUNKSIZE % (int32_t)fast.typesize;
	else
		fast.chunksize = (int32_t)fast.typesize;
	memset(fast.filters, 0, B2F_SLOTS);
	fast.filters[B2F_SLOTS - 1] = SHUFFLE;
	return fast;
}
