/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aws_flows.h - the ways to keys of an object store
 *
 * The sources are tried in the order of the AWS tools; the first source that is
 * configured counts, even if it fails:
 *
 *   environment   AWS_ACCESS_KEY_ID, unless a profile was named by option
 *   web identity  AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, likewise: STS
 *                 (AssumeRoleWithWebIdentity) gives keys of the role for the
 *                 token in the file
 *   profile       its own keys; web_identity_token_file; SSO: keys of the role
 *                 for the token that "aws sso login" left in ~/.aws/sso/cache;
 *                 credential_process: the keys that a program prints
 *   container     AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI
 *                 (ECS, EKS)
 *   instance      IMDSv2 of EC2: a token, the role of the instance, its keys
 *
 * When keys expire, the same source is asked again, never another.
 *
 * Layer: words.  Threads: any.  All functions may block: a second if no
 * instance answers, a minute for a credential_process.
 */
#ifndef B2F_WORDS_AWS_FLOWS_H
#define B2F_WORDS_AWS_FLOWS_H

#include "b2frame/remote.h"
#include "words/aws.h"

struct b2f_aws_flow {
	const struct b2f_aws_settings *settings;
	/* For STS. */
	const char *region;
	/* The results: keys, or why there are none (B2F_AWS_REASON bytes). */
	struct b2f_remote_keys *keys;
	char *reason;
};

/*
 * Takes the keys of the first configured source.  Returns the number of the
 * source; B2F_AWS_NONE if none is configured, with the names of all sources in
 * *@tried, malloc'ed; or with the reason set -EINVAL, -EOPNOTSUPP, -EACCES or
 * -ENOMEM as b2f_aws_read().
 */
#define B2F_AWS_NONE 100
int b2f_aws_flow_first(const struct b2f_aws_flow *flow, char **tried);

/* Asks @source again.  Returns 0, or a negative errno with the reason set. */
int b2f_aws_flow_again(const struct b2f_aws_flow *flow, int source);

/* Frees the members of @keys, and wipes them from memory. */
void b2f_aws_keys_fini(struct b2f_remote_keys *keys);

#endif
