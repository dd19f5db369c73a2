/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cache_threads.c - run/cache.h: many threads, and one entry or all
 * entries
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "b2frame/patience.h"
#include "tests/support/cache_support.h"

TestSuite(cache_threads, .init = pattern_init, .timeout = 240);

/* Many threads that wait for one load. */
struct crowd {
	struct b2f_cache *cache;
	struct b2f_cache_key key;
	sem_t entered;
	sem_t gate;
	int err;
	_Atomic unsigned int nloads;
	_Atomic unsigned int nerrors;
	_Atomic unsigned int nright;
};

static int load_slowly(void *arg, const struct b2f_cache_key *key, uint8_t *dst,
		       size_t size)
{
	struct crowd *crowd = arg;

	crowd->nloads++;
	sem_post(&crowd->entered);
	sem_wait(&crowd->gate);
	fill(key, dst, size);
	return crowd->err;
}

static void *join_crowd(void *arg)
{
	struct crowd *crowd = arg;
	const struct b2f_cache_loader loader = {.load = load_slowly,
						.arg = crowd};
	struct b2f_cache_ref ref = {.entry = NULL};
	int err;

	err = b2f_cache_get(crowd->cache, &crowd->key, 1000, &loader, &ref);
	if (err)
		crowd->nerrors += err == crowd->err;
	else
		crowd->nright += is_right(&crowd->key, &ref);
	b2f_cache_put(crowd->cache, &ref);
	return NULL;
}

/*
 * 8 threads ask for one key, whose load ends with @err; with @drop its file is
 * dropped meanwhile.
 */
static void run_crowd(struct crowd *crowd, int err, bool drop)
{
	pthread_t threads[8];

	*crowd = (struct crowd){.err = err, .key = key_of(1, 1)};
	crowd->cache = cache_new(MIB(1));
	sem_init(&crowd->entered, 0, 0);
	sem_init(&crowd->gate, 0, 0);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(
			pthread_create(&threads[i], NULL, join_crowd, crowd),
			0);
	sem_wait(&crowd->entered);
	while (stats_of(crowd->cache).waits < 7)
		usleep(1000);
	if (drop)
		b2f_cache_drop_file(crowd->cache, 1);
	sem_post(&crowd->gate);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

Test(cache_threads, many_who_ask_at_once_share_one_load)
{
	struct crowd crowd;

	run_crowd(&crowd, 0, false);
	cr_assert_eq(crowd.nloads, 1);
	cr_assert_eq(crowd.nright, 8);
	cr_assert_eq(stats_of(crowd.cache).misses, 1);
	cr_assert(b2f_cache_has(crowd.cache, &crowd.key));
	b2f_cache_free(crowd.cache);
}

Test(cache_threads, all_who_ask_for_what_is_claimed_wait)
{
	struct crowd crowd = {.key = key_of(1, 1), .cache = cache_new(MIB(1))};
	struct b2f_cache_claim claim;
	pthread_t threads[8];

	cr_assert(b2f_cache_claim(crowd.cache, &crowd.key, 1000, true, &claim));
	for (int i = 0; i < 8; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, join_crowd,
					    &crowd),
			     0);
	while (stats_of(crowd.cache).waits < 8)
		usleep(1000);
	fill(&crowd.key, claim.data, claim.size);
	b2f_cache_settle(crowd.cache, &claim, 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(crowd.nright, 8);
	cr_assert_eq(crowd.nloads, 0);
	b2f_cache_free(crowd.cache);
}

Test(cache_threads, all_who_wait_for_a_failed_load_get_its_error)
{
	struct crowd crowd;

	run_crowd(&crowd, -ENXIO, false);
	cr_assert_eq(crowd.nloads, 1);
	cr_assert_eq(crowd.nerrors, 8);
	cr_assert_eq(stats_of(crowd.cache).bytes, 0);
	b2f_cache_free(crowd.cache);
}

/* Its first call is cancelled. */
static int load_unwanted(void *arg, const struct b2f_cache_key *key,
			 uint8_t *dst, size_t size)
{
	struct crowd *crowd = arg;

	if (crowd->nloads == 0)
		return load_slowly(arg, key, dst, size);
	crowd->nloads++;
	fill(key, dst, size);
	return 0;
}

static void *join_wanting(void *arg)
{
	struct crowd *crowd = arg;
	const struct b2f_cache_loader loader = {.load = load_unwanted,
						.arg = crowd};
	struct b2f_cache_ref ref = {.entry = NULL};
	int err = b2f_cache_get(crowd->cache, &crowd->key, 1000, &loader, &ref);

	crowd->nerrors += err == -EINTR;
	crowd->nright += !err && is_right(&crowd->key, &ref);
	b2f_cache_put(crowd->cache, &ref);
	return NULL;
}

static bool is_unwanted(void *arg)
{
	return atomic_load((atomic_bool *)arg);
}

Test(cache_threads, what_one_gives_up_the_others_load)
{
	struct crowd crowd = {.err = -EINTR, .key = key_of(1, 1)};
	pthread_t threads[8];

	crowd.cache = cache_new(MIB(1));
	sem_init(&crowd.entered, 0, 0);
	sem_init(&crowd.gate, 0, 0);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, join_wanting,
					    &crowd),
			     0);
	sem_wait(&crowd.entered);
	while (stats_of(crowd.cache).waits < 7)
		usleep(1000);
	sem_post(&crowd.gate);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(crowd.nright, 7);
	cr_assert_eq(crowd.nerrors, 1);
	cr_assert_eq(crowd.nloads, 2);
	b2f_cache_free(crowd.cache);
}

