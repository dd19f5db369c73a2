/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_disk.c - is the contiguous frame on disk the one that its transaction
 * knows?
 */
#include "frame/txn_disk.h"

#include <stdlib.h>
#include <string.h>

#include "frame/txn_gaps.h"
#include "index/fingerprint.h"

/* As much of a frame is read at once rather than skipped. */
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

/* The end of the trailer in @bytes, of which it is the last part. */
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

	if (!disk)
		return -ENOMEM;
	pthread_mutex_init(&disk->lock, NULL);
	txn->disk = disk;
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

/*
 * A file that has lost its content with the power gets one: that of the empty
 * frame it was read as.
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
	pthread_mutex_destroy(&txn->disk->lock);
	free(txn->disk->head);
	free(txn->disk);
	txn->disk = NULL;
}

/*
 * Are header and trailer on disk those that are known?  1, 0 or an errno.  Of a small
 * frame one read brings both, and what is between them.
 */
static int is_known(const struct b2f_txn *txn, struct b2f_txn_disk *disk)
{
	bool at_once = disk->frame_len <= disk->head_len + SMALL;
	size_t n = at_once ? disk->frame_len : disk->head_len + TAIL;
	struct b2f_object object = {.fd = -1};
	uint8_t *head = malloc(n), *tail;
	int ret;

	if (!head)
		return -ENOMEM;
	tail = head + n - TAIL;
	ret = b2f_object_open(txn->store, B2F_OBJECT_INDEX, &object, NULL);
	if (!ret)
		ret = b2f_object_read(&object, 0, head,
				      at_once ? n : disk->head_len, NULL);
	if (!ret && !at_once)
		ret = b2f_object_read(&object, disk->frame_len - TAIL, tail,
				      TAIL, NULL);
	b2f_object_close(&object);
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

	/* Before it is claimed, only the file's time tells of some changes. */
	if (!disk->is_ours)
		changed = b2f_store_has_changed(txn->store);
	if (changed)
		return changed;
	known = is_known(txn, disk);
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
	err = has_changed(txn, disk);
	if (err > 0)
		err = b2f_why_set(why, -ESTALE,
				  "another program has changed the frame");
	else if (!err && txn->lock)
		b2f_lock_adopt(txn->lock);
	if (!err && !disk->is_ours)
		err = claim(txn, disk, why);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

void b2f_txn_disk_note(struct b2f_txn_disk *disk,
			const struct b2f_txn_image *image, uint8_t *head)
{
	free(disk->head);
	disk->head = head;
	disk->head_len = image->header_len;
	note_tail(disk, image->bytes, image->size);
	disk->is_ours = image->sealed;
	disk->is_claimed = false;
	disk->frame_len = b2f_txn_image_end(image);
	disk->index_id = image->id;
}
