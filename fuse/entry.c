/* SPDX-License-Identifier: BSD-3-Clause */
/* entry.c - names in directories */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "entry.h"
#include "setattr.h"
#include "view.h"

int fs_entry_enter(struct fs *fs, struct fs_node *parent, const char *name,
		   struct fs_entry *out)
{
	*out = (struct fs_entry){
		.fs = fs, .dir = fs_backed_of(parent), .name = name};
	return fs_tree_pin(fs->tree, out->dir, &out->pin);
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
	const struct fs_probe *probe = &found->probe;
	const struct stat *st =
		probe->kind == FS_KIND_FRAME ? &probe->index : &probe->st;
	uid_t user = fuse_req_ctx(req)->uid;
	struct stat dir;

	/*
	 * Without root's rights the kernel checks the daemon's own rights; with
	 * uid= all files have one owner.
	 */
	if (user == 0 || geteuid() != 0 ||
	    entry->fs->options.access.user != FS_UNSET)
		return 0;
	if (fstat(entry->pin.fd, &dir))
		return -errno;
	return !(dir.st_mode & S_ISVTX) || dir.st_uid == user ||
			       st->st_uid == user
		       ? 0
		       : -EPERM;
}

void fs_entry_leave(struct fs_entry *entry)
{
	if (entry->fs)
		fs_tree_unpin(entry->fs->tree, &entry->pin);
}

struct fs_place fs_entry_place(const struct fs_entry *entry)
{
	const struct fs_backed *dir = entry->dir;

	fs_known_enter(&entry->fs->known, dir->dev, dir->ino, entry->pin.fd,
		       false);
	return (struct fs_place){
		.tree = entry->fs->tree,
		.dirfd = entry->pin.fd,
		.known = &entry->fs->known,
		.dev = dir->dev,
		.ino = dir->ino,
	};
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
		if (node->kind == FS_KIND_FRAME)
			fs_open_frame_unlinked(fs, node);
		fs_tree_retire(fs->tree, node);
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
