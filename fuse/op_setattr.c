/* SPDX-License-Identifier: BSD-3-Clause */
/* op_setattr.c - chmod, chown, truncate, utimens */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "anew.h"
#include "getattr.h"
#include "ops.h"
#include "probe.h"
#include "reply.h"
#include "resize.h"
#include "setattr.h"
#include "view.h"

static struct timespec time_of(const struct timespec *given, bool is_set,
			       bool is_now)
{
	if (is_now)
		return (struct timespec){.tv_nsec = UTIME_NOW};
	if (!is_set)
		return (struct timespec){.tv_nsec = UTIME_OMIT};
	return *given;
}

/* What to change, but for the size; no program can set a ctime. */
static struct fs_setattr meta_of(const struct stat *attr, int to_set)
{
	struct fs_setattr meta = fs_setattr_none();

	meta.has_mode = to_set & FUSE_SET_ATTR_MODE;
	meta.mode = attr->st_mode & 07777;
	if (to_set & FUSE_SET_ATTR_UID)
		meta.uid = attr->st_uid;
	if (to_set & FUSE_SET_ATTR_GID)
		meta.gid = attr->st_gid;
	meta.has_times =
		to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME |
			  FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW);
	meta.times[0] = time_of(&attr->st_atim, to_set & FUSE_SET_ATTR_ATIME,
				to_set & FUSE_SET_ATTR_ATIME_NOW);
	meta.times[1] = time_of(&attr->st_mtim, to_set & FUSE_SET_ATTR_MTIME,
				to_set & FUSE_SET_ATTR_MTIME_NOW);
	return meta;
}

/* With uid= or gid= there is only one owner. */
static int check_owner(const struct fs_options *o, struct fs_setattr *meta)
{
	if (o->uid != FS_UNSET && meta->uid != (uid_t)-1) {
		if (meta->uid != (uid_t)o->uid)
			return -EPERM;
		meta->uid = (uid_t)-1;
	}
	if (o->gid != FS_UNSET && meta->gid != (gid_t)-1) {
		if (meta->gid != (gid_t)o->gid)
			return -EPERM;
		meta->gid = (gid_t)-1;
	}
	return 0;
}

static int resize(struct fs *fs, struct fs_node *node, int path_fd,
		  uint64_t size, struct fuse_file_info *fi)
{
	return fi ? fs_resize_handle(fs, fs_handle_of(fi), size)
		  : fs_resize_node(fs, node, path_fd, size);
}

/* The mode of a frame that cannot be written to keeps w, which is not shown. */
static void keep_write_bits(struct fs *fs, const struct fs_node *node, int fd,
			    struct fs_setattr *meta)
{
	struct stat index;
	bool read_only;

	pthread_mutex_lock(&fs->state_lock);
	read_only = node->state.read_only;
	pthread_mutex_unlock(&fs->state_lock);
	if (read_only && !fs_probe_index(fd, node->sparse, &index))
		meta->mode |= index.st_mode & 0222;
}

static int set(struct fs *fs, struct fs_node *node, int fd,
	       struct fs_setattr *meta)
{
	if (!meta->has_mode && !meta->has_times && meta->uid == (uid_t)-1 &&
	    meta->gid == (gid_t)-1)
		return 0;
	if (node->kind == FS_KIND_FRAME && meta->has_mode)
		keep_write_bits(fs, node, fd, meta);
	if (node->kind == FS_KIND_FRAME)
		return fs_setattr_frame(fs, node, fd, meta);
	return fs_setattr_file(fs, fd, meta);
}

void fs_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		   int to_set, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_node *shown = fs_node_of(fs, ino);
	struct fs_node *node = NULL;
	struct fs_setattr meta = meta_of(attr, to_set);
	struct fs_pin pin = {0};
	struct stat st;
	bool is_plain;
	int err = fs->read_write ? check_owner(&fs->options, &meta) : -EROFS;

	meta.req = req;
	meta.by_user = fuse_req_ctx(req)->uid != 0;
	if (!err)
		err = fs_view_enter(fs, shown, &node);
	/* The directory around a single frame is made up. */
	if (!err && node->kind == FS_KIND_SINGLE)
		err = -EPERM;
	if (!err)
		err = fs_tree_pin(fs->tree, node, &pin);
	is_plain = !err && node->kind == FS_KIND_OTHER;
	if (is_plain)
		fs_seen_begin(fs, node, pin.fd);
	if (!err && (to_set & FUSE_SET_ATTR_SIZE) && fi &&
	    fs_handle_of(fi)->anew)
		err = fs_anew_resize(fs, fs_handle_of(fi),
				     (uint64_t)attr->st_size);
	else if (!err && (to_set & FUSE_SET_ATTR_SIZE) && shown != node)
		err = fs_resize_view(fs, shown, (uint64_t)attr->st_size);
	else if (!err && (to_set & FUSE_SET_ATTR_SIZE))
		err = resize(fs, node, pin.fd, (uint64_t)attr->st_size, fi);
	if (!err)
		err = set(fs, node, pin.fd, &meta);
	if (is_plain)
		fs_seen_end(fs, node, pin.fd);
	fs_tree_unpin(fs->tree, &pin);
	fs_tree_forget(fs->tree, node, 1);
	if (!err)
		err = fs_getattr(fs, shown, &st);
	if (err)
		fs_reply_error(req, err);
	else
		fuse_reply_attr(req, &st, fs->options.attr_timeout_s);
}
