/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_bucket.c - files of a bucket or of a web server (bucket_node.h)
 *
 * A store has no links, no special files and no attributes of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "anew.h"
#include "answer.h"
#include "bucket_find.h"
#include "bucket_make.h"
#include "bucket_writer.h"
#include "packs.h"
#include "view.h"
#include "volume.h"

static mode_t mode_of(const struct fs *fs, struct fs_node *inode)
{
	const struct fs_object *node = fs_object_of(inode);
	/* The attributes known before an open. */
	bool is_writable = fs->read_write && !inode->is_view &&
			   !node->unreadable && node->kind != FS_BUCKET_FILE;
	mode_t write = is_writable ? 0200 : 0;

	if (node->kind == FS_BUCKET_DIR)
		return S_IFDIR | ((0555 | write) & ~fs->config.dir_mask);
	return S_IFREG | ((0444 | write) & ~fs->config.file_mask);
}

static void add_unwritten(struct fs *fs, struct fs_node *inode, bool sets_mtime,
			  struct stat *out)
{
	struct fs_object *node = fs_object_of(inode);
	struct b2f_file *file = fs_file_share(fs, &node->open);
	struct fs_sizes_shown sizes;
	struct b2f_file_now now;

	if (!file)
		return;
	b2f_file_now_get(file, &now);
	sizes = (struct fs_sizes_shown){.nbytes = now.nbytes,
					.cbytes = now.cbytes,
					.head_len = node->sizes.head_len};
	fs_sizes_show(&sizes, inode->is_view, out);
	if (now.has_mtime && !sets_mtime)
		out->st_mtim = now.mtime;
	fs_file_close(fs, &node->open);
}

static void add_version(struct fs *fs, struct fs_node *inode, struct stat *out)
{
	struct fs_object *node = fs_object_of(inode);
	bool is_written, sets_mtime;

	pthread_mutex_lock(&fs->state_lock);
	fs_sizes_show(&node->sizes, inode->is_view, out);
	out->st_mtim.tv_sec = node->stamp.mtime_ns / 1000000000;
	if (node->has_mtime)
		out->st_mtim = node->mtime;
	out->st_nlink = !node->open.gone;
	is_written = node->writing.is_listed;
	sets_mtime = node->writing.own_mtime;
	pthread_mutex_unlock(&fs->state_lock);
	if (is_written)
		add_unwritten(fs, inode, sets_mtime, out);
}

static int do_stat(struct fs *fs, struct fs_node *inode, struct stat *out)
{
	const struct fs_object *node = fs_object_of(inode);

	*out = fs_bucket_node_owned(fs);
	out->st_ino = inode->is_view ? fs_view_ino(node->ino) : node->ino;
	out->st_mode = mode_of(fs, inode);
	out->st_mtim.tv_sec = fs->bucket->start_s;
	if (node->kind != FS_BUCKET_DIR)
		add_version(fs, inode, out);
	out->st_ctim = out->st_atim = out->st_mtim;
	return 0;
}

static int answer_with(struct fs *fs, struct fs_node *inode,
		       struct fuse_entry_param *out)
{
	*out = fs_node_answer(inode);
	return do_stat(fs, inode, &out->attr);
}

static int do_lookup(struct fs *fs, struct fs_node *dir, const char *name,
		     struct fuse_entry_param *out)
{
	struct fs_pack *pack;
	struct fs_node *found;
	int err = fs_bucket_find(fs, fs_object_of(dir), name, &found);

	if (err)
		return err;
	pack = fs_object_of(found)->pack;
	if (!pack)
		return answer_with(fs, found, out);
	err = fs_packs_answer(fs, &pack->nodes[0].head, out);
	fs_node_put(found, 1);
	return err;
}

/* The free room that statfs(2) shows, bytes. */
#define ROOM (UINT64_C(1) << 60)

/*
 * A store does not tell its free room; but installers and file managers check
 * it before they write.  A read-only bucket has room, too, as a read-only disk
 * does, and ST_RDONLY tells that no program may use it.
 */
static int do_statfs(struct fs *fs, struct fs_node *inode, struct statvfs *out)
{
	const fsblkcnt_t room = ROOM / 4096;

	(void)fs;
	(void)inode;
	*out = (struct statvfs){.f_bsize = 4096,
				.f_frsize = 4096,
				.f_blocks = room,
				.f_bfree = room,
				.f_bavail = room,
				.f_namemax = NAME_MAX};
	return 0;
}

static bool asks_to_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

/* Empties the file of an open with O_TRUNC. */
static int empty(struct fs *fs, struct fs_handle *handle)
{
	int err;

	if (b2f_file_size(handle->file) == 0)
		return 0;
	if (fs_anew_is_for(handle))
		return fs_anew_begin(handle);
	err = b2f_file_truncate(handle->file, 0);
	handle->ops->end_change(fs, handle);
	return err;
}

