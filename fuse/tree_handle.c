/* SPDX-License-Identifier: BSD-3-Clause */
/* tree_handle.c - handles of the tree: frames, other files, directories */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <uthash.h>

#include "dir.h"
#include "fs.h"
#include "listing.h"
#include "view.h"
#include "volume_tree.h"

/*
 * No user may take all descriptors of the daemon.  While there are enough, a
 * user may open as many files as he likes.  When only an eighth is left, a user
 * gets at most an even share of all, so that others can still open files.
 */

/* Descriptors are scarce when only 1/SCARCE_SHARE of them is left. */
#define SCARCE_SHARE 8

/* A handle takes at most four descriptors: with few handles none are scarce. */
#define HANDLE_FDS 4

struct fs_share {
	uid_t uid;
	size_t nhandles;
	UT_hash_handle hh;
};

/*
 * The kernel gives out the lowest free descriptor, so its number tells how many
 * are in use.
 */
static bool is_scarce(const struct fs *fs)
{
	int last = fs->tree->reserved_from, fd;

	if (fs->shares.nhandles < (size_t)last / HANDLE_FDS / 2)
		return false;
	fd = fcntl(fs->tree->root->fd, F_DUPFD_CLOEXEC, 0);
	fs_dir_close(fd);
	return fd < 0 || fd >= last - last / SCARCE_SHARE;
}

/* Root controls the daemon; a single user takes from no others. */
static bool is_bounded(const struct fs *fs, uid_t uid)
{
	return fs->options.access.allow_other && uid != 0;
}

/* Counts a handle of @uid.  Returns 0, -ENFILE (too many) or -ENOMEM. */
static int take_share(struct fs *fs, uid_t uid, struct fs_share **out)
{
	struct fs_shares *all = &fs->shares;
	struct fs_share *share;
	B2F_HOLD(&fs->state_lock);

	HASH_FIND(hh, all->users, &uid, sizeof(uid), share);
	if (!share) {
		share = calloc(1, sizeof(*share));
		if (!share)
			return -ENOMEM;
		share->uid = uid;
		HASH_ADD(hh, all->users, uid, sizeof(share->uid), share);
	}
	/* Shares are computed as if one more user were to come. */
	if (is_bounded(fs, uid) &&
	    share->nhandles > all->nhandles / (HASH_COUNT(all->users) + 1) &&
	    is_scarce(fs))
		return -ENFILE;
	share->nhandles++;
	all->nhandles++;
	*out = share;
	return 0;
}

static void give_share(struct fs *fs, struct fs_share *share)
{
	B2F_HOLD(&fs->state_lock);

	fs->shares.nhandles--;
	if (--share->nhandles == 0) {
		HASH_DEL(fs->shares.users, share);
		free(share);
	}
}

/* Registers @fd as a backing file; returns its number or 0. */
static int backing_open(struct fs *fs, int fd)
{
	struct fs_backing_map map = {.fd = fd};
	int id = ioctl(fuse_session_fd(fs->session), FS_BACKING_OPEN, &map);

	/* Other errors are of this file, or of this moment. */
	if (id < 0 && (errno == EPERM || errno == ENOTTY || errno == ENOSYS))
		atomic_store(&fs->config.passes, false);
	return id > 0 ? id : 0;
}

static void backing_close(struct fs *fs, int id)
{
	uint32_t number = (uint32_t)id;

	/* Without a session the kernel has already forgotten the number. */
	if (fs->session)
		(void)!ioctl(fuse_session_fd(fs->session), FS_BACKING_CLOSE,
			     &number);
}

/*
 * All overlapping opens of a file are of one kind, which the first one decides.
 * An open with O_DIRECT sends requests, for which it needs no alignment.
 */
static bool may_pass(const struct fs *fs, const struct fs_state *state,
		     int flags)
{
	return state->npassed > 0 ||
	       (state->nasked == 0 && !(flags & O_DIRECT) &&
		atomic_load(&fs->config.passes));
}

