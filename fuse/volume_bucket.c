/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_bucket.c - what is in an object store, or on a web server (remote_node.h)
 *
 * A store has no links, no special files and no attributes of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "answer.h"
#include "remote_attr.h"
#include "remote_changes.h"
#include "remote_find.h"
#include "remote_handle.h"
#include "remote_listing.h"
#include "remote_make.h"
#include "remote_pack_find.h"
#include "remote_renaming.h"
#include "remote_writer.h"
#include "view.h"
#include "volume.h"

static struct fs_remote_node *node_of(struct fs *fs, fuse_ino_t ino)
{
	return fs_remote_entry_of(fs->remote, ino).node;
}

static int do_lookup(struct fs *fs, fuse_ino_t dir, const char *name,
		     struct fuse_entry_param *out)
{
	struct fs_remote_entry entry;
	int err = fs_remote_find(fs, node_of(fs, dir), name, &entry);

	if (!err)
		fs_remote_attr_answer(fs, &entry, out);
	return err;
}

static void do_forget(struct fs *fs, fuse_ino_t ino, uint64_t n)
{
	fs_remote_node_put(fs->remote, node_of(fs, ino), n);
}

static int do_stat(struct fs *fs, fuse_ino_t ino, struct stat *out)
{
	const struct fs_remote_entry entry = fs_remote_entry_of(fs->remote, ino);

	fs_remote_attr(fs, &entry, out);
	return 0;
}

/* How much room a store has is not told: nothing that df(1) would count. */
static int do_statfs(struct fs *fs, fuse_ino_t ino, struct statvfs *out)
{
	(void)fs;
	(void)ino;
	*out = (struct statvfs){
		.f_bsize = 4096, .f_frsize = 4096, .f_namemax = NAME_MAX};
	return 0;
}

static int do_open(struct fs *fs, fuse_ino_t ino, const struct fs_open_how *how,
		   struct fs_handle **out)
{
	const struct fs_remote_entry entry = fs_remote_entry_of(fs->remote, ino);

	return fs_remote_handle_open(fs, &entry, how->flags, out);
}

/* The names in @dir, as this mount knows them. */
static int list_names(struct fs *fs, struct fs_remote_node *dir,
		      struct fs_remote_names **out)
{
	struct fs_remote_names *listed = NULL;
	int err = dir->kind == FS_REMOTE_DIR ? 0 : -ENOTDIR;

	if (!err && dir->pack)
		return fs_remote_pack_find_names(dir, out);
	if (!err)
		err = fs_remote_listing_get(fs->remote, dir, &listed);
	if (!err)
		err = fs_remote_changes_apply(fs->remote, dir->path, listed,
					      out);
	fs_remote_names_put(listed);
	return err;
}

static void close_dir(struct fs *fs, struct fs_handle *handle)
{
	(void)fs;
	fs_remote_names_put(handle->names);
}

static const struct fs_data_ops dir_ops = {.close = close_dir};

/* The listing stays as it is until the close. */
static int do_opendir(struct fs *fs, fuse_ino_t ino,
		      const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_remote_names *names = NULL;
	struct fs_handle *handle;
	int err = list_names(fs, node_of(fs, ino), &names);

	(void)how;
	if (err)
		return err;
	handle = fs_handle_new(fs, &dir_ops);
	if (!handle) {
		fs_remote_names_put(names);
		return -ENOMEM;
	}
	handle->names = names;
	*out = handle;
	return 0;
}

/*
 * What stat(2) will say, as far as the name tells: what is called like no frame
 * may be one, and what is called like a pack may be none.
 */
static struct stat attributes_of(const struct fs_remote_node *dir,
				 const struct fs_remote_name *name)
{
	struct stat st = {.st_ino = dir->ino};
	char *path = fs_remote_node_join(dir->path, name->stored);

	if (path)
		st.st_ino = fs_remote_node_number(path);
	free(path);
	if (!name->is_dir && !b2f_pack_is_name(name->stored))
		st.st_mode = S_IFREG;
	return st;
}

/*
 * Adds the view of what is shown as @shown, if that is an array and views are to be
 * listed: each name is looked up for that.
 */
static bool put_view(struct fs *fs, struct fs_remote_node *dir,
		     const char *shown, off_t next, struct fs_answer *answer)
{
	struct fs_remote_entry entry;
	char name[FS_NAME_SIZE];
	bool fits = true;

	if (fs->options.npy != FS_VIEW_LIST ||
	    snprintf(name, sizeof(name), "%s.npy", shown) >= (int)sizeof(name) ||
	    fs_remote_find(fs, dir, name, &entry))
		return true;
	/* Not if it is something else that is called so. */
	if (entry.is_view)
		fits = fs_answer_put_name(answer, name,
					  fs_view_ino(entry.node->ino), S_IFREG,
					  next);
	fs_remote_node_put(fs->remote, entry.node, 1);
	return fits;
}

