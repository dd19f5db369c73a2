/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * single_commit.c - a state of a transaction becomes a contiguous frame on disk
 *
 * The frame on disk is whole at any moment, as only its header is overwritten:
 *
 *   header | chunks, dead ranges, old index ... | new chunks | index | trailer
 *   ^ frame_len, cbytes, nbytes                    ^ from the old end on
 *
 *   1. New chunks have been written behind the end of the frame.
 *   2. The new index and trailer are written behind them; all of it is synced.
 *   3. The header is written: its length of the frame leads to the new trailer,
 *      its compressed size to the new index.  It is one write within the first
 *      sector, so that the disk has either the old header or the new one.
 *   4. The header is synced.
 *
 * If a commit ends before 3, the file is longer than its frame, which no reader
 * minds and the next writer mends. Dead ranges stay as long as readers of the
 * old frame may come (garbage.c).
 *
 * A frame without data has its trailer right behind the header: C-Blosc2 looks
 * for it nowhere else. So chunks that lie there are first moved, in a commit
 * that changes nothing else.  If the two do not fit into a sector, a frame that
 * stays without data gets a new header alone, and loses its fingerprint.
 */
#include "txn/single_commit.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "txn/single_space.h"
#include "txn/protocol.h"
#include "index/fingerprint.h"

/* An index that is about to be written. */
struct image {
	/* Header, index and trailer; malloc'ed. */
	uint8_t *bytes;
	size_t size;
	uint32_t header_len;
	/* The stored size of the chunks in the header; dead bytes count. */
	uint64_t cbytes;
	/* The range of index and trailer. */
	uint64_t id;
	uint64_t off;
	bool sealed;
};

/* The end of the frame with the index @image. */
static uint64_t image_end(const struct image *image)
{
	return image->off + image->size - image->header_len;
}

/* A gap of up to this many bytes is read rather than skipped. */
#define SMALL 8192

#define TAIL sizeof(((struct b2f_txn_disk *)0)->tail)

/* Names header and index of the frame on disk; the index ends it. */
static int name_index(struct b2f_txn *txn, struct b2f_txn_disk *disk)
{
	const struct b2f_frame *f = txn->frame;
	uint64_t start = f->header.frame_len - f->trailer_len;

	if (f->header.nbytes)
		start = f->header.header_len + f->header.cbytes;
	b2f_ranges_cover(txn->store->ranges, f->header.header_len);
	return b2f_ranges_add(txn->store->ranges, start,
			      (uint32_t)(f->header.frame_len - start),
			      &disk->index_id);
}

/* Notes the end of the trailer, the last bytes of @bytes. */
static void note_tail(struct b2f_txn_disk *disk, const uint8_t *bytes,
		      size_t size)
{
	memcpy(disk->tail, bytes + size - sizeof(disk->tail),
	       sizeof(disk->tail));
}

static int new_disk(struct b2f_txn *txn)
{
	const struct b2f_frame *f = txn->frame;
	struct b2f_txn_disk *disk = calloc(1, sizeof(*disk));
	uint8_t *head = malloc(f->header.header_len);

	if (!disk || !head) {
		free(disk);
		free(head);
		return -ENOMEM;
	}
	pthread_mutex_init(&disk->lock, NULL);
	txn->disk = disk;
	disk->head_len = f->header.header_len;
	disk->head = head;
	memcpy(disk->head, f->header_bytes, disk->head_len);
	note_tail(disk, f->trailer_bytes, f->trailer_len);
	disk->is_ours = f->sealed;
	disk->frame_len = f->header.frame_len;
	return 0;
}

/*
 * Writes the empty frame, as which it was read, to a file that has lost its
 * content with the power.
 */
static int mend_blank(struct b2f_txn *txn, struct b2f_why *why)
{
	const struct b2f_frame *f = txn->frame;
	uint8_t bytes[B2F_SECTOR];
	size_t n = f->header.header_len, size = n + f->trailer_len;
	int err;

	if (size > sizeof(bytes))
		return -EINVAL;
	memcpy(bytes, f->header_bytes, n);
	memcpy(bytes + n, f->trailer_bytes, f->trailer_len);
	err = b2f_store_put_head(txn->store, bytes, size, NULL, why);
	return err ? err : b2f_store_cut(txn->store, size, why);
}

