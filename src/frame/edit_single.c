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
#include <string.h>

#include "base/checked.h"
#include "frame/edit_count.h"
#include "frame/edit_index.h"
#include "frame/edit_lock.h"
#include "frame/edit_priv.h"
#include "frame/edit_single.h"

/* So many lengths in a row differ; a power of 2. */
#define NLENGTHS 256

/* So many bytes of a chunk that moves are in memory at a time. */
#define COPY_BYTES (UINT64_C(1) << 20)

static struct b2f_ranges *ranges_of(const struct b2f_edit *edit)
{
	return edit->store->ranges;
}

/* Names the index of the frame on disk, which ends it. */
static int name_index(struct b2f_edit *edit, struct b2f_edit_disk *disk)
{
	const struct b2f_frame *f = edit->frame;
	uint64_t start = f->header.frame_len - f->trailer_len;

	if (f->header.nbytes)
		start = f->header.header_len + f->header.cbytes;
	return b2f_ranges_add(ranges_of(edit), start,
			      (uint32_t)(f->header.frame_len - start),
			      &disk->index_id);
}

/* The end of the trailer in @bytes, of which it is the last part. */
static void note_tail(struct b2f_edit_disk *disk, const uint8_t *bytes,
		      size_t size)
{
	memcpy(disk->tail, bytes + size - sizeof(disk->tail),
	       sizeof(disk->tail));
}

static int new_disk(struct b2f_edit *edit)
{
	const struct b2f_frame *f = edit->frame;
	struct b2f_edit_disk *disk = calloc(1, sizeof(*disk));

	if (!disk)
		return -ENOMEM;
	pthread_mutex_init(&disk->lock, NULL);
	edit->disk = disk;
	disk->head_len = f->header.header_len;
	disk->head = malloc(disk->head_len);
	if (!disk->head)
		return -ENOMEM;
	memcpy(disk->head, f->header_bytes, disk->head_len);
	note_tail(disk, f->trailer_bytes, f->trailer_len);
	disk->is_ours = f->sealed;
	disk->frame_len = f->header.frame_len;
	return 0;
}

int b2f_edit_single_begin(struct b2f_edit *edit, struct b2f_why *why)
{
	int err;

	if (!edit->store->ranges)
		edit->store->ranges = b2f_ranges_new();
	if (!edit->store->ranges)
		return -ENOMEM;
	err = b2f_ranges_begin(ranges_of(edit), edit->header.frame_len);
	if (err == -EEXIST)
		return b2f_why_set(why, -EROFS,
				   "cannot be written to, as two chunks are in "
				   "one place");
	if (!err)
		err = new_disk(edit);
	if (!err)
		err = name_index(edit, edit->disk);
	if (!err)
		b2f_edit_find_gaps(edit);
	return err;
}

void b2f_edit_single_fini(struct b2f_edit *edit)
{
	if (!edit->disk)
		return;
	b2f_ranges_end(ranges_of(edit));
	pthread_mutex_destroy(&edit->disk->lock);
	free(edit->disk->head);
	free(edit->disk);
	edit->disk = NULL;
}

/* Are header and trailer on disk those that are known?  1, 0 or an errno. */
static int is_known(const struct b2f_edit *edit, struct b2f_edit_disk *disk)
{
	uint64_t end = disk->frame_len - sizeof(disk->tail);
	struct b2f_object object = {.fd = -1};
	uint8_t tail[sizeof(disk->tail)], *head = malloc(disk->head_len);
	int ret;

	if (!head)
		return -ENOMEM;
	ret = b2f_object_open(edit->store, B2F_OBJECT_INDEX, &object, NULL);
	if (!ret)
		ret = b2f_object_read(&object, 0, head, disk->head_len, NULL);
	if (!ret)
		ret = b2f_object_read(&object, end, tail, sizeof(tail), NULL);
	b2f_object_close(&object);
	if (!ret)
		ret = !memcmp(head, disk->head, disk->head_len) &&
		      !memcmp(tail, disk->tail, sizeof(tail));
	free(head);
	/* The file has been cut. */
	return ret == B2F_ECORRUPT ? 0 : ret;
}

/* As b2f_edit_has_changed().  The lock of the disk is held. */
static int has_changed(const struct b2f_edit *edit, struct b2f_edit_disk *disk)
{
	int changed = 0, known;

	/* Before it is claimed, only the time of the file tells of some changes.
	 */
	if (!disk->is_ours)
		changed = b2f_store_has_changed(edit->store);
	if (changed)
		return changed;
	known = is_known(edit, disk);
	return known < 0 ? known : !known;
}

