/* SPDX-License-Identifier: BSD-3-Clause */
/* http.c - the thread that makes requests, and the interface to it */
#include "remote/http.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/waiting.h"
#include "programs/io.h"
#include "remote/http_priv.h"

/* Longest sleep of the idle thread, ms. */
#define SLEEP_MS 60000

/* Longest pause, ms. */
#define PAUSE_MAX_MS 10000

/* In a hurry: time limit of a request, and how often it is checked, ms. */
#define HURRY_MS      2000
#define HURRY_STEP_MS 200

/* Time limit for a server that has never answered, ms. */
#define COLD_MS 5000

#define UNWAITED "no longer waiting for the server"

struct b2f_http {
	struct b2f_http_options options;
	/* What the options point to. */
	char *strings;
	CURLM *multi;
	pthread_t thread;
	pthread_mutex_t lock;
	/* Under lock: started requests in order, and whether to stop. */
	struct b2f_http_request *queue;
	bool stops;
	/* For the thread alone. */
	struct b2f_http_request *running;
	struct b2f_http_request *paused;
	/* An enum b2f_http_patience. */
	atomic_int patience;
	/* The server has answered at least once. */
	atomic_bool has_answered;
	atomic_uint seed;
	atomic_ullong requests;
	atomic_ullong retries;
	atomic_ullong received;
	atomic_ullong sent;
};

/*
 * Moves the @strings up to a NULL, which may be NULL themselves, into one
 * block, which it returns; NULL: no memory.
 */
static char *own_strings(const char **strings[])
{
	size_t size = 1;
	char *block, *at;

	for (size_t i = 0; strings[i]; i++)
		size += *strings[i] ? strlen(*strings[i]) + 1 : 0;
	at = block = malloc(size);
	for (size_t i = 0; strings[i] && block; i++) {
		if (!*strings[i])
			continue;
		*strings[i] = strcpy(at, *strings[i]);
		at += strlen(at) + 1;
	}
	return block;
}

static void free_request(struct b2f_http_request *r)
{
	if (!r->spec.into)
		free(r->reply.body);
	b2f_curl()->slist_free_all(r->headers);
	pthread_cond_destroy(&r->changed);
	free(r->strings);
	free(r);
}

static void end_easy(struct b2f_http_request *r)
{
	b2f_curl()->easy_cleanup(r->easy);
	r->easy = NULL;
}

/* Marks the request as done; frees it if its caller has dropped it. */
static void finish(struct b2f_http *http, struct b2f_http_request *r)
{
	bool dropped;

	end_easy(r);
	pthread_mutex_lock(&http->lock);
	r->done = true;
	dropped = r->dropped;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&http->lock);
	if (dropped)
		free_request(r);
}

static bool is_dropped(struct b2f_http *http, struct b2f_http_request *r)
{
	B2F_HOLD(&http->lock);

	return r->dropped || r->cancelled;
}

static bool is_hurried(struct b2f_http *http, const struct b2f_http_request *r)
{
	return atomic_load(&http->patience) >= B2F_HTTP_HURRIED &&
	       !b2f_http_is_put(r->spec.method);
}

/* Was it dropped or cancelled, or is its time over, or all requests'? */
static bool is_to_end(struct b2f_http *http, struct b2f_http_request *r)
{
	uint64_t since = r->begun_ns ? r->begun_ns : r->started_ns;

	if (atomic_load(&http->patience) == B2F_HTTP_ENDED)
		return true;
	if (is_hurried(http, r) &&
	    b2f_monotonic_ns() - since > HURRY_MS * UINT64_C(1000000))
		return true;
	return is_dropped(http, r);
}

/* Ends a request without an answer. */
static void give_up(struct b2f_http *http, struct b2f_http_request *r)
{
	bool was_sent = r->begun_ns && r->spec.method >= B2F_HTTP_PUT;

	r->reply.err = b2f_why_set(&r->reply.why,
				   r->cancelled ? -EINTR : -ETIMEDOUT, UNWAITED);
	r->reply.sent |= was_sent;
	r->reply.may_pass = true;
	finish(http, r);
}

