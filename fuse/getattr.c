/* SPDX-License-Identifier: BSD-3-Clause */
/* getattr.c - attributes for stat(2) */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "acl.h"
#include "b2frame/create.h"
#include "disk_frame.h"
#include "getattr.h"
#include "programs/home.h"
#include "view.h"

/* Smaller reads take as long. */
#define FRAME_BLKSIZE (128 << 10)

uint64_t fs_getattr_ino(const struct fs *fs, dev_t dev, uint64_t ino)
{
	if (dev == fs->tree->base_dev)
		return ino;
	return ino ^ (((uint64_t)dev * UINT64_C(0x9e3779b97f4a7c15)) |
		      UINT64_C(1) << 63);
}

/* A file that became a directory is shown with its old number. */
static void keep_ino(const struct fs *fs, const struct fs_backed *node,
		     struct stat *out)
{
	ino_t shown = atomic_load(&node->shown_ino);

	if (shown)
		out->st_ino = fs_getattr_ino(fs, node->dev, shown);
}

static int64_t clamp(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/*
 * Takes away the powers that the filesystem of the file @fd denies.  The mount
 * itself denies those that SOURCE denies (session.c).
 */
static void hide_powers(const struct fs *fs, int fd, struct stat *st)
{
	bool is_device = S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode);
	struct statvfs vfs;
	unsigned long denied;

	if (!is_device &&
	    (S_ISDIR(st->st_mode) || !(st->st_mode & (S_ISUID | S_ISGID))))
		return;
	denied = fstatvfs(fd, &vfs) ? ST_NOSUID | ST_NODEV : vfs.f_flag;
	denied &= ~fs->tree->base_flags;
	if (denied & ST_NOSUID)
		st->st_mode &= ~(mode_t)(S_ISUID | S_ISGID);
	if (is_device && (denied & ST_NODEV))
		st->st_rdev = 0;
}

/* Applies the mount's options to @st, which shows the file @fd. */
static void apply_options(const struct fs *fs, int fd, struct stat *st)
{
	const struct fs_options *o = &fs->options;

	hide_powers(fs, fd, st);
	/* A program must not run as a user other than its owner. */
	if (o->access.user != FS_UNSET) {
		st->st_uid = (uid_t)o->access.user;
		st->st_mode &= ~(mode_t)S_ISUID;
	}
	if (o->access.group != FS_UNSET) {
		st->st_gid = (gid_t)o->access.group;
		if (!S_ISDIR(st->st_mode))
			st->st_mode &= ~(mode_t)S_ISGID;
	}
	if (S_ISDIR(st->st_mode))
		st->st_mode &= ~fs->config.dir_mask;
	else if (!S_ISLNK(st->st_mode))
		st->st_mode &= ~fs->config.file_mask;
}

/* Gives other users no more rights than they have on the backing filesystem. */
static mode_t shown_mode(const struct fs *fs, int fd, const char *name,
			 mode_t mode)
{
	return fs->options.access.allow_other
		       ? fs_acl_narrow(fs->tree->proc_fd, fd, name, mode)
		       : mode;
}

/* Attributes of a file or directory that is no frame. */
static void plain(const struct fs *fs, int fd, const struct stat *st,
		  struct stat *out)
{
	*out = *st;
	out->st_mode = shown_mode(fs, fd, NULL, st->st_mode);
	out->st_ino = fs_getattr_ino(fs, st->st_dev, st->st_ino);
	/*
	 * Some of its directories are frames, and shown as files.  1 means that
	 * the subdirectories are not counted.
	 */
	if (S_ISDIR(st->st_mode) && st->st_nlink > 2)
		out->st_nlink = 1;
	apply_options(fs, fd, out);
}

/*
 * Returns the bits to hide, which the directory of a frame denies: a user who
 * may not enter the directory may not use the frame.  If file and directory
 * have different owners or groups, the file's owner or group may be any user in
 * the directory.
 */
