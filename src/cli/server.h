/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server.h - connections to servers, and frames there: s3://BUCKET/KEY,
 * http://, https://
 *
 * Keys and the endpoint of buckets come from AWS_* and ~/.aws.  All of these
 * print the cause on stderr if they fail.
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

/* Further rows of the commands that store objects. */
extern const struct cli_option cli_server_new_object_options[];

/* Rows of commands that read frames, in place of cli_server_options. */
extern const struct cli_option cli_server_reading_options[];

/*
 * Makes the remote of @url with the user's keys; free with b2f_remote_free().
 */
B2F_MUST_CHECK
int cli_server_connect(const char *url, struct b2f_remote **out);

static inline void cli_server_end(struct b2f_remote **remote)
{
	b2f_remote_free(*remote);
}

/* Frees the remote that a variable has at the end of its block. */
#define CLI_OWN_REMOTE __attribute__((cleanup(cli_server_end)))

/*
 * Like cli_server_connect(), for the directory of the object @url to write, or
 * of its bucket; *@path is the rest of @url, from a slash on.  -EROFS: a web
 * server.
 */
B2F_MUST_CHECK
int cli_server_connect_above(const char *url, struct b2f_remote **out,
			     const char **path);

/*
 * Gets the attributes of the object @url, or of the frame's index, with the
 * mode of a new file.
 */
B2F_MUST_CHECK
int cli_server_stat(const char *url, struct stat *out);

/* Like cli_server_stat(), for @version of an object. */
void cli_server_attributes(const struct b2f_remote_stat *version,
			     struct stat *st);

/*
 * Like cli_frames_open(), for the frame @url, not one in a pack.  Also returns
 * errors of requests (b2frame/remote.h).
 */
B2F_MUST_CHECK
int cli_server_open(const struct b2f_frame_options *how, const char *url,
		    struct b2f_frame **out);

#endif
