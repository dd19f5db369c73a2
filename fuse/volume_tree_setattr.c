/* SPDX-License-Identifier: BSD-3-Clause */
/* volume_tree_setattr.c - chmod, chown, truncate, utimens */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "anew.h"
#include "getattr.h"
#include "probe.h"
#include "resize.h"
#include "setattr.h"
#include "view.h"
#include "volume_tree.h"

static struct timespec time_of(const struct timespec *given, bool is_set,
			       bool is_now)
{
	if (is_now)
		return (struct timespec){.tv_nsec = UTIME_NOW};
	if (!is_set)
		return (struct timespec){.tv_nsec = UTIME_OMIT};
	return *given;
}

/* Returns the changes except for the size; no program can set a ctime. */
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
	if (o->access.user != FS_UNSET && meta->uid != (uid_t)-1) {
		if (meta->uid != (uid_t)o->access.user)
			return -EPERM;
		meta->uid = (uid_t)-1;
	}
	if (o->access.group != FS_UNSET && meta->gid != (gid_t)-1) {
		if (meta->gid != (gid_t)o->access.group)
			return -EPERM;
		meta->gid = (gid_t)-1;
	}
	return 0;
}

/* The mode of a frame that cannot be written to keeps w, which is not shown. */
static void keep_write_bits(struct fs *fs, const struct fs_backed *node, int fd,
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

static int set(struct fs *fs, struct fs_backed *node, int fd,
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

/* @shown: @node, which @fd is a descriptor of, or its view. */
static int resize(struct fs *fs, struct fs_backed *shown,
		  struct fs_backed *node, int fd, uint64_t size,
		  struct fs_handle *handle)
{
	if (handle && handle->anew)
		return fs_anew_resize(fs, handle, size);
	if (shown != node)
		return fs_resize_view(fs, shown, size);
	return handle ? fs_resize_handle(fs, handle, size)
		      : fs_resize_node(fs, node, fd, size);
}

int fs_volume_tree_setattr(fuse_req_t req, fuse_ino_t ino,
			   const struct stat *attr, int to_set,
			   struct fs_handle *handle)
{
	struct fs *fs = fs_of(req);
	struct fs_backed *shown = fs_backed_of(fs, ino);
	struct fs_backed *node = NULL;
	struct fs_setattr meta = meta_of(attr, to_set);
	struct fs_pin pin = {0};
	bool is_plain;
	int err = check_owner(&fs->options, &meta);

	meta.req = req;
	meta.by_user = fuse_req_ctx(req)->uid != 0;
	if (!err)
		err = fs_view_enter(fs, shown, &node);
	/* The directory around a single frame is made up. */
	if (!err && node->kind == FS_KIND_SINGLE)
		err = -EPERM;
	if (!err)
		err = fs_tree_pin(fs->tree, node, &pin);
	if (!err && (to_set & FUSE_SET_ATTR_KILL_SUID))
		err = fs_setattr_clear_set_ids(fs, &pin);
	is_plain = !err && node->kind == FS_KIND_OTHER;
	if (is_plain)
		fs_cache_state_begin(fs, node, pin.fd);
	if (!err && (to_set & FUSE_SET_ATTR_SIZE))
		err = resize(fs, shown, node, pin.fd, (uint64_t)attr->st_size,
			     handle);
	if (!err)
		err = set(fs, node, pin.fd, &meta);
	if (is_plain)
		fs_cache_state_end(fs, node, pin.fd);
	fs_tree_unpin(fs->tree, &pin);
	fs_tree_forget(fs->tree, node, 1);
	return err;
}
