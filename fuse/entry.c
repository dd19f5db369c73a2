/* SPDX-License-Identifier: BSD-3-Clause */
/* entry.c - names in directories */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "aside.h"
#include "entry.h"
#include "getattr.h"
#include "links.h"
#include "maker.h"
#include "setattr.h"
#include "view.h"

int fs_entry_enter(struct fs *fs, struct fs_node *parent, const char *name,
		   struct fs_entry *out)
{
	*out = (struct fs_entry){.fs = fs, .name = name};
	return fs_tree_pin(fs->tree, fs_backed_of(parent), &out->pin);
}

int fs_entry_enter_to_change(struct fs *fs, struct fs_node *parent,
			     const char *name, struct fs_entry *out)
{
	int err;

	if (fs_backed_of(parent)->kind == FS_KIND_SINGLE ||
	    fs_unlinked_is_hidden(name))
		return -EPERM;
	err = fs_entry_enter(fs, parent, name, out);
	out->changes = true;
	return err;
}

int fs_entry_check_sticky(fuse_req_t req, const struct fs_entry *entry,
			  const struct fs_found *found)
{
	/* Not the index: others may have replaced it in a frame's directory. */
	const struct stat *st = &found->probe.st;
	uid_t user = fuse_req_ctx(req)->uid;
	struct stat dir;

	/*
	 * Without root's rights the kernel checks the daemon's own rights; with
	 * uid= all files have one owner.
	 */
	if (user == 0 || !fs_maker_is_root() ||
	    entry->fs->options.access.user != FS_UNSET)
		return 0;
	if (fstat(entry->pin.fd, &dir))
		return -errno;
	return !(dir.st_mode & S_ISVTX) || dir.st_uid == user ||
			       st->st_uid == user
		       ? 0
		       : -EPERM;
}

struct fs_backed *fs_entry_hold(struct fs *fs, const struct fs_found *found)
{
	const struct fs_backed key = fs_found_key(found);
	struct fs_backed *node = fs_tree_find(fs->tree, &key, false);

	/* Without a descriptor, an open from now on gets ESTALE. */
	if (node)
		fs_tree_hold(fs->tree, node,
			     fcntl(found->probe.fd, F_DUPFD_CLOEXEC, 0));
	return node;
}

void fs_entry_retire(struct fs *fs, struct fs_backed *node,
		     const struct fs_found *found)
{
	struct stat st;

	fs_view_retire(fs, found);
	if (!node)
		return;
	/* A directory has only one name, and its link count does not say so. */
	if (found->probe.kind == FS_KIND_DIR ||
	    (fstat(found->probe.fd, &st) == 0 && st.st_nlink == 0)) {
		fs_open_frame_unlinked(fs, node);
	} else {
		if (node->kind == FS_KIND_FRAME)
			fs_setattr_note_ctime(fs, node, found->probe.fd,
					      &found->probe.index);
		fs_tree_unhold(fs->tree, node, true);
	}
}

void fs_entry_let_go(struct fs *fs, struct fs_backed *node, int err)
{
	if (!node)
		return;
	if (err)
		fs_tree_unhold(fs->tree, node, false);
	fs_tree_forget(node);
}

/* Keeps the attributes of a file that is deleted in place, for fs_getattr(). */
static void remember(struct fs *fs, struct fs_backed *node)
{
	struct fs_open_frame *frame =
		node ? fs_open_frame_peek(fs, node, false) : NULL;
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
