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
 * for it nowhere else.  So what is there is first moved, in a commit of its
 * own.
 */
#include "frame/txn_single.h"

#include <stdlib.h>
#include <string.h>

#include "frame/txn_commit.h"
#include "frame/txn_disk.h"
#include "frame/txn_lock.h"
#include "frame/txn_move.h"

/*
 * Index and trailer, and with them everything that was written before.  Of a
 * frame that was never durable the disk has it before the header, too.
 */
static int write_image(struct b2f_txn *txn, struct b2f_commit *commit,
		       const struct b2f_txn_image *image, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int err;

	err = b2f_object_create(txn->store, (int64_t)image->id, &object, why);
	if (!err)
		err = b2f_object_write(&object, 0,
				       image->bytes + image->header_len,
				       image->size - image->header_len, why);
	if (!err) {
		err = b2f_object_settle(&object, commit->durable, why);
		commit->sync_failed = err;
	}
	b2f_object_close(&object);
	return err;
}

/*
 * Without chunks the trailer is behind the header, and is a part of the one
 * write. If that does not fit into a sector, only a frame that was empty, too,
 * is written so, as then the place of the trailer is not free.
 */
static bool is_one_write(const struct b2f_txn *txn,
			 const struct b2f_txn_image *image)
{
	return image->off == image->header_len &&
	       (image->size <= B2F_SECTOR || txn->committed.nbytes == 0);
}

/* How many bytes from the begin of the file have to be written. */
static size_t count_changed(const struct b2f_txn *txn,
			    const struct b2f_txn_image *image)
{
	const struct b2f_txn_disk *disk = txn->disk;

	if (is_one_write(txn, image))
		return image->size;
	if (disk->head_len == image->header_len &&
	    !memcmp(disk->head + B2F_FRAME_HEADER_FIXED,
		    image->bytes + B2F_FRAME_HEADER_FIXED,
		    disk->head_len - B2F_FRAME_HEADER_FIXED))
		return B2F_FRAME_HEADER_FIXED;
	return image->header_len;
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
	/* The index before may have been where the longer header goes. */
	if (image->header_len > disk->head_len)
		b2f_ranges_cover(txn->store->ranges, image->header_len);
	err = n > B2F_SECTOR && n <= image->header_len
		      ? b2f_why_set(why, -EFBIG,
				    "its metalayers are too long to be changed "
				    "in place")
		      : b2f_store_put_head(
				txn->store, image->bytes, n,
				commit->has_mtime ? &commit->mtime : NULL, why);
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
	commit->told_cbytes = image->off - image->header_len;
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
	if (!is_one_write(txn, image))
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
	/* Of what another program may have written to, hands off. */
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

/*
 * Commits the frame as it is on disk once more, with nothing in use from the
 * header up to @limit; *@sync_failed as in struct b2f_commit.
 */
static int make_room(struct b2f_txn *txn, uint64_t limit, bool *sync_failed,
		     struct b2f_why *why)
{
	struct b2f_commit commit = {.durable = true,
				    .before = B2F_DISK_DURABLE};
	bool in_use = begins_before(txn, txn->disk->index_id, limit);
	struct b2f_txn_state *state = &commit.state;
	int err;

	if (txn->committed.nbytes == 0)
		return 0;
	err = b2f_txn_state_copy(&txn->committed, state);
	if (err)
		return err;
	for (uint64_t i = 0; i < state->n && !err; i++) {
		if (!b2f_txn_is_stored(state->raw[i]) ||
		    !begins_before(txn, b2f_txn_chunk_id(state->raw[i]), limit))
			continue;
		in_use = true;
		err = b2f_txn_disk_claim(txn, why);
		if (!err)
			err = b2f_txn_move(txn, i, limit, B2F_MOVE_ANYWHERE,
					    &state->raw[i], why);
	}
	if (!err && in_use)
		err = b2f_txn_single_put(txn, &commit, why);
	*sync_failed |= commit.sync_failed;
	b2f_txn_state_fini(state);
	return err;
}

int b2f_txn_single_write(struct b2f_txn *txn, struct b2f_commit *commit,
			  struct b2f_why *why)
{
	uint64_t limit = txn->header.header_len + txn->frame->trailer_len;
	int err = b2f_txn_lock_out(txn, commit->lock_wait_ms, why);

	if (err)
		return err;
	if (commit->state.nbytes == 0)
		err = make_room(txn, limit, &commit->sync_failed, why);
	if (!err)
		err = b2f_txn_single_put(txn, commit, why);
	b2f_txn_let_in(txn);
	return err;
}
