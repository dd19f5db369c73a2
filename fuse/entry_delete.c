/* SPDX-License-Identifier: BSD-3-Clause */
/* entry_delete.c - deletes a name, and its file with the last name */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "aside.h"
#include "entry.h"
#include "getattr.h"
#include "links.h"
#include "view.h"

/* Keeps the attributes of a file that is deleted in place, for fs_getattr(). */
static void remember(struct fs *fs, struct fs_backed *node)
{
	struct fs_open_frame *frame =
		node ? fs_open_frame_peek(fs, node) : NULL;
	struct stat st;

	if (!frame)
		return;
	(void)!fs_getattr(fs, node, &st);
	fs_open_frame_put(fs, frame);
}

int fs_entry_delete(const struct fs_entry *entry, const struct fs_found *found)
{
	struct fs *fs = entry->fs;
	struct fs_backed *node = fs_entry_hold(fs, found);
	int err = 0;

	if (found->probe.home[0]) {
		err = fs_links_remove(entry, found);
		if (err <= 0) {
			/* The frame has other names. */
			if (!err)
				fs_links_touch(fs, node, found->probe.fd);
			fs_entry_let_go(fs, node, -EMLINK);
			return err;
		}
		err = 0;
	}
	if (found->probe.kind == FS_KIND_FRAME && found->probe.sparse) {
		remember(fs, node);
		err = fs_open_frame_delete(fs, entry->pin.fd, found->name,
					   &found->probe.st, node);
		if (!err)
			fs_view_retire(fs, found);
	} else if (unlinkat(entry->pin.fd, found->name, 0)) {
		/* Another mount has put a sparse frame there. */
		err = errno == EISDIR ? -ESTALE : -errno;
	} else {
		fs_entry_retire(fs, node, found);
	}
	fs_entry_let_go(fs, node, err);
	return err;
}

void fs_entry_clear_dir(const struct fs_entry *entry,
			const struct fs_found *found)
{
	struct fs *fs = entry->fs;
	int fd = found->probe.fd;

	fs_aside_finish_all(fs, fd);
	fs_unlinked_purge_at(fs, fd);
	fs_links_purge_at(fs, fd);
	fs_unlinked_leave(fs, fd, entry->pin.fd);
}

int fs_entry_delete_dir(const struct fs_entry *entry,
			const struct fs_found *found)
{
	struct fs *fs = entry->fs;
	struct fs_backed *node = fs_entry_hold(fs, found);
	int err = 0;

	if (unlinkat(entry->pin.fd, found->name, AT_REMOVEDIR))
		err = -errno;
	if (err == -ENOTEMPTY || err == -EEXIST) {
		fs_entry_clear_dir(entry, found);
		err = 0;
		if (unlinkat(entry->pin.fd, found->name, AT_REMOVEDIR))
			err = -errno;
	}
	if (!err)
		fs_entry_retire(fs, node, found);
	fs_entry_let_go(fs, node, err);
	return err;
}
