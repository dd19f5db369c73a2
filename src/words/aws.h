/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aws.h - keys, region and endpoint of an object store: AWS_*, ~/.aws
 *
 * In the order of the AWS tools: the options, the environment, then the profile
 * in the files "credentials" and "config".  The keys are those of the first
 * source that has any (aws_flows.h).  Without any key, requests are not signed,
 * as for public buckets.
 *
 * Layer: words, below both programs.  Threads: as told below.
 */
#ifndef B2F_WORDS_AWS_H
#define B2F_WORDS_AWS_H

#include <stdbool.h>
#include <stddef.h>

#include "b2frame/remote.h"

/* Size of the reason for a failure. */
#define B2F_AWS_REASON 600

struct b2f_aws_settings;

/* Values of options; NULL: not given. */
struct b2f_aws_options {
	const char *profile;
	const char *region;
	const char *endpoint;
	/* Take no keys, whatever is said of them elsewhere. */
	bool no_keys;
	/*
	 * See struct b2f_remote_options; and a file of 32 bytes, the key of
	 * SSE-C.
	 */
	bool request_payer;
	const char *sse;
	const char *sse_kms_key;
	const char *sse_c_key;
};

/* NULL: not given, but a region is always.  All malloc'ed. */
struct b2f_aws {
	/* The options, which outlive it; and the key of SSE-C. */
	struct b2f_aws_options given;
	uint8_t sse_c_key[B2F_REMOTE_SSE_C_SIZE];
	char *region;
	char *endpoint;
	struct b2f_remote_keys keys;
	/* The source of the keys (aws_flows.h). */
	int source;
	/* Without keys: where there were none; NULL: none were wanted. */
	char *tried;
	struct b2f_aws_settings *settings;
};

/*
 * Reads all of it into *@out, which is set in any case and freed with
 * b2f_aws_fini().  A file that is not there says nothing.  May ask servers, and run
 * a program.
 *
 * Returns 0; or with @reason set -EINVAL (a key without its secret, or the reverse;
 * the file is no key), -ENOENT (no such profile), -EOPNOTSUPP (the profile gets its keys in another way),
 * -ENOMEM, an errno of a file that cannot be read, or -EACCES (a source of keys has
 * none now).  No @reason has a key.
 */
int b2f_aws_read(const struct b2f_aws_options *options, struct b2f_aws *out,
		 char reason[B2F_AWS_REASON]);

/*
 * Tells @options of all of it: strings of @aws, which has to outlive the remote that
 * is made of them, as it renews the keys: from any thread, several at once.
 */
void b2f_aws_fill(const struct b2f_aws *aws,
		  struct b2f_remote_options *options);

/* Frees the members of @aws, and wipes secrets from memory. */
void b2f_aws_fini(struct b2f_aws *aws);

#endif
