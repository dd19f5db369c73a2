/* SPDX-License-Identifier: BSD-3-Clause */
/* setattr.c - owner, mode and times of backing files */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "dir.h"
#include "fs.h"
#include "maker.h"
#include "probe.h"
#include "setattr.h"

/* A user with more groups counts as a member of none of the others. */
#define MAX_GROUPS 512

/* Of Linux 6.6; <sys/syscall.h> may be older. */
#define SYS_FCHMODAT2 452

struct fs_setattr fs_setattr_none(void)
{
	return (struct fs_setattr){.uid = (uid_t)-1, .gid = (gid_t)-1};
}

static bool is_explicit(const struct timespec *t)
{
	return t->tv_nsec != UTIME_NOW && t->tv_nsec != UTIME_OMIT;
}

/* The bits that @meta adds to the mode of @st, or removes. */
static mode_t given(const struct fs_setattr *meta, const struct stat *st)
{
	return meta->has_mode ? meta->mode & ~st->st_mode & 07777 : 0;
}

static mode_t taken(const struct fs_setattr *meta, const struct stat *st)
{
	return meta->has_mode ? st->st_mode & ~meta->mode & 07777 : 0;
}

/* May only the owner of @st do @meta? */
static bool is_owners_right(const struct fs_setattr *meta,
			    const struct stat *st)
{
	/* The kernel itself clears set-id bits when another user writes. */
	if (given(meta, st) || (taken(meta, st) & ~(S_ISUID | S_ISGID)))
		return true;
	return fs_setattr_sets_owner(meta) ||
	       (meta->has_times && !meta->is_of_write &&
		(is_explicit(&meta->times[0]) || is_explicit(&meta->times[1])));
}

static bool is_in_group(fuse_req_t req, gid_t gid)
{
	gid_t groups[MAX_GROUPS];
	int n = fuse_req_getgroups(req, MAX_GROUPS, groups);

	for (int i = 0; i < n && i < MAX_GROUPS; i++)
		if (groups[i] == gid)
			return true;
	return fuse_req_ctx(req)->gid == gid;
}

/*
 * The same for the set-id bits @set that @st is to get: not if that would be a
 * program of another user than the caller.
 */
static int check_set_id(const struct fs *fs, const struct fs_setattr *meta,
			const struct stat *st, mode_t set)
{
	const struct fs_options *o = &fs->options;

	if (!set || !meta->by_user)
		return 0;
	if (!fs_maker_is_root())
		return fuse_req_ctx(meta->req)->uid == geteuid() ? 0 : -EPERM;
	if (o->access.user != FS_UNSET || o->access.group != FS_UNSET)
		return -EPERM;
	return (set & S_ISGID) && !is_in_group(meta->req, st->st_gid) ? -ESTALE
								      : 0;
}

/*
 * May the caller do @meta to the file @st, in the directory @dir of a frame
 * (NULL: not in one)?  The kernel has checked that with the attributes it
 * remembers; but whoever may write to the directory can have put another file
 * there.
 *
 * Returns 0, -ESTALE (the kernel looks again) or -EPERM (S_ISUID or S_ISGID
 * for a file that is another user's in SOURCE).
 */
static int check(struct fs *fs, const struct fs_setattr *meta,
		 const struct stat *st, const struct stat *dir)
{
	const int64_t shown = fs->options.access.user;
	mode_t set = given(meta, st) & (S_ISUID | S_ISGID);
	bool is_mixed = dir && dir->st_uid != st->st_uid;
	uid_t owner = shown == FS_UNSET ? st->st_uid : (uid_t)shown;

	if (!meta->req)
		return 0;
	/* Without root's rights it changes only files of its own user. */
	if (!fs_maker_is_root())
		return check_set_id(fs, meta, st, set);
	if (is_mixed && (set || (meta->by_user && is_owners_right(meta, st))))
		return -ESTALE;
	if (meta->by_user && is_owners_right(meta, st) &&
	    fuse_req_ctx(meta->req)->uid != owner)
		return -ESTALE;
	return check_set_id(fs, meta, st, set);
}

