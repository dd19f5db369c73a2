/* SPDX-License-Identifier: BSD-3-Clause */
/* entry.c - a name in a folder that is about to change */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "entry.h"
#include "links.h"
#include "lookup.h"
#include "view.h"

int fs_entry_enter(struct fs *fs, fuse_ino_t parent, const char *name,
		   struct fs_entry *out)
{
	*out = (struct fs_entry){
		.fs = fs, .dir = fs_node_of(fs, parent), .name = name};
	if (out->dir->kind == FS_KIND_SINGLE || fs_deleted_is_hidden(name))
		return -EPERM;
	return fs_tree_pin(fs->tree, out->dir, &out->pin);
}

void fs_entry_leave(struct fs_entry *entry)
{
	if (entry->fs)
		fs_tree_unpin(entry->fs->tree, &entry->pin);
}

int fs_entry_find(const struct fs_entry *entry, struct fs_found *out)
{
	return fs_lookup_find(entry->fs, entry->dir, entry->pin.fd, entry->name,
			      out);
}

bool fs_entry_has_view(const struct fs_entry *entry)
{
	return fs_view_exists(entry->fs, entry->dir, entry->pin.fd,
			      entry->name);
}

int fs_entry_check_free(const struct fs_entry *entry)
{
	struct fs_found found;
	int err = fs_entry_find(entry, &found);

	if (err)
		return err == -ENOENT ? 0 : err;
	fs_probe_close(&found.probe);
	return -EEXIST;
}

struct fs_backing_dir fs_entry_dir(const struct fs_entry *entry)
{
	return (struct fs_backing_dir){.tree = entry->fs->tree,
				       .dirfd = entry->pin.fd};
}

struct fs_node fs_entry_like(const struct fs_found *found)
{
	return (struct fs_node){
		.kind = found->probe.kind,
		.sparse = found->probe.kind == FS_KIND_FRAME &&
			  found->probe.sparse,
		.dev = found->probe.st.st_dev,
		.ino = found->probe.st.st_ino,
	};
}

struct fs_node *fs_entry_hold(struct fs *fs, const struct fs_found *found)
{
	const struct fs_node like = fs_entry_like(found);
	struct fs_node *node = fs_tree_find(fs->tree, &like);

	/* Without a descriptor, who is about to open it is told to look again.
	 */
	if (node)
		fs_tree_hold(fs->tree, node,
			     fcntl(found->probe.fd, F_DUPFD_CLOEXEC, 0));
	return node;
}

void fs_entry_retire(struct fs *fs, struct fs_node *node,
		     const struct fs_found *found)
{
	struct stat st;

	fs_view_retire(fs, found);
	if (!node)
		return;
	/* Folders count their links in other ways, and have one name only. */
	if (found->probe.kind == FS_KIND_DIR ||
	    (fstat(found->probe.fd, &st) == 0 && st.st_nlink == 0))
		fs_tree_retire(fs->tree, node);
	else
		fs_tree_unhold(fs->tree, node);
}

void fs_entry_let_go(struct fs *fs, struct fs_node *node, int err)
{
	if (!node)
		return;
	if (err)
		fs_tree_unhold(fs->tree, node);
	fs_tree_forget(fs->tree, node, 1);
}

int fs_entry_delete(const struct fs_entry *entry, const struct fs_found *found)
{
	struct fs *fs = entry->fs;
	struct fs_node *node = fs_entry_hold(fs, found);
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
		err = fs_open_frame_delete(fs, entry->pin.fd, found->name,
					   node);
		if (!err)
			fs_view_retire(fs, found);
	} else if (unlinkat(entry->pin.fd, found->name, 0)) {
		err = -errno;
	} else {
		fs_entry_retire(fs, node, found);
	}
	fs_entry_let_go(fs, node, err);
	return err;
}

int fs_entry_delete_folder(const struct fs_entry *entry,
			   const struct fs_found *found)
{
	struct fs *fs = entry->fs;
	struct fs_node *node = fs_entry_hold(fs, found);
	int err = 0;

	if (unlinkat(entry->pin.fd, found->name, AT_REMOVEDIR))
		err = -errno;
	if (err == -ENOTEMPTY || err == -EEXIST) {
		/* It may hold what a mount that crashed had deleted. */
		fs_deleted_purge_at(fs, found->probe.fd);
		fs_links_purge_at(fs, found->probe.fd);
		err = 0;
		if (unlinkat(entry->pin.fd, found->name, AT_REMOVEDIR))
			err = -errno;
	}
	if (!err)
		fs_entry_retire(fs, node, found);
	fs_entry_let_go(fs, node, err);
	return err;
}
