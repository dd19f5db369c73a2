/* SPDX-License-Identifier: BSD-3-Clause */
/* renaming.c - what the parts of a rename know of both names */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "durable_sync.h"
#include "renaming.h"

void fs_renaming_move(struct fs *fs, const struct fs_side *side,
		      const struct fs_entry *entry, const char *name)
{
	if (!side->pin.node)
		return;
	if (fs_side_is_frame(side))
		fs_durable_note_renamed(fs, side->pin.node, entry->pin.fd);
	/* The frame itself stays at its home. */
	if (fs_side_is_name(side))
		return;
	/* Without memory the kernel looks it up anew. */
	(void)!fs_tree_move(fs->tree, side->pin.node, entry->dir, name);
}

int fs_renaming_entry(const struct fs_entry *from, const char *name,
		      const struct fs_entry *to, const char *new_name,
		      unsigned int flags)
{
	if (renameat2(from->pin.fd, name, to->pin.fd, new_name, flags) == 0)
		return 0;
	/* Not every filesystem knows RENAME_NOREPLACE. */
	if (errno != EINVAL || flags != RENAME_NOREPLACE)
		return -errno;
	if (faccessat(to->pin.fd, new_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(from->pin.fd, name, to->pin.fd, new_name) ? -errno : 0;
}

int fs_renaming_make_durable(struct fs_renaming *r, const struct fs_side *fresh,
			     const struct fs_side *old)
{
	const struct stat *st = &old->found.probe.st;

	if (!fs_side_is_frame(fresh) ||
	    fs_durable_state(r->fs, st->st_dev, st->st_ino) == B2F_DISK_NEW)
		return 0;
	return fs_durable_sync_found(r->fs, fresh->pin.node, &fresh->found);
}

int fs_renaming_move_old(struct fs_renaming *r, unsigned int flags)
{
	int err = fs_renaming_entry(&r->from.entry, r->from.found.name,
				    &r->to.entry, r->name, flags);

	if (!err)
		fs_renaming_move(r->fs, &r->from, &r->to.entry, r->name);
	return err;
}

int fs_renaming_call(struct fs_renaming *r, struct fs_side *side,
		     const struct fs_entry *entry, const char *name)
{
	int err;

	if (strcmp(side->found.name, name) == 0)
		return 0;
	err = fs_renaming_entry(entry, side->found.name, entry, name,
				RENAME_NOREPLACE);
	if (err)
		return err;
	fs_renaming_move(r->fs, side, entry, name);
	snprintf(side->found.name, sizeof(side->found.name), "%s", name);
	return 0;
}
