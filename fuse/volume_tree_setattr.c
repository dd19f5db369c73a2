/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_tree_setattr.c - chmod, chown, utimens, truncate, O_TRUNC
 *
 * The kernel leaves O_TRUNC to the open request, so that a frame that cannot be
 * opened can still be emptied.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "anew.h"
#include "disk_frame.h"
#include "form.h"
#include "getattr.h"
#include "probe.h"
#include "setattr.h"
#include "view.h"
#include "volume_tree.h"

/*
 * After an open of @node failed with @err: makes an empty frame of a damaged
 * one.  Returns 0 if the open is to be tried again.
 */
static int heal(struct fs *fs, struct fs_backed *node, int err, int *tries)
{
	if (err != B2F_ECORRUPT || node->kind != FS_KIND_FRAME ||
	    *tries > FS_BUSY_TRIES)
		return err;
	err = fs_disk_frame_reset(fs, node);
	/* Another thread or mount may be emptying the same frame. */
	if (err == -EBUSY && fs_file_wait_busy(fs, tries))
		return 0;
	++*tries;
	return err;
}

/* An open with O_TRUNC sets the mtime, even if the file is empty already. */
static int touch(struct fs *fs, const struct fs_open_frame *frame)
{
	struct fs_setattr meta = fs_setattr_none();

	meta.has_times = true;
	meta.times[0].tv_nsec = UTIME_OMIT;
	meta.times[1].tv_nsec = UTIME_NOW;
	return fs_setattr_frame(fs, frame->pin.node, frame->pin.fd, &meta);
}

static int resize_file(struct fs *fs, struct fs_open_frame *frame,
		       uint64_t size)
{
	int err = fs_open_frame_allow_write(fs, frame, false);

	if (err)
		return err;
	if (size == b2f_file_size(frame->open.data))
		return touch(fs, frame);
	fs_form_decide(fs, frame, NULL, 0, size);
	err = b2f_file_truncate(frame->open.data, size);
	fs_open_frame_note_change(frame);
	return err;
}

static int resize_frame(struct fs *fs, struct fs_backed *node, uint64_t size)
{
	struct fs_open_frame *frame;
	uint64_t nbefore;
	int err, tries = 0;

	while ((err = fs_open_frame_get(fs, node, &frame, NULL)) != 0) {
		if (size == 0)
			err = heal(fs, node, err, &tries);
		if (err)
			return err;
	}
	fs_open_frame_begin_writer(fs, frame);
	nbefore = atomic_load(&frame->nchanges);
	err = resize_file(fs, frame, size);
	if (!err)
		err = fs_open_frame_commit(fs, frame, fs_commit_at_close(fs));
	if (!err)
		fs_open_frame_tidy(fs, frame, false);
	else
		fs_open_frame_undo(fs, frame, nbefore);
	fs_open_frame_end_writer(fs, frame);
	fs_open_frame_put(fs, frame);
	return err;
}

static int resize_other(struct fs *fs, int path_fd, uint64_t size)
{
	int fd = fs_tree_reopen(fs->tree, path_fd, O_WRONLY | O_NONBLOCK);
	int err;

	if (fd < 0)
		return fd;
	err = ftruncate(fd, (off_t)size) ? -errno : 0;
	close(fd);
	return err;
}

static int resize_handle(struct fs *fs, struct fs_handle *handle, uint64_t size)
{
	if (handle->frame)
		return resize_file(fs, handle->frame, size);
	atomic_store(&handle->wrote, true);
	return ftruncate(handle->fd, (off_t)size) ? -errno : 0;
}

/* Commits the new size of @node, because no handle will. */
static int resize_node(struct fs *fs, struct fs_backed *node, int path_fd,
		       uint64_t size)
{
	return node->kind == FS_KIND_FRAME ? resize_frame(fs, node, size)
					   : resize_other(fs, path_fd, size);
}

/* Returns 0 if the view @node has @size bytes, -EPERM if not, or an errno. */
static int resize_view(struct fs *fs, struct fs_backed *node, uint64_t size)
{
	struct stat st;
	int err = fs_getattr(fs, node, &st);

	if (err || size == (uint64_t)st.st_size)
		return err;
	fs_logger_write(fs->logger, B2F_LOG_WARNING,
			"the .npy view of an array keeps its size");
	return -EPERM;
}

/* @shown is @node, which @fd refers to, or its view. */
static int resize(struct fs *fs, struct fs_backed *shown,
		  struct fs_backed *node, int fd, uint64_t size,
		  struct fs_handle *handle)
{
	if (handle && handle->anew)
		return fs_anew_resize(fs, handle, size);
	if (shown != node)
		return resize_view(fs, shown, size);
	return handle ? resize_handle(fs, handle, size)
		      : resize_node(fs, node, fd, size);
}