static int pass(struct fs *fs, struct fs_handle *handle, int flags)
{
	struct fs_state *state = &handle->pin.node->state;
	int id = 0;

	if (!handle->is_seen)
		return 0;
	B2F_HOLD(&fs->state_lock);
	if (may_pass(fs, state, flags)) {
		if (state->npassed == 0)
			state->backing_id = backing_open(fs, handle->fd);
		id = state->backing_id;
	}
	handle->is_seen = id > 0 ? FS_SEEN_PASSED : FS_SEEN_ASKED;
	*(id > 0 ? &state->npassed : &state->nasked) += 1;
	/* The kernel does not report changes that it makes itself. */
	if (id > 0) {
		handle->keep_cache = false;
		atomic_store(&handle->wrote, handle->writes);
	}
	return id;
}

/* Notes that the kernel has closed the backing file; locked. */
static void end_pass(struct fs *fs, struct fs_handle *handle)
{
	struct fs_state *state = &handle->pin.node->state;

	state->nasked -= handle->is_seen == FS_SEEN_ASKED;
	if (handle->is_seen != FS_SEEN_PASSED || --state->npassed > 0)
		return;
	backing_close(fs, state->backing_id);
	state->backing_id = 0;
}

static void do_close(struct fs *fs, struct fs_handle *handle)
{
	struct fs_state *state;

	/* The handle has no node if the open failed. */
	if (!handle->pin.node)
		return;
	state = &handle->pin.node->state;
	if (handle->frame && handle->writes)
		fs_open_frame_end_writer(fs, handle->frame);
	if (handle->frame)
		fs_open_frame_put(fs, handle->frame);
	fs_listing_free(handle->listing);
	if (handle->is_seen)
		fs_cache_state_close_plain(fs, handle->pin.node, handle->fd);
	/* Each flush has synced it with this option. */
	if (atomic_load(&handle->wrote) && !fs->options.sync)
		fs_durable_note_changed(fs, handle->pin.node, handle->fd);
	fs_dir_close(handle->fd);
	pthread_mutex_lock(&fs->state_lock);
	state->nwriters -= handle->is_seen && handle->writes;
	state->nviews -= handle->node->is_view;
	end_pass(fs, handle);
	state->nhandles--;
	pthread_mutex_unlock(&fs->state_lock);
	fs_tree_unpin(&handle->pin);
	give_share(fs, handle->share);
}

static void begin_change(struct fs *fs, struct fs_handle *handle)
{
	pthread_mutex_lock(&fs->state_lock);
	handle->pin.node->state.seen.nbegun++;
	pthread_mutex_unlock(&fs->state_lock);
	/*
	 * Check now whether a view still has its frame's header: the write
	 * itself would notice only after its offset is fixed.
	 */
	if (handle->head)
		(void)!fs_open_frame_refresh(fs, handle->frame, NULL, 0);
}

static void end_change(struct fs *fs, struct fs_handle *handle)
{
	fs_open_frame_note_change(handle->frame);
	fs_view_head_note_change(fs, handle);
}

/*
 * Counts the bytes of [@off, @end) without a stored chunk: in holes and behind
 * the end.  Stops above @enough.  Returns the count or an errno.
 */
static int64_t count_missing(struct b2f_file *file, uint64_t off, uint64_t end,
			     uint64_t enough)
{
	uint64_t size = b2f_file_size(file);
	uint64_t missing = end > size ? end - (off > size ? off : size) : 0;

	end = end < size ? end : size;
	while (off < end && missing <= enough) {
		int64_t hole = b2f_file_seek_hole(file, off), data;

		/* Another open with O_TRUNC has emptied the file. */
		if (hole == -ENXIO)
			return (int64_t)(missing + end - off);
		if (hole < 0 || (uint64_t)hole >= end)
			return hole < 0 ? hole : (int64_t)missing;
		data = b2f_file_seek_data(file, (uint64_t)hole);
		if (data < 0 && data != -ENXIO)
			return data;
		off = data < 0 || (uint64_t)data > end ? end : (uint64_t)data;
		missing += off - (uint64_t)hole;
	}
	return (int64_t)missing;
}

