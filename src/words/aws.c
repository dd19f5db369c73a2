/* SPDX-License-Identifier: BSD-3-Clause */
/* aws.c - where the user of an object store says who and where: AWS_*, ~/.aws */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words/aws.h"

#define DEFAULT_REGION "us-east-1"

/* What is read out of a profile. */
struct profile {
	const char *name;
	/* It has a section. */
	bool found;
	/* How its keys are to be had, if not from the files; or NULL. */
	const char *other_way;
	struct b2f_aws *aws;
};

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Copies @value to *@field, if that is not set yet and there is a value. */
static int set(char **field, const char *value)
{
	if (*field || !value || !*value)
		return 0;
	*field = strdup(value);
	return *field ? 0 : -ENOMEM;
}

static char *trim(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	text[n] = '\0';
	return text;
}

/* Is "[@title" the section of @name?  In the config it is "[profile NAME]". */
static bool is_section(char *title, const char *name)
{
	char *end = strchr(title, ']');

	if (!end)
		return false;
	*end = '\0';
	title = trim(title);
	if (strncmp(title, "profile", 7) == 0 && strchr(" \t", title[7]) &&
	    title[7])
		title = trim(title + 7);
	return strcmp(title, name) == 0;
}

static int take_setting(struct profile *p, const char *key, const char *value)
{
	static const char *const others[] = {"credential_process",
					     "sso_session", "sso_start_url",
					     "role_arn",
					     "web_identity_token_file"};

	if (strcmp(key, "aws_access_key_id") == 0)
		return set(&p->aws->access_key, value);
	if (strcmp(key, "aws_secret_access_key") == 0)
		return set(&p->aws->secret_key, value);
	if (strcmp(key, "aws_session_token") == 0)
		return set(&p->aws->session_token, value);
	if (strcmp(key, "region") == 0)
		return set(&p->aws->region, value);
	if (strcmp(key, "endpoint_url") == 0)
		return set(&p->aws->endpoint, value);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(key, others[i]) == 0)
			p->other_way = others[i];
	return 0;
}

/* One line; @inside tells whether it is in the section of the profile. */
static int take_line(struct profile *p, char *line, bool *inside)
{
	char *value, *key;

	if (*line == '[') {
		*inside = is_section(line + 1, p->name);
		p->found |= *inside;
		return 0;
	}
	/* What is indented belongs to a setting that is none of ours. */
	value = strchr(line, '=');
	if (!*inside || !value || strchr(" \t#;", *line))
		return 0;
	*value++ = '\0';
	key = trim(line);
	return take_setting(p, key, trim(value));
}

static int read_lines(struct profile *p, FILE *f)
{
	char *line = NULL;
	bool inside = false;
	size_t room = 0;
	int err = 0;

	errno = 0;
	while (!err && getline(&line, &room, f) >= 0)
		err = take_line(p, line, &inside);
	if (!err && !feof(f))
		err = errno ? -errno : -EIO;
	if (line)
		explicit_bzero(line, room);
	free(line);
	return err;
}

/* Reads the file that @variable names, or else ~/.aws/@name. */
static int read_file(struct profile *p, const char *variable, const char *name,
		     char reason[B2F_AWS_REASON])
{
	const char *given = environment(variable), *home = environment("HOME");
	char *path = NULL;
	FILE *f = NULL;
	int err;

	if (!given && !home)
		return 0;
	if (given)
		path = strdup(given);
	else if (asprintf(&path, "%s/.aws/%s", home, name) < 0)
		path = NULL;
	if (!path)
		return -ENOMEM;
	f = fopen(path, "re");
	err = f ? read_lines(p, f) : -errno;
	if (err == -ENOENT || err == -ENOTDIR)
		err = 0;
	if (err)
		snprintf(reason, B2F_AWS_REASON, "%s: %s", path,
			 strerror(-err));
	if (f)
		fclose(f);
	free(path);
	return err;
}

/* What the environment says of keys, unless a profile was asked for by option. */
static int read_environment(const struct b2f_aws_options *o,
			    struct b2f_aws *out)
{
	const char *region = environment("AWS_REGION");
	const char *endpoint = environment("AWS_ENDPOINT_URL_S3");
	int err = 0;

	if (!o->no_keys && !o->profile && environment("AWS_ACCESS_KEY_ID")) {
		err = set(&out->access_key, environment("AWS_ACCESS_KEY_ID"));
		if (!err)
			err = set(&out->secret_key,
				  environment("AWS_SECRET_ACCESS_KEY"));
		if (!err)
			err = set(&out->session_token,
				  environment("AWS_SESSION_TOKEN"));
	}
	if (!err)
		err = set(&out->region, o->region);
	if (!err)
		err = set(&out->region,
			  region ? region : environment("AWS_DEFAULT_REGION"));
	if (!err)
		err = set(&out->endpoint, o->endpoint);
	if (!err)
		err = set(&out->endpoint,
			  endpoint ? endpoint : environment("AWS_ENDPOINT_URL"));
	return err;
}

static void forget(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	free(*secret);
	*secret = NULL;
}

/* Takes from the profile of the files what is not known yet. */
static int read_profile(const struct b2f_aws_options *o, struct b2f_aws *out,
			char reason[B2F_AWS_REASON])
{
	const char *asked = o->profile ? o->profile : environment("AWS_PROFILE");
	/* A key and its secret are from one place. */
	bool wants_key = !out->access_key && !o->no_keys;
	struct b2f_aws read = {0};
	struct profile p = {.name = asked ? asked : "default", .aws = &read};
	int err = read_file(&p, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
			    reason);

	if (!err)
		err = read_file(&p, "AWS_CONFIG_FILE", "config", reason);
	if (!err && asked && !p.found) {
		err = -ENOENT;
		snprintf(reason, B2F_AWS_REASON, "profile %s: there is none",
			 asked);
	}
	if (!err && wants_key && !read.access_key && p.other_way) {
		err = -EOPNOTSUPP;
		snprintf(reason, B2F_AWS_REASON,
			 "profile %s: keys by %s are not supported; try: "
			 "eval \"$(aws configure export-credentials --format "
			 "env)\"",
			 p.name, p.other_way);
	}
	if (!err)
		err = set(&out->region, read.region);
	if (!err)
		err = set(&out->endpoint, read.endpoint);
	if (!err && wants_key) {
		out->access_key = read.access_key;
		out->secret_key = read.secret_key;
		out->session_token = read.session_token;
		read.access_key = read.secret_key = read.session_token = NULL;
	}
	b2f_aws_fini(&read);
	return err;
}

int b2f_aws_read(const struct b2f_aws_options *options, struct b2f_aws *out,
		 char reason[B2F_AWS_REASON])
{
	int err;

	*out = (struct b2f_aws){0};
	snprintf(reason, B2F_AWS_REASON, "%s", strerror(ENOMEM));
	err = read_environment(options, out);
	if (!err)
		err = read_profile(options, out, reason);
	if (!err)
		err = set(&out->region, DEFAULT_REGION);
	if (!err && !out->access_key != !out->secret_key) {
		err = -EINVAL;
		snprintf(reason, B2F_AWS_REASON, "%s",
			 out->access_key ? "an access key without a secret key"
					 : "a secret key without an access key");
	}
	return err;
}

void b2f_aws_fini(struct b2f_aws *aws)
{
	forget(&aws->access_key);
	forget(&aws->secret_key);
	forget(&aws->session_token);
	free(aws->region);
	free(aws->endpoint);
	*aws = (struct b2f_aws){0};
}