static void begin(struct b2f_http *http, struct b2f_http_request *r)
{
	int err = 0;

	b2f_http_reply_begin(r);
	r->begun_ns = 0;
	r->started_ns = b2f_monotonic_ns();
	r->easy = b2f_curl()->easy_init();
	if (!r->easy || b2f_http_ask(r, &http->options) ||
	    b2f_curl()->multi_add_handle(http->multi, r->easy))
		err = -ENOMEM;
	if (err) {
		r->reply.err = err;
		finish(http, r);
		return;
	}
	DL_APPEND(http->running, r);
	atomic_fetch_add(&http->requests, 1);
}

/* A weak random number, but different in any two programs. */
static uint64_t draw(struct b2f_http *http, uint64_t below)
{
	unsigned int seed = atomic_fetch_add(&http->seed, 0x9e3779b9);

	return (uint64_t)rand_r(&seed) % below;
}

/* The pause before the next try, ms, half of it random; -1: no more. */
static int64_t pause_ms(struct b2f_http *http, struct b2f_http_tries *tries)
{
	uint64_t now = b2f_monotonic_ns(), limit_ms = http->options.retry_ms;
	unsigned int twice = tries->n < 16 ? tries->n : 16;
	uint64_t ms = (uint64_t)http->options.backoff_ms << twice;

	if (atomic_load(&http->patience) == B2F_HTTP_ENDED)
		return -1;
	if (!atomic_load(&http->has_answered))
		limit_ms = b2f_min_u64(limit_ms, COLD_MS);
	/* Spread the retries of clients that failed together. */
	ms = b2f_min_u64(ms, PAUSE_MAX_MS);
	ms = ms / 2 + draw(http, ms / 2 + 1);
	if (tries->n++ == 0)
		tries->begun_ns = now;
	return (now - tries->begun_ns) / 1000000 + ms > limit_ms ? -1
								 : (int64_t)ms;
}

bool b2f_http_try_again(struct b2f_http *http, struct b2f_http_tries *tries)
{
	int64_t ms = pause_ms(http, tries);

	return ms >= 0 && b2f_waiting_sleep((uint64_t)ms);
}

static void pause_request(struct b2f_http *http, struct b2f_http_request *r,
			  int64_t ms)
{
	r->due_ns = b2f_monotonic_ns() + (uint64_t)ms * 1000000;
	atomic_fetch_add(&http->retries, 1);
	end_easy(r);
	DL_APPEND(http->paused, r);
}

/* A host that has never answered probably has a wrong name. */
static bool may_pass(struct b2f_http *http, const struct b2f_http_request *r)
{
	return b2f_http_reply_may_pass(r) && !is_hurried(http, r) &&
	       (r->reply.err != -EHOSTUNREACH ||
		atomic_load(&http->has_answered));
}

static void end_one(struct b2f_http *http, CURL *easy, CURLcode code)
{
	struct b2f_http_request *r = NULL;
	int64_t ms = -1;

	b2f_curl()->easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&r);
	b2f_http_reply_end(r, code);
	atomic_fetch_add(&http->received, r->reply.size + r->nerror);
	atomic_fetch_add(&http->sent, r->nsent);
	b2f_curl()->multi_remove_handle(http->multi, easy);
	DL_DELETE(http->running, r);
	if (r->reply.status)
		atomic_store(&http->has_answered, true);
	if (!r->spec.once && may_pass(http, r) && !is_dropped(http, r))
		ms = pause_ms(http, &r->tries);
	if (ms >= 0)
		pause_request(http, r, ms);
	else
		finish(http, r);
}

static void end_ready(struct b2f_http *http)
{
	struct CURLMsg *msg;
	int left;

	while ((msg = b2f_curl()->multi_info_read(http->multi, &left)))
		if (msg->msg == CURLMSG_DONE)
			end_one(http, msg->easy_handle, msg->data.result);
}

static void end_unwanted(struct b2f_http *http)
{
	struct b2f_http_request *r, *tmp;

	DL_FOREACH_SAFE(http->running, r, tmp) {
		if (!is_to_end(http, r))
			continue;
		b2f_curl()->multi_remove_handle(http->multi, r->easy);
		DL_DELETE(http->running, r);
		give_up(http, r);
	}
	DL_FOREACH_SAFE(http->paused, r, tmp) {
		if (!is_to_end(http, r) && !is_hurried(http, r))
			continue;
		DL_DELETE(http->paused, r);
		give_up(http, r);
	}
}

