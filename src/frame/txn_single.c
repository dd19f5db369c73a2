/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_single.c - a state of a transaction becomes a contiguous frame on disk
 *
 * The frame on disk is whole at any moment, as nothing of it is written to but
 * its header:
 *
 *   header | chunks, dead ranges, the index before ... | new chunks | index | trailer
 *   ^ frame_len, cbytes, nbytes                          ^ from the old end on
 *
 *   1. New chunks have been written behind the end of the frame.
 *   2. The new index and trailer are written behind them; all of that is synced.
 *   3. The header is written: its length of the frame leads to the new trailer,
 *      its compressed size to the new index.  It is one write within the first
 *      sector, so that the disk has either the old header or the new one.
 *   4. The header is synced.
 *
 * If it ends before 3, the file is longer than its frame, which no reader minds
 * and the next writer mends.  Dead ranges stay as long as readers of the frame
 * before may come (txn_remove.c).
 *
 * A frame without data has its trailer right behind the header: C-Blosc2 looks
 * for it nowhere else.  So chunks that lie there are first moved, in a commit
 * of its own that changes nothing else.
 */
#include "frame/txn_single.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "frame/txn_commit.h"
#include "frame/txn_disk.h"
#include "frame/txn_lock.h"
#include "frame/txn_move.h"

/*
 * Without data the trailer is behind the header, and is a part of the one
 * write, if both fit into a sector.
 */
static bool is_one_write(const struct b2f_txn_image *image)
{
	return image->off == image->header_len && image->size <= B2F_SECTOR;
}

/*
 * How many bytes of index and trailer wait for the header: one write with it
 * covers the bytes within the old file.  Bytes behind the end of that are not
 * in it, because a filesystem may keep the bytes before the length of the file.
 */
static size_t count_late(const struct b2f_txn *txn,
			 const struct b2f_txn_image *image)
{
	uint64_t end = b2f_min_u64(txn->disk->frame_len,
				   b2f_txn_image_end(image));

	if (!is_one_write(image) || end < image->off)
		return 0;
	return (size_t)(end - image->off);
}

/*
 * Writes index and trailer, and syncs them with everything that was written
 * before.  Even if the frame was never durable, the disk has all of it before
 * the header.
 */
static int write_image(struct b2f_txn *txn, struct b2f_commit *commit,
		       const struct b2f_txn_image *image, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	size_t size = image->size - image->header_len;
	size_t late = count_late(txn, image);
	int err;

	if (late == size)
		return 0;
	err = b2f_object_create(txn->store, (int64_t)image->id, &object, why);
	if (!err)
		err = b2f_object_write(&object, late,
				       image->bytes + image->header_len + late,
				       size - late, why);
	if (!err) {
		err = b2f_object_settle(&object, commit->durable, why);
		commit->sync_failed = err;
	}
	b2f_object_close(&object);
	return err;
}

/* How many bytes from the begin of the file have to be written. */
static size_t count_changed(const struct b2f_txn *txn,
			    const struct b2f_txn_image *image)
{
	const struct b2f_txn_disk *disk = txn->disk;

	if (is_one_write(image))
		return image->size;
	if (disk->head_len == image->header_len &&
	    !memcmp(disk->head + B2F_FRAME_HEADER_FIXED,
		    image->bytes + B2F_FRAME_HEADER_FIXED,
		    disk->head_len - B2F_FRAME_HEADER_FIXED))
		return B2F_FRAME_HEADER_FIXED;
	return image->header_len;
}

/* Is the trailer written first, to where the longer header on disk is? */
static bool covers_header(const struct b2f_txn *txn,
			  const struct b2f_txn_image *image)
{
	return !is_one_write(image) && image->off < txn->disk->head_len;
}

/* The commit.  The lock of the disk is held. */
static int put_head(struct b2f_txn *txn, struct b2f_commit *commit,
		    const struct b2f_txn_image *image, struct b2f_why *why)
{
	struct b2f_txn_disk *disk = txn->disk;
	size_t n = count_changed(txn, image);
	uint8_t *head = malloc(image->header_len);
	int err;

	if (!head)
		return -ENOMEM;
	memcpy(head, image->bytes, image->header_len);
	err = b2f_store_put_head(txn->store, image->bytes, n,
				 commit->has_mtime ? &commit->mtime : NULL,
				 why);
	if (err) {
		free(head);
		return err;
	}
	commit->installed = true;
	commit->old_index_id = disk->index_id;
	b2f_txn_disk_note(disk, image, head);
	return 0;
}

