/* SPDX-License-Identifier: BSD-3-Clause */
/* encoding.c - options for the encoding of data */
#include "cli/encoding.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "words/value.h"

/* The code of LZ4 (b2f_codec_code_name()), and the id of shuffle. */
#define CODEC_LZ4 1
#define SHUFFLE	  1

/* Decoded bytes of a chunk of a temporary frame. */
#define SCRATCH_CHUNKSIZE (1 << 20)

static int set_codec(const struct cli_option *option, void *encoding,
		     const char *name)
{
	struct cli_encoding *s = encoding;
	int64_t codec;

	if (b2f_value_codec(name, &codec))
		return cli_option_refuse(option, name,
					 "zstd, lz4, lz4hc, blosclz or zlib");
	s->values.codec = (uint8_t)codec;
	s->values.codec_meta = 0;
	s->has_codec = true;
	return 0;
}

static int set_filters(const struct cli_option *option, void *encoding,
		       const char *list)
{
	struct cli_encoding *s = encoding;

	if (b2f_value_filters(list, s->values.filters, s->values.filters_meta))
		return cli_option_refuse(option, list,
					 "a list of shuffle, bitshuffle, bytedelta; "
					 "or none");
	s->has_filters = true;
	return 0;
}

/* Parses a size from @min up to the limit of the format. */
static int parse_size(const struct cli_option *option, const char *text,
		      uint64_t min, uint64_t *out)
{
	int err = cli_option_size(option, out, text);

	if (!err && (*out < min || *out > INT32_MAX - 32))
		err = cli_option_refuse(option, text, "a possible size");
	return err;
}

static int set_typesize(const struct cli_option *option, void *encoding,
			const char *text)
{
	struct cli_encoding *s = encoding;
	uint64_t value = 1;
	int64_t size;
	int err = 0;

	s->guess_typesize = strcmp(text, "auto") == 0;
	if (!s->guess_typesize && b2f_value_size(text, &size))
		return cli_option_refuse(option, text, "a size, or auto");
	if (!s->guess_typesize)
		err = parse_size(option, text, 1, &value);
	s->values.typesize = (uint32_t)value;
	s->has_typesize = true;
	return err;
}

static int set_chunksize(const struct cli_option *option, void *encoding,
			 const char *text)
{
	struct cli_encoding *s = encoding;
	uint64_t value = 0;
	int err = parse_size(option, text, 1, &value);

	s->values.chunksize = (int32_t)value;
	s->has_chunksize = true;
	return err;
}

static int set_blocksize(const struct cli_option *option, void *encoding,
			 const char *text)
{
	struct cli_encoding *s = encoding;
	uint64_t value = 0;
	int err = parse_size(option, text, 0, &value);

	s->values.blocksize = (uint32_t)value;
	s->has_blocksize = true;
	return err;
}

/* For -1 to -9, --clevel and BLOSC_CLEVEL; level 0 compresses nothing. */
static int set_clevel(const struct cli_option *option, void *encoding,
		      const char *text)
{
	struct cli_encoding *s = encoding;
	int64_t level = option->letter - '0';

	if (text && b2f_value_number(text, 10, 9, &level))
		return cli_option_refuse(option, text, "a level, 0 to 9");
	s->values.clevel = (uint8_t)level;
	s->has_clevel = true;
	return 0;
}

#define ROWS(level, codec, filter, typesize, chunk, block)		       \
	{								       \
		CLI_OPTION(NULL, '1', NULL, set_clevel, 0,		       \
			   "compression level" level),			       \
		CLI_OPTION("clevel", 0, "N", set_clevel, 0,		       \
			   "the same, 0 (stored) to 9"),		       \
		CLI_OPTION("codec", 0, "NAME", set_codec, 0,		       \
			   "zstd" codec ", lz4, lz4hc, blosclz or zlib"),      \
		CLI_OPTION("filter", 0, "LIST", set_filters, 0,		       \
			   "shuffle" filter ", bitshuffle, bytedelta,\n"      \
			   "none; several in their order: a,b"),	       \
		CLI_OPTION("typesize", 0, "N", set_typesize, 0,		       \
			   "bytes of an item, or auto" typesize),	       \
		CLI_OPTION("chunksize", 0, "N", set_chunksize, 0,	       \
			   "bytes of a chunk" chunk),			       \
		CLI_OPTION("blocksize", 0, "N", set_blocksize, 0,	       \
			   "bytes of a block, 0: automatic" block),	       \
		{0},							       \
	}

