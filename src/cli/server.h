/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server.h - servers, as the user and the environment say
 *
 * Keys and the server of the buckets come from AWS_* and ~/.aws.  All of these say on
 * stderr why they failed.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_SERVER_H
#define B2F_CLI_SERVER_H

#include <sys/stat.h>

#include "b2frame/b2frame.h"
#include "cli/options.h"

/* Rows of all commands that take URLs, whatever struct they fill. */
extern const struct cli_option cli_server_options[];

/* These, and those of commands that read frames. */
extern const struct cli_option cli_server_reading_options[];

/* The remote of @url, as the environment says; free it with b2f_remote_free(). */
B2F_MUST_CHECK
int cli_server_connect(const char *url, struct b2f_remote **out);

/*
 * Attributes of the object @url, or of the index of the frame; the mode is that of a
 * new file.
 */
B2F_MUST_CHECK
int cli_server_stat(const char *url, struct stat *out);

/* The same of the version @version of an object. */
void cli_server_attributes(const struct b2f_remote_stat *version,
			     struct stat *st);

#endif