/* From the check that no other program has written to the synced header. */
static int install(struct b2f_txn *txn, struct b2f_commit *commit,
		   const struct b2f_txn_image *image, struct b2f_why *why)
{
	struct b2f_txn_disk *disk = txn->disk;
	int err;

	err = b2f_txn_disk_has_changed(txn);
	if (err)
		return err > 0 ? -ESTALE : err;
	pthread_mutex_lock(&disk->lock);
	err = put_head(txn, commit, image, why);
	pthread_mutex_unlock(&disk->lock);
	if (err)
		return err;
	commit->frame_len = b2f_txn_image_end(image);
	commit->told_cbytes = image->cbytes;
	err = b2f_store_own_stamp(txn->store, &commit->stamp);
	if (!err && commit->durable)
		err = b2f_store_sync_index(txn->store, why);
	commit->sync_failed |= err != 0;
	commit->durable &= !err;
	return err;
}

/* Writes @image, unless another program has written to where it goes. */
static int put_image(struct b2f_txn *txn, struct b2f_commit *commit,
		     const struct b2f_txn_image *image, struct b2f_why *why)
{
	int err = b2f_txn_disk_claim(txn, why);

	if (err)
		return err;
	if (count_changed(txn, image) > B2F_SECTOR ||
	    covers_header(txn, image))
		return b2f_why_set(why, -EFBIG,
				   "its metalayers are too long to be changed "
				   "in place");
	err = write_image(txn, commit, image, why);
	if (!err)
		err = install(txn, commit, image, why);
	return err;
}

int b2f_txn_single_put(struct b2f_txn *txn, struct b2f_commit *commit,
			struct b2f_why *why)
{
	struct b2f_txn_image image = {.bytes = NULL};
	bool placed;
	int err;

	err = b2f_txn_image_make(txn, commit, &image, why);
	placed = !err && commit->state.nbytes;
	if (!err)
		err = put_image(txn, commit, &image, why);
	/* Leave a file alone that another program may have written to. */
	if (err && placed && !commit->installed && err != -ESTALE)
		(void)!b2f_store_remove(txn->store, (int64_t)image.id, NULL);
	free(image.bytes);
	return err;
}

static bool begins_before(const struct b2f_txn *txn, uint64_t id,
			  uint64_t limit)
{
	struct b2f_range range;

	return b2f_ranges_get(txn->store->ranges, id, &range) && range.off < limit;
}

/* Moves the chunks of @state, which begin before byte @limit, behind it. */
static int move_chunks(struct b2f_txn *txn, struct b2f_txn_state *state,
		       uint64_t limit, bool *any, struct b2f_why *why)
{
	int err = 0;

	for (uint64_t i = 0; i < state->n && !err; i++) {
		uint64_t raw = b2f_txn_raw(state, i);

		if (!b2f_txn_is_stored(raw) ||
		    !begins_before(txn, b2f_txn_chunk_id(raw), limit))
			continue;
		*any = true;
		err = b2f_txn_disk_claim(txn, why);
		if (!err)
			err = b2f_txn_move(txn, i, limit, B2F_MOVE_ANYWHERE,
					   state, why);
	}
	return err;
}

/*
 * Commits the frame as it is on disk once more, with nothing in use from the
 * header up to @limit; what that has moved is told in @commit.  The metalayers
 * are those on disk: only a frame that was made small gets others, and nothing of
 * that is in the way (b2f_layout_has_room()).
 */
static int make_room(struct b2f_txn *txn, struct b2f_commit *commit,
		     uint64_t limit, struct b2f_why *why)
{
	struct b2f_commit same = {.durable = true,
				  .before = B2F_DISK_DURABLE,
				  .index_from = limit};
	bool in_use = begins_before(txn, txn->disk->index_id, limit);
	struct b2f_txn_state *state = &same.state;
	int err;

	err = b2f_txn_state_copy(&txn->committed, state);
	if (!err)
		err = move_chunks(txn, state, limit, &in_use, why);
	if (!err && in_use)
		err = b2f_txn_single_put(txn, &same, why);
	commit->sync_failed |= same.sync_failed;
	if (same.installed) {
		commit->moved = *state;
		*state = (struct b2f_txn_state){0};
	}
	b2f_txn_state_fini(state);
	return err;
}

/*
 * Sees to it that an index can be put right behind the header.  If that is one
 * write, it may go where the index before is, but not where a chunk is that a
 * reader may be at.
 */
static int clear_way(struct b2f_txn *txn, struct b2f_commit *commit,
		     struct b2f_why *why)
{
	uint64_t size = txn->header.header_len + txn->frame->trailer_len;

	if (txn->committed.nbytes == 0 && size <= B2F_SECTOR)
		return 0;
	return make_room(txn, commit, size, why);
}

int b2f_txn_single_write(struct b2f_txn *txn, struct b2f_commit *commit,
			  struct b2f_why *why)
{
	int err = b2f_txn_lock_out(txn, commit->lock_wait_ms, why);

	if (err)
		return err;
	if (commit->state.nbytes == 0)
		err = clear_way(txn, commit, why);
	if (!err)
		err = b2f_txn_single_put(txn, commit, why);
	b2f_txn_let_in(txn);
	return err;
}
