/* SPDX-License-Identifier: BSD-3-Clause */
/* cache_state.c - the state of the kernel's cache of a file */
#include "cache_state.h"

#define SECOND_NS INT64_C(1000000000)

static bool is_same(const struct fs_cache_state *seen,
		    const struct b2f_frame_stamp *stamp)
{
	return seen->cache != FS_CACHE_UNKNOWN &&
	       b2f_frame_stamp_equal(&seen->stamp, stamp);
}

unsigned int fs_cache_state_begin_drop(struct fs_cache_state *seen,
				       unsigned int which, uint64_t *nended)
{
	unsigned int drop = seen->drop & which;

	seen->drop &= ~drop;
	seen->ndropping += drop != 0;
	*nended = seen->nended;
	return drop;
}

/*
 * The kernel drops a page whose write has not been answered, too.  A read may
 * have overtaken that write, and brought back the old page.
 */
void fs_cache_state_end_drop(struct fs_cache_state *seen, unsigned int drop,
			     uint64_t nended)
{
	seen->ndropping--;
	if (seen->nbegun == nended)
		return;
	if (seen->nbegun == seen->nended)
		seen->drop |= drop;
	else
		seen->again |= drop;
}

bool fs_cache_state_end_change(struct fs_cache_state *seen)
{
	seen->nended++;
	seen->drop |= seen->again;
	seen->again = 0;
	return seen->drop != 0;
}

bool fs_cache_state_is_ours(const struct fs_cache_state *seen,
			    const struct b2f_frame_stamp *stamp)
{
	return seen->is_ours && is_same(seen, stamp);
}

/* Sets a version that may not be ours. */
static void set_stamp(struct fs_cache_state *seen,
		      const struct b2f_frame_stamp *stamp,
		      enum fs_cache_knowledge cache)
{
	if (!is_same(seen, stamp))
		seen->is_ours = false;
	seen->stamp = *stamp;
	seen->cache = cache;
}

static void set_ctime(struct fs_cache_state *seen, int64_t ctime_ns)
{
	seen->ctime.tv_sec = ctime_ns / SECOND_NS;
	seen->ctime.tv_nsec = ctime_ns % SECOND_NS;
}

void fs_cache_state_ours_at(struct fs_cache_state *seen,
			    const struct b2f_frame_stamp *stamp,
			    int64_t ctime_ns)
{
	seen->stamp = *stamp;
	seen->is_ours = true;
	set_ctime(seen, ctime_ns);
	if (seen->cache != FS_CACHE_MIXED)
		seen->cache = FS_CACHE_UNSURE;
}

bool fs_cache_state_may_share(const struct fs_cache_state *seen)
{
	return !(seen->drop & FS_CACHE_DROP_SELF) && seen->ndropping == 0;
}

/* May the first open of the version @stamp keep the kernel's pages? */
static bool may_keep(const struct fs_cache_state *seen,
		     const struct b2f_frame_stamp *stamp)
{
	return seen->cache == FS_CACHE_SURE && is_same(seen, stamp) &&
	       fs_cache_state_may_share(seen);
}

bool fs_cache_state_must_drop(const struct fs_cache_state *seen,
			      const struct b2f_frame_stamp *stamp)
{
	return seen->was_open && !may_keep(seen, stamp);
}

bool fs_cache_state_open(struct fs_cache_state *seen,
			 const struct b2f_frame_stamp *stamp, bool settled)
{
	bool known = seen->cache != FS_CACHE_UNKNOWN, keep;

	seen->was_open = true;
	if (seen->nopen++ > 0)
		return fs_cache_state_may_share(seen);
	keep = may_keep(seen, stamp);
	/* The kernel opened the file without looking up its name again. */
	seen->resized |= known && !is_same(seen, stamp);
	seen->drop &= ~(unsigned int)FS_CACHE_DROP_SELF;
	set_stamp(seen, stamp,
		  keep || settled ? FS_CACHE_SURE : FS_CACHE_UNSURE);
	return keep;
}

void fs_cache_state_ours(struct fs_cache_state *seen,
			 const struct b2f_frame_stamp *stamp)
{
	fs_cache_state_ours_at(seen, stamp, stamp->ctime_ns);
}