Test(cache_threads, wait_that_nobody_wants_ends)
{
	struct crowd crowd = {.key = key_of(1, 1)};
	atomic_bool unwanted = false;
	pthread_t loader;

	crowd.cache = cache_new(MIB(1));
	sem_init(&crowd.entered, 0, 0);
	sem_init(&crowd.gate, 0, 0);
	cr_assert_eq(pthread_create(&loader, NULL, join_crowd, &crowd), 0);
	sem_wait(&crowd.entered);
	b2f_patience_set(is_unwanted, &unwanted);
	atomic_store(&unwanted, true);
	join_wanting(&crowd);
	cr_assert_eq(crowd.nerrors, 1);
	b2f_patience_set(NULL, NULL);
	sem_post(&crowd.gate);
	pthread_join(loader, NULL);
	cr_assert_eq(crowd.nright, 1);
	b2f_cache_free(crowd.cache);
}

Test(cache_threads, file_dropped_while_it_loads_is_handed_out_and_forgotten)
{
	struct crowd crowd;

	run_crowd(&crowd, 0, true);
	cr_assert_eq(crowd.nright, 8);
	cr_assert_not(b2f_cache_has(crowd.cache, &crowd.key));
	cr_assert_eq(stats_of(crowd.cache).bytes, 0);
	cr_assert_eq(stats_of(crowd.cache).entries, 0);
	b2f_cache_free(crowd.cache);
}

Test(cache_threads, file_dropped_while_its_load_fails_leaves_nothing)
{
	struct crowd crowd;

	run_crowd(&crowd, -EIO, true);
	cr_assert_eq(crowd.nerrors, 8);
	cr_assert_eq(stats_of(crowd.cache).entries, 0);
	b2f_cache_free(crowd.cache);
}

/* The stress test: everything at once, and every byte is checked. */
#define STRESS_THREADS 16
#define STRESS_MAX     KIB(96)
#define STRESS_SIZE    KIB(4)
#define STRESS_PINS    4
/* Even, so that no entry is pinned after the last round. */
#define STRESS_ROUNDS 30

static struct b2f_cache *stress_cache;
static _Atomic uint64_t stress_failures;
/* Bytes that all threads have pinned, while they are at rest. */
static _Atomic size_t stress_held;
static pthread_barrier_t stress_barrier;

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static int load_or_fail(void *arg, const struct b2f_cache_key *key,
			uint8_t *dst, size_t size)
{
	uint64_t random = next_random(arg);

	/*
	 * Fill it with dirt: a recycled buffer must not look right by chance.
	 */
	memset(dst, 0xa5, size);
	if (random % 16 == 0)
		return -(int)(1 + key->item % 30);
	if (random % 64 == 1)
		usleep(50);
	fill(key, dst, size);
	return 0;
}

/* Larger than the cache. */
#define STRESS_BIG (STRESS_MAX + 100)