int b2f_txn_disk_begin(struct b2f_txn *txn, struct b2f_why *why)
{
	int err;

	if (!txn->store->ranges)
		txn->store->ranges = b2f_ranges_new();
	if (!txn->store->ranges)
		return -ENOMEM;
	err = b2f_ranges_begin(txn->store->ranges, txn->header.frame_len);
	if (err == -EEXIST)
		return b2f_why_set(why, -EROFS,
				   "cannot be written to, as two chunks are in "
				   "one place");
	if (!err)
		err = new_disk(txn);
	if (!err)
		err = b2f_object_open(txn->store, B2F_OBJECT_INDEX,
				      &txn->disk->file, why);
	if (!err && txn->frame->blank)
		err = mend_blank(txn, why);
	if (!err)
		err = name_index(txn, txn->disk);
	if (!err)
		b2f_txn_find_gaps(txn);
	return err;
}

void b2f_txn_disk_fini(struct b2f_txn *txn)
{
	if (!txn->disk)
		return;
	b2f_ranges_end(txn->store->ranges);
	b2f_object_close(&txn->disk->file);
	pthread_mutex_destroy(&txn->disk->lock);
	free(txn->disk->head);
	free(txn->disk);
	txn->disk = NULL;
}

/*
 * Are header and trailer on disk those that are known? 1, 0 or an errno.  One
 * read fetches all of a small frame.
 */
static int is_known(const struct b2f_txn_disk *disk)
{
	bool at_once = disk->frame_len <= disk->head_len + SMALL;
	size_t n = at_once ? disk->frame_len : disk->head_len + TAIL;
	uint8_t *head = malloc(n), *tail;
	int ret;

	if (!head)
		return -ENOMEM;
	tail = head + n - TAIL;
	ret = b2f_object_read(&disk->file, 0, head,
			      at_once ? n : disk->head_len, NULL);
	if (!ret && !at_once)
		ret = b2f_object_read(&disk->file, disk->frame_len - TAIL,
				      tail, TAIL, NULL);
	if (!ret)
		ret = !memcmp(head, disk->head, disk->head_len) &&
		      !memcmp(tail, disk->tail, TAIL);
	free(head);
	/* The file has been cut. */
	return ret == B2F_ECORRUPT ? 0 : ret;
}

/* Like b2f_txn_has_changed().  The lock of the disk is held. */
static int has_changed(const struct b2f_txn *txn, struct b2f_txn_disk *disk)
{
	int changed = 0, known;

	/* Before the claim only the file's times show some changes. */
	if (!disk->is_ours)
		changed = b2f_store_has_changed(txn->store);
	if (changed)
		return changed;
	known = is_known(disk);
	return known < 0 ? known : !known;
}

int b2f_txn_disk_has_changed(const struct b2f_txn *txn)
{
	struct b2f_txn_disk *disk = txn->disk;
	int ret;

	pthread_mutex_lock(&disk->lock);
	ret = has_changed(txn, disk);
	pthread_mutex_unlock(&disk->lock);
	return ret;
}

/* -ESTALE if another program has changed the frame.  The disk is locked. */
static int check_same(const struct b2f_txn *txn, struct b2f_txn_disk *disk,
		      struct b2f_why *why)
{
	int err = has_changed(txn, disk);

	return err > 0 ? b2f_why_set(why, -ESTALE,
				     "another program has changed the frame")
		       : err;
}

/*
 * Claims the frame: changes a byte of the trailer that no other program looks
 * at.
 */
static int claim(struct b2f_txn *txn, struct b2f_txn_disk *disk,
		 struct b2f_why *why)
{
	const uint8_t mark = B2F_FINGERPRINT_CLAIMED;
	struct b2f_object index = {.fd = -1};
	uint64_t at = disk->frame_len - sizeof(disk->tail);
	int err;

