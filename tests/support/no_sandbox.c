/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_sandbox.c - runs Criterion tests in plain forked children
 *
 * Criterion starts each test in a sandbox with memory mapped at a fixed
 * address, which the thread sanitizer does not allow.  In builds with that
 * sanitizer this file is linked into the test programs: its main() and its
 * functions take the place of the library's.  Parameterized tests and theories
 * are not supported, and fail.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Made by the linker: the pointers that Test() and TestSuite() leave. */
extern struct criterion_test *__start_cr_tst[];
extern struct criterion_test *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

/* The test that this child runs, and its suite, if any. */
static const struct criterion_test *current;
static const struct criterion_suite *current_suite;
static _Atomic bool failed;

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	if (!stats->passed)
		fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line,
			stats->message);
}

void cri_asserts_passed_incr(void)
{
}

void criterion_continue_test(void)
{
	failed = true;
}

void criterion_abort_test(void)
{
	exit(EXIT_FAILURE);
}

void criterion_internal_test_setup(void)
{
	if (current_suite && current_suite->data->init)
		current_suite->data->init();
	if (current->data->init)
		current->data->init();
}

void criterion_internal_test_main(void (*fn)(void))
{
	fn();
}

void criterion_internal_test_teardown(void)
{
	if (current->data->fini)
		current->data->fini();
	if (current_suite && current_suite->data->fini)
		current_suite->data->fini();
}

static const struct criterion_suite *suite_of(const struct criterion_test *test)
{
	struct criterion_suite **suite;

	for (suite = __start_cr_sts; suite < __stop_cr_sts; suite++)
		if (*suite && strcmp((*suite)->name, test->category) == 0)
			return *suite;
	return NULL;
}

static bool run(const struct criterion_test *test)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		current = test;
		current_suite = suite_of(test);
		if (test->data->kind_ == CR_TEST_NORMAL)
			test->test();
		else
			failed = true;
		exit(failed ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == test->data->signal;
	return WEXITSTATUS(status) == test->data->exit_code;
}

int main(void)
{
	int nfailed = 0;
	int ntests = 0;

	for (struct criterion_test **test = __start_cr_tst;
	     test < __stop_cr_tst; test++) {
		if (!*test || (*test)->data->disabled)
			continue;
		ntests++;
		if (run(*test))
			continue;
		nfailed++;
		fprintf(stderr, "FAIL %s::%s\n", (*test)->category,
			(*test)->name);
	}
	fprintf(stderr, "%d tests, %d failed\n", ntests, nfailed);
	return nfailed > 0;
}