/* Positions: 0 and 1 are dots, then each name has two, the second its view's. */
static bool put_at(struct fs *fs, struct fs_remote_node *dir,
		   const struct fs_remote_names *names, size_t pos,
		   struct fs_answer *answer)
{
	const struct fs_remote_name *name;
	off_t next = (off_t)pos + 1;
	struct stat st;

	if (pos < 2)
		return fs_answer_put_name(answer, pos ? ".." : ".", dir->ino,
					  S_IFDIR, next);
	name = &names->list[(pos - 2) / 2];
	if (pos % 2)
		return put_view(fs, dir, name->shown, next, answer);
	st = attributes_of(dir, name);
	return fs_answer_put_name(answer, name->shown, st.st_ino, st.st_mode,
				  next);
}

static int do_list(struct fs *fs, fuse_ino_t ino, struct fs_handle *handle,
		   off_t off, struct fs_answer *answer)
{
	size_t n = 2 + 2 * handle->names->n;

	for (size_t pos = (size_t)off; off >= 0 && pos < n; pos++)
		if (!put_at(fs, node_of(fs, ino), handle->names, pos, answer))
			break;
	return 0;
}

/*
 * Opens the frame @node for what it says of itself.  One that may be written to
 * meanwhile is opened anew, as the file replaces its frame then.
 */
static int open_facts(struct fs *fs, struct fs_remote_node *node,
		      struct b2f_file **out)
{
	int err;

	if (!fs->read_write || node->pack)
		return fs_remote_node_open(fs, node, out);
	err = node->broken;
	if (!err)
		err = fs_remote_node_open_now(fs, node->path, out);
	/* It is on its way there. */
	return err == -ENOENT ? -ENODATA : err;
}

static void close_facts(struct fs *fs, struct fs_remote_node *node,
			struct b2f_file *file)
{
	if (fs->read_write && !node->pack)
		b2f_file_close(file);
	else
		fs_remote_node_close(fs, node);
}

static int do_with_frame(struct fs *fs, fuse_ino_t ino, fs_frame_fn *fn,
			 void *arg)
{
	struct fs_remote_node *node = node_of(fs, ino);
	struct b2f_file *file = NULL;
	int err = node->kind == FS_REMOTE_FRAME ? open_facts(fs, node, &file)
						: -ENODATA;

	if (err)
		return err;
	err = fn(arg, b2f_file_frame(file));
	close_facts(fs, node, file);
	return err;
}

/* By its name: committed when this returns. */
static int resize_entry(struct fs *fs, const struct fs_remote_entry *entry,
			uint64_t size)
{
	struct fs_handle *handle;
	int err = fs_remote_handle_open(fs, entry, O_WRONLY, &handle);

	if (err)
		return err;
	err = fs_remote_handle_resize(fs, handle, size);
	if (!err)
		err = fs_remote_writer_commit(fs, entry->node, handle->file);
	fs_handle_close(fs, handle);
	return err;
}

/*
 * There is one owner, and one mode: to set these again is no error, as cp -p and tar
 * do that.
 */
static int check_meta(const struct stat *now, const struct stat *wanted,
		      int to_set)
{
	if ((to_set & FUSE_SET_ATTR_MODE) &&
	    (wanted->st_mode & 07777) != (now->st_mode & 07777))
		return -EPERM;
	if ((to_set & FUSE_SET_ATTR_UID) && wanted->st_uid != now->st_uid)
		return -EPERM;
	if ((to_set & FUSE_SET_ATTR_GID) && wanted->st_gid != now->st_gid)
		return -EPERM;
	return 0;
}

/* Nothing can be kept in the store, so it is shown until the node goes. */
static void set_times(struct fs *fs, struct fs_remote_node *node,
		      const struct stat *wanted, int to_set)
{
	struct timespec mtime = wanted->st_mtim;

	if (!(to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) ||
	    node->kind == FS_REMOTE_DIR)
		return;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &mtime);
	fs_remote_writer_set_mtime(fs, node, &mtime);
}

