/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aws.h - keys, region and endpoint of an object store: AWS_*, ~/.aws
 *
 * In the order of the AWS tools: the options, the environment, then the profile
 * in the files "credentials" and "config", of which the first overrides the
 * second; sections that it names ("services", "sso_session") are read, too. The
 * environment is ignored if the program has more rights than its caller.  The
 * keys come from the first source that is configured (aws_flows.h).  Without
 * any key, requests are not signed, as for public buckets.
 *
 * Layer: words, below both programs.  Threads: any, but one struct b2f_aws is
 * read and freed by one thread.
 */
#ifndef B2F_WORDS_AWS_H
#define B2F_WORDS_AWS_H

#include <stdbool.h>

#include "b2frame/remote.h"

/* Size of the reason for a failure. */
#define B2F_AWS_REASON 600

struct b2f_aws_settings;

/* Values of options; NULL: not given. */
struct b2f_aws_options {
	const char *profile;
	const char *region;
	const char *endpoint;
	/* Take no keys, whatever the environment and the files say. */
	bool no_keys;
	/*
	 * See struct b2f_remote_options; @sse_c_key is the path of a file of 32
	 * bytes.
	 */
	bool request_payer;
	const char *sse;
	const char *sse_kms_key;
	const char *sse_c_key;
};

/*
 * Settings of an object store.  A string is NULL if it is not configured; the
 * region always is.
 */
struct b2f_aws {
	/*
	 * A copy of the options, whose strings have to outlive this; and the
	 * key of SSE-C.
	 */
	struct b2f_aws_options given;
	uint8_t sse_c_key[B2F_REMOTE_SSE_C_SIZE];
	char *region;
	char *endpoint;
	struct b2f_remote_keys keys;
	/* The source of the keys (aws_flows.h). */
	int source;
	/*
	 * Without keys: the sources that had none, as text; NULL if no keys
	 * were wanted.
	 */
	char *tried;
	struct b2f_aws_settings *settings;
};

/*
 * Reads all settings into *@out, which is set in any case and freed with
 * b2f_aws_fini().  A missing file counts as empty.  May ask servers, and run a
 * program.
 *
 * Returns 0; or with @reason set -EINVAL (a key without its secret, or the
 * reverse; the file is no key), -ENOENT (no such profile), -EOPNOTSUPP (the
 * profile gets its keys in a way that is not supported), -ENOMEM, -EACCES (the
 * configured source of keys gave none), or an errno of a file that cannot be
 * read.  @reason never has a key.
 */
int b2f_aws_read(const struct b2f_aws_options *options, struct b2f_aws *out,
		 char reason[B2F_AWS_REASON]);

/*
 * Fills @options in with the way to the server of @url (way.h), with strings of
 * @aws (NULL: it is no object store), and with a function that renews its keys,
 * from several threads at once.  So @aws has to outlive the remote that is made
 * with @options.
 */
void b2f_aws_fill(const struct b2f_aws *aws, const char *url,
		  struct b2f_remote_options *options);

/* Frees the members of @aws, and wipes secrets from memory. */
void b2f_aws_fini(struct b2f_aws *aws);

#endif