	err = b2f_object_create(txn->store, (int64_t)disk->index_id, &index,
				why);
	/* The part before the trailer may be longer than a range can be. */
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

int b2f_txn_disk_claim(struct b2f_txn *txn, struct b2f_why *why)
{
	struct b2f_txn_disk *disk = txn->disk;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = check_same(txn, disk, why);
	if (!err && txn->guard.lock)
		b2f_lock_adopt(txn->guard.lock);
	if (!err && !disk->is_ours) {
		err = claim(txn, disk, why);
		/* A program without locks may have written meanwhile. */
		if (!err)
			err = check_same(txn, disk, why);
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

/*
 * Notes that @image is on disk, with @head, which it takes over, as its header.
 * The lock of @disk is held.
 */
static void note_image(struct b2f_txn_disk *disk, const struct image *image,
		       uint8_t *head)
{
	free(disk->head);
	disk->head = head;
	disk->head_len = image->header_len;
	note_tail(disk, image->bytes, image->size);
	disk->is_claimed = disk->tail[0] == B2F_FINGERPRINT_CLAIMED;
	disk->is_ours = image->sealed || disk->is_claimed;
	disk->frame_len = image_end(image);
	disk->index_id = image->id;
}

/* Number of lengths in a row that differ; a power of 2. */
#define NLENGTHS 256

/* For b2f_txn_make_index(), behind check_places(). */
static uint64_t place_of(const void *arg, uint64_t i, uint64_t raw)
{
	const struct b2f_txn *txn = arg;
	struct b2f_range range = {0};

	(void)i;
	(void)b2f_ranges_get(txn->store->ranges, b2f_txn_chunk_id(raw), &range);
	return range.off - txn->header.header_len;
}

/* The same for the @n entries of one page, for which it notes the end. */
static int check_page(const struct b2f_txn *txn, struct b2f_page *page,
		      uint32_t n)
{
	struct b2f_range range;

	page->end = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t raw = page->raw[i];

		if (!b2f_txn_is_stored(raw))
			continue;
		if (!b2f_ranges_get(txn->store->ranges, b2f_txn_chunk_id(raw),
				    &range) ||
		    range.off < txn->header.header_len)
			return -EINVAL;
		page->end = b2f_max_u64(page->end, range.off + range.size);
	}
	return 0;
}

/*
 * Do the chunks of @state have places behind the header? *@end is the end of
 * the last one in the file.  A range does not move while an entry names it, so
 * a page whose part of the index is known needs no second look.
 */
static int check_places(const struct b2f_txn *txn,
			const struct b2f_txn_state *state, uint64_t *end)
{
	size_t npages = (size_t)b2f_div_up_u64(state->n, B2F_PAGE_ENTRIES);
	int err = 0;

	*end = b2f_txn_head_room(txn);
	for (size_t i = 0; i < npages && !err; i++) {
		struct b2f_page *page =
			b2f_pages_know(&state->pages, state->n, i);

		if (!b2f_index_has_values(page, txn->header.header_len))
			err = check_page(txn, page,
					 b2f_pages_count(state->n, i));
		*end = b2f_max_u64(*end, page->end);
	}
	return err;
}

/*
 * Gives the frame a new length, by zeros before the trailer: only the length
 * shows a reader of C-Blosc2 without locks that the frame has changed.
 */
static int pad(const struct b2f_txn *txn, struct image *image)
{
	uint32_t draw = b2f_txn_len_draw(txn);
	uint64_t next = txn->disk->frame_len + 1 - image_end(image);
	uint64_t more = (draw ? draw : next) % NLENGTHS;
	size_t trailer_len = txn->frame->trailer_len;
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
static int take_room(struct b2f_txn *txn, struct image *image, uint64_t from)
{
	uint32_t size = (uint32_t)(image->size - image->header_len);
	struct b2f_range range = {0};
	int err;

	err = b2f_ranges_take(txn->store->ranges, from, UINT64_MAX,
			      size + NLENGTHS, &image->id);
	if (err)
		return err;
	(void)b2f_ranges_get(txn->store->ranges, image->id, &range);
	image->off = range.off;
	err = pad(txn, image);
	size = err ? 0 : (uint32_t)(image->size - image->header_len);
	b2f_ranges_trim(txn->store->ranges, image->id, size);
	return err;
}

/* Puts the index of a frame without data right behind the header. */
static int put_first(struct b2f_txn *txn, struct image *image)
{
	struct b2f_ranges *ranges = txn->store->ranges;

	image->off = image->header_len;
	b2f_ranges_cover(ranges, image->size);
	return b2f_ranges_add(ranges, image->off,
			      (uint32_t)(image->size - image->header_len),
			      &image->id);
}

/*
 * Finds a place for @image: behind the end of the chunks, @end, or without data
 * right behind the header.
 */
static int place(struct b2f_txn *txn, const struct b2f_commit *commit,
		 uint64_t end, struct image *image)
{
	struct b2f_frame_header h = txn->header;
	uint64_t from = b2f_max_u64(end, commit->index_from);
	int err;

	/*
	 * A range may begin in this header: the old one may have been shorter.
	 */
	b2f_ranges_cover(txn->store->ranges, image->header_len);
	h.nbytes = commit->state.nbytes;
	if (h.nbytes)
		err = take_room(txn, image, from);
	else
		err = put_first(txn, image);
	if (err)
		return err;
	image->cbytes = h.nbytes ? image->off - image->header_len : 0;
	b2f_frame_header_count(&h, image_end(image), image->cbytes,
			       image->bytes);
	image->sealed = b2f_txn_may_seal(txn, &commit->state);
	if (image->sealed)
		b2f_fingerprint_set(image->bytes, image->size,
				    image->header_len,
				    txn->home->small ? B2F_FINGERPRINT_SMALL
						     : B2F_FINGERPRINT_TYPE);
	return 0;
}

/*
 * Makes the index of @commit in @image, and takes room for it behind the last
 * chunk; without data, right behind the header.  The caller frees
 * @image->bytes, also after an error.
 *
 * Returns 0, -EINVAL (a chunk has no place), -EFBIG, -ENOSPC, B2F_ETOOBIG or
 * -ENOMEM.
 */
static int make_image(struct b2f_txn *txn, const struct b2f_commit *commit,
		      struct image *image, struct b2f_why *why)
{
	uint64_t end = 0;
	int err;

	image->header_len = txn->header.header_len;
	err = check_places(txn, &commit->state, &end);
	if (!err)
		err = b2f_txn_make_index(txn, commit, place_of, &image->bytes,
					  &image->size, why);
	if (!err)
		err = place(txn, commit, end, image);
	return err;
}

/*
 * Without data the trailer is behind the header, and is a part of the one
 * write, if both fit into a sector.
 */
static bool is_one_write(const struct image *image)
{
	return image->off == image->header_len && image->size <= B2F_SECTOR;
}

/*
 * How many bytes of index and trailer wait for the header: one write with it
 * covers the bytes within the old file.  Bytes behind that file do not wait,
 * because a filesystem may store the bytes before the file's new length.
 */
static size_t count_late(const struct b2f_txn *txn,
			 const struct image *image)
{
	uint64_t end = b2f_min_u64(txn->disk->frame_len,
				   image_end(image));

	if (!is_one_write(image) || end < image->off)
		return 0;
	return (size_t)(end - image->off);
}

/*
 * Does a frame without data stay so, with a trailer that does not fit into the
 * first sector?  No state between an old and a new trailer could be read.
 */
static bool keeps_trailer(const struct b2f_txn *txn, const struct image *image)
{
	return txn->committed.nbytes == 0 && image->off == image->header_len &&
	       !is_one_write(image);
}

/*
 * Gives @image the trailer on disk, which differs in the fingerprint alone, and
 * has the disk take that back before any other header.
 */
static int keep_trailer(struct b2f_txn *txn, struct b2f_commit *commit,
			struct image *image, struct b2f_why *why)
{
	struct b2f_object file = {.store = txn->store, .fd = -1};
	struct b2f_txn_disk *disk = txn->disk;
	int err = 0;

	pthread_mutex_lock(&disk->lock);
	if (disk->tail[0] != B2F_FINGERPRINT_CLAIMED)
		err = claim(txn, disk, why);
	memcpy(image->bytes + image->size - TAIL, disk->tail, TAIL);
	pthread_mutex_unlock(&disk->lock);
	image->sealed = false;
	if (err)
		return err;
	err = b2f_object_settle(&file, b2f_settle_of(commit->durable), why);
	commit->sync_failed = err;
	return err;
}

/*
 * Writes index and trailer, and syncs them with everything that was written
 * before.  Even if the frame was never durable, the disk has all of it before
 * the header.
 */
static int write_image(struct b2f_txn *txn, struct b2f_commit *commit,
		       const struct image *image, struct b2f_why *why)
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
	/* With the mtime before the sync, only a header has to follow. */
	if (!err && commit->durable)
		err = b2f_object_inherit(
			&object, commit->has_mtime ? &commit->mtime : NULL,
			why);
	if (!err) {
		err = b2f_object_settle(&object,
					b2f_settle_of(commit->durable), why);
		commit->sync_failed = err;
	}
	b2f_object_close(&object);
	return err;
}

/* Counts the bytes from the beginning of the file that have to be written. */
static size_t count_changed(const struct b2f_txn *txn,
			    const struct image *image)
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

/* Does the trailer overwrite a part of a longer header on disk? */
static bool covers_header(const struct b2f_txn *txn,
			  const struct image *image)
{
	return !is_one_write(image) && image->off < txn->disk->head_len;
}

/* Are the metalayers too long for @image to come to the disk in one step? */
static bool is_too_long(const struct b2f_txn *txn, const struct image *image)
{
	return count_changed(txn, image) > B2F_SECTOR ||
	       covers_header(txn, image) ||
	       (keeps_trailer(txn, image) &&
		image->header_len != txn->disk->head_len);
}

/* Writes the header: the commit.  The lock of the disk is held. */
static int put_head(struct b2f_txn *txn, struct b2f_commit *commit,
		    const struct image *image, struct b2f_why *why)
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
	note_image(disk, image, head);
	return 0;
}

/* Checks for other programs' changes, then writes and syncs the header. */
static int install(struct b2f_txn *txn, struct b2f_commit *commit,
		   const struct image *image, struct b2f_why *why)
{
	struct b2f_txn_disk *disk = txn->disk;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = check_same(txn, disk, why);
	if (!err)
		err = put_head(txn, commit, image, why);
	pthread_mutex_unlock(&disk->lock);
	if (err)
		return err;
	commit->frame_len = image_end(image);
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
		     struct image *image, struct b2f_why *why)
{
	int err = b2f_txn_disk_claim(txn, why);

