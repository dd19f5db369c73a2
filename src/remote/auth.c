/* SPDX-License-Identifier: BSD-3-Clause */
/* auth.c - the keys of an object store, renewed before they end */
#include "remote/auth.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "b2frame/error.h"
#include "base/log_line.h"
#include "programs/curl.h"

/*
 * Keys are renewed this many seconds before they end; short-lived keys after
 * half of their lifetime.
 */
#define EARLY_S 300

/* Longest pause between two attempts, s. */
#define PAUSE_MAX_S 30

struct b2f_auth {
	char *region;
	const struct b2f_log *log;
	int (*renew)(void *arg, struct b2f_remote_keys *out, char *reason,
		     size_t size);
	void *renew_arg;
	pthread_mutex_t lock;
	/* Signalled when a renewal has succeeded or failed. */
	pthread_cond_t tried;
	/* Everything below: under lock. */
	struct b2f_remote_keys keys;
	/* When to renew the keys, s since 1970; 0: never. */
	int64_t due_s;
	bool renewing;
	/* The last renewal failed, and the failure was logged. */
	bool told;
};

static void forget_keys(struct b2f_remote_keys *keys)
{
	b2f_secret_end(&keys->access_key);
	b2f_secret_end(&keys->secret_key);
	b2f_secret_end(&keys->session_token);
}

/* Half of @left_s, at least a second and at most @max_s. */
static int64_t half_of(int64_t left_s, int64_t max_s)
{
	left_s /= 2;
	return left_s < 1 ? 1 : left_s > max_s ? max_s : left_s;
}

static int64_t due_of(const struct b2f_auth *auth)
{
	int64_t now = time(NULL), end = auth->keys.end_s, due;

	if (!auth->renew || !end)
		return 0;
	due = end - half_of(end - now, EARLY_S);
	return due > now ? due : now + 1;
}

static char *copy(const char *text, bool *ok)
{
	char *out = text ? strdup(text) : NULL;

	*ok &= out || !text;
	return out;
}

int b2f_auth_new(const struct b2f_remote_options *options,
		 struct b2f_auth **out)
{
	struct b2f_auth *auth;
	bool ok = true;

	if (!options->access_key != !options->secret_key)
		return -EINVAL;
	*out = NULL;
	if (!options->access_key)
		return 0;
	auth = calloc(1, sizeof(*auth));
	if (!auth)
		return -ENOMEM;
	pthread_mutex_init(&auth->lock, NULL);
	pthread_cond_init(&auth->tried, NULL);
	auth->log = options->log;
	auth->renew = options->renew;
	auth->renew_arg = options->renew_arg;
	auth->region = copy(options->region ? options->region : "us-east-1",
			    &ok);
	auth->keys.access_key = copy(options->access_key, &ok);
	auth->keys.secret_key = copy(options->secret_key, &ok);
	auth->keys.session_token = copy(options->session_token, &ok);
	auth->keys.end_s = options->keys_end_s;
	auth->due_s = due_of(auth);
	if (!ok) {
		b2f_auth_free(auth);
		return -ENOMEM;
	}
	*out = auth;
	return 0;
}

void b2f_auth_free(struct b2f_auth *auth)
{
	if (!auth)
		return;
	forget_keys(&auth->keys);
	free(auth->region);
	pthread_cond_destroy(&auth->tried);
	pthread_mutex_destroy(&auth->lock);
	free(auth);
}

/* Stores the result of a renewal; returns whether to log its failure. */
static bool end_attempt(struct b2f_auth *auth, int err,
			struct b2f_remote_keys *keys)
{
	int64_t now = time(NULL);
	bool tell = err && !auth->told;

	auth->told = err != 0;
	if (err) {
		auth->due_s = now + half_of((auth->keys.end_s - now) / 2,
					    PAUSE_MAX_S);
	} else {
		forget_keys(&auth->keys);
		auth->keys = *keys;
		auth->due_s = due_of(auth);
	}
	auth->renewing = false;
	pthread_cond_broadcast(&auth->tried);
	return tell;
}

/* Returns true if the caller has to renew the keys now. */
static bool take_turn(struct b2f_auth *auth)
{
	bool ours = false;
	B2F_HOLD(&auth->lock);

	while (auth->renewing && time(NULL) >= auth->keys.end_s)
		pthread_cond_wait(&auth->tried, &auth->lock);
	if (!auth->renewing && auth->due_s && time(NULL) >= auth->due_s)
		ours = auth->renewing = true;
	return ours;
}

void b2f_auth_renew(struct b2f_auth *auth)
{
	struct b2f_remote_keys keys = {.access_key = NULL};
	char reason[400] = "";
	bool tell;
	int err;

	if (!take_turn(auth))
		return;
	err = auth->renew(auth->renew_arg, &keys, reason, sizeof(reason));
	pthread_mutex_lock(&auth->lock);
	tell = end_attempt(auth, err, &keys);
	pthread_mutex_unlock(&auth->lock);
	if (tell)
		b2f_log(auth->log, B2F_LOG_WARNING,
			"the keys expire, and cannot be renewed yet: %s",
			*reason ? reason : b2f_strerror(err));
}

int b2f_auth_header(struct curl_slist **headers, char *line)
{
	struct curl_slist *more =
		line ? b2f_curl()->slist_append(*headers, line) : NULL;

	b2f_secret_end(&line);
	*headers = more ? more : *headers;
	return more ? 0 : -ENOMEM;
}

int b2f_auth_sign(struct b2f_auth *auth, void *easy,
		  struct curl_slist **headers)
{
	const struct b2f_remote_keys *keys = &auth->keys;
	const struct b2f_curl *curl = b2f_curl();
	char scope[80];
	B2F_HOLD(&auth->lock);

	snprintf(scope, sizeof(scope), "aws:amz:%s:s3", auth->region);
	curl->easy_setopt(easy, CURLOPT_AWS_SIGV4, scope);
	if (curl->easy_setopt(easy, CURLOPT_USERNAME, keys->access_key) ||
	    curl->easy_setopt(easy, CURLOPT_PASSWORD, keys->secret_key))
		return -ENOMEM;
	return keys->session_token
		       ? b2f_auth_header(headers,
					 b2f_io_text("x-amz-security-token: %s",
						     keys->session_token))
		       : 0;
}
