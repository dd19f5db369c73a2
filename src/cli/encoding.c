/* SPDX-License-Identifier: BSD-3-Clause */
/* encoding.c - options for the encoding of data */
#include "cli/encoding.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "cli/message.h"
#include "words/value.h"

/* The code of LZ4 (b2f_codec_code_name()), and the id of shuffle. */
#define CODEC_LZ4 1
#define SHUFFLE	  1

/* Decoded bytes of a chunk of a temporary frame. */
#define SCRATCH_CHUNKSIZE (1 << 20)

/*
 * Sets what @text says in @to; returns NULL, or what it should have been, as
 * "a size".
 */
typedef const char *put_fn(const char *text, struct b2f_settings *to);

/* Level 0 compresses nothing. */
static const char *put_clevel(const char *text, struct b2f_settings *to)
{
	int64_t level = 0;

	if (b2f_value_number(text, 10, 9, &level))
		return "a level, 0 to 9";
	to->clevel = (uint8_t)level;
	return NULL;
}

static const char *put_codec(const char *text, struct b2f_settings *to)
{
	int64_t codec = 0;

	if (b2f_value_codec(text, &codec))
		return "zstd, lz4, lz4hc, blosclz or zlib";
	to->codec = (uint8_t)codec;
	to->codec_meta = 0;
	return NULL;
}

static const char *put_filters(const char *text, struct b2f_settings *to)
{
	return b2f_value_filters(text, to->filters, to->filters_meta)
		       ? "a list of shuffle, bitshuffle, bytedelta; or none"
		       : NULL;
}

/* The limit of the format. */
#define MAX_CHUNK (INT32_MAX - 32)

/* Parses a size of @min to @max bytes; else it is @what. */
static const char *parse_size(const char *text, int64_t min, int64_t max,
			      const char *what, uint32_t *out)
{
	int64_t size = 0;

	if (b2f_value_size(text, &size))
		return what;
	*out = (uint32_t)size;
	return size < min || size > max ? "a possible size" : NULL;
}

static bool is_auto(const char *text)
{
	return text && strcmp(text, "auto") == 0;
}

static const char *put_typesize(const char *text, struct b2f_settings *to)
{
	to->typesize = 1;
	return is_auto(text) ? NULL
			     : parse_size(text, 1, MAX_CHUNK, "a size, or auto",
					  &to->typesize);
}

static const char *put_chunksize(const char *text, struct b2f_settings *to)
{
	uint32_t size = 0;
	const char *wanted = parse_size(text, 1, MAX_CHUNK, "a size", &size);

	to->chunksize = (int32_t)size;
	return wanted;
}

static const char *put_blocksize(const char *text, struct b2f_settings *to)
{
	return parse_size(text, 0, B2F_BLOCKSIZE_MAX, "a size", &to->blocksize);
}

static const struct {
	put_fn *put;
	/* The variable of python-blosc2; NULL: none. */
	const char *variable;
} parts[] = {
	[CLI_CLEVEL] = {put_clevel, "BLOSC_CLEVEL"},
	[CLI_CODEC] = {put_codec, "BLOSC_COMPRESSOR"},
	[CLI_FILTERS] = {put_filters, "BLOSC_SHUFFLE"},
	[CLI_TYPESIZE] = {put_typesize, "BLOSC_TYPESIZE"},
	[CLI_CHUNKSIZE] = {put_chunksize, NULL},
	[CLI_BLOCKSIZE] = {put_blocksize, "BLOSC_BLOCKSIZE"},
};

const char *cli_encoding_check(const struct cli_option *option,
			       enum cli_encoding_part part, const char *text)
{
	static const char *const levels[] = {"0", "1", "2", "3", "4",
					     "5", "6", "7", "8", "9"};
	struct b2f_settings unused;
	const char *wanted;

	text = text ? text : levels[option->letter - '0'];
	wanted = parts[part].put(text, &unused);
	if (wanted)
		(void)cli_option_refuse(option, text, wanted);
	return wanted ? NULL : text;
}

#define SAID(part) ((part) * sizeof(const char *))