int b2f_edit_single_has_changed(const struct b2f_edit *edit)
{
	struct b2f_edit_disk *disk = edit->disk;
	int ret;

	pthread_mutex_lock(&disk->lock);
	ret = has_changed(edit, disk);
	pthread_mutex_unlock(&disk->lock);
	return ret;
}

/* One byte of the trailer, which no other program looks at, becomes ours. */
static int claim(struct b2f_edit *edit, struct b2f_edit_disk *disk,
		 struct b2f_why *why)
{
	const uint8_t mark = B2F_FINGERPRINT_CLAIMED;
	struct b2f_object index = {.fd = -1};
	uint64_t at = disk->frame_len - sizeof(disk->tail);
	int err;

	err = b2f_object_create(edit->store, (int64_t)disk->index_id, &index,
				why);
	/* What is before the trailer may be longer than a range can be. */
	if (!err)
		err = b2f_object_write(&index, at - index.base, &mark,
				       sizeof(mark), why);
	b2f_object_close(&index);
	if (err)
		return err;
	disk->tail[0] = mark;
	disk->is_ours = disk->is_claimed = true;
	return 0;
}

int b2f_edit_single_claim(struct b2f_edit *edit, struct b2f_why *why)
{
	struct b2f_edit_disk *disk = edit->disk;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = has_changed(edit, disk);
	if (err > 0)
		err = b2f_why_set(why, -ESTALE,
				  "another program has changed the frame");
	if (!err && !disk->is_ours)
		err = claim(edit, disk, why);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

/*
 * Where the chunks of @state are, behind a header of @header_len bytes; *@end is
 * the end of the last one in the file.
 */
static int list_places(const struct b2f_edit *edit,
		       const struct b2f_edit_state *state, uint32_t header_len,
		       uint64_t **out, uint64_t *end)
{
	uint64_t *places = calloc(state->n ? state->n : 1, sizeof(*places));
	struct b2f_range range;

	if (!places)
		return -ENOMEM;
	*end = b2f_edit_head_room(edit);
	for (uint64_t i = 0; i < state->n; i++) {
		if (!b2f_edit_is_stored(state->raw[i]))
			continue;
		if (!b2f_ranges_get(ranges_of(edit),
				    b2f_edit_number(state->raw[i]), &range) ||
		    range.off < header_len) {
			free(places);
			return -EINVAL;
		}
		places[i] = range.off - header_len;
		*end = b2f_max_u64(*end, range.off + range.size);
	}
	*out = places;
	return 0;
}

/* An index on its way to the disk. */
struct image {
	/* Header, and what comes behind the chunks; malloc'ed. */
	uint8_t *bytes;
	size_t size;
	uint32_t header_len;
	/* Where that is. */
	uint64_t id;
	uint64_t off;
	bool sealed;
};

static uint64_t frame_len_of(const struct image *image)
{
	return image->off + image->size - image->header_len;
}

/*
 * Gives the frame a length of its own, by zeros before the trailer: by that alone
 * a reader of C-Blosc2 without locks sees that it has changed.
 */
static int pad(const struct b2f_edit *edit, struct image *image)
{
	uint64_t more = (edit->disk->frame_len + 1 - frame_len_of(image)) %
			NLENGTHS;
	size_t trailer_len = edit->frame->trailer_len;
	uint8_t *bytes = realloc(image->bytes, image->size + more), *trailer;

	if (!bytes)
		return -ENOMEM;
	trailer = bytes + image->size - trailer_len;
	memmove(trailer + more, trailer, trailer_len);
	memset(trailer, 0, more);
	image->bytes = bytes;
	image->size += more;
	return 0;
}

/* Takes room for @image from byte @from of the file on. */
static int take_room(struct b2f_edit *edit, struct image *image, uint64_t from)
{
	uint32_t size = (uint32_t)(image->size - image->header_len);
	struct b2f_range range = {0};
	int err;

	err = b2f_ranges_take(ranges_of(edit), from, size + NLENGTHS,
			      &image->id);
	if (err)
		return err;
	(void)b2f_ranges_get(ranges_of(edit), image->id, &range);
	image->off = range.off;
	err = pad(edit, image);
	size = err ? 0 : (uint32_t)(image->size - image->header_len);
	b2f_ranges_trim(ranges_of(edit), image->id, size);
	return err;
}

/*
 * Finds a place for @image, which then knows where everything is: behind the end
 * of the chunks, @end, or without chunks right behind the header.
 */
static int place(struct b2f_edit *edit, const struct b2f_commit *commit,
		 uint64_t end, struct image *image)
{
	struct b2f_frame_header h = edit->header;
	int err;

	image->off = image->header_len;
	if (commit->state.nbytes)
		err = take_room(edit, image, end);
	else
		err = b2f_ranges_carve(
			ranges_of(edit), image->header_len,
			(uint32_t)(image->size - image->header_len),
			&image->id);
	if (err)
		return err;
	h.nbytes = commit->state.nbytes;
	b2f_frame_header_count(&h, frame_len_of(image),
			       image->off - image->header_len, image->bytes);
	image->sealed = b2f_edit_may_seal(edit, &commit->state);
	if (image->sealed)
		b2f_fingerprint_set(image->bytes, image->size,
				    image->header_len);
	return 0;
}

static int make_image(struct b2f_edit *edit, const struct b2f_commit *commit,
		      struct image *image, struct b2f_why *why)
{
	uint64_t *places = NULL, end = 0;
	int err;

	image->header_len = edit->header.header_len;
	err = list_places(edit, &commit->state, image->header_len, &places,
			  &end);
	if (!err)
		err = b2f_edit_make_index(edit, commit, places, &image->bytes,
					  &image->size, why);
	if (!err)
		err = place(edit, commit, end, image);
	free(places);
	return err;
}

/*
 * Index and trailer, and with them everything that was written before.  Of a
 * frame that was never durable the disk has it before the header, too.
 */
static int write_image(struct b2f_edit *edit, struct b2f_commit *commit,
		       const struct image *image, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int err;

	err = b2f_object_create(edit->store, (int64_t)image->id, &object, why);
	if (!err)
		err = b2f_object_write(&object, 0,
				       image->bytes + image->header_len,
				       image->size - image->header_len, why);
	if (!err && commit->durable) {
		err = b2f_object_sync(&object, why);
		commit->sync_failed = err;
	} else if (!err) {
		b2f_object_write_out(&object);
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
			 const struct image *image)
{
	return image->off == image->header_len &&
	       (image->size <= B2F_SECTOR || edit->committed.nbytes == 0);
}

/* How many bytes from the begin of the file have to be written. */
static size_t count_changed(const struct b2f_edit *edit,
			    const struct image *image)
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
		    const struct image *image, struct b2f_why *why)
{
	struct b2f_edit_disk *disk = edit->disk;
	size_t n = count_changed(edit, image);
	uint8_t *head = malloc(image->header_len);
	int err;

	if (!head)
		return -ENOMEM;
	memcpy(head, image->bytes, image->header_len);
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
	free(disk->head);
	disk->head = head;
	disk->head_len = image->header_len;
	note_tail(disk, image->bytes, image->size);
	disk->is_ours = image->sealed;
	disk->is_claimed = false;
	disk->frame_len = frame_len_of(image);
	return 0;
}

/* From the check that no other program has written to the synced header. */
static int install(struct b2f_edit *edit, struct b2f_commit *commit,
		   const struct image *image, struct b2f_why *why)
{
	struct b2f_edit_disk *disk = edit->disk;
	int err;

	err = b2f_edit_single_has_changed(edit);
	if (err)
		return err > 0 ? -ESTALE : err;
	pthread_mutex_lock(&disk->lock);
	err = put_head(edit, commit, image, why);
	if (!err) {
		commit->installed = true;
		commit->old_index_id = disk->index_id;
		disk->index_id = image->id;
	}
	pthread_mutex_unlock(&disk->lock);
	if (err)
		return err;
	commit->frame_len = frame_len_of(image);
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
		     const struct image *image, struct b2f_why *why)
{
	int err = b2f_edit_single_claim(edit, why);

	if (err)
		return err;
	if (!is_one_write(edit, image))
		err = write_image(edit, commit, image, why);
	if (!err)
		err = install(edit, commit, image, why);
	return err;
}

/* One commit, of a state that the room behind the header allows. */
static int put_state(struct b2f_edit *edit, struct b2f_commit *commit,
		     struct b2f_why *why)
{
	struct image image = {.bytes = NULL};
	bool placed;
	int err;

	err = make_image(edit, commit, &image, why);
	placed = !err && commit->state.nbytes;
	if (!err)
		err = put_image(edit, commit, &image, why);
	/* Of what another program may have written to, hands off. */
	if (err && placed && !commit->installed && err != -ESTALE)
		(void)!b2f_store_remove(edit->store, (int64_t)image.id, NULL);
	free(image.bytes);
	return err;
}

/*
 * Bytes of chunk @nchunk of the committed state in its range of @size, which may
 * reach over much that is dead.
 */
static uint64_t stored_size(const struct b2f_edit *edit, uint64_t nchunk,
			    uint64_t size)
{
	uint64_t raw = edit->committed.raw[nchunk];
	uint64_t known = b2f_edit_measure(edit, nchunk);

	if (!known && !b2f_entry_tag(raw))
		known = b2f_edit_read_cbytes(edit, raw);
	/* One that is damaged keeps all that may belong to it. */
	return known ? b2f_min_u64(known, size) : size;
}

/* Copies the first @size bytes of @from to @to, some at a time. */
static int copy(const struct b2f_object *from, const struct b2f_object *to,
		uint64_t size, struct b2f_why *why)
{
	size_t room = (size_t)b2f_min_u64(size, COPY_BYTES), n;
	uint8_t *bytes = malloc(room ? room : 1);
	int err = bytes ? 0 : -ENOMEM;

	for (uint64_t off = 0; off < size && !err; off += n) {
		n = (size_t)b2f_min_u64(room, size - off);
		err = b2f_object_read(from, off, bytes, n, why);
		if (!err)
			err = b2f_object_write(to, off, bytes, n, why);
	}
	free(bytes);
	return err;
}

/*
 * Copies chunk @nchunk of the committed state to a range from byte @from_off on,
 * which *@raw then names.
 */
static int move_chunk(struct b2f_edit *edit, uint64_t nchunk,
		      uint64_t from_off, uint64_t *raw, struct b2f_why *why)
{
	struct b2f_object from = {.fd = -1}, to = {.fd = -1};
	uint64_t id = 0, size = 0;
	int err;

	err = b2f_object_open(edit->store, b2f_edit_id(*raw), &from, why);
	if (!err) {
		size = stored_size(edit, nchunk, from.size);
		err = b2f_ranges_take(ranges_of(edit), from_off,
				      (uint32_t)size, &id);
	}
	if (!err)
		err = b2f_object_create(edit->store, (int64_t)id, &to, why);
	if (!err)
		err = copy(&from, &to, size, why);
	b2f_object_close(&from);
	b2f_object_close(&to);
	if (!err)
		*raw = (*raw & ~B2F_ENTRY_NUMBER) | id;
	return err;
}

static bool begins_before(const struct b2f_edit *edit, uint64_t id,
			  uint64_t limit)
{
	struct b2f_range range;

	return b2f_ranges_get(ranges_of(edit), id, &range) && range.off < limit;
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
		err = b2f_edit_single_claim(edit, why);
		if (!err)
			err = move_chunk(edit, i, limit, &state->raw[i], why);
	}
	if (!err && in_use)
		err = put_state(edit, &commit, why);
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
		err = put_state(edit, commit, why);
	b2f_edit_let_in(edit);
	return err;
}