mode_t fs_setattr_new_mode(fuse_req_t req, int dirfd, mode_t mode)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	const struct fs_setattr meta = {.req = req, .by_user = ctx->uid != 0};
	mode_t set = mode & (S_ISUID | S_ISGID);
	struct stat st;

	if (!set)
		return mode;
	if (fstat(dirfd, &st))
		return mode & ~set;
	if (!(st.st_mode & S_ISGID))
		st.st_gid = ctx->gid;
	return check_set_id(fs_of(req), &meta, &st, set) ? mode & ~set : mode;
}

/* A number in /proc leads to this very file, even to a symbolic link. */
static int set_mode(struct fs *fs, int fd, mode_t mode)
{
	char path[FS_DIR_PATH_SIZE];

	/* Linux has the first one since 6.6; a filter may refuse it. */
	if (syscall(SYS_FCHMODAT2, fd, "", mode, AT_EMPTY_PATH) &&
	    fchmodat(fs->tree->proc_fd, fs_dir_number(fd, path), mode, 0))
		return -errno;
	return 0;
}

static int set_both(struct fs *fs, int fd, const struct timespec times[2])
{
	char path[FS_DIR_PATH_SIZE];
	int ret = utimensat(fd, "", times, AT_EMPTY_PATH);

	/* Before Linux 5.8 it has no such flag. */
	if (ret && errno == EINVAL)
		ret = utimensat(fs->tree->proc_fd, fs_dir_number(fd, path),
				times, 0);
	return ret ? -errno : 0;
}

/*
 * A truncate(2) sets the mtime alone.  Its caller need not own the file, but
 * utimensat(2) lets others set only both times to now.
 */
static int set_times(struct fs *fs, int fd, const struct fs_setattr *meta)
{
	int err = set_both(fs, fd, meta->times);

	if (err == -EPERM &&
	    (meta->is_of_write || meta->times[1].tv_nsec == UTIME_NOW))
		err = set_both(fs, fd, NULL);
	return err;
}

/* Makes a change that check() allows, or that is the daemon's own. */
static int change(struct fs *fs, int fd, const struct fs_setattr *meta)
{
	int err = 0;

	if (fs_setattr_sets_owner(meta) &&
	    fchownat(fd, "", meta->uid, meta->gid, AT_EMPTY_PATH))
		return -errno;
	/* After chown(2), because that clears set-uid bits. */
	if (meta->has_mode)
		err = set_mode(fs, fd, meta->mode);
	return !err && meta->has_times ? set_times(fs, fd, meta) : err;
}

/* The mode for the directory of a frame with the mode @mode. */
static mode_t mode_of_dir(mode_t mode, const struct stat *dir)
{
	mode &= 0777;
	mode |= (mode & 0444) >> 2 | (mode & 0222) >> 1;
	return mode | S_IRWXU | (dir->st_mode & S_ISGID);
}

/*
 * Changes the directory of a frame, except its times; with @narrows only lets
 * in users who may enter both before and after @meta.  A change sets its ctime
 * for nothing, so only new values are set.
 */
static int set_dir(struct fs *fs, int dirfd, const struct fs_setattr *meta,
		   bool narrows)
{
	struct fs_setattr dir = fs_setattr_none();
	struct stat st;

	if (fstat(dirfd, &st))
		return -errno;
	if (!narrows && meta->uid != st.st_uid)
		dir.uid = meta->uid;
	if (!narrows && meta->gid != st.st_gid)
		dir.gid = meta->gid;
	dir.mode = mode_of_dir(meta->mode, &st);
	if (narrows)
		dir.mode &= st.st_mode;
	dir.has_mode = meta->has_mode && dir.mode != (st.st_mode & 07777);
	return change(fs, dirfd, &dir);
}

