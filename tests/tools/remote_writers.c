/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_writers.c - writers that race for one frame in an object store
 *
 *   remote_writers ENDPOINT ACCESS SECRET URL WRITERS COMMITS SEED
 *
 * Makes the frame URL: chunk 0 is a list, a count and its numbers, to which all
 * writers add; the others have a chunk each, which is full of one number.  Each
 * writer, with connections of its own, commits either or both, until all together
 * have committed COMMITS times.  A refused commit (ESTALE) is given up, and any
 * other error is tried again.
 *
 * Prints a line for what holds then:
 *
 *   list N      a commit that was acknowledged has added N
 *   tried N     a commit that was refused has tried to
 *   own I A B   chunk I: A was acknowledged last, and B was tried last
 *   done COMMITS REFUSED ERRORS
 *
 * Exit status: 0, 1 (something else failed; said on stderr), 2 (usage).
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "b2frame/remote.h"

#define CHUNK	    ((size_t)65536)
#define NUMBERS	    (CHUNK / sizeof(uint32_t))
#define MAX_WRITERS 64
/* A commit that fails so often in a row will not succeed. */
#define MAX_ERRORS 1000

struct race {
	const char *endpoint;
	const char *access;
	const char *secret;
	const char *url;
	unsigned int nwriters;
	uint64_t wanted;
	unsigned int seed;
	struct b2f_runtime *rt;
	_Atomic uint64_t ncommits;
	_Atomic uint64_t nrefused;
	_Atomic uint64_t nerrors;
	atomic_bool failed;
};

struct writer {
	struct race *race;
	pthread_t thread;
	unsigned int id;
	unsigned int random;
	/*
	 * The value tried last; for the own chunk also the value acknowledged.
	 */
	uint32_t tried;
	uint32_t acked;
	struct b2f_remote *remote;
	struct b2f_file *file;
	uint32_t chunk[NUMBERS];
};

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *what, uint32_t number)
{
	pthread_mutex_lock(&output);
	printf("%s %u\n", what, number);
	pthread_mutex_unlock(&output);
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "remote_writers: %s: %s\n", what, b2f_strerror(err));
	return err;
}

static int connect_to(const struct race *race, struct b2f_remote **out)
{
	const struct b2f_remote_options options = {
		.endpoint = race->endpoint,
		.access_key = race->access,
		.secret_key = race->secret,
		.retry_ms = 2000,
		.backoff_ms = 2,
		.refresh_ms = 1,
	};

	return b2f_remote_new(&options, race->url, out);
}

static int put(struct writer *w, unsigned int nchunk)
{
	ssize_t n = b2f_file_pwrite(w->file, w->chunk, CHUNK, nchunk * CHUNK);

	return n < 0 ? (int)n : 0;
}

/* Opens @frame for writing, or closes it. */
static int begin(struct writer *w, struct b2f_frame *frame)
{
	const struct b2f_write_options how = {.chunksize = CHUNK};
	int err = b2f_file_open(w->race->rt, frame, &w->file);

	if (err) {
		b2f_frame_close(frame);
		return err;
	}
	for (int i = 0; i < MAX_ERRORS; i++) {
		err = b2f_file_allow_write(w->file, &how);
		if (!err)
			break;
	}
	return err;
}

static int open_file(struct writer *w)
{
	const struct b2f_frame_options options = {.log = NULL};
	struct b2f_frame *frame = NULL;
	int err;

	for (int i = 0; i < MAX_ERRORS; i++) {
		err = b2f_remote_open_frame(w->remote, "", &options, &frame);
		if (!err)
			break;
	}
	return err ? err : begin(w, frame);
}

/* Commits; tries again what may be tried again.  Returns 0 or -ESTALE or worse. */
static int commit(struct writer *w)
{
	int err = 0;

	for (int i = 0; i < MAX_ERRORS; i++) {
		err = b2f_file_commit(w->file, B2F_COMMIT_DURABLE);
		if (!err || err == -ESTALE)
			return err;
		w->race->nerrors++;
	}
	return err;
}

/* Sees what others have done; nothing is to be committed. */
static int look_anew(struct writer *w)
{
	int err = 0;

	for (int i = 0; i < MAX_ERRORS; i++) {
		err = b2f_file_revert(w->file);
		if (!err)
			return 0;
		w->race->nerrors++;
	}
	return err;
}

static int read_list(struct writer *w)
{
	ssize_t n = 0;

	for (int i = 0; i < MAX_ERRORS && n != (ssize_t)CHUNK; i++) {
		n = b2f_file_pread(w->file, NULL, w->chunk, CHUNK, 0);
		w->race->nerrors += n < 0;
	}
	if (n != (ssize_t)CHUNK)
		return n < 0 ? (int)n : -EIO;
	return w->chunk[0] + 2 < NUMBERS ? 0 : -ENOSPC;
}

