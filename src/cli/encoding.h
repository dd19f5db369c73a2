/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encoding.h - options that say how data are encoded
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_ENCODING_H
#define B2F_CLI_ENCODING_H

#include <stdbool.h>

#include "b2frame/create.h"
#include "cli/options.h"

/* Their part of the text of --help; the arguments say what the defaults are. */
#define CLI_ENCODING_HELP_OF(level, codec, filter, typesize, chunk, block)     \
	"  -1 ... -9             compression level" level "\n"                 \
	"      --clevel=N        the same, 0 (stored) to 9\n"                   \
	"      --codec=NAME      zstd" codec ", lz4, lz4hc, blosclz or zlib\n"  \
	"      --filter=LIST     shuffle" filter ", bitshuffle, delta, "        \
	"bytedelta,\n"                                                         \
	"                        none; several in their order: a,b\n"          \
	"      --typesize=N      bytes of an item, or auto" typesize "\n"      \
	"      --chunksize=N     bytes of a chunk" chunk "\n"                  \
	"      --blocksize=N     bytes of a block, 0: automatic" block "\n"

#define CLI_ENCODING_HELP                                                      \
	CLI_ENCODING_HELP_OF(" (default: 3)", " (default)", " (default)",      \
			     " (default)", " (default: 1m)", " (64k)")

/* A frame that is encoded anew keeps its settings. */
#define CLI_ENCODING_HELP_KEPT                                                 \
	CLI_ENCODING_HELP_OF("", "", "", "", "", "")                           \
	"                        default of all: as they are in FRAME\n"

/* Settings that the user gave; zero-initialize it. */
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

/* The rows of the levels of an option table; they have letters only. */
#define CLI_ENCODING_LEVEL(letter, store)                                      \
	{                                                                      \
		NULL, letter, no_argument, store, 0, NULL                      \
	}
#define CLI_ENCODING_LEVELS(store)                                             \
	CLI_ENCODING_LEVEL('1', store), CLI_ENCODING_LEVEL('2', store),        \
		CLI_ENCODING_LEVEL('3', store),                                \
		CLI_ENCODING_LEVEL('4', store),                                \
		CLI_ENCODING_LEVEL('5', store),                                \
		CLI_ENCODING_LEVEL('6', store),                                \
		CLI_ENCODING_LEVEL('7', store),                                \
		CLI_ENCODING_LEVEL('8', store), CLI_ENCODING_LEVEL('9', store)

/* Rows for struct cli_encoding, as in the text above. */
extern const struct cli_option cli_encoding_options[];

/*
 * Takes what the user did not say from BLOSC_CLEVEL, BLOSC_COMPRESSOR,
 * BLOSC_SHUFFLE, BLOSC_TYPESIZE and BLOSC_BLOCKSIZE, which python-blosc2
 * honours for the chunks it makes.  Returns 0, or -EINVAL after saying which one makes
 * no sense.
 */
B2F_MUST_CHECK
int cli_encoding_take_environment(struct cli_encoding *encoding);

/*
 * Puts what the user said into @to.  A chunk size becomes a whole number of
 * items, at least one.
 */
void cli_encoding_apply(const struct cli_encoding *encoding,
			struct b2f_settings *to);

#endif