/*
 * Changes all files of the frame, so that its users' programs can read it
 * without a mount.  Meanwhile, and if this ends half-way, the directory lets in
 * only users who may enter; the next change of mode or owner does the rest.
 * Uses only @fd, the index as it was looked at, with the attributes @before.
 */
static int set_files(struct fs *fs, int dirfd, int fd,
		     const struct fs_setattr *meta, const struct stat *before)
{
	bool by_root = !meta->by_user && fs_maker_is_root();
	struct stat now;
	int err = set_dir(fs, dirfd, meta, true);

	if (!err)
		err = change(fs, fd, meta);
	if (!err && fstat(fd, &now))
		err = -errno;
	if (!err)
		err = b2f_frame_permit_chunks(
			dirfd, &now, by_root ? (uid_t)-1 : before->st_uid);
	if (!err)
		err = set_dir(fs, dirfd, meta, false);
	return err;
}

/* Changes the frame in @dirfd, with the index @fd, or the file @fd (-1). */
static int set_all(struct fs *fs, int dirfd, int fd,
		   const struct fs_setattr *meta)
{
	bool is_dir = dirfd >= 0;
	struct stat dir, before;
	int err;

	if (fstat(fd, &before) || (is_dir && fstat(dirfd, &dir)))
		return -errno;
	err = check(fs, meta, &before, is_dir ? &dir : NULL);
	if (err)
		return err;
	return is_dir && (fs_setattr_sets_owner(meta) || meta->has_mode)
		       ? set_files(fs, dirfd, fd, meta, &before)
		       : change(fs, fd, meta);
}

int fs_setattr_file(struct fs *fs, int fd, const struct fs_setattr *meta)
{
	return set_all(fs, -1, fd, meta);
}

/* For b2f_file_with_index(). */
struct request {
	struct fs *fs;
	const struct fs_setattr *meta;
	/* The mtime that @meta sets, or NULL. */
	const struct timespec *mtime;
	/* Descriptor of the frame's directory or file. */
	int fd;
	/* Called instead of a change if @meta is NULL. */
	int (*fn)(void *arg, int index_fd);
	void *arg;
};

/* Must the owner of the directory @dirfd have put the index @fd there? */
static bool is_of_dir(int fd, int dirfd)
{
	struct stat index, dir;

	if (!fs_maker_is_root())
		return true;
	return fstat(fd, &index) == 0 && fstat(dirfd, &dir) == 0 &&
	       (index.st_uid == dir.st_uid ||
		(dir.st_uid == 0 && !(dir.st_mode & 0022)));
}

/* Runs @r on the index @fd in the directory @dirfd, or on one file. */
static int run_on(const struct request *r, int dirfd, int fd)
{
	if (r->meta)
		return set_all(r->fs, dirfd, fd, r->meta);
	return dirfd < 0 || is_of_dir(fd, dirfd) ? r->fn(r->arg, fd) : -ESTALE;
}

