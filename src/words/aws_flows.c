/* SPDX-License-Identifier: BSD-3-Clause */
/* aws_flows.c - the ways to keys of an object store */
#include "words/aws_flows.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <nettle/sha1.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs/curl.h"
#include "programs/io.h"
#include "words/way.h"

/* Returned by a flow that is not configured. */
#define NOT_THERE 1

/* Most bytes of an answer, and of a file with a token. */
#define ANSWER_MAX (64 << 10)

/* Timeouts, ms: an answer, a connection to a server on this link, a program. */
#define SERVER_MS  10000
#define NEAR_MS    2000
#define PROGRAM_MS 60000

/* Attempts if a server fails. */
#define ATTEMPTS 3

#define INSTANCE    "http://169.254.169.254"
#define INSTANCE_V6 "http://[fd00:ec2::254]"
#define CONTAINER   "http://169.254.170.2"

extern char **environ;

/* Wipes and frees what a variable has at the end of its block. */
#define OWN_CHARS    __attribute__((cleanup(b2f_secret_end)))
#define OWN_QUESTION __attribute__((cleanup(finish)))

struct text {
	char *bytes;
	size_t n;
};

static void wipe(struct text *text)
{
	if (text->bytes)
		explicit_bzero(text->bytes, text->n);
	free(text->bytes);
	*text = (struct text){NULL, 0};
}

void b2f_aws_keys_fini(struct b2f_remote_keys *keys)
{
	b2f_secret_end(&keys->access_key);
	b2f_secret_end(&keys->secret_key);
	b2f_secret_end(&keys->session_token);
	keys->end_s = 0;
}

__attribute__((format(printf, 2, 3))) static int
refuse(const struct b2f_aws_flow *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->reason, B2F_AWS_REASON, fmt, args);
	va_end(args);
	return -EACCES;
}

static int take_keys(const struct b2f_aws_flow *f, const char *access_key,
		     const char *secret_key, const char *session_token)
{
	struct b2f_remote_keys *out = f->keys;

	out->access_key = strdup(access_key);
	out->secret_key = strdup(secret_key);
	if (session_token && *session_token)
		out->session_token = strdup(session_token);
	if (out->access_key && out->secret_key &&
	    !out->session_token == !(session_token && *session_token))
		return 0;
	b2f_aws_keys_fini(out);
	return -ENOMEM;
}

/*
 * Parses "2026-11-23T12:00:00Z", also with a fraction, or +01:00; 0: not a
 * time.
 */
static int64_t parse_time(const char *text)
{
	struct tm tm = {0};
	int hours, minutes;
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm)
			       : NULL;
	int64_t s = end ? timegm(&tm) : 0;

	if (!end)
		return 0;
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	if ((*end == '+' || *end == '-') &&
	    sscanf(end + 1, "%2d:%2d", &hours, &minutes) == 2)
		s -= (*end == '-' ? -60 : 60) * (hours * 60 + minutes);
	return s;
}

/* Names of the fields in one kind of answer. */
struct names {
	const char *access_key;
	const char *secret_key;
	const char *session_token;
	const char *end;
	/* The field that has these; NULL: the answer itself. */
	const char *in;
};

static const struct names usual = {"AccessKeyId", "SecretAccessKey", "Token",
				   "Expiration", NULL};
static const struct names of_process = {"AccessKeyId", "SecretAccessKey",
					"SessionToken", "Expiration", NULL};
static const struct names of_sso = {"accessKeyId", "secretAccessKey",
				    "sessionToken", "expiration",
				    "roleCredentials"};

static const char *string_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void wipe_string(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	if (json_is_string(value))
		explicit_bzero((char *)(uintptr_t)json_string_value(value),
			       json_string_length(value));
}

static int take_object(const struct b2f_aws_flow *f, json_t *object,
		       const struct names *names)
{
	const char *access_key = string_of(object, names->access_key);
	const char *secret_key = string_of(object, names->secret_key);
	const json_t *end = json_object_get(object, names->end);
	int err;

	if (!access_key || !*access_key || !secret_key || !*secret_key)
		return refuse(f, "the answer has no keys");
	err = take_keys(f, access_key, secret_key,
			string_of(object, names->session_token));
	if (!err)
		f->keys->end_s = json_is_integer(end)
					 ? json_integer_value(end) / 1000
					 : parse_time(json_string_value(end));
	wipe_string(object, names->secret_key);
	wipe_string(object, names->session_token);
	return err;
}

