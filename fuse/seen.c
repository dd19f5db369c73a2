/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seen.c - what the kernel and we have seen of the data of a file: the states
 */
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

/* Sets a version that is not known to be ours. */
static void set_stamp(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		      enum fs_seen_cache cache)
{
	if (!is_same(seen, stamp))
		seen->is_ours = false;
	seen->stamp = *stamp;
	seen->cache = cache;
}

static void set_ctime(struct fs_seen *seen, int64_t ctime_ns)
{
	seen->ctime.tv_sec = ctime_ns / SECOND_NS;
	seen->ctime.tv_nsec = ctime_ns % SECOND_NS;
}

void fs_seen_ours_at(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		     int64_t ctime_ns)
{
	seen->stamp = *stamp;
	seen->is_ours = true;
	set_ctime(seen, ctime_ns);
	if (seen->cache != FS_SEEN_MIXED)
		seen->cache = FS_SEEN_UNSURE;
}

bool fs_seen_may_share(const struct fs_seen *seen)
{
	return !(seen->drop & (FS_SEEN_DROP_SELF | FS_SEEN_DROPPING));
}

/* May the first open of the version @stamp keep what the kernel has? */
static bool may_keep(const struct fs_seen *seen,
		     const struct b2f_frame_stamp *stamp)
{
	return seen->cache == FS_SEEN_SURE && is_same(seen, stamp) &&
	       !(seen->drop & FS_SEEN_DROPPING);
}

bool fs_seen_must_drop(const struct fs_seen *seen,
		       const struct b2f_frame_stamp *stamp)
{
	return seen->was_open && !may_keep(seen, stamp);
}

bool fs_seen_open(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		  bool settled)
{
	bool known = seen->cache != FS_SEEN_UNKNOWN, keep;

	seen->was_open = true;
	if (seen->nopen++ > 0)
		return fs_seen_may_share(seen);
	keep = may_keep(seen, stamp);
	/* The kernel opened it without a new lookup of its name. */
	seen->resized |= known && !is_same(seen, stamp);
	seen->drop &= ~(unsigned int)FS_SEEN_DROP_SELF;
	set_stamp(seen, stamp, keep || settled ? FS_SEEN_SURE : FS_SEEN_UNSURE);
	return keep;
}

void fs_seen_ours(struct fs_seen *seen, const struct b2f_frame_stamp *stamp)
{
	fs_seen_ours_at(seen, stamp, stamp->ctime_ns);
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

void fs_seen_open_inside(struct fs_seen *seen,
			 const struct b2f_frame_stamp *stamp, bool settled)
{
	if (seen->nopen > 0 || seen->cache == FS_SEEN_UNKNOWN) {
		(void)fs_seen_open(seen, stamp, settled);
		return;
	}
	seen->nopen++;
	if (!is_same(seen, stamp))
		fs_seen_theirs(seen, stamp);
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

void fs_seen_meta(struct fs_seen *seen, const struct b2f_frame_stamp *before,
		  const struct b2f_frame_stamp *now)
{
	if (!is_same(seen, before))
		return;
	/* What the kernel has of the data is as right as before. */
	seen->stamp = *now;
	set_ctime(seen, now->ctime_ns);
}

void fs_seen_compare(struct fs_seen *seen, const struct fs_look *look)
{
	if (seen->nopen == 0)
		/* The kernel has not looked up its name since. */
		seen->resized |= fs_seen_must_renew(seen, &look->stamp);
	if (seen->nopen == 0 || !look->alone)
		return;
	if (seen->nseen != seen->nbegun)
		/*
		 * We changed it, and another program may have done so as well.
		 */
		set_stamp(seen, &look->stamp,
			  seen->cache == FS_SEEN_MIXED ? FS_SEEN_MIXED
						       : FS_SEEN_UNSURE);
	else if (!b2f_frame_stamp_same_data(&seen->stamp, &look->stamp, false))
		fs_seen_theirs(seen, &look->stamp);
	else
		seen->stamp = look->stamp;
	seen->nseen = seen->nbegun;
}

void fs_seen_resolve(struct fs_seen *seen, const struct fs_look *look)
{
	if (seen->nopen > 0 && seen->cache == FS_SEEN_UNSURE &&
	    !seen->is_ours && look->settled && look->alone)
		fs_seen_theirs(seen, &look->stamp);
}

bool fs_seen_open_look(struct fs_seen *seen, const struct fs_look *look,
		       bool is_written)
{
	fs_seen_compare(seen, look);
	if (seen->nopen == 0)
		seen->nseen = seen->nbegun - !look->alone;
	if (seen->nopen == 0 || seen->cache == FS_SEEN_SURE || is_written)
		return fs_seen_open(seen, &look->stamp,
				    look->settled && look->alone);
	/* Nothing is being written, so the open may drop what there is. */
	if (seen->cache == FS_SEEN_UNSURE && look->settled)
		seen->cache = FS_SEEN_SURE;
	seen->nopen++;
	return false;
}
