/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encoding.h - options for the encoding of data
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_ENCODING_H
#define B2F_CLI_ENCODING_H

#include <stdbool.h>

#include "b2frame/create.h"
#include "cli/options.h"

enum cli_encoding_part {
	CLI_CLEVEL,
	CLI_CODEC,
	CLI_FILTERS,
	CLI_TYPESIZE,
	CLI_CHUNKSIZE,
	CLI_BLOCKSIZE,
	CLI_ENCODING_PARTS,
};

/* The user's checked words; NULL: not given.  Zero-initialize it. */
struct cli_encoding {
	const char *said[CLI_ENCODING_PARTS];
};

/*
 * Rows for struct cli_encoding: for new frames; for a frame that keeps its
 * settings.
 */
extern const struct cli_option cli_encoding_options[];
extern const struct cli_option cli_encoding_kept_options[];

/* A row whose field is a const char *: the checksum of a Bloscpack file. */
extern const struct cli_option cli_encoding_checksum[];

/*
 * Checks @text, the value of @option for @part; NULL: the letter of @option is
 * a level.  Returns the text, or NULL after a message.
 */
const char *cli_encoding_check(const struct cli_option *option,
			       enum cli_encoding_part part, const char *text);

/* Is the item size to be guessed from the data? */
bool cli_encoding_guesses(const struct cli_encoding *encoding);

/*
 * Settings of a temporary frame from which a Bloscpack file with @settings is
 * made: fast to encode, equal otherwise.
 */
struct b2f_settings cli_encoding_scratch(const struct b2f_settings *settings);

/*
 * Takes settings that no option gave from BLOSC_CLEVEL, BLOSC_COMPRESSOR,
 * BLOSC_SHUFFLE, BLOSC_TYPESIZE and BLOSC_BLOCKSIZE, as python-blosc2 does.
 * Returns 0, or -EINVAL after naming the malformed variable.
 */
B2F_MUST_CHECK
int cli_encoding_take_environment(struct cli_encoding *encoding);

/*
 * Overrides @to with the given settings.  A chunk size is rounded down to whole
 * items, at least one.
 */
void cli_encoding_apply(const struct cli_encoding *encoding,
			struct b2f_settings *to);

#endif