static int take_json(const struct b2f_aws_flow *f, const struct text *text,
		     const struct names *names)
{
	json_t *all = json_loadb(text->bytes, text->n, 0, NULL);
	json_t *object = names->in ? json_object_get(all, names->in) : all;
	int err;

	if (names == &of_process &&
	    json_integer_value(json_object_get(all, "Version")) != 1)
		err = refuse(f, "credential_process prints no keys of version "
				"1");
	else
		err = take_object(f, object, names);
	json_decref(all);
	return err;
}

/* The first line of the file @path, malloc'ed; or NULL with the reason. */
static char *read_token(const struct b2f_aws_flow *f, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n = file ? getline(&line, &room, file) : -1;

	if (n <= 0)
		(void)refuse(f, "%s: %s", path,
			     file ? "it is empty" : strerror(errno));
	else
		line[strcspn(line, "\r\n")] = '\0';
	if (file)
		fclose(file);
	if (n > 0)
		return line;
	free(line);
	return NULL;
}

/* A request to a server; free its text with finish(). */
struct question {
	const char *method;
	char *url;
	/* "Name: value", or NULL; and a body. */
	char *header;
	char *form;
	/* The server is on this link: ask without a proxy, and only once. */
	bool is_near;
	long ms;
	long connect_ms;
	/* The answer: the body of a 200, or another status; 0: none. */
	struct text answer;
	long status;
};

static void finish(struct question *q)
{
	free(q->url);
	b2f_secret_end(&q->header);
	b2f_secret_end(&q->form);
	wipe(&q->answer);
}

static size_t take_bytes(char *bytes, size_t one, size_t n, void *to)
{
	struct text *text = to;

	n *= one;
	if (n > ANSWER_MAX - text->n)
		return 0;
	memcpy(text->bytes + text->n, bytes, n);
	text->n += n;
	return n;
}

static void set_way(CURL *easy, const struct question *q)
{
	const struct b2f_curl *curl = b2f_curl();
	const struct b2f_way way = b2f_way_to(q->url);
	const char *proxy = q->is_near ? NULL : way.proxy;

	curl->easy_setopt(easy, CURLOPT_PROXY, proxy ? proxy : "");
	curl->easy_setopt(easy, CURLOPT_NOPROXY,
			  way.no_proxy ? way.no_proxy : "");
	if (way.ca_file)
		curl->easy_setopt(easy, CURLOPT_CAINFO, way.ca_file);
}

/* Makes one attempt: 0 with the status, or libcurl's message. */
static int ask_once(const struct b2f_aws_flow *f, struct question *q,
		    struct curl_slist *headers)
{
	const struct b2f_curl *curl = b2f_curl();
	CURL *easy = curl->easy_init();
	CURLcode code;

	if (!easy)
		return -ENOMEM;
	q->answer.n = 0;
	curl->easy_setopt(easy, CURLOPT_URL, q->url);
	curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, q->method);
	curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, q->connect_ms);
	curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, q->ms);
	curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
	curl->easy_setopt(easy, CURLOPT_WRITEDATA, &q->answer);
	curl->easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	if (q->form)
		curl->easy_setopt(easy, CURLOPT_POSTFIELDS, q->form);
	set_way(easy, q);
	code = curl->easy_perform(easy);
	if (code)
		(void)refuse(f, "%.300s: %s", q->url,
			     curl->easy_strerror(code));
	else
		curl->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &q->status);
	curl->easy_cleanup(easy);
	return code ? -EHOSTUNREACH : 0;
}

/*
 * Asks @q.  Returns 0, -EHOSTUNREACH (no answer), -EACCES (its status is not
 * 200) or -ENOMEM, also without a URL.
 */
