/* SPDX-License-Identifier: BSD-3-Clause */
/* file_now.c - the state of a file that is being written to */
#include <time.h>

#include "file/writer.h"
#include "programs/io.h"

/* Stop waiting for a .npy file to be completed this long after a write. */
#define UNDER_WAY_S 10

bool b2f_file_is_dirty(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);
	const struct b2f_writer *w = file->writer;

	return w && ((w->txn && w->dirty.since_ns) ||
		     b2f_durability_get(w->durability) != B2F_DISK_DURABLE);
}

/*
 * Is a program still writing a .npy file?  A commit would make the incomplete
 * array plain now, and an array again later.  Locked.
 */
static bool is_under_way(const struct b2f_file *file)
{
	struct timespec now;
	const struct b2f_layout *layout = &file->frame->layout;
	const struct b2f_writer *w = file->writer;

	if (!layout->head ||
	    w->array_nbytes == layout->head_len + layout->nbytes ||
	    !w->dirty.has_mtime)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec >= w->dirty.mtime.tv_sec &&
	       now.tv_sec - w->dirty.mtime.tv_sec < UNDER_WAY_S;
}

uint64_t b2f_file_dirty_ns(struct b2f_file *file)
{
	uint64_t since = 0, undurable = 0;
	const struct b2f_writer *w;

	pthread_mutex_lock(&file->lock);
	w = file->writer;
	if (w && w->anew != B2F_ANEW_BEGUN &&
	    !(w->txn && is_under_way(file))) {
		since = w->dirty.since_ns;
		undurable = b2f_durability_since_ns(w->durability);
	}
	pthread_mutex_unlock(&file->lock);
	if (!since || (undurable && undurable < since))
		since = undurable;
	if (!since)
		return 0;
	since = b2f_monotonic_ns() - since;
	return since ? since : 1;
}

void b2f_file_now_get(struct b2f_file *file, struct b2f_file_now *out)
{
	B2F_HOLD(&file->lock);
	const struct b2f_writer *w = file->writer;

	*out = (struct b2f_file_now){
		.nbytes = b2f_file_size_locked(file),
		.nchunks = file->frame->info.nchunks,
		.cbytes = file->frame->info.cbytes,
		.stamp = file->frame->stamp,
		.in_doubt = atomic_load(&file->frame->in_doubt),
		.ndropped = file->ndropped,
	};
	if (w && w->txn) {
		out->cbytes = w->txn->header.cbytes;
		out->stamp = b2f_txn_stamp(w->txn);
		out->dirty = w->dirty.since_ns != 0;
		out->half = b2f_writer_has_half(w);
		out->mtime = w->dirty.mtime;
		out->has_mtime = w->dirty.has_mtime;
	}
}