static mode_t hidden_by(mode_t dir_mode, const struct stat *dir,
			const struct stat *index)
{
	mode_t enter = dir_mode & 0111;
	mode_t hidden = 0;

	if (dir->st_gid != index->st_gid && !(enter & 01))
		enter &= ~(mode_t)010;
	if (dir->st_uid != index->st_uid && (enter & 011) != 011)
		enter &= ~(mode_t)0100;
	for (int shift = 0; shift <= 6; shift += 3)
		if (!(enter >> shift & 1))
			hidden |= (mode_t)6 << shift;
	return hidden;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec
				      : a->tv_nsec > b->tv_nsec;
}

/*
 * Hides set-id bits if other users may write to the directory of the frame:
 * they decide what a program in it does, and a write there does not clear these
 * bits.  A contiguous frame shows the bits that it would show as a directory.
 */
static mode_t set_id_hidden_by(const struct stat *self,
			       const struct stat *index)
{
	bool by_others =
		(self->st_mode & 0022) || self->st_uid != index->st_uid;

	return by_others ? S_ISUID | S_ISGID : 0;
}

/* The mode to show for the frame at @probe->fd. */
static mode_t mode_of_frame(const struct fs *fs, const struct fs_probe *probe)
{
	const struct stat *self = &probe->st, *index = &probe->index;
	const char *name = S_ISDIR(self->st_mode) ? B2F_INDEX_NAME : NULL;
	mode_t mode = S_IFREG | (index->st_mode & 07777);

	if (probe->sizes.read_only)
		mode &= ~(mode_t)0222;
	if (!probe->sizes.no_acl)
		mode = shown_mode(fs, probe->fd, name, mode);
	mode &= ~set_id_hidden_by(self, index);
	if (!S_ISDIR(self->st_mode))
		return mode;
	return mode & ~hidden_by(shown_mode(fs, probe->fd, NULL, self->st_mode),
				 self, index);
}

static void frame(const struct fs *fs, const struct fs_probe *probe,
		  struct stat *out)
{
	const struct stat *self = &probe->st, *index = &probe->index;

	*out = *index;
	out->st_mode = mode_of_frame(fs, probe);
	/*
	 * A rename changes only the ctime of a directory; a commit, and the
	 * cleaning up after it, changes the mtime, too.
	 */
	if (S_ISDIR(self->st_mode) &&
	    is_later(&self->st_ctim, &self->st_mtim) &&
	    is_later(&self->st_ctim, &out->st_ctim))
		out->st_ctim = self->st_ctim;
	out->st_ino = fs_getattr_ino(fs, self->st_dev, self->st_ino);
	out->st_nlink =
		S_ISDIR(self->st_mode) ? self->st_nlink > 0 : self->st_nlink;
	out->st_rdev = 0;
	out->st_size = clamp(probe->sizes.nbytes);
	out->st_blocks =
		fs_sizes_blocks(probe->sizes.nbytes, probe->sizes.cbytes);
	out->st_blksize = FRAME_BLKSIZE;
	apply_options(fs, probe->fd, out);
}

void fs_getattr_of_probe(const struct fs *fs, const struct fs_probe *probe,
			 struct stat *out)
{
	if (probe->kind != FS_KIND_FRAME) {
		plain(fs, probe->fd, &probe->st, out);
		return;
	}
	frame(fs, probe, out);
	if (out->st_nlink > 0 && probe->nlinks > 1)
		out->st_nlink = probe->nlinks;
}

/*
 * Gets the time of the last write.  The index gets it with the next commit;
 * until that has ended, only @frame has it.  Returns false if the index has it.
 */
static bool written_at(struct fs *fs, struct fs_open_frame *frame,
		       const struct b2f_file_now *now, struct timespec *out)
{
	B2F_HOLD(&fs->state_lock);

	if (now->has_mtime) {
		frame->mtime = now->mtime;
		frame->has_mtime = true;
	} else if (fs_open_frame_is_committed(frame)) {
		frame->has_mtime = false;
	}
	*out = frame->mtime;
	return frame->has_mtime;
}

/* A write sets the ctime, too, but utimens(2) may set an mtime to come. */
static void advance_ctime(struct stat *st, const struct timespec *mtime)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (is_later(mtime, &st->st_ctim) && !is_later(mtime, &now))
		st->st_ctim = *mtime;
}

