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

/* Rows for struct cli_encoding; and those of a frame that keeps its settings. */
extern const struct cli_option cli_encoding_options[];
extern const struct cli_option cli_encoding_kept_options[];

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
