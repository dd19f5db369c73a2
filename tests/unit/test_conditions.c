/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_conditions.c - a writer tries an object store out before it writes there
 */
#include <criterion/criterion.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "b2frame/remote.h"
#include "tests/support/writers_scene.h"

static void check_refused(const char *manner, const char *word)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_to(&s);

	(void)server_ask(&s.server, "%s", manner);
	cr_assert_eq(b2f_remote_allow_write(remote, "x"), -EROFS);
	cr_assert_not_null(strstr(message, word), "%s", message);
	cr_assert_null(strstr(message, "secret"));
	cr_assert_eq(server_tell(&s.server, "objects"), 0);
}

Test(conditions, a_server_without_conditions_is_not_written_to)
{
	check_refused("no_conditions", "If-None-Match");
	check_refused("no_notes", "x-amz-meta");
}

Test(conditions, a_server_that_fails_when_it_is_tried_out_is_tried_again)
{
	for (size_t i = 0; i < NFAULTS; i++) {
		OWN_SCENE struct scene s = scene_open();
		OWN_WRITER struct writer w;

		/* Four probes are sent if all goes well. */
		(void)server_ask(&s.server, "each 5 PUT probe %s", faults[i]);
		w = begin(&s);
		cr_assert_str_eq(content(&s), "1111");
	}
}

/* Each of the two PUTs at once was in the other's way. */
Test(conditions, a_try_that_two_conflicts_answer_begins_again)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w;

	(void)server_ask(&s.server, "when PUT probe 2 status 409");
	w = begin(&s);
	cr_assert_str_eq(content(&s), "1111");
}

Test(conditions, a_server_that_wants_no_quotes_gets_none)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w;

	(void)server_ask(&s.server, "bare_etags");
	w = begin(&s);
	fill(&w, 3, '4');
	cr_assert_eq(commit(&w), 0, "%s", message);
	cr_assert_str_eq(content(&s), "1114");
}
