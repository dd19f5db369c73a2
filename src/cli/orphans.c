/* SPDX-License-Identifier: BSD-3-Clause */
/* orphans.c - chunks in an object store that no index names */
#include "cli/orphans.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/at.h"
#include "cli/message.h"
#include "cli/server.h"
#include "words/value.h"

/* Longest age: a century. */
#define AGE_MAX 3155760000.

/* Parses "90m" as seconds; a number needs a unit. */
static int parse_age(const char *text, int64_t *out)
{
	return isalpha((unsigned char)text[strlen(text) - (*text != '\0')])
		       ? b2f_value_whole_seconds(text, "smhd", AGE_MAX, out)
		       : -EINVAL;
}

static void report(const char *url, const struct b2f_remote_orphans *found,
		   bool dry_run)
{
	const char *done = dry_run ? "" : " removed";

	printf("%s: %" PRIu64 " chunks without an index%s, %" PRIu64
	       " bytes; %" PRIu64 " are younger",
	       url, found->n, done, found->nbytes, found->nyoung);
	if (found->nprobes)
		printf("; %" PRIu64 " probes%s", found->nprobes, done);
	putchar('\n');
}

/* The orphans below a place. */
struct below {
	const char *label;
	bool dry_run;
	uint64_t n;
};

static void report_below(void *arg, const char *path,
			 const struct b2f_remote_orphans *found)
{
	struct below *below = arg;
	char *url = NULL;

	below->n++;
	if (asprintf(&url, "%s%s%s", below->label, *path ? "/" : "", path) < 0)
		return;
	report(url, found, below->dry_run);
	free(url);
}

static int remove_below(struct b2f_remote *remote, uint64_t age, bool dry_run)
{
	struct below below = {b2f_remote_label(remote), dry_run, 0};
	const struct b2f_remote_orphans none = {.n = 0};
	int err = b2f_remote_sweep_below(remote, "", age, dry_run,
					 report_below, &below);

	if (!err && !below.n)
		report(below.label, &none, dry_run);
	return err;
}

static int remove_one(struct b2f_remote *remote, uint64_t age, bool dry_run)
{
	struct b2f_remote_orphans found;
	int err = b2f_remote_sweep(remote, "", age, dry_run, &found);

	if (!err)
		report(b2f_remote_label(remote), &found, dry_run);
	return err;
}

int cli_orphans_remove(const char *url, const struct cli_repair *how)
{
	struct b2f_remote *remote = NULL;
	int64_t age = 0;
	int err;

	if (cli_kind_of(url) != CLI_KIND_URL) {
		cli_message_error("%s: --orphans is for frames in an object "
				  "store",
				  url);
		return -EINVAL;
	}
	if (parse_age(how->older ? how->older : "1d", &age)) {
		cli_message_error("--older=%s: not an age, as 90m or 1d",
				  how->older);
		return -EINVAL;
	}
	err = cli_server_connect(url, &remote);
	if (err)
		return err;
	cli_message_forget();
	err = how->recursive ? remove_below(remote, (uint64_t)age, how->dry_run)
			     : remove_one(remote, (uint64_t)age, how->dry_run);
	err = cli_message_explain(b2f_remote_label(remote), err);
	b2f_remote_free(remote);
	return err;
}
