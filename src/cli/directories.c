/* SPDX-License-Identifier: BSD-3-Clause */
/* directories.c - the directories of a tree that is copied */
#include "cli/directories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attributes.h"
#include "cli/message.h"

static int make_room(struct cli_directories *d)
{
	size_t room = d->room ? 2 * d->room : 16;
	struct cli_made_directory *made = d->made;

	if (d->n < d->room)
		return 0;
	made = realloc(made, room * sizeof(*made));
	if (!made)
		return -ENOMEM;
	d->made = made;
	d->room = room;
	return 0;
}

static int note(struct cli_directories *d, const char *path, const char *from,
		const struct stat *like)
{
	struct cli_made_directory *made;

	if (make_room(d))
		return -ENOMEM;
	made = &d->made[d->n++];
	*made = (struct cli_made_directory){strdup(path), strdup(from), *like};
	return made->path && made->from ? 0 : -ENOMEM;
}

/* There is a directory, if that is why it was not made. */
static int check_there(const char *path, int err)
{
	struct stat st;

	if (err == -EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return cli_message_errno(path, err);
}

int cli_directories_make(struct cli_directories *d, const char *path,
			 const char *from)
{
	struct stat like;
	int err = stat(from, &like) != 0 ? -errno : 0;

	if (err)
		return cli_message_errno(from, err);
	/*
	 * No other user may write to it before all is in it, or could put links where
	 * the copy goes on.  If this is broken off, little is missing.
	 */
	if (mkdir(path, (like.st_mode & 0755) | S_IRWXU) != 0)
		return check_there(path, -errno);
	return cli_message_errno(path, note(d, path, from, &like));
}

int cli_directories_finish(struct cli_directories *d)
{
	int first = 0;

	/*
	 * What changes in a directory changes its times; and those above are not given
	 * away yet.
	 */
	while (d->n > 0) {
		struct cli_made_directory *made = &d->made[--d->n];
		int err = made->path && made->from
				  ? cli_attributes_set_directory(
					    made->path, &made->like, made->from)
				  : -ENOMEM;

		if (err && made->path)
			cli_message_errno(made->path, err);
		first = first ? first : err;
		free(made->path);
		free(made->from);
	}
	free(d->made);
	*d = (struct cli_directories){.made = NULL};
	return first;
}