/* Ends the file where the frame ends, with the mtime of what is committed. */
static void cut(struct b2f_edit *edit)
{
	struct b2f_object object = {.store = edit->store, .fd = -1};
	struct stat st;

	if (b2f_store_stat_index(edit->store, &st) ||
	    ((uint64_t)st.st_size <= edit->disk->frame_len &&
	     !edit->disk->is_claimed))
		return;
	/* The header of a longer frame may be the one that the disk has. */
	if (b2f_durability_get(edit->durability) == B2F_DISK_NEW)
		b2f_object_write_out(&object);
	/* If that fails, the next writer tries again. */
	(void)!b2f_store_cut(edit->store, edit->disk->frame_len, NULL);
}

void b2f_edit_single_end(struct b2f_edit *edit)
{
	enum b2f_durable_state state = b2f_durability_get(edit->durability);
	const struct b2f_retirees *r = &edit->retired;
	bool durable = state == B2F_DISK_DURABLE;

	if (!edit->disk || b2f_edit_lock_out(edit, 0, NULL))
		return;
	if (b2f_edit_single_has_changed(edit) == 0) {
		for (size_t i = 0; i < r->n && durable; i++)
			(void)!b2f_store_remove(
				edit->store, (int64_t)r->files[i].number, NULL);
		/* After a loss of power the frame before may be there, longer. */
		if (durable || state == B2F_DISK_NEW)
			cut(edit);
	}
	b2f_edit_let_in(edit);
}