/* Restarts requests whose pause is over; returns how long to sleep, ms. */
static int wake_paused(struct b2f_http *http)
{
	uint64_t now = b2f_monotonic_ns(), sleep_ms = SLEEP_MS;
	struct b2f_http_request *r, *tmp;

	DL_FOREACH_SAFE(http->paused, r, tmp) {
		if (r->due_ns <= now) {
			DL_DELETE(http->paused, r);
			begin(http, r);
			/* The start may have failed at once. */
			sleep_ms = 0;
		} else {
			sleep_ms = b2f_min_u64(
				sleep_ms, (r->due_ns - now) / 1000000 + 1);
		}
	}
	return (int)sleep_ms;
}

/* Starts the queued requests in order; false: stop the thread. */
static bool take_queue(struct b2f_http *http)
{
	struct b2f_http_request *list, *r, *tmp;
	bool stops;

	pthread_mutex_lock(&http->lock);
	list = http->queue;
	http->queue = NULL;
	stops = http->stops;
	pthread_mutex_unlock(&http->lock);
	DL_FOREACH_SAFE(list, r, tmp) {
		DL_DELETE(list, r);
		begin(http, r);
	}
	end_unwanted(http);
	return !stops;
}

/* Outside a hurry libcurl checks running requests once a second. */
static void hurry_at_end(struct b2f_http *http)
{
	const struct b2f_http_options *o = &http->options;

	if (http->running && o->ends && !atomic_load(&http->patience) &&
	    o->ends(o->ends_arg))
		b2f_http_hurry(http, B2F_HTTP_HURRIED);
}

static void *serve(void *arg)
{
	struct b2f_http *http = arg;
	int running = 0, sleep_ms;

	while (take_queue(http)) {
		hurry_at_end(http);
		sleep_ms = wake_paused(http);
		b2f_curl()->multi_perform(http->multi, &running);
		end_ready(http);
		/* A request that has just failed may be due earlier. */
		if (http->paused && sleep_ms > 0)
			sleep_ms = wake_paused(http);
		if (http->running && atomic_load(&http->patience) &&
		    sleep_ms > HURRY_STEP_MS)
			sleep_ms = HURRY_STEP_MS;
		b2f_curl()->multi_poll(http->multi, NULL, 0, sleep_ms, NULL);
	}
	return NULL;
}

/* Signals are handled by the threads of the program. */
static int start_thread(struct b2f_http *http)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&http->thread, NULL, serve, http);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

static int set_up(struct b2f_http *http)
{
	http->multi = b2f_curl()->multi_init();
	if (!http->multi)
		return -ENOMEM;
	b2f_curl()->multi_setopt(http->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
				 (long)http->options.connections);
	b2f_curl()->multi_setopt(http->multi, CURLMOPT_MAXCONNECTS,
				 (long)http->options.connections);
	return start_thread(http);
}

/* Frees @http, whose thread has ended, or has never begun. */
static void tear_down(struct b2f_http *http)
{
	b2f_curl()->multi_cleanup(http->multi);
	pthread_mutex_destroy(&http->lock);
	free(http->strings);
	free(http);
}

int b2f_http_new(const struct b2f_http_options *options, struct b2f_http **out)
{
	struct b2f_http *http = calloc(1, sizeof(*http));
	int err = -ENOMEM;

	if (!http)
		return -ENOMEM;
	http->options = *options;
	http->strings = own_strings((const char **[]){
		&http->options.proxy, &http->options.no_proxy,
		&http->options.ca_file, &http->options.unsigned_why, NULL});
	atomic_init(&http->seed, (unsigned int)b2f_monotonic_ns());
	pthread_mutex_init(&http->lock, NULL);
	if (http->strings)
		err = set_up(http);
	if (err)
		tear_down(http);
	else
		*out = http;
	return err;
}

void b2f_http_free(struct b2f_http *http)
{
	if (!http)
		return;
	pthread_mutex_lock(&http->lock);
	http->stops = true;
	pthread_mutex_unlock(&http->lock);
	b2f_curl()->multi_wakeup(http->multi);
	pthread_join(http->thread, NULL);
	tear_down(http);
}

