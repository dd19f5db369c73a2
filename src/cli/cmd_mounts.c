/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_mounts.c - bloscctl mounts: where bloscfs is mounted */
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/mounts.h"
#include "cli/need.h"
#include "cli/options.h"

#define TABLE "/proc/self/mounts"
#define TYPE  "fuse.bloscfs"

static const struct cli_option table[] = {
	{.shared = cli_common_quiet},
	{.shared = cli_json_option},
	{0},
};

static const char text[] =
	"{}  {source}  [{?read_only}ro|rw]  [{pid}|{error}]\n";

/* All mounts together have so long to answer. */
#define ANSWER_MS 2000

struct mount {
	json_t *object;
	char *dir;
	struct cli_asker asker;
};

static json_t *describe(const struct mntent *mount)
{
	return json_pack("{s:o*, s:o*, s:s, s:b}", "mountpoint",
			 cli_json_name(mount->mnt_dir), "source",
			 cli_json_name(mount->mnt_fsname), "options",
			 mount->mnt_opts, "read_only",
			 strncmp(mount->mnt_opts, "ro", 2) == 0);
}

/* A mount that does not answer has an error instead. */
static void print_mount(struct mount *mount, uint64_t deadline)
{
	struct cli_answer answer = cli_asker_read(&mount->asker, deadline);
	bool found = answer.pid > 0;
	const char *why = answer.pid == -EACCES
				  ? "permission denied: another user's mount"
				  : "no answer";

	json_object_update_new(
		mount->object,
		json_pack("{s:o, s:o?, s:s*}", "pid",
			  found ? json_integer(answer.pid) : json_null(),
			  "version",
			  found && *answer.version ? json_string(answer.version)
						   : NULL,
			  "error", found ? NULL : why));
	cli_json_say(text, mount->dir, mount->object);
	free(mount->dir);
}

/* Prints the mounts in this mount namespace, the oldest first. */
static int print_mounts(void)
{
	FILE *table_file = setmntent(TABLE, "re");
	B2F_OWN struct mount *mounts = NULL;
	const struct mntent *entry;
	uint64_t deadline;
	size_t n = 0;

	if (!table_file)
		return cli_message_errno(TABLE, -errno);
	while ((entry = getmntent(table_file))) {
		if (strcmp(entry->mnt_type, TYPE) != 0)
			continue;
		mounts = cli_need_room(mounts, n, sizeof(*mounts));
		mounts[n++] = (struct mount){
			.object = describe(entry),
			.dir = cli_need_copy(entry->mnt_dir),
			.asker = cli_asker_start(entry->mnt_dir, NULL)};
	}
	endmntent(table_file);
	deadline = cli_common_now_ms() + ANSWER_MS;
	for (size_t i = 0; i < n; i++)
		print_mount(&mounts[i], deadline);
	return 0;
}

static int run_mounts(const struct cli_command *self, void *options,
		      char **operands)
{
	int err;

	(void)options;
	if (*operands)
		return cli_command_misuse(self, "it has no operands");
	cli_json_begin(true);
	err = print_mounts();
	cli_json_end();
	return err ? CLI_EXIT_FAILURE : CLI_EXIT_OK;
}

const struct cli_command cli_mounts_command = {
	.name = "mounts",
	.summary = "list where bloscfs is mounted",
	.help = "Lists where bloscfs is mounted: mountpoint, source, "
		"read-only or not, process.",
	.options = table,
	.run = run_mounts,
};