/*
 * Refuses a range that is larger than the free room.  No room can be reserved,
 * because the compressed size is unknown.
 */
static int check_room(const struct fs_handle *handle, uint64_t off,
		      uint64_t end)
{
	struct statvfs st;
	uint64_t room;
	int64_t missing;

	if (fstatvfs(handle->pin.fd, &st))
		return -errno;
	room = (uint64_t)st.f_bavail * st.f_frsize;
	missing = count_missing(handle->file, off, end, room);
	if (missing < 0)
		return (int)missing;
	return (uint64_t)missing > room ? -ENOSPC : 0;
}

static void drop_cached(struct fs *fs, struct fs_handle *handle)
{
	fs_open_frame_drop_cached(fs, handle->frame);
}

static int commit(struct fs *fs, struct fs_handle *handle,
		  enum b2f_commit_how how)
{
	return fs_open_frame_commit(fs, handle->frame, how);
}

static void tidy(struct fs *fs, struct fs_handle *handle)
{
	fs_open_frame_tidy(fs, handle->frame, false);
}

static void revert(struct fs *fs, struct fs_handle *handle)
{
	struct fs_open_frame *frame = handle->frame;

	/* If the revert fails, the next commit or writer does it. */
	(void)fs_open_frame_revert(fs, frame);
	fs_open_frame_drop_cached(fs, frame);
}

static const struct fs_data_ops data_ops = {
	.close = do_close,
	.pass = pass,
	.begin_change = begin_change,
	.end_change = end_change,
	.check_room = check_room,
	.drop_cached = drop_cached,
	.commit = commit,
	.tidy = tidy,
	.revert = revert,
};

/* Pins @node for @handle, and counts the handle. */
static int enter(struct fs *fs, struct fs_handle *handle,
		 struct fs_backed *node)
{
	struct fs_pin pin = {0};
	int err = fs_tree_pin(fs->tree, node, &pin);

	pthread_mutex_lock(&fs->state_lock);
	/* The kernel looks the name up again. */
	if (!err && node->state.renewed)
		err = -ESTALE;
	if (!err) {
		node->state.nhandles++;
		handle->pin = pin;
	}
	pthread_mutex_unlock(&fs->state_lock);
	if (err)
		fs_tree_unpin(&pin);
	return err;
}

/* Makes a handle of @node, whose data are those of @base. */
static int new_handle(struct fs *fs, struct fs_backed *node,
		      struct fs_backed *base, const struct fs_open_how *how,
		      struct fs_handle **out)
{
	struct fs_handle *handle;
	struct fs_share *share;
	int err = take_share(fs, how->uid, &share);

	if (err)
		return err;
	handle = fs_handle_new(fs, &data_ops, &node->head);
	err = handle ? enter(fs, handle, base) : -ENOMEM;
	if (err)
		give_share(fs, share);
	if (!handle)
		return err;
	handle->share = share;
	handle->writes = (how->flags & O_ACCMODE) != O_RDONLY;
	return fs_handle_give(fs, handle, err, out);
}

/* @made: as for fs_tree_handle_open_made(), or NULL. */
static int open_frame(struct fs *fs, struct fs_handle *handle,
		      struct b2f_frame *made, bool no_lock_file)
{
	struct fs_backed *node = handle->pin.node;
	bool *keep = &handle->keep_cache;
	int err = made ? fs_open_frame_add(fs, node, made, &handle->frame, keep)
		       : fs_open_frame_get(fs, node, &handle->frame, keep);

	if (err)
		return err;
	handle->direct_io |= handle->frame->past_cache;
	if (handle->writes) {
		fs_open_frame_begin_writer(fs, handle->frame);
		err = fs_open_frame_allow_write(fs, handle->frame,
						no_lock_file);
	}
	return err ? err : fs_handle_show(handle, &handle->frame->open);
}

/*
 * Flags for the backing file.  Do not use O_APPEND, because pages that the
 * kernel writes back have fixed offsets; a write that appends finds the end
 * itself.  With writeback_cache the kernel reads to fill pages, even for a
 * program that only writes.
 */