static int cut(struct fs *fs, struct fs_backed *node, struct fs_handle *handle,
	       bool by_user)
{
	const struct fs_pin *pin = &handle->pin;
	bool is_plain = pin->node->kind == FS_KIND_OTHER;
	int err;

	if (handle->writes && fs_anew_is_for(handle)) {
		/* With writeback_cache the kernel would keep size 0. */
		return fs->options.cache.writeback_cache
			       ? -EPERM
			       : fs_anew_begin(handle);
	}
	if (is_plain)
		fs_cache_state_begin(fs, node, pin->fd);
	err = resize(fs, node, pin->node, pin->fd, 0,
		     handle->writes ? handle : NULL);
	if (!err && by_user)
		err = fs_setattr_clear_set_ids(fs, pin, NULL);
	if (is_plain)
		fs_cache_state_end(fs, node, pin->fd, -1);
	return err;
}

int fs_volume_tree_open_cut(struct fs *fs, struct fs_backed *node,
			    const struct fs_open_how *how,
			    struct fs_handle **out)
{
	struct fs_handle *handle;
	int err, tries = 0;

	while ((err = fs_tree_handle_open(fs, node, how, &handle)) != 0) {
		err = heal(fs, node, err, &tries);
		if (err)
			return err;
	}
	err = cut(fs, node, handle, how->uid != 0);
	return fs_handle_give(fs, handle, err, out);
}

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

/*
 * Is the mtime the kernel's own, of a write, truncate(2), or both times set to
 * now?
 */
static bool is_of_write(const struct fs *fs, int to_set,
			const struct fs_handle *handle)
{
	bool is_now = to_set & FUSE_SET_ATTR_ATIME_NOW;

	return fs->options.cache.writeback_cache &&
	       (to_set & FUSE_SET_ATTR_MTIME) &&
	       (is_now || (!(to_set & FUSE_SET_ATTR_ATIME) &&
			   ((to_set & FUSE_SET_ATTR_SIZE) ||
			    (handle && handle->writes))));
}

/* With uid= or gid= all files have one owner. */
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

/* A frame that cannot be written to is shown without w, but keeps it stored. */
static void keep_write_bits(const struct fs_backed *node, int fd,
			    struct fs_setattr *meta)
{
	struct stat index;

	if (node->state.read_only && !fs_probe_index(fd, node->sparse, &index))
		meta->mode |= index.st_mode & 0222;
}

static int set(struct fs *fs, struct fs_backed *node, int fd,
	       struct fs_setattr *meta)
{
	if (!meta->has_mode && !meta->has_times && !fs_setattr_sets_owner(meta))
		return 0;
	if (node->kind == FS_KIND_FRAME && meta->has_mode)
		keep_write_bits(node, fd, meta);
	if (node->kind == FS_KIND_FRAME)
		return fs_setattr_frame(fs, node, fd, meta);
	return fs_setattr_file(fs, fd, meta);
}

/* Are set-id bits to be cleared first?  A chown(2) clears them itself. */
static bool must_clear_set_ids(int to_set, const struct fs_setattr *meta)
{
	if ((to_set & FUSE_SET_ATTR_SIZE) && meta->by_user)
		return true;
	return (to_set & FUSE_SET_ATTR_KILL_SUID) &&
	       !fs_setattr_sets_owner(meta);
}

int fs_volume_tree_setattr(fuse_req_t req, struct fs_node *inode,
			   const struct stat *attr, int to_set,
			   struct fs_handle *handle)
{
	struct fs *fs = fs_of(req);
	struct fs_backed *shown = fs_backed_of(inode);
	struct fs_backed *node = NULL;
	struct fs_setattr meta = meta_of(attr, to_set);
	FS_PIN(pin);
	bool is_plain;
	int err = check_owner(&fs->options, &meta);

	meta.req = req;
	meta.by_user = fuse_req_ctx(req)->uid != 0;
	meta.is_of_write = is_of_write(fs, to_set, handle);
	if (!err)
		err = fs_view_enter(fs, shown, &node);
	/* The directory that shows a single frame does not exist on disk. */
	if (!err && node->kind == FS_KIND_SINGLE)
		err = -EPERM;
	if (!err)
		err = fs_tree_pin(fs->tree, node, &pin);
	if (!err && must_clear_set_ids(to_set, &meta))
		err = fs_setattr_clear_set_ids(fs, &pin, NULL);
	is_plain = !err && node->kind == FS_KIND_OTHER;
	if (is_plain)
		fs_cache_state_begin(fs, node, pin.fd);
	if (!err && (to_set & FUSE_SET_ATTR_SIZE))
		err = resize(fs, shown, node, pin.fd, (uint64_t)attr->st_size,
			     handle);
	if (!err)
		err = set(fs, node, pin.fd, &meta);
	if (is_plain) {
		fs_cache_state_end(fs, node, pin.fd, -1);
		fs_durable_note_changed(fs, node, pin.fd);
	}
	fs_tree_forget(node);
	return err;
}
