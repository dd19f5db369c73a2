/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aws_flows.h - the ways to keys of an object store
 *
 * The sources are tried in the order of the tools of AWS; the first source that is
 * there counts, also if it fails:
 *
 *   environment   AWS_ACCESS_KEY_ID, unless a profile was named by option
 *   web identity  AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, likewise: the token in
 *                 the file for keys of the role, by AssumeRoleWithWebIdentity of STS
 *   profile       its own keys; web_identity_token_file; SSO: the token that "aws sso
 *                 login" has left in ~/.aws/sso/cache, for keys of the role;
 *                 credential_process: what that prints
 *   container     AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI (ECS, EKS)
 *   instance      IMDSv2 of EC2: a token, the role of the instance, its keys
 *
 * When keys expire, the same source is asked again, and no other.
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
};

/*
 * Takes the keys of the first source.  Returns which one it is; B2F_AWS_NONE if there
 * is none, then *@tried, malloc'ed, names them all; with @reason set -EINVAL,
 * -EOPNOTSUPP, -EACCES or -ENOMEM as b2f_aws_read().
 */
#define B2F_AWS_NONE 100
int b2f_aws_flow_first(const struct b2f_aws_flow *flow,
		       struct b2f_remote_keys *out, char **tried,
		       char reason[B2F_AWS_REASON]);

/* Asks @source again.  Returns 0, or a negative errno with @reason set. */
int b2f_aws_flow_again(const struct b2f_aws_flow *flow, int source,
		       struct b2f_remote_keys *out,
		       char reason[B2F_AWS_REASON]);

/* Frees the members of @keys, and wipes them from memory. */
void b2f_aws_keys_fini(struct b2f_remote_keys *keys);

#endif