static int open_frame(struct fs *fs, struct fs_handle *handle, int flags)
{
	struct fs_object *node = fs_object_of(handle->node);
	int err = fs_bucket_node_open(fs, node, &handle->file);

	if (!err && asks_to_write(flags)) {
		err = fs_bucket_writer_begin(fs, node);
		handle->writes = !err;
	}
	if (!err)
		err = fs_handle_show(handle, &node->open);
	return !err && (flags & O_TRUNC) ? empty(fs, handle) : err;
}

static int do_open(struct fs *fs, struct fs_node *inode,
		   const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_object *node = fs_object_of(inode);
	bool is_frame = node->kind == FS_BUCKET_FRAME;
	struct fs_handle *handle;
	int err = 0;

	if (asks_to_write(how->flags) && (!is_frame || inode->is_view))
		return -EROFS;
	handle = fs_handle_new(fs, &fs_bucket_writer_handles, inode);
	if (!handle)
		return -ENOMEM;
	handle->nbytes = node->sizes.nbytes;
	if (atomic_load(&node->writing.refused))
		err = -ESTALE;
	else if (is_frame)
		err = open_frame(fs, handle, how->flags);
	if (err == -ESTALE)
		node->checked_ms = 0;
	/* A node keeps its version, unless this mount writes to it. */
	pthread_mutex_lock(&fs->state_lock);
	handle->keep_cache = !node->writing.drop && !node->writing.dropping;
	pthread_mutex_unlock(&fs->state_lock);
	return fs_handle_give(fs, handle, err, out);
}

static int resize_handle(struct fs *fs, struct fs_handle *handle, uint64_t size)
{
	int err;

	if (fs_anew_is_due(handle) && size == 0)
		return 0;
	handle->ops->begin_change(fs, handle);
	if (handle->anew)
		return fs_anew_resize(fs, handle, size);
	err = b2f_file_truncate(handle->file, size);
	handle->ops->end_change(fs, handle);
	return err;
}

/* The listing stays the same until the close. */
static int do_opendir(struct fs *fs, struct fs_node *inode,
		      const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_bucket_names *names = NULL;
	struct fs_handle *handle;
	int err =
		fs_bucket_listing_names(fs, fs_object_of(inode), true, &names);

	(void)how;
	if (err)
		return err;
	handle = fs_handle_new(fs, &fs_bucket_writer_handles, inode);
	if (!handle) {
		fs_bucket_names_put(names);
		return -ENOMEM;
	}
	handle->names = names;
	*out = handle;
	return 0;
}

/*
 * The type that the name alone tells: an object without a frame's suffix may
 * still be a frame, and one with a pack's suffix may be no pack.
 */
static struct fs_answer_name name_at(const struct fs_answer_names *names,
				     size_t i)
{
	const struct fs_handle *handle = names->of;
	const struct fs_bucket_name *name = &handle->names->list[i];
	struct fs_answer_name at = {name->shown, names->ino, 0};
	B2F_OWN char *path = fs_bucket_node_join(fs_object_of(names->dir)->path,
						 name->stored);

	if (path)
		at.ino = fs_bucket_node_number(path);
	if (!name->is_dir && !b2f_pack_is_name(name->stored))
		at.type = S_IFREG;
	return at;
}

static int do_list(struct fs *fs, struct fs_node *inode,
		   struct fs_handle *handle, off_t off,
		   struct fs_answer *answer)
{
	const struct fs_answer_names names = {.dir = inode,
					      .ino = fs_object_of(inode)->ino,
					      .n = handle->names->n,
					      .get = name_at,
					      .of = handle};

	(void)fs;
	fs_answer_list(answer, &names, off);
	return 0;
}

/*
 * Opens the frame @node for its attributes.  *@again: at its path, because the
 * frame of an open file does not show what this mount has committed; another
 * file may have the path of a removed one.
 */
static int open_facts(struct fs *fs, struct fs_object *node, bool *again,
		      struct b2f_file **out)
{
	int err = node->unreadable;

	pthread_mutex_lock(&fs->state_lock);
	*again = fs->read_write && node->open.stays_s;
	pthread_mutex_unlock(&fs->state_lock);
	if (!*again)
		return fs_bucket_node_open(fs, node, out);
	if (!err)
		err = fs_bucket_node_open_now(fs, node->path, out);
	/* -ENOENT: the frame is new, and not committed yet. */
	return err == -ENOENT ? -ENODATA : err;
}

static int do_with_frame(struct fs *fs, struct fs_node *inode, fs_frame_fn *fn,
			 void *arg)
{
	struct fs_object *node = fs_object_of(inode);
	struct b2f_file *file = NULL;
	struct b2f_frame *frame;
	bool again;
	int err = node->kind == FS_BUCKET_FRAME
			  ? open_facts(fs, node, &again, &file)
			  : -ENODATA;

	if (err)
		return err;
	frame = b2f_file_frame_ref(file);
	err = fn(arg, frame);
	b2f_frame_close(frame);
	if (again)
		b2f_file_close(file);
	else
		fs_file_close(fs, &node->open);
	return err;
}