void fs_cache_state_theirs(struct fs_cache_state *seen,
			   const struct b2f_frame_stamp *stamp)
{
	if (stamp)
		set_stamp(seen, stamp, FS_CACHE_MIXED);
	seen->cache = FS_CACHE_MIXED;
	seen->resized = true;
	seen->drop |= FS_CACHE_DROP_SELF;
}

void fs_cache_state_close(struct fs_cache_state *seen,
			  const struct b2f_frame_stamp *stamp, bool is_there,
			  bool settled)
{
	seen->nopen--;
	if (!stamp)
		return;
	if (!is_same(seen, stamp) && seen->cache == FS_CACHE_MIXED)
		set_stamp(seen, stamp, FS_CACHE_MIXED);
	else if (!is_same(seen, stamp))
		fs_cache_state_ours(seen, stamp);
	if (seen->cache == FS_CACHE_UNSURE && seen->is_ours && is_there &&
	    settled)
		seen->cache = FS_CACHE_SURE;
}

void fs_cache_state_open_inside(struct fs_cache_state *seen,
				const struct b2f_frame_stamp *stamp,
				bool settled)
{
	if (seen->nopen > 0 || seen->cache == FS_CACHE_UNKNOWN) {
		(void)fs_cache_state_open(seen, stamp, settled);
		return;
	}
	seen->nopen++;
	if (!is_same(seen, stamp))
		fs_cache_state_theirs(seen, stamp);
}

bool fs_cache_state_must_renew(struct fs_cache_state *seen,
			       const struct b2f_frame_stamp *stamp)
{
	bool known = seen->cache != FS_CACHE_UNKNOWN;
	bool same = is_same(seen, stamp);

	if (!same)
		set_stamp(seen, stamp, FS_CACHE_UNSURE);
	return seen->resized || (known && !same);
}

void fs_cache_state_meta(struct fs_cache_state *seen,
			 const struct b2f_frame_stamp *before,
			 const struct b2f_frame_stamp *now)
{
	if (!is_same(seen, before))
		return;
	/* The data, and so the kernel's pages, are unchanged. */
	seen->stamp = *now;
	set_ctime(seen, now->ctime_ns);
}

void fs_cache_state_compare(struct fs_cache_state *seen,
			    const struct fs_look *look)
{
	if (seen->nopen == 0)
		/* The kernel has not looked up the name since. */
		seen->resized |= fs_cache_state_must_renew(seen, &look->stamp);
	if (seen->nopen == 0 || !look->alone)
		return;
	if (seen->nseen != seen->nbegun)
		/* Both we and another program may have changed the file. */
		set_stamp(seen, &look->stamp,
			  seen->cache == FS_CACHE_MIXED ? FS_CACHE_MIXED
							: FS_CACHE_UNSURE);
	else if (!b2f_frame_stamp_same_data(&seen->stamp, &look->stamp, false))
		fs_cache_state_theirs(seen, &look->stamp);
	else
		seen->stamp = look->stamp;
	seen->nseen = seen->nbegun;
}

void fs_cache_state_resolve(struct fs_cache_state *seen,
			    const struct fs_look *look)
{
	if (seen->nopen > 0 && seen->cache == FS_CACHE_UNSURE &&
	    !seen->is_ours && look->settled && look->alone)
		fs_cache_state_theirs(seen, &look->stamp);
}

bool fs_cache_state_open_look(struct fs_cache_state *seen,
			      const struct fs_look *look, bool is_written)
{
	fs_cache_state_compare(seen, look);
	if (seen->nopen == 0)
		seen->nseen = seen->nbegun - !look->alone;
	if (seen->nopen == 0 || seen->cache == FS_CACHE_SURE || is_written)
		return fs_cache_state_open(seen, &look->stamp,
					   look->settled && look->alone);
	/* No data are being written, so the open may drop the pages. */
	if (seen->cache == FS_CACHE_UNSURE && look->settled)
		seen->cache = FS_CACHE_SURE;
	seen->nopen++;
	return false;
}
