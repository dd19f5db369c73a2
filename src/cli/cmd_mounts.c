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

/* A mount that does not answer has an error instead. */
static void print_mount(const struct mntent *mount)
{
	char *pid = cli_mounts_ask(mount->mnt_dir, "pid");
	int err = errno;
	char *version = cli_mounts_ask(mount->mnt_dir, "version");
	json_t *object = json_pack(
		"{s:o*, s:o*, s:s, s:b, s:o, s:s?}", "mountpoint",
		cli_json_name(mount->mnt_dir), "source",
		cli_json_name(mount->mnt_fsname), "options", mount->mnt_opts,
		"read_only", strncmp(mount->mnt_opts, "ro", 2) == 0, "pid",
		pid ? json_integer(strtol(pid, NULL, 10)) : json_null(),
		"version", version);

	if (!pid)
		json_object_set_new(object, "error",
				    json_string(err == EACCES
							? "permission denied: "
							  "another user's mount"
							: "no answer"));
	cli_json_say(text, mount->mnt_dir, object);
	free(pid);
	free(version);
}

/* Prints the mounts in this mount namespace, the oldest first. */
static int print_mounts(void)
{
	FILE *mounts = setmntent(TABLE, "re");
	const struct mntent *entry;

	if (!mounts)
		return cli_message_errno(TABLE, -errno);
	while ((entry = getmntent(mounts)))
		if (strcmp(entry->mnt_type, TYPE) == 0)
			print_mount(entry);
	endmntent(mounts);
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