/* A deleted sparse frame still has a hidden name. */
static void note_deleted(const struct fs_backed *node, struct stat *out)
{
	if (node->state.deleted)
		out->st_nlink = 0;
}

/*
 * Replaces facts in @probe by those of the open @frame.  If the index differs
 * from the one that @frame left, another program has changed it.
 */
static void probe_open(struct fs *fs, struct fs_open_frame *frame,
		       struct fs_probe *probe)
{
	struct b2f_file_now now;
	struct timespec mtime;

	if (fs_open_frame_refresh(fs, frame, &probe->index, 0))
		fs_logger_write(fs->logger, B2F_LOG_DEBUG,
				"a changed frame cannot be read");
	b2f_file_now_get(frame->open.data, &now);
	probe->sizes.nbytes = now.nbytes;
	probe->sizes.cbytes = now.cbytes;
	probe->index.st_ctim =
		fs_cache_state_ctime(fs, frame->pin.node, &probe->index);
	if (written_at(fs, frame, &now, &mtime)) {
		probe->index.st_mtim = mtime;
		advance_ctime(&probe->index, &mtime);
	}
}

/*
 * Fills in the attributes of @node, which is no view; gives back @frame, its
 * open frame, or NULL.
 */
static void node_attr(struct fs *fs, struct fs_backed *node,
		      struct fs_open_frame *frame,
		      const struct fs_probe *on_disk, struct stat *out)
{
	struct fs_probe probe = *on_disk;

	if (frame)
		probe_open(fs, frame, &probe);
	else if (node->kind == FS_KIND_FRAME)
		probe.index.st_ctim =
			fs_cache_state_ctime(fs, node, &probe.index);
	fs_getattr_of_probe(fs, &probe, out);
	keep_ino(fs, node, out);
	note_deleted(node, out);
	if (!frame)
		return;
	pthread_mutex_lock(&fs->state_lock);
	frame->attr = *out;
	pthread_mutex_unlock(&fs->state_lock);
	fs_open_frame_put(fs, frame);
}

/*
 * The last attributes of the open @node that were shown.  The size may be older
 * than later writes, of which the kernel needs no attributes.
 */
static int last_seen(struct fs *fs, struct fs_backed *node, struct stat *out)
{
	struct fs_open_frame *frame = fs_open_frame_peek(fs, node, false);
	struct b2f_file_now now;
	struct stat attr;

	if (!frame)
		return -ESTALE;
	b2f_file_now_get(frame->open.data, &now);
	pthread_mutex_lock(&fs->state_lock);
	attr = frame->attr;
	pthread_mutex_unlock(&fs->state_lock);
	fs_open_frame_put(fs, frame);
	if (attr.st_mode == 0)
		return -ESTALE;
	*out = attr;
	out->st_size = clamp(now.nbytes);
	note_deleted(node, out);
	return 0;
}

static int read_sizes(struct fs *fs, struct fs_backed *node,
		      struct fs_probe *probe)
{
	char name[FS_NAME_SIZE];
	FS_PIN(parent);
	int err;

	/*
	 * Open these nodes by descriptor: the root's name leads into our own
	 * mount; a deleted file has no name; a file that has lost one of
	 * several names may not be found by another one yet.
	 */
	if (node->is_root || node->lost_name || node->nholds > 0)
		return fs_disk_frame_sizes(fs, node, probe);
	err = fs_tree_pin_parent(fs->tree, node, &parent, name);
	return err ? err : fs_probe_sizes(fs->tree, parent.fd, name, probe);
}

static int find_sizes(struct fs *fs, struct fs_backed *node,
		      struct fs_probe *probe)
{
	int err = fs_probe_known(fs->tree, probe) ? 0
						  : read_sizes(fs, node, probe);

	if (!err)
		node->state.read_only = probe->sizes.read_only;
	return err;
}

static int get_frame(struct fs *fs, struct fs_backed *node, int fd,
		     struct stat *out)
{
	struct fs_probe probe = {
		.fd = fd, .kind = FS_KIND_FRAME, .sparse = node->sparse};
	struct fs_open_frame *frame;
	int err;

