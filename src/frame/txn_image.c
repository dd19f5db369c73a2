/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_image.c - the next index of a contiguous frame, and its place */
#include "frame/txn_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "frame/txn_commit.h"
#include "frame/txn_gaps.h"
#include "frame/txn_index.h"
#include "index/fingerprint.h"

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
 * Do the chunks of @state have places behind the header?  *@end is the end of the
 * last one in the file.  A range stays where it is as long as an entry names it, so
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
 * Gives the frame a length of its own, by zeros before the trailer: by that
 * alone a reader of C-Blosc2 without locks sees that it has changed.
 */
static int pad(const struct b2f_txn *txn, struct b2f_txn_image *image)
{
	uint32_t draw = b2f_txn_len_draw(txn);
	uint64_t next = txn->disk->frame_len + 1 - b2f_txn_image_end(image);
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
static int take_room(struct b2f_txn *txn, struct b2f_txn_image *image,
		     uint64_t from, bool has_data)
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
	/* Between header and trailer of a frame without data nothing counts. */
	if (has_data)
		err = pad(txn, image);
	size = err ? 0 : (uint32_t)(image->size - image->header_len);
	b2f_ranges_trim(txn->store->ranges, image->id, size);
	return err;
}

/* Without data the index is right behind the header. */
static int put_first(struct b2f_txn *txn, struct b2f_txn_image *image)
{
	struct b2f_ranges *ranges = txn->store->ranges;

	image->off = image->header_len;
	b2f_ranges_cover(ranges, image->size);
	return b2f_ranges_add(ranges, image->off,
			      (uint32_t)(image->size - image->header_len),
			      &image->id);
}

/*
 * Finds a place for @image, which then knows where everything is: behind the
 * end of the chunks, @end, or without data right behind the header.
 */
static int place(struct b2f_txn *txn, const struct b2f_commit *commit,
		 uint64_t end, struct b2f_txn_image *image)
{
	struct b2f_frame_header h = txn->header;
	uint64_t from = b2f_max_u64(end, commit->index_from);
	int err;

	/*
	 * A range may begin in this header: the old one may have been shorter.
	 */
	b2f_ranges_cover(txn->store->ranges, image->header_len);
	h.nbytes = commit->state.nbytes;
	if (h.nbytes || commit->index_from)
		err = take_room(txn, image, from, h.nbytes > 0);
	else
		err = put_first(txn, image);
	if (err)
		return err;
	image->cbytes = h.nbytes ? image->off - image->header_len : 0;
	b2f_frame_header_count(&h, b2f_txn_image_end(image), image->cbytes,
			       image->bytes);
	image->sealed = b2f_txn_may_seal(txn, &commit->state);
	if (image->sealed)
		b2f_fingerprint_set(image->bytes, image->size,
				    image->header_len,
				    txn->home->small ? B2F_FINGERPRINT_SMALL
						     : B2F_FINGERPRINT_TYPE);
	return 0;
}

int b2f_txn_image_make(struct b2f_txn *txn, const struct b2f_commit *commit,
			struct b2f_txn_image *image, struct b2f_why *why)
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