/*
 * Before the list is read, a zero is written over a zero: from
 * then on the commit is bound to the version read.  The first change is of the
 * current version, which may be newer than the list read before.
 */
static int add_to_list(struct writer *w, uint32_t number)
{
	static const uint32_t zero;
	ssize_t n = b2f_file_pwrite(w->file, &zero, sizeof(zero),
				    CHUNK - sizeof(zero));
	int err = n < 0 ? (int)n : read_list(w);

	if (err)
		return err;
	w->chunk[++w->chunk[0]] = number;
	return put(w, 0);
}

static int fill_own(struct writer *w, uint32_t number)
{
	for (size_t i = 0; i < NUMBERS; i++)
		w->chunk[i] = number;
	return put(w, 1 + w->id);
}

/* Does one commit, or an attempt that comes to nothing. */
static int turn(struct writer *w)
{
	bool lists = rand_r(&w->random) % 2, owns;
	uint32_t number;
	int err = look_anew(w);

	owns = !lists || rand_r(&w->random) % 2;
	number = ++w->tried * MAX_WRITERS + w->id;
	if (!err && lists)
		err = add_to_list(w, number);
	if (!err && owns)
		err = fill_own(w, number);
	if (err)
		return fail("write", err);
	err = commit(w);
	if (err && err != -ESTALE)
		return fail("commit", err);
	if (lists)
		say(err ? "tried" : "list", number);
	if (err) {
		w->race->nrefused++;
		return 0;
	}
	w->race->ncommits++;
	if (owns)
		w->acked = number;
	return 0;
}

static void *run(void *arg)
{
	struct writer *w = arg;
	struct race *race = w->race;
	int err = connect_to(race, &w->remote);

	if (!err)
		err = open_file(w);
	if (err)
		fail("open", err);
	while (!err && !race->failed && race->ncommits < race->wanted)
		err = turn(w);
	if (err)
		race->failed = true;
	b2f_file_close(w->file);
	b2f_remote_free(w->remote);
	return NULL;
}

/* The frame, with zeros. */
static int make(struct race *race)
{
	const struct b2f_frame_options options = {.log = NULL};
	struct b2f_settings settings = b2f_settings_default();
	struct writer *w = calloc(1, sizeof(*w));
	struct b2f_frame *frame = NULL;
	int err;

	if (!w)
		return -ENOMEM;
	w->race = race;
	settings.chunksize = CHUNK;
	settings.typesize = 4;
	err = connect_to(race, &w->remote);
	if (!err)
		err = b2f_remote_make_frame(w->remote, "", &settings, &options,
					    &frame);
	if (!err)
		err = begin(w, frame);
	for (unsigned int i = 0; !err && i <= race->nwriters; i++)
		err = put(w, i);
	if (!err)
		err = commit(w);
	b2f_file_close(w->file);
	b2f_remote_free(w->remote);
	free(w);
	return err ? fail("make", err) : 0;
}

static int run_all(struct race *race)
{
	struct writer *writers = calloc(race->nwriters, sizeof(*writers));

	if (!writers)
		return -ENOMEM;
	for (unsigned int i = 0; i < race->nwriters; i++) {
		struct writer *w = &writers[i];

		*w = (struct writer){.race = race,
				     .id = i,
				     .random = race->seed * MAX_WRITERS + i};
		if (pthread_create(&w->thread, NULL, run, w) != 0)
			abort();
	}
	for (unsigned int i = 0; i < race->nwriters; i++) {
		pthread_join(writers[i].thread, NULL);
		printf("own %u %u %u\n", i + 1, writers[i].acked,
		       writers[i].tried * MAX_WRITERS + i);
	}
	free(writers);
	return race->failed ? -EIO : 0;
}

int main(int argc, char **argv)
{
	const struct b2f_runtime_options some = {.nworkers = 2};
	struct race race = {.rt = NULL};
	int err;

	if (argc != 8) {
		fprintf(stderr, "usage: remote_writers ENDPOINT ACCESS SECRET "
				"URL WRITERS COMMITS SEED\n");
		return 2;
	}
	race.endpoint = argv[1];
	race.access = argv[2];
	race.secret = argv[3];
	race.url = argv[4];
	race.nwriters = (unsigned int)atoi(argv[5]);
	race.wanted = strtoull(argv[6], NULL, 10);
	race.seed = (unsigned int)atoi(argv[7]);
	if (race.nwriters < 1 || race.nwriters > MAX_WRITERS)
		return 2;
	err = b2f_runtime_new(&some, &race.rt);
	if (!err)
		err = make(&race);
	if (!err)
		err = run_all(&race);
	b2f_runtime_free(race.rt);
	printf("done %llu %llu %llu\n", (unsigned long long)race.ncommits,
	       (unsigned long long)race.nrefused,
	       (unsigned long long)race.nerrors);
	return err ? 1 : 0;
}
