/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * from_url.h - frames on servers: s3://BUCKET/KEY, http://, https://
 *
 * Keys and the server of the buckets come from AWS_* and ~/.aws.  A path that
 * leads into a pack (.../x.b2z/KEY) is a frame in it.  All of these print the
 * cause on stderr if they fail.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_FROM_URL_H
#define B2F_CLI_FROM_URL_H

#include "b2frame/b2frame.h"
#include "cli/walk.h"

/*
 * Like cli_frames_open(). Also returns errors of requests (b2frame/remote.h).
 */
B2F_MUST_CHECK
int cli_from_url_open(const struct b2f_frame_options *how, const char *url,
		      struct b2f_frame **out);

/* Like cli_walk_run(). */
B2F_MUST_CHECK
int cli_from_url_walk(const struct cli_walk *walk, const char *url);

/* The last part of @url's path, which names results; malloc'ed. */
char *cli_from_url_name(const char *url);

/*
 * Makes the frame @url, which exists from its first commit on.  Prints -EEXIST
 * unless @quiet.
 */
B2F_MUST_CHECK
int cli_from_url_make(const struct b2f_settings *settings, const char *url,
		      bool quiet, struct b2f_frame **out);

#endif