static int backing_flags(const struct fs *fs, int flags)
{
	int access = flags & O_ACCMODE;

	if (access == O_WRONLY && fs->options.cache.writeback_cache)
		access = O_RDWR;
	return access | O_NONBLOCK;
}

static int reopen(struct fs *fs, int path_fd, int flags)
{
	int wanted = backing_flags(fs, flags);
	int fd = fs_tree_reopen(fs->tree, path_fd, wanted);

	/* The user may write to the file, but not read it. */
	if (fd == -EACCES && (wanted & O_ACCMODE) != (flags & O_ACCMODE))
		fd = fs_tree_reopen(fs->tree, path_fd, O_WRONLY | O_NONBLOCK);
	return fd;
}

static int open_other(struct fs *fs, struct fs_handle *handle, int flags)
{
	int fd = reopen(fs, handle->pin.fd, flags);
	bool first = false;
	int err;

	if (fd < 0)
		return fd;
	handle->fd = fd;
	err = fs_cache_state_open_plain(fs, handle, &first);
	if (err)
		return err;
	/* The kernel uses no pages if it reads the file itself. */
	if (!handle->keep_cache && !atomic_load(&fs->config.passes)) {
		if (first)
			fs_view_drop_cached(fs, handle->pin.node,
					    FS_CACHE_DROP_SELF);
		handle->keep_cache = fs_view_wait_dropped(fs, handle->pin.node,
							  FS_CACHE_DROP_SELF);
	}
	fs_wakeup_call(&fs->wakeup, false);
	return 0;
}

/* Counts a handle of a view.  Returns whether it is the first one. */
static bool count_view(struct fs *fs, struct fs_state *state)
{
	bool first;
	B2F_HOLD(&fs->state_lock);

	state->has_view = true;
	first = state->nviews++ == 0;
	/* A write to the frame may have changed the bytes of the view. */
	if (first)
		state->seen.drop |= FS_CACHE_DROP_VIEW;
	return first;
}

static int open_shown(struct fs *fs, struct fs_handle *handle)
{
	struct fs_backed *node = handle->pin.node;
	bool is_view = handle->node->is_view;
	bool first = is_view && count_view(fs, &node->state);
	int err = open_frame(fs, handle, NULL, false);

	if (err)
		return err;
	if (first)
		fs_view_drop_cached(fs, node, FS_CACHE_DROP_VIEW);
	if (is_view || !handle->keep_cache)
		handle->keep_cache = fs_view_wait_dropped(
			fs, node,
			is_view ? FS_CACHE_DROP_VIEW : FS_CACHE_DROP_SELF);
	return 0;
}

int fs_tree_handle_open(struct fs *fs, struct fs_backed *node,
			const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_handle *handle = NULL;
	struct fs_backed *base;
	int err = fs_view_enter(fs, node, &base);

	if (err)
		return err;
	err = new_handle(fs, node, base, how, &handle);
	/* The handle's pin has a reference, too. */
	fs_tree_forget(base);
	if (err)
		return err;
	err = handle->pin.node->kind == FS_KIND_FRAME
		      ? open_shown(fs, handle)
		      : open_other(fs, handle, how->flags);
	return fs_handle_give(fs, handle, err, out);
}

int fs_tree_handle_open_made(struct fs *fs, struct fs_backed *node,
			     struct b2f_frame *frame,
			     const struct fs_open_how *how,
			     struct fs_handle **out)
{
	struct fs_handle *handle = NULL;
	int err = new_handle(fs, node, node, how, &handle);

	if (err) {
		b2f_frame_close(frame);
		return err;
	}
	err = open_frame(fs, handle, frame, how->no_lock_file);
	return fs_handle_give(fs, handle, err, out);
}

int fs_tree_handle_open_listing(struct fs *fs, struct fs_backed *node,
				struct fs_listing *listing, uid_t uid,
				struct fs_handle **out)
{
	const struct fs_open_how how = {.flags = O_RDONLY, .uid = uid};
	int err = new_handle(fs, node, node, &how, out);

	if (!err)
		(*out)->listing = listing;
	return err;
}