static int do_setattr(fuse_req_t req, fuse_ino_t ino, const struct stat *wanted,
		      int to_set, struct fs_handle *handle)
{
	struct fs *fs = fs_of(req);
	const struct fs_remote_entry entry = fs_remote_entry_of(fs->remote, ino);
	uint64_t size = (uint64_t)wanted->st_size;
	struct stat st;
	int err;

	fs_remote_attr(fs, &entry, &st);
	err = check_meta(&st, wanted, to_set);
	if (!err && (to_set & FUSE_SET_ATTR_SIZE))
		err = handle ? fs_remote_handle_resize(fs, handle, size)
			     : resize_entry(fs, &entry, size);
	if (!err)
		set_times(fs, entry.node, wanted, to_set);
	return err;
}

/* Takes away what was made and could not be opened. */
static void undo(struct fs *fs, struct fs_remote_node *dir, const char *name,
		 const struct fs_remote_entry *made)
{
	(void)!fs_remote_unlink(fs, dir, name);
	fs_remote_node_put(fs->remote, made->node, 1);
}

static int make_and_open(struct fs *fs, struct fs_remote_node *dir,
			 const char *name, struct fs_remote_entry *entry,
			 struct fs_handle **handle)
{
	int err = fs_remote_make_file(fs, dir, name, entry);

	if (err)
		return err;
	/* It is a writer whatever the flags, as it is to be committed. */
	err = fs_remote_handle_open(fs, entry, O_RDWR, handle);
	if (err)
		undo(fs, dir, name, entry);
	return err;
}

static int do_create(fuse_req_t req, fuse_ino_t dir, const char *name,
		     mode_t mode, const struct fs_open_how *how,
		     struct fuse_entry_param *out, struct fs_handle **handle)
{
	struct fs *fs = fs_of(req);
	struct fs_remote_entry entry;
	int err = make_and_open(fs, node_of(fs, dir), name, &entry, handle);

	(void)mode;
	/* Another client was faster: the kernel looks it up and opens it. */
	if (err == -EEXIST && !(how->flags & O_EXCL))
		err = -ESTALE;
	if (!err)
		fs_remote_attr_answer(fs, &entry, out);
	return err;
}

/* A file that is made without being opened is committed at once. */
static int make_file(struct fs *fs, struct fs_remote_node *dir,
		     const char *name, struct fs_remote_entry *entry)
{
	struct fs_handle *handle = NULL;
	int err = make_and_open(fs, dir, name, entry, &handle);

	if (err)
		return err;
	err = fs_remote_writer_commit(fs, entry->node, handle->file);
	fs_handle_close(fs, handle);
	if (err)
		undo(fs, dir, name, entry);
	return err;
}

static int do_mknod(fuse_req_t req, fuse_ino_t dir, const char *name,
		    mode_t mode, dev_t rdev, struct fuse_entry_param *out)
{
	struct fs *fs = fs_of(req);
	struct fs_remote_entry entry;
	int err = S_ISREG(mode) ? make_file(fs, node_of(fs, dir), name, &entry)
				: -EPERM;

	(void)rdev;
	if (!err)
		fs_remote_attr_answer(fs, &entry, out);
	return err;
}

static int do_mkdir(fuse_req_t req, fuse_ino_t dir, const char *name,
		    mode_t mode, struct fuse_entry_param *out)
{
	struct fs *fs = fs_of(req);
	struct fs_remote_entry entry;
	int err = fs_remote_make_dir(fs, node_of(fs, dir), name, &entry);

	(void)mode;
	if (!err)
		fs_remote_attr_answer(fs, &entry, out);
	return err;
}

static int do_unlink(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	return fs_remote_unlink(fs_of(req), node_of(fs_of(req), dir), name);
}

static int do_rmdir(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	return fs_remote_rmdir(fs_of(req), node_of(fs_of(req), dir), name);
}

static int do_rename(fuse_req_t req, fuse_ino_t dir, const char *name,
		     fuse_ino_t new_dir, const char *new_name,
		     unsigned int flags)
{
	struct fs *fs = fs_of(req);
	const struct fs_remote_where from = {node_of(fs, dir), name};
	const struct fs_remote_where to = {node_of(fs, new_dir), new_name};

	return fs_remote_rename(fs, &from, &to, flags);
}

const struct fs_volume_ops fs_volume_bucket = {
	.lookup = do_lookup,
	.forget = do_forget,
	.stat = do_stat,
	.statfs = do_statfs,
	.open = do_open,
	.opendir = do_opendir,
	.list = do_list,
	.with_frame = do_with_frame,
	.is_writable = true,
	.setattr = do_setattr,
	.create = do_create,
	.mknod = do_mknod,
	.mkdir = do_mkdir,
	.unlink = do_unlink,
	.rmdir = do_rmdir,
	.rename = do_rename,
};
