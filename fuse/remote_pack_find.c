/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_pack_find.c - what is in a pack in an object store, as nodes */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "remote_pack.h"
#include "remote_pack_find.h"

/* A node of entry @entry of @pack, without what takes a request. */
static struct fs_remote_node *new_node(struct fs_remote_pack *pack, size_t entry,
				       const char *path)
{
	static const enum fs_remote_kind kinds[] = {
		[B2F_PACK_DIR] = FS_REMOTE_DIR,
		[B2F_PACK_FRAME] = FS_REMOTE_FRAME,
		[B2F_PACK_FILE] = FS_REMOTE_FILE,
	};
	const struct b2f_pack_entry *e = b2f_pack_entry(pack->pack, entry);
	struct fs_remote_node *node = fs_remote_node_new(kinds[e->kind], path);

	if (!node)
		return NULL;
	node->pack = fs_remote_pack_ref(pack);
	node->entry = entry;
	node->stamp = b2f_pack_stamp(pack->pack);
	node->sizes = (struct fs_frame_sizes){.nbytes = e->size,
					      .cbytes = e->size};
	return node;
}

int fs_remote_pack_find_root(struct fs *fs, const char *path,
			     struct fs_remote_node **out)
{
	struct fs_remote_pack *pack = NULL;
	struct fs_remote_node *node;
	int err = fs_remote_pack_open(fs->remote->place, &fs->remote->log, path,
				      &pack);

	if (err)
		return err;
	/* A frame may be called so, and ends as a pack of nothing. */
	if (b2f_pack_count(pack->pack) == 1)
		err = B2F_ENOTFRAME;
	node = err ? NULL : new_node(pack, 0, path);
	fs_remote_pack_put(pack);
	if (!err && !node)
		err = -ENOMEM;
	if (!err)
		*out = node;
	return err;
}

/* Opens the frame for its sizes; a damaged one is shown, and cannot be opened. */
static int look_at_frame(struct fs *fs, struct fs_remote_node *node)
{
	int err = fs_remote_pack_open_file(fs, node->pack, node->entry,
					   node->path, &node->file);

	node->sizes = (struct fs_frame_sizes){.nbytes = 0};
	if (!err)
		return fs_frame_sizes_read(b2f_file_frame(node->file),
					 &node->sizes);
	if (err != B2F_ECORRUPT && err != B2F_EUNSUPPORTED &&
	    err != B2F_ETOOBIG && err != B2F_ENOTFRAME)
		return err;
	node->broken = err;
	return 0;
}

/* The name that @entry is stored under in its directory. */
static const char *stored_name(const struct b2f_pack_entry *entry)
{
	const char *slash = strrchr(entry->path, '/');

	return slash ? slash + 1 : entry->path;
}

/* Makes the node @path of entry @entry of the pack that @dir is in. */
static int make(struct fs *fs, const struct fs_remote_node *dir, size_t entry,
		const char *path, struct fs_remote_node **out)
{
	struct fs_remote_node *node = new_node(dir->pack, entry, path);
	bool is_open;
	int err = 0;

	if (!node)
		return -ENOMEM;
	if (node->kind == FS_REMOTE_FRAME)
		err = look_at_frame(fs, node);
	if (err) {
		fs_remote_node_free(node);
		return err;
	}
	is_open = node->file != NULL;
	*out = fs_remote_node_publish(fs->remote, node);
	if (is_open)
		fs_wakeup_call(&fs->wakeup, false);
	return 0;
}

int fs_remote_pack_find(struct fs *fs, const struct fs_remote_node *dir,
			const char *name, struct fs_remote_node **out)
{
	const struct b2f_pack *pack = dir->pack->pack;
	struct fs_remote_node *node;
	size_t entry;
	char *path;
	int err = b2f_pack_lookup(pack, dir->entry, name, &entry);

	if (err)
		return err;
	path = fs_remote_node_join(dir->path,
				   stored_name(b2f_pack_entry(pack, entry)));
	if (!path)
		return -ENOMEM;
	node = fs_remote_node_present(fs->remote, path);
	if (node && node->pack &&
	    b2f_frame_stamp_equal(&node->stamp, &dir->stamp)) {
		*out = node;
	} else {
		if (node)
			fs_remote_node_put(fs->remote, node, 1);
		err = make(fs, dir, entry, path, out);
	}
	free(path);
	return err;
}

int fs_remote_pack_find_names(const struct fs_remote_node *dir,
			      struct fs_remote_names **out)
{
	const struct b2f_pack *pack = dir->pack->pack;
	struct fs_remote_names *names = fs_remote_names_new();
	size_t n = b2f_pack_nchildren(pack, dir->entry);
	int err = names ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		const struct b2f_pack_entry *e = b2f_pack_entry(
			pack, b2f_pack_child(pack, dir->entry, i));

		err = fs_remote_names_add(names, e->shown, stored_name(e),
					  e->kind == B2F_PACK_DIR);
	}
	if (err)
		fs_remote_names_put(names);
	else
		*out = names;
	return err;
}
