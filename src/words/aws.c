/* SPDX-License-Identifier: BSD-3-Clause */
/* aws.c - keys, region and endpoint of an object store: AWS_*, ~/.aws */
#include "words/aws.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/io.h"
#include "words/aws_flows.h"
#include "words/way.h"

/* A wanted section, and the state of reading it. */
struct section {
	/* "profile", "services" or "sso-session", and its name. */
	const char *kind;
	const char *name;
	struct b2f_aws_settings *settings;
	/*
	 * The section exists; the current line is in it, below the setting
	 * @parent.
	 */
	bool found;
	bool inside;
	char parent[32];
};

static const struct {
	const char *kind;
	/* The setting above the indented line; "" for a line without indent. */
	const char *parent;
	const char *key;
	enum b2f_aws_setting setting;
} known[] = {
	{"profile", "", "aws_access_key_id", B2F_AWS_ACCESS_KEY},
	{"profile", "", "aws_secret_access_key", B2F_AWS_SECRET_KEY},
	{"profile", "", "aws_session_token", B2F_AWS_SESSION_TOKEN},
	{"profile", "", "region", B2F_AWS_REGION},
	{"profile", "", "endpoint_url", B2F_AWS_ENDPOINT},
	{"profile", "", "services", B2F_AWS_SERVICES},
	{"profile", "", "credential_process", B2F_AWS_PROCESS},
	{"profile", "", "role_arn", B2F_AWS_ROLE},
	{"profile", "", "role_session_name", B2F_AWS_ROLE_SESSION},
	{"profile", "", "web_identity_token_file", B2F_AWS_TOKEN_FILE},
	{"profile", "", "sso_session", B2F_AWS_SSO_SESSION},
	{"profile", "", "sso_start_url", B2F_AWS_SSO_START_URL},
	{"profile", "", "sso_region", B2F_AWS_SSO_REGION},
	{"profile", "", "sso_account_id", B2F_AWS_SSO_ACCOUNT},
	{"profile", "", "sso_role_name", B2F_AWS_SSO_ROLE},
	{"services", "s3", "endpoint_url", B2F_AWS_S3_ENDPOINT},
	{"services", "sts", "endpoint_url", B2F_AWS_STS_ENDPOINT},
	{"services", "sso", "endpoint_url", B2F_AWS_SSO_ENDPOINT},
	{"sso-session", "", "sso_start_url", B2F_AWS_SSO_START_URL},
	{"sso-session", "", "sso_region", B2F_AWS_SSO_REGION},
};

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

/*
 * Is the line "[@title" the title of section @s?  A profile may omit its kind,
 * as in "credentials".
 */
static bool is_section(char *title, const struct section *s)
{
	size_t n = strlen(s->kind);
	char *end = strchr(title, ']');

	if (!end)
		return false;
	*end = '\0';
	title = trim(title);
	if (strncmp(title, s->kind, n) == 0 && title[n] &&
	    strchr(" \t", title[n]))
		title = trim(title + n);
	else if (strcmp(s->kind, "profile") != 0)
		return false;
	return strcmp(title, s->name) == 0;
}

/* Takes a setting, unless an earlier line or file has set it. */
static int take_setting(struct section *s, const char *key, const char *value)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char **to = &s->settings->of[known[i].setting];

		if (strcmp(known[i].kind, s->kind) != 0 ||
		    strcmp(known[i].parent, s->parent) != 0 ||
		    strcmp(known[i].key, key) != 0 || *to || !*value)
			continue;
		*to = strdup(value);
		if (!*to)
			return -ENOMEM;
	}
	return 0;
}

static int take_line(struct section *s, char *line)
{
	bool indented = strchr(" \t", *line) != NULL;
	char *value, *key;

	if (*line == '[') {
		s->inside = is_section(line + 1, s);
		s->found |= s->inside;
		s->parent[0] = '\0';
		return 0;
	}
	value = strchr(line, '=');
	if (!s->inside || !value || strchr("#;", *line))
		return 0;
	*value++ = '\0';
	key = trim(line);
	if (!indented)
		s->parent[0] = '\0';
	value = trim(value);
	if (!indented && !*value) {
		snprintf(s->parent, sizeof(s->parent), "%s", key);
		return 0;
	}
	/* Indented lines below a setting with a value continue it. */
	return indented && !*s->parent ? 0 : take_setting(s, key, value);
}

