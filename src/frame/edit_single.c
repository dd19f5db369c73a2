/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit_single.c - a state of an edit becomes a contiguous frame on disk
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
 * before may come (edit_remove.c).
 *
 * A frame without data has its trailer right behind the header: C-Blosc2 looks
 * for it nowhere else.  So what is there is first moved, in a commit of its own.
 */
#include "frame/edit_single.h"

#include <stdlib.h>
#include <string.h>

#include "frame/edit_commit.h"
#include "frame/edit_disk.h"
#include "frame/edit_lock.h"
#include "frame/edit_move.h"

/*
 * Index and trailer, and with them everything that was written before.  Of a
 * frame that was never durable the disk has it before the header, too.
 */
static int write_image(struct b2f_edit *edit, struct b2f_commit *commit,
		       const struct b2f_edit_image *image, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int err;

	err = b2f_object_create(edit->store, (int64_t)image->id, &object, why);
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
 * Without chunks the trailer is behind the header, and is a part of the one write.
 * If that does not fit into a sector, only a frame that was empty, too, is written
 * so, as then the place of the trailer is not free.
 */
static bool is_one_write(const struct b2f_edit *edit,
			 const struct b2f_edit_image *image)
{
	return image->off == image->header_len &&
	       (image->size <= B2F_SECTOR || edit->committed.nbytes == 0);
}

/* How many bytes from the begin of the file have to be written. */
static size_t count_changed(const struct b2f_edit *edit,
			    const struct b2f_edit_image *image)
{
	const struct b2f_edit_disk *disk = edit->disk;

	if (is_one_write(edit, image))
		return image->size;
	if (disk->head_len == image->header_len &&
	    !memcmp(disk->head + B2F_FRAME_HEADER_FIXED,
		    image->bytes + B2F_FRAME_HEADER_FIXED,
		    disk->head_len - B2F_FRAME_HEADER_FIXED))
		return B2F_FRAME_HEADER_FIXED;
	return image->header_len;
}

/* The commit.  The lock of the disk is held. */
static int put_head(struct b2f_edit *edit, struct b2f_commit *commit,
		    const struct b2f_edit_image *image, struct b2f_why *why)
{
	struct b2f_edit_disk *disk = edit->disk;
	size_t n = count_changed(edit, image);
	uint8_t *head = malloc(image->header_len);
	int err;

	if (!head)
		return -ENOMEM;
	memcpy(head, image->bytes, image->header_len);
	/* The index before may have been where the longer header goes. */
	if (image->header_len > disk->head_len)
		b2f_ranges_cover(edit->store->ranges, image->header_len);
	err = n > B2F_SECTOR && n <= image->header_len
		      ? b2f_why_set(why, -EFBIG,
				    "its metalayers are too long to be changed "
				    "in place")
		      : b2f_store_put_head(
				edit->store, image->bytes, n,
				commit->has_mtime ? &commit->mtime : NULL, why);
	if (err) {
		free(head);
		return err;
	}
	commit->installed = true;
	commit->old_index_id = disk->index_id;
	b2f_edit_disk_note(disk, image, head);
	return 0;
}

/* From the check that no other program has written to the synced header. */
static int install(struct b2f_edit *edit, struct b2f_commit *commit,
		   const struct b2f_edit_image *image, struct b2f_why *why)
{
	struct b2f_edit_disk *disk = edit->disk;
	int err;

	err = b2f_edit_disk_has_changed(edit);
	if (err)
		return err > 0 ? -ESTALE : err;
	pthread_mutex_lock(&disk->lock);
	err = put_head(edit, commit, image, why);
	pthread_mutex_unlock(&disk->lock);
	if (err)
		return err;
	commit->frame_len = b2f_edit_image_end(image);
	commit->told_cbytes = image->off - image->header_len;
	err = b2f_store_own_stamp(edit->store, &commit->stamp);
	if (!err && commit->durable)
		err = b2f_store_sync_index(edit->store, why);
	commit->sync_failed |= err != 0;
	commit->durable &= !err;
	return err;
}

/* Writes @image, unless another program has written to where it goes. */
static int put_image(struct b2f_edit *edit, struct b2f_commit *commit,
		     const struct b2f_edit_image *image, struct b2f_why *why)
{
	int err = b2f_edit_disk_claim(edit, why);

	if (err)
		return err;
	if (!is_one_write(edit, image))
		err = write_image(edit, commit, image, why);
	if (!err)
		err = install(edit, commit, image, why);
	return err;
}

int b2f_edit_single_put(struct b2f_edit *edit, struct b2f_commit *commit,
			struct b2f_why *why)
{
	struct b2f_edit_image image = {.bytes = NULL};
	bool placed;
	int err;

	err = b2f_edit_image_make(edit, commit, &image, why);
	placed = !err && commit->state.nbytes;
	if (!err)
		err = put_image(edit, commit, &image, why);
	/* Of what another program may have written to, hands off. */
	if (err && placed && !commit->installed && err != -ESTALE)
		(void)!b2f_store_remove(edit->store, (int64_t)image.id, NULL);
	free(image.bytes);
	return err;
}

static bool begins_before(const struct b2f_edit *edit, uint64_t id,
			  uint64_t limit)
{
	struct b2f_range range;

	return b2f_ranges_get(edit->store->ranges, id, &range) && range.off < limit;
}

/*
 * Commits the frame as it is on disk once more, with nothing in use from the
 * header up to @limit; *@sync_failed as in struct b2f_commit.
 */
static int make_room(struct b2f_edit *edit, uint64_t limit, bool *sync_failed,
		     struct b2f_why *why)
{
	struct b2f_commit commit = {.durable = true,
				    .before = B2F_DISK_DURABLE};
	bool in_use = begins_before(edit, edit->disk->index_id, limit);
	struct b2f_edit_state *state = &commit.state;
	int err;

	if (edit->committed.nbytes == 0)
		return 0;
	err = b2f_edit_state_copy(&edit->committed, state);
	if (err)
		return err;
	for (uint64_t i = 0; i < state->n && !err; i++) {
		if (!b2f_edit_is_stored(state->raw[i]) ||
		    !begins_before(edit, b2f_edit_number(state->raw[i]), limit))
			continue;
		in_use = true;
		err = b2f_edit_disk_claim(edit, why);
		if (!err)
			err = b2f_edit_move(edit, i, limit, B2F_MOVE_ANYWHERE,
					    &state->raw[i], why);
	}
	if (!err && in_use)
		err = b2f_edit_single_put(edit, &commit, why);
	*sync_failed |= commit.sync_failed;
	b2f_edit_state_fini(state);
	return err;
}

int b2f_edit_single_write(struct b2f_edit *edit, struct b2f_commit *commit,
			  struct b2f_why *why)
{
	uint64_t limit = edit->header.header_len + edit->frame->trailer_len;
	int err = b2f_edit_lock_out(edit, commit->lock_wait_ms, why);

	if (err)
		return err;
	if (commit->state.nbytes == 0)
		err = make_room(edit, limit, &commit->sync_failed, why);
	if (!err)
		err = b2f_edit_single_put(edit, commit, why);
	b2f_edit_let_in(edit);
	return err;
}