static int ask(const struct b2f_aws_flow *f, struct question *q)
{
	const struct b2f_curl *curl = b2f_curl();
	struct curl_slist *headers;
	int err = -ENOMEM;

	if (!curl)
		return refuse(f, "%s", b2f_curl_error());
	headers =
		curl->slist_append(NULL, q->header ? q->header : "Accept: */*");
	if (q->url)
		q->answer.bytes = calloc(1, ANSWER_MAX + 1);
	for (int i = 0; headers && q->answer.bytes && i < ATTEMPTS; i++) {
		err = ask_once(f, q, headers);
		if (q->is_near ||
		    (!err && q->status < 500 && q->status != 429))
			break;
		nanosleep(&(struct timespec){.tv_nsec = 200000000L << i}, NULL);
	}
	if (!err && q->status != 200)
		err = refuse(f, "%.300s answers %ld", q->url, q->status);
	curl->slist_free_all(headers);
	return err;
}

/* Takes the elements with the names of keys into an object. */
static void take_element(void *found, const struct b2f_xml_element *element)
{
	const char *const wanted[] = {of_process.access_key,
				      of_process.secret_key,
				      of_process.session_token, of_process.end};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (strcmp(wanted[i], element->name) == 0)
			json_object_set_new(found, wanted[i],
					    json_string(element->text));
}

static int take_xml(const struct b2f_aws_flow *f, const struct text *text)
{
	json_t *found = json_object();
	int err = -ENOMEM;

	if (found)
		err = b2f_xml_parse(text->bytes, text->n, take_element, found);
	if (err != -ENOMEM)
		err = err ? -EACCES : take_object(f, found, &of_process);
	if (err == -EACCES)
		(void)refuse(f, "the answer of STS has no keys");
	wipe_string(found, of_process.secret_key);
	wipe_string(found, of_process.session_token);
	json_decref(found);
	return err;
}

/* The URL @url without slashes at its end; malloc'ed, or NULL. */
static char *bare(const char *url)
{
	size_t n = strlen(url);

	while (n && url[n - 1] == '/')
		n--;
	return strndup(url, n);
}

/*
 * The URL of a server, malloc'ed: the configured one, or @host in the region.
 */
