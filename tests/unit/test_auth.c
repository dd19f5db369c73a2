/* SPDX-License-Identifier: BSD-3-Clause */
/* test_auth.c - keys that expire, and their renewal */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "programs/curl.h"
#include "remote/auth.h"

#define NTHREADS 8

static atomic_int nasked, nat_once, nmost;
static int answer;

static int renew(void *arg, struct b2f_remote_keys *out, char *reason,
		 size_t size)
{
	int now = atomic_fetch_add(&nat_once, 1) + 1;

	if (now > atomic_load(&nmost))
		atomic_store(&nmost, now);
	atomic_fetch_add(&nasked, 1);
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	if (answer)
		snprintf(reason, size, "no keys");
	else
		*out = (struct b2f_remote_keys){
			.access_key = strdup("new"),
			.secret_key = strdup("secret"),
			.session_token = strdup(arg),
			.end_s = 0};
	atomic_fetch_sub(&nat_once, 1);
	return answer;
}

static struct b2f_auth *make(int64_t end_s)
{
	const struct b2f_remote_options options = {
		.access_key = "old",
		.secret_key = "old secret",
		.keys_end_s = end_s,
		.renew = renew,
		.renew_arg = (void *)(uintptr_t) "token",
	};
	struct b2f_auth *auth;

	cr_assert_eq(b2f_auth_new(&options, &auth), 0);
	cr_assert_not_null(auth);
	return auth;
}

/* Is a request signed with a token? */
static bool has_token(struct b2f_auth *auth)
{
	struct curl_slist *headers = NULL;
	const struct b2f_curl *curl = b2f_curl();
	CURL *easy = curl->easy_init();
	bool has;

	cr_assert_eq(b2f_auth_sign(auth, easy, &headers), 0);
	has = headers != NULL;
	cr_assert(!has ||
		  strcmp(headers->data, "x-amz-security-token: token") == 0);
	curl->slist_free_all(headers);
	curl->easy_cleanup(easy);
	return has;
}

static void *ask(void *arg)
{
	struct b2f_auth *auth = arg;

	/* The renewal is due after a second at the earliest. */
	while (!has_token(auth)) {
		b2f_auth_renew(auth);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return NULL;
}

Test(auth, half_a_key_is_none)
{
	struct b2f_remote_options options = {.access_key = "k"};
	struct b2f_auth *auth = NULL;

	cr_assert_eq(b2f_auth_new(&options, &auth), -EINVAL);
	options = (struct b2f_remote_options){.secret_key = "s"};
	cr_assert_eq(b2f_auth_new(&options, &auth), -EINVAL);
	options = (struct b2f_remote_options){.log = NULL};
	cr_assert_eq(b2f_auth_new(&options, &auth), 0);
	cr_assert_null(auth);
}

Test(auth, one_of_many_threads_renews_keys_that_have_ended)
{
	struct b2f_auth *auth = make(time(NULL) - 1);
	pthread_t threads[NTHREADS];

	for (int i = 0; i < NTHREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, ask, auth), 0);
	for (int i = 0; i < NTHREADS; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(atomic_load(&nasked), 1);
	cr_assert_eq(atomic_load(&nmost), 1);
	b2f_auth_renew(auth);
	cr_assert_eq(atomic_load(&nasked), 1);
	b2f_auth_free(auth);
}

Test(auth, old_keys_stay_if_there_are_no_others)
{
	struct b2f_auth *auth = make(time(NULL) + 2);

	answer = -EACCES;
	while (atomic_load(&nasked) < 2) {
		b2f_auth_renew(auth);
		cr_assert(!has_token(auth));
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	answer = 0;
	ask(auth);
	cr_assert_eq(atomic_load(&nmost), 1);
	b2f_auth_free(auth);
}

Test(auth, keys_that_do_not_end_are_not_renewed)
{
	struct b2f_auth *auth = make(0);

	b2f_auth_renew(auth);
	cr_assert_eq(atomic_load(&nasked), 0);
	b2f_auth_free(auth);
	auth = make(time(NULL) + 3600);
	b2f_auth_renew(auth);
	cr_assert_eq(atomic_load(&nasked), 0);
	b2f_auth_free(auth);
}