static int read_lines(struct section *s, FILE *f)
{
	char *line = NULL;
	size_t room = 0;
	int err = 0;

	s->inside = false;
	errno = 0;
	while (!err && getline(&line, &room, f) >= 0)
		err = take_line(s, line);
	if (!err && !feof(f))
		err = errno ? -errno : -EIO;
	if (line)
		explicit_bzero(line, room);
	free(line);
	return err;
}

/* Does another user own the file @f, or may one write to it? */
static bool is_foreign(FILE *f)
{
	struct stat st;

	return fstat(fileno(f), &st) ||
	       (st.st_uid != geteuid() && st.st_uid != 0) ||
	       (st.st_mode & S_IWOTH);
}

/* Reads @s in the file that @variable names, or else in ~/.aws/@name. */
static int read_file(struct section *s, const char *variable, const char *name,
		     char reason[B2F_AWS_REASON])
{
	const char *given = b2f_aws_environment(variable);
	const char *home = b2f_aws_environment("HOME");
	const bool had = s->settings->of[B2F_AWS_PROCESS];
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
	err = f ? read_lines(s, f) : -errno;
	if (f && !had && s->settings->of[B2F_AWS_PROCESS])
		s->settings->is_foreign = is_foreign(f);
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

static int read_config(struct section *s, char reason[B2F_AWS_REASON])
{
	return read_file(s, "AWS_CONFIG_FILE", "config", reason);
}

/* Reads the section @kind that the setting @names names, if it is set. */
static int follow(struct b2f_aws_settings *settings, const char *kind,
		  enum b2f_aws_setting names, char reason[B2F_AWS_REASON])
{
	struct section s = {.kind = kind,
			    .name = settings->of[names],
			    .settings = settings};
	int err = s.name ? read_config(&s, reason) : 0;

	if (err || !s.name || s.found)
		return err;
	snprintf(reason, B2F_AWS_REASON,
		 "profile %s: there is no section [%s %s]", settings->profile,
		 kind, s.name);
	return -ENOENT;
}

static int read_all(struct b2f_aws_settings *settings, bool asked,
		    char reason[B2F_AWS_REASON])
{
	struct section s = {.kind = "profile",
			    .name = settings->profile,
			    .settings = settings};
	int err = read_file(&s, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
			    reason);

	if (!err)
		err = read_config(&s, reason);
	if (!err && asked && !s.found) {
		snprintf(reason, B2F_AWS_REASON, "profile %s: there is none",
			 settings->profile);
		return -ENOENT;
	}
	if (!err)
		err = follow(settings, "services", B2F_AWS_SERVICES, reason);
	if (!err)
		err = follow(settings, "sso-session", B2F_AWS_SSO_SESSION,
			     reason);
	return err;
}

/* Also wipes secrets from memory.  NULL does nothing. */
static void free_settings(struct b2f_aws_settings *settings)
{
	if (!settings)
		return;
	for (size_t i = 0; i < B2F_AWS_NSETTINGS; i++)
		b2f_secret_end(&settings->of[i]);
	free(settings->profile);
	free(settings);
}

/*
 * Reads the files; @profile is an option, or NULL.  Free *@out with
 * free_settings().  Returns 0; or with @reason set -ENOENT (no such profile),
 * -ENOMEM or an errno of a file that cannot be read.
 */
static int read_settings(const char *profile, struct b2f_aws_settings **out,
			 char reason[B2F_AWS_REASON])
{
	const char *asked =
		profile ? profile : b2f_aws_environment("AWS_PROFILE");
	struct b2f_aws_settings *settings = calloc(1, sizeof(*settings));
	int err = -ENOMEM;

	snprintf(reason, B2F_AWS_REASON, "%s", strerror(ENOMEM));
	if (!settings)
		return -ENOMEM;
	settings->by_option = profile != NULL;
	settings->profile = strdup(asked ? asked : "default");
	if (settings->profile)
		err = read_all(settings, asked != NULL, reason);
	if (err)
		free_settings(settings);
	else
		*out = settings;
	return err;
}

#define DEFAULT_REGION "us-east-1"

/* Copies the first of @n values that is not empty; false: no memory. */
static bool copy_first(char **to, const char *const *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (values[i] && *values[i]) {
			*to = strdup(values[i]);
			return *to != NULL;
		}
	return true;
}

static int read_place(const struct b2f_aws_options *o, struct b2f_aws *out)
{
	char *const *set = out->settings->of;
	const char *const regions[] = {
		o->region, b2f_aws_environment("AWS_REGION"),
		b2f_aws_environment("AWS_DEFAULT_REGION"), set[B2F_AWS_REGION],
		DEFAULT_REGION};
	const char *const endpoints[] = {
		o->endpoint, b2f_aws_environment("AWS_ENDPOINT_URL_S3"),
		b2f_aws_environment("AWS_ENDPOINT_URL"),
		set[B2F_AWS_S3_ENDPOINT], set[B2F_AWS_ENDPOINT]};

	return copy_first(&out->region, regions, 5) &&
			       copy_first(&out->endpoint, endpoints, 5)
		       ? 0
		       : -ENOMEM;
}

/* Reads a key of SSE-C.  It comes from a file, as all users see arguments. */
static int read_key(const char *path, uint8_t out[B2F_REMOTE_SSE_C_SIZE],
		    char reason[B2F_AWS_REASON])
{
	char bytes[B2F_REMOTE_SSE_C_SIZE + 1];
	FILE *f = fopen(path, "re");
	int err = f ? 0 : -errno;
	size_t n = 0;

	if (f) {
		setvbuf(f, NULL, _IONBF, 0);
		n = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
	}
	if (!err && n != B2F_REMOTE_SSE_C_SIZE)
		err = -EINVAL;
	if (err)
		snprintf(reason, B2F_AWS_REASON, "%s: %s", path,
			 f ? "a key of SSE-C is a file of 32 bytes"
			   : strerror(-err));
	else
		memcpy(out, bytes, B2F_REMOTE_SSE_C_SIZE);
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

int b2f_aws_read(const struct b2f_aws_options *options, struct b2f_aws *out,
		 char reason[B2F_AWS_REASON])
{
	struct b2f_aws_flow flow;
	int err;

	*out = (struct b2f_aws){.given = *options};
	err = read_settings(options->profile, &out->settings, reason);
	if (!err && options->sse_c_key)
		err = read_key(options->sse_c_key, out->sse_c_key, reason);
	if (err)
		return err;
	snprintf(reason, B2F_AWS_REASON, "%s", strerror(ENOMEM));
	err = read_place(options, out);
	if (err || options->no_keys)
		return err;
	flow = (struct b2f_aws_flow){out->settings, out->region, &out->keys,
				     reason};
	out->source = b2f_aws_flow_first(&flow, &out->tried);
	return out->source < 0 ? out->source : 0;
}

static int renew(void *arg, struct b2f_remote_keys *out, char *reason,
		 size_t size)
{
	const struct b2f_aws *aws = arg;
	char why[B2F_AWS_REASON];
	const struct b2f_aws_flow flow = {aws->settings, aws->region, out, why};
	int err = b2f_aws_flow_again(&flow, aws->source);

	if (err)
		snprintf(reason, size, "%s", why);
	return err;
}

void b2f_aws_fill(const struct b2f_aws *aws, const char *url,
		  struct b2f_remote_options *options)
{
	const struct b2f_way way = b2f_way_to(aws ? aws->endpoint : url);

	options->proxy = way.proxy;
	options->no_proxy = way.no_proxy;
	options->ca_file = way.ca_file;
	options->retry_ms = way.retry_ms;
	if (!aws)
		return;
	options->endpoint = aws->endpoint;
	options->region = aws->region;
	options->access_key = aws->keys.access_key;
	options->secret_key = aws->keys.secret_key;
	options->session_token = aws->keys.session_token;
	options->keys_end_s = aws->keys.end_s;
	options->renew = renew;
	options->renew_arg = (void *)(uintptr_t)aws;
	options->unsigned_why = aws->tried;
	options->request_payer = aws->given.request_payer;
	options->sse = aws->given.sse;
	options->sse_kms_key = aws->given.sse_kms_key;
	if (aws->given.sse_c_key)
		options->sse_c_key = aws->sse_c_key;
}

void b2f_aws_fini(struct b2f_aws *aws)
{
	b2f_aws_keys_fini(&aws->keys);
	free_settings(aws->settings);
	explicit_bzero(aws->sse_c_key, sizeof(aws->sse_c_key));
	free(aws->tried);
	free(aws->region);
	free(aws->endpoint);
	*aws = (struct b2f_aws){0};
}