static char *server_of(const struct b2f_aws_flow *f, const char *variable,
		       enum b2f_aws_setting setting, const char *host,
		       const char *region)
{
	char *const *set = f->settings->of;
	const char *const at[] = {b2f_aws_environment(variable),
				  b2f_aws_environment("AWS_ENDPOINT_URL"),
				  set[setting], set[B2F_AWS_ENDPOINT]};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		if (at[i])
			return bare(at[i]);
	if (strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") !=
	    strlen(region))
		return NULL;
	return b2f_io_text("https://%s.%s.amazonaws.com%s", host, region,
			   strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
}

/* environment */

static int half_a_key(const struct b2f_aws_flow *f, const char *where,
		      bool has_id)
{
	(void)refuse(f, "%s: %s", where,
		     has_id ? "an access key without a secret key"
			    : "a secret key without an access key");
	return -EINVAL;
}

static int from_environment(const struct b2f_aws_flow *f)
{
	const char *access_key = b2f_aws_environment("AWS_ACCESS_KEY_ID");
	const char *secret_key = b2f_aws_environment("AWS_SECRET_ACCESS_KEY");

	if (f->settings->by_option || (!access_key && !secret_key))
		return NOT_THERE;
	if (!access_key || !secret_key)
		return half_a_key(f, "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
				  access_key);
	return take_keys(f, access_key, secret_key,
			 b2f_aws_environment("AWS_SESSION_TOKEN"));
}

/* web identity */

/* Makes the form for STS to get keys of @role; malloc'ed, or NULL. */
static char *make_form(const char *role, const char *session,
		       const char *token)
{
	const char *name = session ? session : "bloscfs";
	char *parts[] = {b2f_curl_escape(role), b2f_curl_escape(name),
			 b2f_curl_escape(token)};
	char *form = NULL;

	if (parts[0] && parts[1] && parts[2])
		form = b2f_io_text("Action=AssumeRoleWithWebIdentity"
				   "&Version=2011-06-15&RoleArn=%s"
				   "&RoleSessionName=%s&WebIdentityToken=%s",
				   parts[0], parts[1], parts[2]);
	for (size_t i = 0; i < 3; i++)
		b2f_secret_end(&parts[i]);
	return form;
}

static int assume_role(const struct b2f_aws_flow *f, const char *role,
		       const char *session, const char *file)
{
	char *token = read_token(f, file);
	OWN_QUESTION struct question q = {
		.method = "POST", .ms = SERVER_MS, .connect_ms = SERVER_MS};
	int err;

	if (!token)
		return -EACCES;
	q.form = make_form(role, session, token);
	if (q.form)
		q.url = server_of(f, "AWS_ENDPOINT_URL_STS",
				  B2F_AWS_STS_ENDPOINT, "sts", f->region);
	b2f_secret_end(&token);
	err = ask(f, &q);
	return err ? err : take_xml(f, &q.answer);
}

static int from_web_identity(const struct b2f_aws_flow *f)
{
	const char *file = b2f_aws_environment("AWS_WEB_IDENTITY_TOKEN_FILE");
	const char *role = b2f_aws_environment("AWS_ROLE_ARN");

	if (f->settings->by_option || !file)
		return NOT_THERE;
	if (!role)
		return refuse(f, "AWS_WEB_IDENTITY_TOKEN_FILE without "
				 "AWS_ROLE_ARN");
	return assume_role(f, role,
			   b2f_aws_environment("AWS_ROLE_SESSION_NAME"), file);
}

/* profile: SSO */

static void name_cache(const char *of, char out[41])
{
	uint8_t sum[SHA1_DIGEST_SIZE];
	struct sha1_ctx sha1;

	sha1_init(&sha1);
	sha1_update(&sha1, strlen(of), (const uint8_t *)of);
	sha1_digest(&sha1, sizeof(sum), sum);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

/* The token that "aws sso login" left; malloc'ed, or NULL with the reason. */
static char *find_login(const struct b2f_aws_flow *f)
{
	const struct b2f_aws_settings *settings = f->settings;
	const char *session = settings->of[B2F_AWS_SSO_SESSION];
	const char *home = b2f_aws_environment("HOME");
	OWN_CHARS char *path = NULL;
	char hex[41], *token = NULL;
	const char *text, *end;
	json_t *found = NULL;

	name_cache(session ? session : settings->of[B2F_AWS_SSO_START_URL],
		   hex);
	if (home)
		path = b2f_io_text("%s/.aws/sso/cache/%s.json", home, hex);
	if (path)
		found = json_load_file(path, 0, NULL);
	text = string_of(found, "accessToken");
	end = string_of(found, "expiresAt");
	if (text && *text && (!end || parse_time(end) > time(NULL)))
		token = strdup(text);
	else
		(void)refuse(f, "profile %s: there is no SSO login, or it "
				"has ended; try: aws sso login --profile %s",
			     settings->profile, settings->profile);
	wipe_string(found, "accessToken");
	json_decref(found);
	return token;
}

static char *portal_url(const struct b2f_aws_flow *f)
{
	char *const *set = f->settings->of;
	OWN_CHARS char *server =
		server_of(f, "AWS_ENDPOINT_URL_SSO", B2F_AWS_SSO_ENDPOINT,
			  "portal.sso", set[B2F_AWS_SSO_REGION]);
	OWN_CHARS char *role = b2f_curl_escape(set[B2F_AWS_SSO_ROLE]);
	OWN_CHARS char *account = b2f_curl_escape(set[B2F_AWS_SSO_ACCOUNT]);

	return server && role && account
		       ? b2f_io_text("%s/federation/credentials?role_name=%s"
				     "&account_id=%s",
				     server, role, account)
		       : NULL;
}

static int from_sso(const struct b2f_aws_flow *f)
{
	static const enum b2f_aws_setting needed[] = {
		B2F_AWS_SSO_START_URL, B2F_AWS_SSO_REGION, B2F_AWS_SSO_ACCOUNT,
		B2F_AWS_SSO_ROLE};
	OWN_QUESTION struct question q = {
		.method = "GET", .ms = SERVER_MS, .connect_ms = SERVER_MS};
	char *token;
	int err;

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!f->settings->of[needed[i]])
			return refuse(f, "profile %s: SSO needs sso_start_url, "
					 "sso_region, sso_account_id and "
					 "sso_role_name",
				      f->settings->profile);
	token = find_login(f);
	if (!token)
		return -EACCES;
	q.header = b2f_io_text("x-amz-sso_bearer_token: %s", token);
	if (q.header)
		q.url = portal_url(f);
	b2f_secret_end(&token);
	err = ask(f, &q);
	if (q.status == 401)
		err = refuse(f, "the SSO login has ended; try: aws sso login");
	return err ? err : take_json(f, &q.answer, &of_sso);
}

/* profile: credential_process */

static int64_t now_ms(void)
{
	return (int64_t)(b2f_monotonic_ns() / 1000000);
}

/* Reads all that comes from @fd until @end. */
static int read_output(int fd, int64_t end, struct text *out)
{
	int64_t left;
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	ssize_t n = -1;

	while ((left = end - now_ms()) > 0 && out->n < ANSWER_MAX) {
		int ready = poll(&wait, 1, (int)left);

		if (ready == 0 || (ready < 0 && errno != EINTR))
			break;
		n = read(fd, out->bytes + out->n, ANSWER_MAX - out->n);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			break;
		out->n += n > 0 ? (size_t)n : 0;
	}
	return -ETIMEDOUT;
}

/*
 * Has the shell run @command, as the AWS tools do, without our descriptors and
 * with default signals.
 */
static int spawn(const char *command, int out, pid_t *pid)
{
	char *argv[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c",
			(char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&files))
		return -ENOMEM;
	if (posix_spawnattr_init(&how)) {
		posix_spawn_file_actions_destroy(&files);
		return -ENOMEM;
	}
	err = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY,
					       0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&files, out, 1);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&files, 3);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK |
					       POSIX_SPAWN_SETSIGDEF);
	if (!err)
		err = posix_spawn(pid, "/bin/sh", &files, &how, argv, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

/*
 * Waits for @pid until @end, then kills it.  Returns 0 if it succeeded, or if
 * its status is lost.
 */
static int wait_for(pid_t pid, int64_t end)
{
	const struct timespec step = {.tv_nsec = 5000000};
	int status = 0;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && now_ms() < end)
		nanosleep(&step, NULL);
	if (got == 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return status;
}

/* Runs @command and takes its output, if it succeeds. */
static int run(const struct b2f_aws_flow *f, const char *command,
	       struct text *out)
{
	int64_t end = now_ms() + PROGRAM_MS;
	int ends[2], status = 0, err;
	pid_t pid = -1;

	out->bytes = calloc(1, ANSWER_MAX + 1);
	if (!out->bytes || pipe2(ends, O_CLOEXEC))
		return -ENOMEM;
	err = spawn(command, ends[1], &pid);
	close(ends[1]);
	if (!err)
		err = read_output(ends[0], end, out);
	close(ends[0]);
	if (pid > 0)
		status = wait_for(pid, err ? 0 : end);
	if (err)
		return refuse(f, "credential_process: %s", strerror(-err));
	return status ? refuse(f, "credential_process fails") : 0;
}

static int from_process(const struct b2f_aws_flow *f)
{
	struct text answer = {NULL, 0};
	int err;

	if (f->settings->is_foreign)
		return refuse(f, "profile %s: credential_process is not run "
				 "from a file that belongs to another user, or "
				 "that all users may write to",
			      f->settings->profile);
	err = run(f, f->settings->of[B2F_AWS_PROCESS], &answer);
	if (!err)
		err = take_json(f, &answer, &of_process);
	wipe(&answer);
	return err;
}

/* profile */

static int from_profile(const struct b2f_aws_flow *f)
{
	char *const *set = f->settings->of;
	char where[80];

	snprintf(where, sizeof(where), "profile %s", f->settings->profile);
	if (!set[B2F_AWS_ACCESS_KEY] != !set[B2F_AWS_SECRET_KEY])
		return half_a_key(f, where, set[B2F_AWS_ACCESS_KEY]);
	if (set[B2F_AWS_ACCESS_KEY])
		return take_keys(f, set[B2F_AWS_ACCESS_KEY],
				 set[B2F_AWS_SECRET_KEY],
				 set[B2F_AWS_SESSION_TOKEN]);
	if (set[B2F_AWS_ROLE] && set[B2F_AWS_TOKEN_FILE])
		return assume_role(f, set[B2F_AWS_ROLE],
				   set[B2F_AWS_ROLE_SESSION],
				   set[B2F_AWS_TOKEN_FILE]);
	if (set[B2F_AWS_ROLE]) {
		(void)refuse(f, "%s: keys by role_arn need a "
				"web_identity_token_file; try: eval \"$(aws "
				"configure export-credentials --format env)\"",
			     where);
		return -EOPNOTSUPP;
	}
	if (set[B2F_AWS_SSO_SESSION] || set[B2F_AWS_SSO_START_URL])
		return from_sso(f);
	return set[B2F_AWS_PROCESS] ? from_process(f) : NOT_THERE;
}

/* container */

/*
 * Only this host, and the servers of a container, may send keys over plain
 * HTTP.
 */
static bool is_trusted(const char *url)
{
	static const char *const hosts[] = {"localhost", "[::1]",
					    "169.254.170.2", "169.254.170.23",
					    "[fd00:ec2::23]"};
	const char *host = url + strlen("http://");
	size_t n;

	if (strncasecmp(url, "https://", 8) == 0)
		return true;
	if (strncasecmp(url, "http://", 7) != 0 || strchr(host, '@'))
		return false;
	n = strcspn(host, *host == '[' ? "]/?#" : ":/?#");
	n += host[n] == ']';
	/* A name may begin with 127., too; only addresses are trusted. */
	if (strncmp(host, "127.", 4) == 0)
		return strspn(host, "0123456789.") == n;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (strlen(hosts[i]) == n && strncmp(hosts[i], host, n) == 0)
			return true;
	return false;
}

/* The header that authorizes the container; NULL if none is needed. */
static int container_header(const struct b2f_aws_flow *f, char **out)
{
	const char *file =
		b2f_aws_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *told =
		b2f_aws_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	char *token = NULL;

	if (!file && !told)
		return 0;
	token = file ? read_token(f, file) : strdup(told);
	if (!token)
		return file ? -EACCES : -ENOMEM;
	if (token[strcspn(token, "\r\n")]) {
		b2f_secret_end(&token);
		return refuse(f, "AWS_CONTAINER_AUTHORIZATION_TOKEN has more "
				 "than a line");
	}
	*out = b2f_io_text("Authorization: %s", token);
	b2f_secret_end(&token);
	return *out ? 0 : -ENOMEM;
}

static int from_container(const struct b2f_aws_flow *f)
{
	const char *below =
		b2f_aws_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full =
		b2f_aws_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	OWN_QUESTION struct question q = {
		.method = "GET", .ms = SERVER_MS, .connect_ms = NEAR_MS};
	int err;

	if (!below && !full)
		return NOT_THERE;
	q.url = b2f_io_text("%s%s", below ? CONTAINER : "",
			    below ? below : full);
	if (!q.url)
		return -ENOMEM;
	q.is_near = strncasecmp(q.url, "http:", 5) == 0;
	err = is_trusted(q.url)
		      ? container_header(f, &q.header)
		      : refuse(f, "AWS_CONTAINER_CREDENTIALS_FULL_URI: neither "
				  "https nor a URL of this host");
	if (!err)
		err = ask(f, &q);
	return err ? err : take_json(f, &q.answer, &usual);
}

/* instance */

/* The URL of the server of the instance, without a path; malloc'ed, or NULL. */
static char *instance_server(void)
{
	const char *told =
		b2f_aws_environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *mode =
		b2f_aws_environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");

	if (!told)
		told = mode && strcasecmp(mode, "IPv6") == 0 ? INSTANCE_V6
							     : INSTANCE;
	return bare(told);
}

/*
 * The configured timeout, ms, or a second: without an instance, each start
 * waits for so long.
 */
static long instance_ms(void)
{
	const char *told = b2f_aws_environment("AWS_METADATA_SERVICE_TIMEOUT");
	long s = told ? strtol(told, NULL, 10) : 0;

	return (s > 0 && s < 3600 ? s : 1) * 1000;
}

/*
 * Asks, by @q, for @path of the instance, with the @header of a token; NULL:
 * for a token.
 */
static int ask_instance(const struct b2f_aws_flow *f, struct question *q,
			const char *server, const char *path,
			const char *header)
{
	const char *below = path ? "meta-data/iam/security-credentials/"
				 : "api/token";

	*q = (struct question){.method = path ? "GET" : "PUT",
			       .is_near = true,
			       .ms = instance_ms(),
			       .connect_ms = instance_ms(),
			       .header = strdup(header)};
	if (q->header)
		q->url = b2f_io_text("%s/latest/%s%s", server, below,
				     path ? path : "");
	return ask(f, q);
}

/* Asks for the keys of the instance's role; @header authorizes this. */
static int ask_role(const struct b2f_aws_flow *f, const char *server,
		    const char *header)
{
	OWN_QUESTION struct question role = {.url = NULL};
	OWN_QUESTION struct question keys = {.url = NULL};
	OWN_CHARS char *name = NULL;
	int err = ask_instance(f, &role, server, "", header);

	/* The instance has no role. */
	if (role.status == 404)
		err = NOT_THERE;
	if (!err) {
		role.answer.bytes[strcspn(role.answer.bytes, "\r\n")] = '\0';
		name = b2f_curl_escape(role.answer.bytes);
		err = name ? ask_instance(f, &keys, server, name, header)
			   : -ENOMEM;
	}
	return err ? err : take_json(f, &keys.answer, &usual);
}

static int from_instance(const struct b2f_aws_flow *f)
{
	const char *off = b2f_aws_environment("AWS_EC2_METADATA_DISABLED");
	OWN_QUESTION struct question token = {.url = NULL};
	OWN_CHARS char *server = NULL;
	OWN_CHARS char *header = NULL;
	int err;

	if (off && strcasecmp(off, "true") == 0)
		return NOT_THERE;
	server = instance_server();
	if (!server)
		return -ENOMEM;
	err = ask_instance(f, &token, server, NULL,
			   "x-aws-ec2-metadata-token-ttl-seconds: 21600");
	/* The machine is no instance, or another program answers there. */
	if (err == -EHOSTUNREACH || err == -EACCES)
		err = NOT_THERE;
	if (!err) {
		header = b2f_io_text("x-aws-ec2-metadata-token: %.*s",
				     (int)strcspn(token.answer.bytes, "\r\n"),
				     token.answer.bytes);
		err = header ? ask_role(f, server, header) : -ENOMEM;
	}
	return err;
}

static const struct {
	/* Name for messages; NULL: the profile. */
	const char *name;
	int (*get)(const struct b2f_aws_flow *f);
} sources[] = {
	{"AWS_ACCESS_KEY_ID", from_environment},
	{"AWS_WEB_IDENTITY_TOKEN_FILE", from_web_identity},
	{NULL, from_profile},
	{"AWS_CONTAINER_CREDENTIALS_*", from_container},
	{"the instance (IMDS)", from_instance},
};

#define NSOURCES ((int)(sizeof(sources) / sizeof(sources[0])))

int b2f_aws_flow_first(const struct b2f_aws_flow *f, char **tried)
{
	for (int i = 0; i < NSOURCES; i++) {
		int err = sources[i].get(f);

		if (err <= 0)
			return err ? err : i;
	}
	*tried = b2f_io_text("%s, %s, profile %.40s, %s, %s", sources[0].name,
			     sources[1].name, f->settings->profile,
			     sources[3].name, sources[4].name);
	return *tried ? B2F_AWS_NONE : -ENOMEM;
}

int b2f_aws_flow_again(const struct b2f_aws_flow *f, int source)
{
	int err;

	(void)refuse(f, "there is none any more");
	if (source < 0 || source >= NSOURCES)
		return -EACCES;
	err = sources[source].get(f);
	return err == NOT_THERE ? -EACCES : err;
}
