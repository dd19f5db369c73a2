/* SPDX-License-Identifier: BSD-3-Clause */
/* seen.c - what the kernel and we have seen of the data of a file */
#include <errno.h>

#include "fs.h"
#include "seen.h"

#define SECOND_NS INT64_C(1000000000)

static bool is_same(const struct fs_seen *seen,
		    const struct b2f_frame_stamp *stamp)
{
	return seen->cache != FS_SEEN_UNKNOWN &&
	       b2f_frame_stamp_equal(&seen->stamp, stamp);
}

bool fs_seen_is_ours(const struct fs_seen *seen,
		     const struct b2f_frame_stamp *stamp)
{
	return seen->is_ours && is_same(seen, stamp);
}

/* Another version, which is not known to be ours. */
static void set_stamp(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		      enum fs_seen_cache cache)
{
	if (!is_same(seen, stamp))
		seen->is_ours = false;
	seen->stamp = *stamp;
	seen->cache = cache;
}

static void set_ours(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		     int64_t ctime_ns)
{
	seen->stamp = *stamp;
	seen->is_ours = true;
	seen->ctime.tv_sec = ctime_ns / SECOND_NS;
	seen->ctime.tv_nsec = ctime_ns % SECOND_NS;
	if (seen->cache != FS_SEEN_MIXED)
		seen->cache = FS_SEEN_UNSURE;
}

bool fs_seen_may_share(const struct fs_seen *seen)
{
	return !(seen->drop & (FS_SEEN_DROP_SELF | FS_SEEN_DROPPING));
}

bool fs_seen_open(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		  bool settled)
{
	bool known = seen->cache != FS_SEEN_UNKNOWN, same, keep;

	if (seen->nopen++ > 0)
		return fs_seen_may_share(seen);
	same = is_same(seen, stamp);
	keep = same && seen->cache == FS_SEEN_SURE &&
	       !(seen->drop & FS_SEEN_DROPPING);
	/* It was opened without a look at its name. */
	seen->resized |= known && !same;
	seen->drop &= ~(unsigned int)FS_SEEN_DROP_SELF;
	set_stamp(seen, stamp,
		  keep || settled ? FS_SEEN_SURE : FS_SEEN_UNSURE);
	return keep;
}

void fs_seen_ours(struct fs_seen *seen, const struct b2f_frame_stamp *stamp)
{
	set_ours(seen, stamp, stamp->ctime_ns);
}

void fs_seen_theirs(struct fs_seen *seen, const struct b2f_frame_stamp *stamp)
{
	if (stamp)
		set_stamp(seen, stamp, FS_SEEN_MIXED);
	seen->cache = FS_SEEN_MIXED;
	seen->resized = true;
	seen->drop |= FS_SEEN_DROP_SELF;
}

void fs_seen_close(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		   bool is_there, bool settled)
{
	seen->nopen--;
	if (!stamp)
		return;
	if (!is_same(seen, stamp) && seen->cache == FS_SEEN_MIXED)
		set_stamp(seen, stamp, FS_SEEN_MIXED);
	else if (!is_same(seen, stamp))
		fs_seen_ours(seen, stamp);
	if (seen->cache == FS_SEEN_UNSURE && seen->is_ours && is_there &&
	    settled)
		seen->cache = FS_SEEN_SURE;
}

bool fs_seen_must_renew(struct fs_seen *seen,
			const struct b2f_frame_stamp *stamp)
{
	bool known = seen->cache != FS_SEEN_UNKNOWN;
	bool same = is_same(seen, stamp);

	if (!same)
		set_stamp(seen, stamp, FS_SEEN_UNSURE);
	return seen->resized || (known && !same);
}

void fs_seen_note_meta(struct fs *fs, struct fs_node *node,
		       const struct stat *before, const struct stat *now)
{
	struct b2f_frame_stamp old = {0}, new = b2f_frame_stamp_of(now);
	struct fs_seen *seen = &node->state.seen;

	if (before)
		old = b2f_frame_stamp_of(before);
	pthread_mutex_lock(&fs->files.lock);
	if (!before) {
		fs_seen_ours(seen, &new);
	} else if (is_same(seen, &old)) {
		/* What the kernel has of the data is as right as before. */
		seen->stamp = new;
		seen->ctime = now->st_ctim;
	}
	pthread_mutex_unlock(&fs->files.lock);
}

static int64_t in_ns(const struct timespec *t)
{
	return t->tv_sec * SECOND_NS + t->tv_nsec;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void fs_seen_note_commit(struct fs *fs, struct fs_node *node,
			 const struct b2f_file_now *before,
			 const struct b2f_file_now *now,
			 const struct timespec *shown)
{
	struct fs_seen *seen = &node->state.seen;
	int64_t changed = before->stamp.ctime_ns;

	if (b2f_frame_stamp_equal(&now->stamp, &before->stamp))
		return;
	pthread_mutex_lock(&fs->files.lock);
	if (fs_seen_is_ours(seen, &before->stamp))
		changed = in_ns(&seen->ctime);
	changed = max(changed, in_ns(shown));
	/* The time of the last write, which may have come meanwhile. */
	if (before->has_mtime)
		changed = max(changed, now->stamp.mtime_ns);
	if (changed > now->stamp.ctime_ns)
		changed = now->stamp.ctime_ns;
	set_ours(seen, &now->stamp, changed);
	pthread_mutex_unlock(&fs->files.lock);
}

struct timespec fs_seen_ctime(struct fs *fs, const struct fs_node *node,
			      const struct stat *index)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(index);
	const struct fs_seen *seen = &node->state.seen;
	struct timespec t = index->st_ctim;

	pthread_mutex_lock(&fs->files.lock);
	if (fs_seen_is_ours(seen, &stamp))
		t = seen->ctime;
	pthread_mutex_unlock(&fs->files.lock);
	return t;
}