static int run(void *arg, int dirfd)
{
	const struct request *r = arg;
	struct stat st;
	int fd, err;

	/* If the file is a directory now, the kernel looks it up again. */
	if (dirfd < 0)
		return fstat(r->fd, &st) || S_ISDIR(st.st_mode)
			       ? -ESTALE
			       : run_on(r, -1, r->fd);
	fd = openat(dirfd, B2F_INDEX_NAME, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	err = fd < 0 ? -errno : run_on(r, dirfd, fd);
	fs_dir_close(fd);
	return err == -ENOENT ? -ESTALE : err;
}

/*
 * Notes that the data are the same.  If they differ, another program has
 * committed meanwhile.
 */
static void note_same(struct fs *fs, struct fs_backed *node, bool sets_mtime,
		      const struct stat *before, const struct stat *after)
{
	struct b2f_frame_stamp old = b2f_frame_stamp_of(before);
	struct b2f_frame_stamp new = b2f_frame_stamp_of(after);

	if (b2f_frame_stamp_same_data(&old, &new, sets_mtime))
		fs_cache_state_note_meta(fs, node, before, after);
}

static int run_closed(struct fs_backed *node, int fd, struct request *r)
{
	struct stat before, after;
	int err;

	if (fs_probe_index(fd, node->sparse, &before))
		return -ESTALE;
	err = run(r, node->sparse ? fd : -1);
	if (!fs_probe_index(fd, node->sparse, &after))
		note_same(r->fs, node, r->mtime != NULL, &before, &after);
	return err;
}

static int run_request(struct fs_backed *node, int fd, struct request *r)
{
	struct fs *fs = r->fs;
	struct fs_open_frame *frame;
	int err = fs_open_frame_peek_or_begin(fs, node, &frame);

	if (err)
		return err;
	r->fd = fd;
	if (!frame) {
		err = run_closed(node, fd, r);
		fs_open_frame_end_begin(fs, node);
		return err;
	}
	err = b2f_file_with_index(frame->open.data, r->mtime, run, r);
	if (!err && r->mtime) {
		B2F_HOLD(&fs->state_lock);
		/* Until the commit, encoders may change the one on disk. */
		frame->mtime = *r->mtime;
		frame->has_mtime = is_explicit(r->mtime);
	}
	fs_open_frame_put(fs, frame);
	return err;
}

int fs_setattr_frame(struct fs *fs, struct fs_backed *node, int fd,
		     const struct fs_setattr *meta)
{
	struct request r = {.fs = fs, .meta = meta};

	if (meta->has_times && meta->times[1].tv_nsec != UTIME_OMIT)
		r.mtime = &meta->times[1];
	return run_request(node, fd, &r);
}

/* The bits of the mode of @st that a file loses when a user writes to it. */
static mode_t set_ids(const struct stat *st)
{
	return st->st_mode & (S_ISUID | (st->st_mode & S_IXGRP ? S_ISGID : 0));
}

int fs_setattr_clear_set_ids(struct fs *fs, const struct fs_pin *pin,
			     bool *cleared)
{
	struct fs_setattr meta = fs_setattr_none();
	bool is_frame = pin->node && pin->node->kind == FS_KIND_FRAME;
	struct stat st;
	mode_t drop;
	int err;

	/* Without root's rights, a write to a plain file clears them itself. */
	if (!pin->node || (!is_frame && !fs_maker_is_root()))
		return 0;
	/*
	 * Asked each time: the mount does not show all bits, and chmod(2) can
	 * come at any time.
	 */
	err = fs_probe_index(pin->fd, is_frame && pin->node->sparse, &st);
	drop = err || !S_ISREG(st.st_mode) ? 0 : set_ids(&st);
	if (!drop)
		return err == -ENOENT ? 0 : err;
	if (cleared)
		*cleared = true;
	meta.by_user = meta.has_mode = true;
	meta.mode = st.st_mode & 07777 & ~drop;
	return is_frame ? fs_setattr_frame(fs, pin->node, pin->fd, &meta)
			: fs_setattr_file(fs, pin->fd, &meta);
}

int fs_setattr_with_index(struct fs *fs, struct fs_backed *node, int fd,
			  int (*fn)(void *arg, int index_fd), void *arg)
{
	struct request r = {.fs = fs, .fn = fn, .arg = arg};

	return run_request(node, fd, &r);
}

static int nothing(void *arg, int dirfd)
{
	(void)arg;
	(void)dirfd;
	return 0;
}

void fs_setattr_note_ctime(struct fs *fs, struct fs_backed *node, int fd,
			   const struct stat *before)
{
	struct fs_open_frame *frame = fs_open_frame_peek(fs, node, false);
	struct stat now;

	if (frame) {
		(void)!b2f_file_with_index(frame->open.data, NULL, nothing,
					   NULL);
		fs_open_frame_put(fs, frame);
	} else if (fstat(fd, &now) == 0) {
		note_same(fs, node, false, before, &now);
	}
}
