/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_still.c - is a frame still the one on disk? */
#include "frame/frame_still.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "b2frame/error.h"
#include "frame/frame_chunk.h"
#include "index/fingerprint.h"
#include "store/turn.h"

/* Longer than the tick of b2f_frame_stamp_is_settled(). */
#define TICK_NS 25000000

void b2f_frame_wait_tick(void)
{
	const struct timespec pause = {.tv_nsec = TICK_NS};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

bool b2f_frame_has_bare(const struct b2f_frame *frame)
{
	const struct b2f_entries *e = &frame->entries;
	const uint64_t *raw = e->raw ? e->raw : &e->same;

	for (uint64_t i = 0; i < (e->raw ? e->n : e->n > 0); i++)
		if (!b2f_entry_of(raw[i]).special && !b2f_entry_tag(raw[i]))
			return true;
	return false;
}

/*
 * Are @object's header, and the end of its trailer, those of @frame?  @ours: a
 * writer of bloscfs has made or claimed the trailer on disk.
 */
static int compare(const struct b2f_frame *frame,
		   const struct b2f_object *object, uint8_t *head, bool *same,
		   bool *ours)
{
	const struct b2f_frame_header *h = &frame->header;
	const uint8_t *known = frame->trailer_bytes + frame->trailer_len;
	uint8_t tail[B2F_FINGERPRINT_TAIL];
	int err = b2f_object_read(object, frame->offset, head, h->header_len,
				  NULL);

	if (!err)
		err = b2f_object_read(object,
				      frame->offset + h->frame_len -
					      sizeof(tail),
				      tail, sizeof(tail), NULL);
	if (err)
		return err;
	*ours = tail[0] != 0;
	/* A writer that has only claimed the frame has changed nothing. */
	if (tail[0] == B2F_FINGERPRINT_CLAIMED)
		tail[0] = known[-(ptrdiff_t)sizeof(tail)];
	*same = !memcmp(head, frame->header_bytes, h->header_len) &&
		!memcmp(tail, known - sizeof(tail), sizeof(tail));
	return 0;
}

static int is_same(const struct b2f_frame *frame, bool *same, bool *ours,
		   struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	B2F_OWN uint8_t *head = malloc(frame->header.header_len);
	int err;

	*same = *ours = false;
	if (!head)
		return -ENOMEM;
	err = b2f_object_open(frame->store, B2F_OBJECT_INDEX, &object, why);
	if (!err)
		err = compare(frame, &object, head, same, ours);
	b2f_object_close(&object);
	/* The file has been cut. */
	return err == B2F_ECORRUPT ? 0 : err;
}

static bool has_writer(const struct b2f_frame *frame)
{
	return b2f_ranges_has_writer(frame->store->ranges);
}

/*
 * Do stamps prove this version? A chunk file older than the index is the one it
 * names; a file of the same tick, too, if the tick had passed when the index
 * was read.  If the clock stepped back, the index may have a time to come, and
 * proves nothing.  With @err only a lock proves it of a sparse frame.
 */
static bool is_proven(const struct b2f_frame *frame,
		      const struct b2f_loaded *l, int err)
{
	struct b2f_frame_stamp now;

	bool in_doubt = atomic_load(&frame->in_doubt);

	if (frame->header.sparse)
		return !err &&
		       l->identity.ctime_ns <
			       frame->stamp.ctime_ns + !in_doubt &&
		       b2f_frame_stamp_is_settled(&frame->stamp);
	return !in_doubt && !has_writer(frame) &&
	       !b2f_store_stamp_index(frame->store, &now) &&
	       b2f_frame_stamp_equal(&now, &frame->stamp);
}

/* The stamp of the chunk file of @l, or of its directory if it was missing. */
static bool look(const struct b2f_frame *frame, const struct b2f_loaded *l,
		 struct b2f_frame_stamp *out)
{
	struct b2f_object object = {.fd = -1};
	struct stat st;

	if (l->identity.ino == 0) {
		if (fstat(b2f_store_dirfd(frame->store), &st))
			return false;
		*out = b2f_frame_stamp_of(&st);
		return true;
	}
	if (b2f_object_open(frame->store, l->object, &object, NULL))
		return false;
	*out = object.identity;
	b2f_object_close(&object);
	return true;
}

/* Has the chunk file of @l been left alone for a tick of the clock? */
static bool is_quiet(const struct b2f_frame *frame, const struct b2f_loaded *l)
{
	struct b2f_frame_stamp then = l->identity, now;

	/* Without a directory a missing chunk stays missing. */
	if (then.ino == 0 && (b2f_store_dirfd(frame->store) < 0 ||
			      !look(frame, l, &then)))
		return true;
	if (b2f_frame_stamp_is_settled(&then))
		return true;
	b2f_frame_wait_tick();
	return look(frame, l, &now) && b2f_frame_stamp_equal(&now, &then);
}

/* Like b2f_frame_check_still(), for a contiguous frame, by its bytes. */
static int check_bytes(const struct b2f_frame *frame,
		       const struct b2f_frame_stamp *now, struct b2f_why *why)
{
	bool same, ours;
	int err = is_same(frame, &same, &ours, why);

	if (err)
		return err;
	/* Only bloscfs writes to other stores. */
	ours |= !b2f_lock_has_place(frame->store) ||
		b2f_frame_stamp_equal(now, &frame->stamp);
	return same && ours ? 0 : -ESTALE;
}

/*
 * Checks without a lock file.  A writer of this process waits for its readers.
 */
static int check_files(const struct b2f_frame *frame,
		       const struct b2f_loaded *l, struct b2f_why *why)
{
	bool is_sparse = frame->header.sparse;
	struct b2f_frame_stamp now;
	int err;

	if (is_sparse ? b2f_generation_has_writer(frame->store->generation)
		      : has_writer(frame))
		return 0;
	/*
	 * The chunk first: a program that has written it goes on to the index.
	 */
	if (is_sparse && !is_quiet(frame, l))
		return -ESTALE;
	err = b2f_store_stamp_index(frame->store, &now);
	if (err == -ENOENT)
		return -ESTALE;
	if (err)
		return b2f_why_set(why, err, "stat: %s", b2f_strerror(err));
	if (!is_sparse)
		return check_bytes(frame, &now, why);
	return b2f_frame_stamp_equal(&now, &frame->stamp) ? 0 : -ESTALE;
}

int b2f_frame_check_still(const struct b2f_frame *frame,
			  const struct b2f_loaded *loaded, int err,
			  struct b2f_why *why)
{
	int ret;

	if ((b2f_entry_tag(loaded->raw) && !err) ||
	    is_proven(frame, loaded, err))
		return 0;
	ret = b2f_turn_check(frame->store);
	if (ret == -ENOENT)
		ret = check_files(frame, loaded, why);
	return ret == -ESTALE
		       ? b2f_why_set(why, ret,
				     "another program has changed the frame")
		       : ret;
}

/*
 * The stamp was no proof when the frame was opened.  Once it is, a sealed index
 * with the same bytes is the same version, as every other program drops the
 * checksum.  Chunks of an unsealed frame may have changed without a trace: it
 * is opened again, unless a lock proves the contrary.
 */
static int resolve_doubt(struct b2f_frame *frame)
{
	int turn = b2f_turn_check(frame->store), err;
	bool same = false, ours;

	if (turn == -ESTALE)
		return 1;
	err = is_same(frame, &same, &ours, NULL);
	if (err || !same)
		return err ? err : 1;
	if (!b2f_frame_stamp_is_settled(&frame->stamp))
		return 0;
	atomic_store(&frame->in_doubt, false);
	return !frame->sealed &&
	       (turn || b2f_frame_stamp_is_coarse(&frame->stamp));
}

int b2f_frame_has_changed(struct b2f_frame *frame,
			  const struct b2f_frame_stamp *known)
{
	struct b2f_frame_stamp now;
	int err = b2f_store_stamp_index(frame->store, &now);

	if (err)
		return err;
	if (!b2f_frame_stamp_equal(&now, known))
		return 1;
	/* An index of our commit has another length than one of C-Blosc2. */
	if (!atomic_load(&frame->in_doubt) || frame->blank ||
	    !b2f_frame_stamp_equal(known, &frame->stamp))
		return 0;
	return resolve_doubt(frame);
}

int b2f_frame_check_same(struct b2f_frame *frame)
{
	int ret = b2f_frame_has_changed(frame, &frame->stamp);

	return ret > 0 ? -ESTALE : ret;
}
