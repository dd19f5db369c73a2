/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aws.h - where the user of an object store says who and where: AWS_*, ~/.aws
 *
 * As the tools of AWS take them: what was given by option, else the environment,
 * else the profile in the files "credentials" and "config".  Without any key,
 * requests are not signed, as for public buckets.
 *
 * Layer: words, below both programs.  Threads: main only, before there are others.
 */
#ifndef B2F_WORDS_AWS_H
#define B2F_WORDS_AWS_H

#include <stdbool.h>
#include <stddef.h>

/* Size of the reason for a failure. */
#define B2F_AWS_REASON 600

/* What was given by option; NULL: nothing. */
struct b2f_aws_options {
	const char *profile;
	const char *region;
	const char *endpoint;
	/* Take no keys, whatever is said of them elsewhere. */
	bool no_keys;
};

/* NULL: not given, but a region is always.  All malloc'ed. */
struct b2f_aws {
	char *access_key;
	char *secret_key;
	char *session_token;
	char *region;
	char *endpoint;
};

/*
 * Reads all of it into *@out, which is set in any case and freed with
 * b2f_aws_fini().  A file that is not there says nothing.
 *
 * Returns 0; or with @reason set -EINVAL (a key without its secret), -ENOENT
 * (no such profile), -EOPNOTSUPP (the profile gets its keys by another program),
 * -ENOMEM or an errno of a file that cannot be read.  No @reason has a key.
 */
int b2f_aws_read(const struct b2f_aws_options *options, struct b2f_aws *out,
		 char reason[B2F_AWS_REASON]);

/* Frees what is in @aws, of which nothing secret stays in memory. */
void b2f_aws_fini(struct b2f_aws *aws);

#endif