/* Resizes a file without an open handle, and commits it. */
static int resize_node(struct fs *fs, struct fs_node *inode, uint64_t size)
{
	const struct fs_open_how how = {.flags = O_WRONLY};
	struct fs_handle *handle;
	int err = do_open(fs, inode, &how, &handle);

	if (err)
		return err;
	err = resize_handle(fs, handle, size);
	if (!err)
		err = fs_bucket_writer_commit(fs, fs_object_of(handle->node));
	fs_handle_close(fs, handle);
	return err;
}

/*
 * All files have one owner and one mode.  Setting the same ones is no error,
 * because cp -p and tar do so.
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

/* The store keeps no times, so the node keeps them until it is freed. */
static void set_times(struct fs *fs, struct fs_object *node,
		      const struct stat *wanted, int to_set)
{
	struct timespec mtime = wanted->st_mtim;

	if (!(to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) ||
	    node->kind == FS_BUCKET_DIR)
		return;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &mtime);
	B2F_HOLD(&fs->state_lock);
	atomic_store(&node->writing.own_mtime, true);
	node->has_mtime = true;
	node->mtime = mtime;
}

static int do_setattr(fuse_req_t req, struct fs_node *inode,
		      const struct stat *wanted, int to_set,
		      struct fs_handle *handle)
{
	struct fs *fs = fs_of(req);
	uint64_t size = (uint64_t)wanted->st_size;
	struct stat st;
	int err = do_stat(fs, inode, &st);

	if (!err)
		err = check_meta(&st, wanted, to_set);
	if (!err && (to_set & FUSE_SET_ATTR_SIZE))
		err = handle ? resize_handle(fs, handle, size)
			     : resize_node(fs, inode, size);
	if (!err)
		set_times(fs, fs_object_of(inode), wanted, to_set);
	return err;
}

static int do_create(fuse_req_t req, struct fs_node *dir, const char *name,
		     mode_t mode, const struct fs_open_how *how,
		     struct fuse_entry_param *out, struct fs_handle **handle)
{
	/* Whatever its flags: the new file is committed. */
	const struct fs_open_how writes = {.flags = O_RDWR};
	struct fs *fs = fs_of(req);
	struct fs_object *made;
	int err = fs_bucket_make_file(fs, fs_object_of(dir), name, &made);

	(void)mode;
	/* Another client made it first: the kernel opens that. */
	if (err == -EEXIST && !(how->flags & O_EXCL))
		err = -ESTALE;
	if (err)
		return err;
	err = do_open(fs, &made->head, &writes, handle);
	if (err)
		fs_bucket_unmake(req, dir, name, made);
	return err ? err : answer_with(fs, &made->head, out);
}

/* Makes a file without opening it, and commits it at once. */
static int make_file(fuse_req_t req, struct fs_node *dir, const char *name,
		     mode_t mode, struct fuse_entry_param *out)
{
	const struct fs_open_how how = {.flags = O_RDWR | O_EXCL};
	struct fs *fs = fs_of(req);
	struct fs_handle *handle = NULL;
	struct fs_object *made;
	int err = do_create(req, dir, name, mode, &how, out, &handle);

	if (err)
		return err;
	made = fs_object_of(handle->node);
	err = fs_bucket_writer_commit(fs, made);
	fs_handle_close(fs, handle);
	if (err)
		fs_bucket_unmake(req, dir, name, made);
	return err ? err : answer_with(fs, &made->head, out);
}

static int do_make(fuse_req_t req, struct fs_node *dir, const char *name,
		   const struct fs_maker_what *what,
		   struct fuse_entry_param *out)
{
	struct fs *fs = fs_of(req);
	struct fs_node *made;
	int err = -EPERM;

	if (S_ISREG(what->mode))
		return make_file(req, dir, name, what->mode, out);
	if (S_ISDIR(what->mode))
		err = fs_bucket_make_dir(fs, fs_object_of(dir), name, &made);
	return err ? err : answer_with(fs, made, out);
}

static const struct fs_xattr_ops xattr_ops = {.with_frame = do_with_frame};

static const struct fs_change_ops changes = {
	.setattr = do_setattr,
	.create = do_create,
	.make = do_make,
	.remove = fs_bucket_remove,
	.rename = fs_bucket_rename,
};

const struct fs_volume_ops fs_volume_bucket = {
	.lookup = do_lookup,
	.release = fs_bucket_node_release,
	.stat = do_stat,
	.statfs = do_statfs,
	.open = do_open,
	.opendir = do_opendir,
	.list = do_list,
	.xattr = &xattr_ops,
	.changes = &changes,
};