int b2f_http_start(struct b2f_http *http, const struct b2f_http_spec *spec,
		   struct b2f_http_request **out)
{
	struct b2f_http_request *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->spec = *spec;
	r->strings = own_strings((const char **[]){
		&r->spec.url, &r->spec.etag, &r->spec.if_match,
		&r->spec.if_none_match, &r->spec.copy_from, &r->spec.note,
		&r->spec.sum, NULL});
	if (!r->strings) {
		free(r);
		return -ENOMEM;
	}
	r->http = http;
	pthread_cond_init(&r->changed, NULL);
	pthread_mutex_lock(&http->lock);
	DL_APPEND(http->queue, r);
	pthread_mutex_unlock(&http->lock);
	b2f_curl()->multi_wakeup(http->multi);
	*out = r;
	return 0;
}

void b2f_http_hurry(struct b2f_http *http, enum b2f_http_patience patience)
{
	if (atomic_load(&http->patience) < (int)patience)
		atomic_store(&http->patience, (int)patience);
	b2f_curl()->multi_wakeup(http->multi);
}

/* Cancels the request, and waits for its end; the lock is held. */
static void cancel(struct b2f_http_request *r)
{
	r->cancelled = true;
	b2f_curl()->multi_wakeup(r->http->multi);
	while (!r->done)
		pthread_cond_wait(&r->changed, &r->http->lock);
}

const struct b2f_http_reply *b2f_http_wait(struct b2f_http_request *request)
{
	static const struct b2f_http_reply unwaited = {
		.err = -EINTR, .why = {UNWAITED}, .may_pass = true};
	const struct b2f_http_reply *reply = &request->reply;
	struct b2f_http *http = request->http;
	bool over = false;
	B2F_HOLD(&http->lock);

	while (!request->done && !over)
		over = !b2f_waiting_wait(&request->changed, &http->lock);
	/*
	 * Others may wait for a read. A change is cancelled to know its
	 * outcome.
	 */
	if (over && request->spec.method >= B2F_HTTP_PUT)
		cancel(request);
	else if (over)
		reply = &unwaited;
	return reply;
}

void b2f_http_drop(struct b2f_http_request *request)
{
	struct b2f_http *http = request ? request->http : NULL;
	bool done;

	if (!request)
		return;
	/* The thread uses the caller's buffer until the request is done. */
	pthread_mutex_lock(&http->lock);
	if (request->spec.into && !request->done)
		cancel(request);
	while (request->spec.data && !request->done)
		pthread_cond_wait(&request->changed, &http->lock);
	done = request->done;
	request->dropped = true;
	pthread_mutex_unlock(&http->lock);
	if (done)
		free_request(request);
	else
		b2f_curl()->multi_wakeup(http->multi);
}

/* Ends request @i at @slot, if any; *@err is the first error. */
static void end_slot(struct b2f_http_request **slot, size_t i,
		     b2f_http_end_fn *end, void *arg, int *err,
		     struct b2f_why *why)
{
	const struct b2f_http_reply *reply =
		*slot ? b2f_http_wait(*slot) : NULL;
	struct b2f_why first = {""};
	int now = reply ? end(arg, i, reply, &first) : 0;

	if (now && !*err) {
		*err = now;
		*why = now == reply->err ? reply->why : first;
	}
	b2f_http_drop(*slot);
	*slot = NULL;
}

int b2f_http_row(size_t n, size_t limit, b2f_http_start_fn *start,
		 b2f_http_end_fn *end, void *arg, struct b2f_why *why)
{
	struct b2f_http_request *slots[B2F_HTTP_ROW_MAX] = {NULL};
	int err = 0;

	for (size_t i = 0; i < n + limit; i++) {
		struct b2f_http_request **slot = &slots[i % limit];

		end_slot(slot, i - limit, end, arg, &err, why);
		if (err && n > i)
			n = i;
		if (i < n)
			err = start(arg, i, slot);
	}
	return err;
}

const struct b2f_http_options *b2f_http_options_of(const struct b2f_http *http)
{
	return &http->options;
}

struct b2f_remote_counts b2f_http_counts(const struct b2f_http *http)
{
	return (struct b2f_remote_counts){
		.requests = atomic_load(&http->requests),
		.retries = atomic_load(&http->retries),
		.received = atomic_load(&http->received),
		.sent = atomic_load(&http->sent),
	};
}