const struct cli_option cli_encoding_options[] =
	ROWS(" (default: 3)", " (default)", " (default)", " (default)",
	     " (default: 1m)", " (64k)");

const struct cli_option cli_encoding_kept_options[] =
	ROWS("", "", "", "", "", "\ndefault of all these: as in FRAME");

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

const struct cli_option cli_encoding_checksum[] = {
	CLI_OPTION("checksum", 0, "SUM", set_checksum, 0,
	 "of a Bloscpack file: none, adler32 (default), crc32,\n"
	 "md5, sha1, sha224, sha256, sha384 or sha512"),
	{0},
};

/* For BLOSC_SHUFFLE, with the words of C-Blosc2. */
static int set_shuffle(const struct cli_option *option, void *encoding,
		       const char *text)
{
	static const char *const words[] = {"NOSHUFFLE", "SHUFFLE", "BITSHUFFLE",
					    NULL};
	int64_t i;

	if (b2f_value_choice(text, words, &i))
		return cli_option_refuse(option, text,
					 "NOSHUFFLE, SHUFFLE or BITSHUFFLE");
	return set_filters(option, encoding, i ? text : "none");
}

int cli_encoding_take_environment(struct cli_encoding *encoding)
{
	struct cli_encoding *s = encoding;
	const struct {
		const char *name;
		cli_option_fn *store;
		bool is_said;
	} rows[] = {
		{"BLOSC_CLEVEL", set_clevel, s->has_clevel},
		{"BLOSC_COMPRESSOR", set_codec, s->has_codec},
		{"BLOSC_SHUFFLE", set_shuffle, s->has_filters},
		{"BLOSC_TYPESIZE", set_typesize, s->has_typesize},
		{"BLOSC_BLOCKSIZE", set_blocksize, s->has_blocksize},
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !err; i++) {
		const struct cli_option option = {.name = rows[i].name};
		const char *value =
			rows[i].is_said ? NULL : cli_option_environment(&option);

		if (value)
			err = rows[i].store(&option, s, value);
		if (err)
			cli_message_error("%s: it is set in the environment",
					  option.name);
	}
	return err;
}

void cli_encoding_apply(const struct cli_encoding *encoding,
			struct b2f_settings *to)
{
	const struct b2f_settings *v = &encoding->values;
	int32_t typesize;

	if (encoding->has_codec) {
		to->codec = v->codec;
		to->codec_meta = v->codec_meta;
	}
	if (encoding->has_clevel)
		to->clevel = v->clevel;
	if (encoding->has_filters) {
		memcpy(to->filters, v->filters, B2F_SLOTS);
		memcpy(to->filters_meta, v->filters_meta, B2F_SLOTS);
	}
	if (encoding->has_typesize)
		to->typesize = v->typesize;
	if (encoding->has_chunksize)
		to->chunksize = v->chunksize;
	if (encoding->has_blocksize)
		to->blocksize = v->blocksize;
	typesize = (int32_t)to->typesize;
	if (to->chunksize > typesize)
		to->chunksize -= to->chunksize % typesize;
	else if (to->chunksize > 0)
		to->chunksize = typesize;
}

struct b2f_settings cli_encoding_scratch(const struct b2f_settings *settings)
{
	struct b2f_settings fast = b2f_settings_default();

	fast.codec = CODEC_LZ4;
	fast.clevel = 1;
	fast.typesize = settings->typesize;
	/* @settings may have small chunks, and a frame has a file per chunk. */
	fast.chunksize = SCRATCH_CHUNKSIZE;
	if (fast.typesize < SCRATCH_CHUNKSIZE)
		fast.chunksize -= SCRATCH_CHUNKSIZE % (int32_t)fast.typesize;
	else
		fast.chunksize = (int32_t)fast.typesize;
	memset(fast.filters, 0, B2F_SLOTS);
	fast.filters[B2F_SLOTS - 1] = SHUFFLE;
	return fast;
}
