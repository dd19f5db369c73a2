/* SPDX-License-Identifier: BSD-3-Clause */
/* directories.c - the directories of a tree that is copied */
#include "cli/directories.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "b2frame/error.h"
#include "cli/at.h"
#include "cli/attributes.h"
#include "cli/message.h"
#include "cli/need.h"

static int stat_below(int top, const char *below, struct stat *out)
{
	CLI_OWN_FD int fd = cli_at_open_below(top, below, O_PATH);

	return fd < 0 ? fd : fstat(fd, out) != 0 ? -errno : 0;
}

/* Returns 1 if the directory exists already. */
static int make_one(int top, const char *below, mode_t mode)
{
	const char *name;
	CLI_OWN_FD int dir =
		cli_at_open_parent(top, below, CLI_MAKE_DURABLE, &name);

	return dir < 0 ? dir : cli_at_make(dir, name, mode, CLI_MAKE_DURABLE);
}

int cli_directories_make(struct cli_directories *d, const char *path,
			 const char *below, bool was_made)
{
	struct stat like, as;
	int err = stat_below(d->from, below, &like), there = 0;

	/*
	 * Until all is in it, no other user may write to it: links could
	 * redirect the copy.  The mode is nearly the final one, in case of
	 * an interruption.
	 */
	if (!err && !was_made)
		there = make_one(d->to, below, (like.st_mode & 0755) | S_IRWXU);
	if (!err)
		err = there < 0 ? there : stat_below(d->to, below, &as);
	if (there > 0 && (err == -ENOTDIR || err == -ELOOP))
		err = -EEXIST;
	if (err || there)
		return cli_message_errno(path, err);
	d->made = cli_need_room(d->made, d->n, sizeof(*d->made));
	d->made[d->n++] =
		(struct cli_made_directory){cli_need_copy(below), like, as};
	return 0;
}

/* Opens @below if it is still the file @st, or returns an errno. */
static int open_same(int top, const char *below, const struct stat *st)
{
	int fd = cli_at_open_below(top, below, O_RDONLY);
	struct stat now;

	if (fd < 0)
		return fd;
	if (fstat(fd, &now) == 0 && cli_at_is_same(&now, st))
		return fd;
	close(fd);
	return -ESTALE;
}

static int finish(const struct cli_directories *d,
		  const struct cli_made_directory *made)
{
	CLI_OWN_FD int fd = open_same(d->to, made->below, &made->as);
	CLI_OWN_FD int from = open_same(d->from, made->below, &made->like);

	return fd < 0 ? fd
		      : cli_attributes_set_directory(fd, &made->like, from);
}

int cli_directories_finish(struct cli_directories *d, const char *path)
{
	int first = 0;

	/*
	 * A change in a directory changes its mtime, so set the times of the
	 * innermost first; the parents still belong to us.
	 */
	while (d->n > 0) {
		struct cli_made_directory *made = &d->made[--d->n];
		int err = finish(d, made);

		if (err)
			cli_message_error("%s/%s: %s", path, made->below,
					  b2f_strerror(err));
		first = first ? first : err;
		free(made->below);
	}
	free(d->made);
	d->made = NULL;
	return first;
}