	if (err)
		return err;
	if (is_too_long(txn, image))
		return b2f_why_set(why, -EFBIG,
				   "its metalayers are too long to be changed "
				   "in place");
	err = keeps_trailer(txn, image) ? keep_trailer(txn, commit, image, why)
					: write_image(txn, commit, image, why);
	if (!err)
		err = install(txn, commit, image, why);
	return err;
}

int b2f_txn_single_put(struct b2f_txn *txn, struct b2f_commit *commit,
			struct b2f_why *why)
{
	struct image image = {.bytes = NULL};
	bool placed;
	int err;

	err = make_image(txn, commit, &image, why);
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
 * Commits the frame on disk once more, with nothing in use from the header up
 * to @limit; @commit gets the moved chunks.  The metalayers are those on disk:
 * only a frame that was made small gets others, and none of its chunks is in
 * the way (b2f_layout_has_room()).
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
 * Makes room for an index right behind the header.  One write may replace the
 * old index there, but not a chunk that a reader may be reading.
 */
static int clear_way(struct b2f_txn *txn, struct b2f_commit *commit,
		     struct b2f_why *why)
{
	uint64_t size = txn->header.header_len + txn->frame->trailer_len;

	return txn->committed.nbytes ? make_room(txn, commit, size, why) : 0;
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
