/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bloscpack.h - common to all commands that make Bloscpack files
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_BLOSCPACK_H
#define B2F_CLI_BLOSCPACK_H

#include "b2frame/create.h"
#include "cli/options.h"

/* A row whose field is a const char *, the name of a checksum. */
extern const struct cli_option cli_bloscpack_options[];

/*
 * Settings of a temporary frame from which a Bloscpack file with @settings is
 * made: fast to encode, equal otherwise.
 */
struct b2f_settings cli_bloscpack_scratch(const struct b2f_settings *settings);

#endif