static int set(const struct cli_option *option, void *said, const char *text)
{
	enum cli_encoding_part part =
		(enum cli_encoding_part)(option->field / sizeof(text));

	text = cli_encoding_check(option, part, text);
	*(const char **)said = text;
	return text ? 0 : -EINVAL;
}

#define ROWS(level, codec, filter, typesize, chunk, block)                     \
	{                                                                      \
		CLI_OPTION(NULL, '1', NULL, set, SAID(CLI_CLEVEL),             \
			   "compression level" level),                         \
			CLI_OPTION("clevel", 0, "N", set, SAID(CLI_CLEVEL),    \
				   "the same, 0 (stored) to 9"),               \
			CLI_OPTION("codec", 0, "NAME", set, SAID(CLI_CODEC),   \
				   "zstd" codec                                \
				   ", lz4, lz4hc, blosclz or zlib"),           \
			CLI_OPTION(                                            \
				"filter", 0, "LIST", set, SAID(CLI_FILTERS),   \
				"shuffle" filter ", bitshuffle, bytedelta,\n"  \
				"none; several in their order: a,b"),          \
			CLI_OPTION("typesize", 0, "N", set,                    \
				   SAID(CLI_TYPESIZE),                         \
				   "bytes of an item, or auto" typesize),      \
			CLI_OPTION("chunksize", 0, "N", set,                   \
				   SAID(CLI_CHUNKSIZE),                        \
				   "bytes of a chunk" chunk),                  \
			CLI_OPTION("blocksize", 0, "N", set,                   \
				   SAID(CLI_BLOCKSIZE),                        \
				   "bytes of a block, 0: automatic" block),    \
			{0},                                                   \
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

/* The words of C-Blosc2 for a filter; NULL, after a message: no such word. */
static const char *filter_of(const struct cli_option *option, const char *text)
{
	static const char *const words[] = {"NOSHUFFLE", "SHUFFLE",
					    "BITSHUFFLE", NULL};
	int64_t i;

	if (b2f_value_choice(text, words, &i)) {
		(void)cli_option_refuse(option, text,
					"NOSHUFFLE, SHUFFLE or BITSHUFFLE");
		return NULL;
	}
	return i ? text : "none";
}

int cli_encoding_take_environment(struct cli_encoding *encoding)
{
	for (int part = 0; part < CLI_ENCODING_PARTS; part++) {
		const struct cli_option option = {.name = parts[part].variable,
						  .field = SAID((size_t)part)};
		const char **said = &encoding->said[part], *text = NULL;

		if (!*said && option.name)
			text = cli_option_environment(&option);
		if (!text)
			continue;
		if (part == CLI_FILTERS)
			text = filter_of(&option, text);
		if (!text || set(&option, said, text))
			return cli_refuse(-EINVAL,
					  "%s: it is set in the environment",
					  option.name);
	}
	return 0;
}

bool cli_encoding_guesses(const struct cli_encoding *encoding)
{
	return is_auto(encoding->said[CLI_TYPESIZE]);
}

/* Rounds the size of chunks down to whole items, at least one. */
static void round_chunksize(struct b2f_settings *to)
{
	int32_t typesize = (int32_t)to->typesize;

	if (to->chunksize > typesize)
		to->chunksize -= to->chunksize % typesize;
	else if (to->chunksize > 0)
		to->chunksize = typesize;
}

void cli_encoding_apply(const struct cli_encoding *encoding,
			struct b2f_settings *to)
{
	/* The options have checked all that was said. */
	for (int part = 0; part < CLI_ENCODING_PARTS; part++)
		if (encoding->said[part])
			(void)parts[part].put(encoding->said[part], to);
	round_chunksize(to);
}

struct b2f_settings cli_encoding_scratch(const struct b2f_settings *settings)
{
	struct b2f_settings fast = b2f_settings_default();

	fast.codec = CODEC_LZ4;
	fast.clevel = 1;
	fast.typesize = settings->typesize;
	/* @settings may have small chunks, and a frame has a file per chunk. */
	fast.chunksize = SCRATCH_CHUNKSIZE;
	round_chunksize(&fast);
	memset(fast.filters, 0, B2F_SLOTS);
	fast.filters[B2F_SLOTS - 1] = SHUFFLE;
	return fast;
}
