/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encoding.h - options that say how data are encoded
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_ENCODING_H
#define B2F_CLI_ENCODING_H

#include <getopt.h>
#include <stdbool.h>

#include "b2frame/create.h"

enum {
	CLI_ENCODING_CODEC = 1024,
	CLI_ENCODING_FILTER,
	CLI_ENCODING_TYPESIZE,
	CLI_ENCODING_CHUNKSIZE,
	CLI_ENCODING_BLOCKSIZE,
};

/* For getopt_long(): the levels, and the long options. */
#define CLI_ENCODING_SHORT "123456789"
#define CLI_ENCODING_LONG                                                      \
	{"codec", required_argument, NULL, CLI_ENCODING_CODEC},                \
		{"filter", required_argument, NULL, CLI_ENCODING_FILTER},      \
		{"typesize", required_argument, NULL, CLI_ENCODING_TYPESIZE},  \
		{"chunksize", required_argument, NULL,                         \
		 CLI_ENCODING_CHUNKSIZE},                                      \
	{                                                                      \
		"blocksize", required_argument, NULL, CLI_ENCODING_BLOCKSIZE   \
	}

/* Their part of the text of --help. */
#define CLI_ENCODING_HELP                                                      \
	"  -1 ... -9             compression level (default: 5)\n"             \
	"      --codec=NAME      zstd (default), lz4, lz4hc, blosclz or "      \
	"zlib\n"                                                               \
	"      --filter=LIST     shuffle (default), bitshuffle, delta, "       \
	"bytedelta,\n"                                                         \
	"                        none; several in their order: a,b\n"          \
	"      --typesize=N      bytes of an item, or auto (default)\n"        \
	"      --chunksize=N     bytes of a chunk (default: 1m)\n"             \
	"      --blocksize=N     bytes of a block (default: automatic)\n"

/* What the user said; zero-initialize it. */
struct cli_encoding {
	struct b2f_settings values;
	bool has_codec;
	bool has_clevel;
	bool has_filters;
	bool has_typesize;
	bool has_chunksize;
	bool has_blocksize;
	/* Guess it from the data. */
	bool guess_typesize;
};

/* True if @opt is one of those above. */
bool cli_encoding_has(int opt);

/*
 * Takes option @opt with the value @arg.  Returns 0, or -EINVAL after saying
 * what is wrong with it.
 */
__attribute__((warn_unused_result)) int
cli_encoding_option(struct cli_encoding *encoding, int opt, const char *arg);

/*
 * Puts what the user said into @to.  A chunk size becomes a whole number of
 * items, at least one.
 */
void cli_encoding_apply(const struct cli_encoding *encoding,
			struct b2f_settings *to);

#endif
