/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aws_settings.h - reads the settings in AWS_* and in the files of ~/.aws
 *
 * The profile's section in "credentials" overrides its section in "config".
 * The sections that it names ("services", "sso_session") are read, too.  The
 * environment is ignored if the program has more rights than its caller.
 *
 * Layer: words.  Threads: any, as no program changes its environment.
 */
#ifndef B2F_WORDS_AWS_SETTINGS_H
#define B2F_WORDS_AWS_SETTINGS_H

#include <stdbool.h>

#include "words/aws.h"

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

/* Returns the environment variable @name; NULL if it is empty or not set. */
const char *b2f_aws_environment(const char *name);

/*
 * Reads the files; @profile is an option, or NULL.  Free *@out with
 * b2f_aws_settings_free().  Returns 0; or with @reason set -ENOENT (no such
 * profile), -ENOMEM or an errno of a file that cannot be read.
 */
int b2f_aws_settings_read(const char *profile, struct b2f_aws_settings **out,
			  char reason[B2F_AWS_REASON]);

/* Frees @settings, and wipes secrets from memory.  NULL does nothing. */
void b2f_aws_settings_free(struct b2f_aws_settings *settings);

#endif
