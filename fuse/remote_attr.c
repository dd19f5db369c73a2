/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_attr.c - what stat(2) says of what is in an object store */
#include <unistd.h>

#include "b2frame/write.h"
#include "remote_attr.h"
#include "view.h"

/* Can it be written to, as far as is known before the open? */
static bool is_writable(const struct fs *fs,
			const struct fs_remote_entry *entry)
{
	const struct fs_remote_node *node = entry->node;

	return fs->read_write && !entry->is_view && !node->broken && !node->pack &&
	       node->kind != FS_REMOTE_FILE;
}

static mode_t mode_of(const struct fs *fs, const struct fs_remote_entry *entry)
{
	mode_t write = is_writable(fs, entry) ? 0200 : 0;

	if (entry->node->kind == FS_REMOTE_DIR)
		return S_IFDIR | ((0555 | write) & ~fs->config.dir_mask);
	return S_IFREG | ((0444 | write) & ~fs->config.file_mask);
}

/* What was written here and is not committed is shown, too. */
static void add_unwritten(struct fs *fs, const struct fs_remote_entry *entry,
			  bool sets_mtime, struct stat *out)
{
	struct b2f_file *file = fs_remote_node_share(fs->remote, entry->node);
	struct fs_shown_sizes sizes;
	struct b2f_file_now now;

	if (!file)
		return;
	b2f_file_now_get(file, &now);
	sizes = (struct fs_shown_sizes){.nbytes = now.nbytes,
					.cbytes = now.cbytes,
					.head_len = entry->node->sizes.head_len};
	fs_shown_attributes(&sizes, entry->is_view, out);
	if (now.has_mtime && !sets_mtime)
		out->st_mtim = now.mtime;
	fs_remote_node_close(fs, entry->node);
}

/* Of a version. */
static void add_version(struct fs *fs, const struct fs_remote_entry *entry,
			struct stat *out)
{
	struct fs_remote_node *node = entry->node;
	struct fs_remote *r = fs->remote;
	bool is_written, sets_mtime;

	pthread_mutex_lock(&r->lock);
	fs_shown_attributes(&node->sizes, entry->is_view, out);
	out->st_mtim.tv_sec = node->stamp.mtime_ns / 1000000000;
	if (node->has_mtime)
		out->st_mtim = node->mtime;
	out->st_nlink = !node->writing.gone;
	is_written = node->writing.is_listed;
	sets_mtime = node->writing.sets_mtime;
	pthread_mutex_unlock(&r->lock);
	if (is_written)
		add_unwritten(fs, entry, sets_mtime, out);
}

void fs_remote_attr(struct fs *fs, const struct fs_remote_entry *entry,
		    struct stat *out)
{
	const struct fs_remote_node *node = entry->node;
	const struct fs_options *o = &fs->options;

	*out = (struct stat){
		.st_ino = entry->is_view ? fs_view_ino(node->ino) : node->ino,
		.st_nlink = 1,
		.st_uid = o->uid == FS_UNSET ? geteuid() : (uid_t)o->uid,
		.st_gid = o->gid == FS_UNSET ? getegid() : (gid_t)o->gid,
		.st_blksize = 4096,
		.st_mode = mode_of(fs, entry),
	};
	out->st_mtim.tv_sec = fs->remote->start_s;
	if (node->kind != FS_REMOTE_DIR)
		add_version(fs, entry, out);
	out->st_ctim = out->st_atim = out->st_mtim;
}

void fs_remote_attr_answer(struct fs *fs, const struct fs_remote_entry *entry,
			   struct fuse_entry_param *out)
{
	*out = (struct fuse_entry_param){
		.ino = fs_remote_ino_of(fs->remote, entry),
		/* An address may come back for another version. */
		.generation = entry->node->serial,
		.attr_timeout = fs->options.attr_timeout_s,
		.entry_timeout = fs->options.entry_timeout_s,
	};
	fs_remote_attr(fs, entry, &out->attr);
}
