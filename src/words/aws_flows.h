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

#include <stdbool.h>
#include <stdlib.h>

#include "b2frame/remote.h"
#include "words/aws.h"

/* Settings of a profile: in AWS_*, and in the files of ~/.aws. */
enum b2f_aws_setting {
	B2F_AWS_ACCESS_KEY,
	B2F_AWS_SECRET_KEY,
	B2F_AWS_SESSION_TOKEN,
	B2F_AWS_REGION,
	B2F_AWS_ENDPOINT,
	B2F_AWS_SERVICES,
	B2F_AWS_S3_ENDPOINT,
	B2F_AWS_STS_ENDPOINT,
	B2F_AWS_SSO_ENDPOINT,
	B2F_AWS_PROCESS,
	B2F_AWS_ROLE,
	B2F_AWS_ROLE_SESSION,
	B2F_AWS_TOKEN_FILE,
	B2F_AWS_SSO_SESSION,
	B2F_AWS_SSO_START_URL,
	B2F_AWS_SSO_REGION,
	B2F_AWS_SSO_ACCOUNT,
	B2F_AWS_SSO_ROLE,
	B2F_AWS_NSETTINGS,
};

struct b2f_aws_settings {
	/* NULL: not set. */
	char *of[B2F_AWS_NSETTINGS];
	/* The name of the profile. */
	char *profile;
	/* An option names the profile: keys in the environment do not count. */
	bool by_option;
	/*
	 * credential_process stands in a file that others own or may write to.
	 */
	bool is_foreign;
};

/*
 * Returns the environment variable @name; NULL if it is empty or not set, or if
 * the program has more rights than its caller.
 */
static inline const char *b2f_aws_environment(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

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
