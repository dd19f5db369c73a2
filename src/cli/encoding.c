/* SPDX-License-Identifier: BSD-3-Clause */
/* encoding.c - options that say how data are encoded */
#include "cli/encoding.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/names.h"
#include "cli/message.h"

/* Codes of the codecs that are built in: see b2f_codec_code_name(). */
static const uint8_t codecs[] = {0, 1, 2, 4, 5};

/* Ids of the filters that lose nothing and need nothing but bytes. */
static const uint8_t filters[] = {1, 2, 3, 35};

#define NCODECS	 (sizeof(codecs) / sizeof(codecs[0]))
#define NFILTERS (sizeof(filters) / sizeof(filters[0]))

static int set_codec(const struct cli_option *option, void *encoding,
		     const char *name)
{
	struct cli_encoding *s = encoding;

	for (size_t i = 0; i < NCODECS; i++) {
		if (strcmp(b2f_codec_code_name(codecs[i]), name) == 0) {
			s->values.codec = codecs[i];
			s->values.codec_meta = 0;
			s->has_codec = true;
			return 0;
		}
	}
	return cli_option_refuse(option, name,
				 "zstd, lz4, lz4hc, blosclz or zlib");
}

/* One filter, "NAME" or "NAME:NUMBER", of @len characters. */
static int parse_filter(const char *text, size_t len, uint8_t *id,
			uint8_t *meta)
{
	const char *colon = memchr(text, ':', len);
	size_t name_len = colon ? (size_t)(colon - text) : len;
	unsigned long value = 0;
	char *end;

	for (size_t i = 0; i < NFILTERS; i++) {
		const char *name = b2f_filter_name(filters[i]);

		if (strlen(name) != name_len || memcmp(name, text, name_len))
			continue;
		if (colon) {
			if (colon[1] < '0' || colon[1] > '9')
				return -EINVAL;
			value = strtoul(colon + 1, &end, 10);
			/* To python-blosc2 it is signed. */
			if (end != text + len || value > INT8_MAX)
				return -EINVAL;
		}
		*id = filters[i];
		*meta = (uint8_t)value;
		return 0;
	}
	return -EINVAL;
}

static int refuse_list(const struct cli_option *option, const char *list)
{
	return cli_option_refuse(option, list,
				 "a list of shuffle, bitshuffle, delta, "
				 "bytedelta; or none");
}

/* They take the last slots, as C-Blosc2 places a single filter. */
static int set_filters(const struct cli_option *option, void *encoding,
		       const char *list)
{
	struct cli_encoding *s = encoding;
	uint8_t ids[B2F_SLOTS] = {0}, metas[B2F_SLOTS] = {0};
	const char *at = list;
	size_t n = 0, len;

	if (strcmp(list, "none") != 0) {
		for (;; at += len + 1) {
			len = strcspn(at, ",");
			if (n == B2F_SLOTS ||
			    parse_filter(at, len, &ids[n], &metas[n]))
				return refuse_list(option, list);
			n++;
			if (!at[len])
				break;
		}
	}
	memset(s->values.filters, 0, B2F_SLOTS);
	memset(s->values.filters_meta, 0, B2F_SLOTS);
	memcpy(s->values.filters + B2F_SLOTS - n, ids, n);
	memcpy(s->values.filters_meta + B2F_SLOTS - n, metas, n);
	s->has_filters = true;
	return 0;
}

/* A size that the format can hold, from @min on. */
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
	int err = 0;

	s->guess_typesize = strcmp(text, "auto") == 0;
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

static int set_level(const struct cli_option *option, void *encoding,
		     const char *value)
{
	struct cli_encoding *s = encoding;

	(void)value;
	s->values.clevel = (uint8_t)(option->letter - '0');
	s->has_clevel = true;
	return 0;
}

/* --clevel and BLOSC_CLEVEL; level 0 compresses nothing. */
static int set_clevel(const struct cli_option *option, void *encoding,
		      const char *text)
{
	struct cli_encoding *s = encoding;

	if (strlen(text) != 1 || text[0] < '0' || text[0] > '9')
		return cli_option_refuse(option, text, "a level, 0 to 9");
	s->values.clevel = (uint8_t)(text[0] - '0');
	s->has_clevel = true;
	return 0;
}

const struct cli_option cli_encoding_options[] = {
	CLI_ENCODING_LEVELS(set_level),
	{"clevel", 0, required_argument, set_clevel, 0, NULL},
	{"codec", 0, required_argument, set_codec, 0, NULL},
	{"filter", 0, required_argument, set_filters, 0, NULL},
	{"typesize", 0, required_argument, set_typesize, 0, NULL},
	{"chunksize", 0, required_argument, set_chunksize, 0, NULL},
	{"blocksize", 0, required_argument, set_blocksize, 0, NULL},
	{0},
};

/* BLOSC_SHUFFLE, in the words of C-Blosc2. */
static int set_shuffle(const struct cli_option *option, void *encoding,
		       const char *text)
{
	static const struct {
		const char *word;
		const char *list;
	} words[] = {{"NOSHUFFLE", "none"},
		     {"SHUFFLE", "shuffle"},
		     {"BITSHUFFLE", "bitshuffle"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].word, text) == 0)
			return set_filters(option, encoding, words[i].list);
	return cli_option_refuse(option, text,
				 "NOSHUFFLE, SHUFFLE or BITSHUFFLE");
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