/* The size of @key, which depends on nothing else. */
static size_t size_of(const struct b2f_cache_key *key)
{
	if (key->item % 61 == 60)
		return STRESS_BIG;
	return 1 + key->item * 131 % STRESS_SIZE;
}

static void stress_once(uint64_t *random, struct b2f_cache_ref *ref,
			struct b2f_cache_key *key)
{
	const struct b2f_cache_loader loader = {
		.load = load_or_fail,
		.arg = random,
		.passing = next_random(random) % 2 == 0};
	int err;

	if (ref->entry && !is_right(key, ref))
		stress_failures++;
	if (next_random(random) % 4 == 0)
		b2f_cache_put_passed(stress_cache, ref);
	else
		b2f_cache_put(stress_cache, ref);
	*key = key_of(1 + next_random(random) % 3, next_random(random) % 100);
	switch (next_random(random) % 100) {
	case 0:
		b2f_cache_drop_file(stress_cache, key->file);
		return;
	case 1:
		(void)b2f_cache_has(stress_cache, key);
		return;
	case 2:
		if (!b2f_cache_peek(stress_cache, key, size_of(key), ref))
			return;
		break;
	default:
		err = b2f_cache_get(stress_cache, key, size_of(key),
				    &loader, ref);
		if (err && err != -(int)(1 + key->item % 30))
			stress_failures++;
		if (err)
			return;
	}
	if (ref->size != size_of(key) || !is_right(key, ref))
		stress_failures++;
}

/* Returns the most that the cache may count for an entry of @size. */
static size_t charge_of(size_t size)
{
	return size + size / 8 + OVERHEAD;
}

/*
 * While all threads rest, the cache has at most its limit, the pinned bytes,
 * and one entry larger than the cache.
 */
static void check_bytes(const struct b2f_cache_ref *refs)
{
	for (int i = 0; i < STRESS_PINS; i++)
		if (refs[i].entry)
			stress_held += charge_of(refs[i].size);
	pthread_barrier_wait(&stress_barrier);
	if (stats_of(stress_cache).bytes >
	    STRESS_MAX + charge_of(STRESS_BIG) + stress_held)
		stress_failures++;
	if (pthread_barrier_wait(&stress_barrier) ==
	    PTHREAD_BARRIER_SERIAL_THREAD)
		stress_held = 0;
	pthread_barrier_wait(&stress_barrier);
}

static void *stress(void *arg)
{
	struct b2f_cache_ref refs[STRESS_PINS] = {{.entry = NULL}};
	struct b2f_cache_key keys[STRESS_PINS];
	uint64_t random = (uint64_t)(uintptr_t)arg;

	for (int round = 0; round < STRESS_ROUNDS; round++) {
		for (int i = 0; i < 200; i++)
			stress_once(&random, &refs[i % STRESS_PINS],
				    &keys[i % STRESS_PINS]);
		/* In every second round no entry stays pinned. */
		for (int i = 0; round % 2 && i < STRESS_PINS; i++)
			b2f_cache_put(stress_cache, &refs[i]);
		check_bytes(refs);
	}
	return NULL;
}

Test(cache_threads, stress_of_16_gives_right_bytes_and_exact_counts)
{
	pthread_t threads[STRESS_THREADS];
	struct b2f_cache_stats stats;

	stress_cache = cache_new(STRESS_MAX);
	pthread_barrier_init(&stress_barrier, NULL, STRESS_THREADS);
	for (uintptr_t i = 0; i < STRESS_THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, stress,
					    (void *)(i + 1)),
			     0);
	for (int i = 0; i < STRESS_THREADS; i++)
		pthread_join(threads[i], NULL);

	cr_assert_eq(stress_failures, 0);
	stats = stats_of(stress_cache);
	cr_assert_leq(stats.bytes, STRESS_MAX + charge_of(STRESS_BIG));
	cr_assert_gt(stats.hits, 0);
	cr_assert_gt(stats.evictions, 0);
	for (uint64_t file = 1; file <= 3; file++)
		b2f_cache_drop_file(stress_cache, file);
	stats = stats_of(stress_cache);
	cr_assert_eq(stats.bytes, 0);
	cr_assert_eq(stats.entries, 0);
	pthread_barrier_destroy(&stress_barrier);
	b2f_cache_free(stress_cache);
}