	/*
	 * Look for an open frame before the index: if there is none, all
	 * changes that were answered are on disk.
	 */
	frame = fs_open_frame_peek(fs, node, false);
	err = fs_probe_both(fd, node->sparse, &probe.st, &probe.index);
	if (node->sparse)
		probe.nlinks = b2f_home_count(fd);
	if (err == -ENOENT)
		err = -ESTALE;
	probe.sizes.read_only = node->state.read_only;
	if (!err && !frame)
		err = find_sizes(fs, node, &probe);
	if (!err)
		node_attr(fs, node, frame, &probe, out);
	else if (frame)
		fs_open_frame_put(fs, frame);
	return err;
}

/*
 * The directory around a single frame: a user who may read the frame may list
 * the directory.
 */
static int get_single(struct fs *fs, int dirfd, struct stat *out)
{
	struct fs_probe probe;
	mode_t readable;
	int err = fs_probe_open(fs->tree, dirfd, fs->source.name, &probe);

	if (err)
		return err;
	fs_getattr_of_probe(fs, &probe, out);
	fs_probe_close(&probe);
	readable = out->st_mode & 0444;
	out->st_mode = S_IFDIR | readable | readable >> 2;
	out->st_ino = FUSE_ROOT_ID;
	out->st_nlink = 2;
	out->st_size = 0;
	out->st_blocks = 0;
	out->st_blksize = 4096;
	out->st_mode &= ~fs->config.dir_mask;
	return 0;
}

/* Attributes of a file that is no view. */
static int get_base(struct fs *fs, struct fs_backed *node, struct stat *out)
{
	FS_PIN(pin);
	struct stat st;
	int err = fs_tree_pin(fs->tree, node, &pin);

	if (err)
		return node->kind == FS_KIND_FRAME ? last_seen(fs, node, out)
						   : err;
	switch (node->kind) {
	case FS_KIND_DIR:
	case FS_KIND_OTHER:
		if (fstat(pin.fd, &st))
			return -errno;
		plain(fs, pin.fd, &st, out);
		return 0;
	case FS_KIND_FRAME:
		err = get_frame(fs, node, pin.fd, out);
		return err == -ESTALE ? last_seen(fs, node, out) : err;
	case FS_KIND_SINGLE:
		return get_single(fs, pin.fd, out);
	case FS_KIND_VIEW:
		break;
	}
	return -ESTALE;
}

int fs_getattr(struct fs *fs, struct fs_backed *node, struct stat *out)
{
	struct fs_backed *base;
	int err = fs_view_enter(fs, node, &base);

	if (err)
		return err;
	err = get_base(fs, base, out);
	if (!err && base != node)
		err = fs_view_head_attr(fs, base, out);
	fs_tree_forget(base);
	return err;
}

/*
 * Is @probe of the closed frame @node older than our last commit?  The kernel
 * must not get an old size after a new one.
 */
static bool is_outdated(struct fs *fs, struct fs_backed *node,
			const struct fs_probe *probe)
{
	struct b2f_frame_stamp looked_at = b2f_frame_stamp_of(&probe->index);
	struct b2f_frame_stamp stamp;
	struct stat index;
	bool was_open;

	pthread_mutex_lock(&fs->state_lock);
	was_open = node->state.seen.cache != FS_CACHE_UNKNOWN;
	pthread_mutex_unlock(&fs->state_lock);
	/* A remembered probe is replaced by a new one. */
	if (!was_open || probe->fd < 0 ||
	    fs_probe_index(probe->fd, probe->sparse, &index))
		return was_open;
	stamp = b2f_frame_stamp_of(&index);
	return !b2f_frame_stamp_equal(&stamp, &looked_at);
}

int fs_getattr_of_found(struct fs *fs, struct fs_backed *node,
			const struct fs_probe *probe, struct stat *out)
{
	bool is_frame = node->kind == FS_KIND_FRAME;
	struct fs_open_frame *frame =
		is_frame ? fs_open_frame_peek(fs, node, false) : NULL;
	int err = -ESTALE;

	if (is_frame && !frame && is_outdated(fs, node, probe))
		err = fs_getattr(fs, node, out);
	if (err != -ESTALE)
		return err;
	node->state.read_only = probe->sizes.read_only;
	node_attr(fs, node, frame, probe, out);
	return 0;
}
