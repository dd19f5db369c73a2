/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bloscpack.h - what commands that make Bloscpack files have in common
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_BLOSCPACK_H
#define B2F_CLI_BLOSCPACK_H

#include "b2frame/create.h"
#include "cli/options.h"

/* The line of --help about --checksum. */
#define CLI_BLOSCPACK_HELP                                                     \
	"      --checksum=SUM    in it: none, adler32 (default), crc32, md5, " \
	"sha1,\n                        sha224, sha256, sha384 or sha512\n"

/* A const char *: the name of a checksum. */
cli_option_fn cli_bloscpack_checksum;

/*
 * Settings of a frame that lives only until a file with @settings is made of it:
 * fast, and alike else.
 */
struct b2f_settings cli_bloscpack_scratch(const struct b2f_settings *settings);

#endif