/* A file that is no frame. */
struct look {
	struct b2f_frame_stamp stamp;
	bool settled;
	/* It is sure to be without a half of a change of ours. */
	bool alone;
};

/*
 * @nours: changes that are going on and the caller knows of.  Returns 0 or an
 * errno, in any case with files->lock held.
 */
static int look_and_lock(struct fs *fs, const struct fs_seen *seen, int fd,
			 uint64_t nours, struct look *look)
{
	uint64_t nbegun, nended;
	struct stat st;
	int err;

	pthread_mutex_lock(&fs->files.lock);
	nbegun = seen->nbegun;
	nended = seen->nended;
	pthread_mutex_unlock(&fs->files.lock);
	err = fstat(fd, &st) ? -errno : 0;
	pthread_mutex_lock(&fs->files.lock);
	if (err)
		return err;
	*look = (struct look){
		.stamp = b2f_frame_stamp_of(&st),
		.settled = fs_frames_settled(&st),
		.alone = nbegun - nended == nours && seen->nbegun == nbegun,
	};
	return 0;
}

/* Compares a file with what was seen of it last.  Locked. */
static void compare(struct fs_seen *seen, const struct look *look)
{
	if (seen->nopen == 0)
		/* The kernel has not looked at its name, or will do so. */
		seen->resized |= fs_seen_must_renew(seen, &look->stamp);
	if (seen->nopen == 0 || !look->alone)
		return;
	if (seen->nseen != seen->nbegun)
		/* We have changed it, and perhaps others as well. */
		set_stamp(seen, &look->stamp,
			  seen->cache == FS_SEEN_MIXED ? FS_SEEN_MIXED
						       : FS_SEEN_UNSURE);
	else if (!b2f_frame_stamp_same_data(&seen->stamp, &look->stamp, false))
		fs_seen_theirs(seen, &look->stamp);
	else
		seen->stamp = look->stamp;
	seen->nseen = seen->nbegun;
}

/*
 * One more open of what only readers have open may drop what the kernel has:
 * nothing is being written.
 */
static bool open_again(struct fs_seen *seen, const struct look *look)
{
	if (seen->cache == FS_SEEN_UNSURE && look->settled)
		seen->cache = FS_SEEN_SURE;
	seen->nopen++;
	return false;
}

int fs_seen_open_plain(struct fs *fs, struct fs_node *node, int fd, bool *keep)
{
	struct fs_seen *seen = &node->state.seen;
	struct look look;
	int err = look_and_lock(fs, seen, fd, 0, &look);

	if (!err) {
		compare(seen, &look);
		if (seen->nopen == 0)
			seen->nseen = seen->nbegun - !look.alone;
		if (seen->nopen > 0 && seen->cache != FS_SEEN_SURE &&
		    node->state.nwriters == 0)
			*keep = open_again(seen, &look);
		else
			*keep = fs_seen_open(seen, &look.stamp,
					     look.settled && look.alone);
	}
	pthread_mutex_unlock(&fs->files.lock);
	return err;
}

void fs_seen_close_plain(struct fs *fs, struct fs_node *node, int fd)
{
	struct fs_seen *seen = &node->state.seen;
	struct look look;
	int err = look_and_lock(fs, seen, fd, 0, &look);

	if (!err)
		compare(seen, &look);
	fs_seen_close(seen, !err && look.alone ? &look.stamp : NULL, true,
		      !err && look.settled);
	pthread_mutex_unlock(&fs->files.lock);
}

void fs_seen_begin(struct fs *fs, struct fs_node *node, int fd)
{
	struct fs_seen *seen = &node->state.seen;
	struct look look;

	/* Behind our change that of another could not be told from it. */
	if (!look_and_lock(fs, seen, fd, 0, &look))
		compare(seen, &look);
	seen->nbegun++;
	pthread_mutex_unlock(&fs->files.lock);
}

void fs_seen_end(struct fs *fs, struct fs_node *node, int fd)
{
	struct fs_seen *seen = &node->state.seen;
	struct look look;
	int err = look_and_lock(fs, seen, fd, 1, &look);

	if (!err && look.alone) {
		fs_seen_ours(seen, &look.stamp);
		seen->nseen = seen->nbegun;
	}
	seen->nended++;
	pthread_mutex_unlock(&fs->files.lock);
}

void fs_seen_look(struct fs *fs, struct fs_node *node, int fd)
{
	struct look look;

	if (!look_and_lock(fs, &node->state.seen, fd, 0, &look))
		compare(&node->state.seen, &look);
	pthread_mutex_unlock(&fs->files.lock);
}
