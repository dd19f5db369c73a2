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

/*
 * Where the chunks of @state are, behind a header of @header_len bytes; *@end
 * is the end of the last one in the file.
 */
static int list_places(const struct b2f_txn *txn,
		       const struct b2f_txn_state *state, uint32_t header_len,
		       uint64_t **out, uint64_t *end)
{
	uint64_t *places = calloc(state->n ? state->n : 1, sizeof(*places));
	struct b2f_range range;

	if (!places)
		return -ENOMEM;
	*end = b2f_txn_head_room(txn);
	for (uint64_t i = 0; i < state->n; i++) {
		if (!b2f_txn_is_stored(state->raw[i]))
			continue;
		if (!b2f_ranges_get(txn->store->ranges,
				    b2f_txn_chunk_id(state->raw[i]), &range) ||
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
	image->sealed = b2f_frame_may_seal(txn->frame, commit->state.raw,
					   commit->state.n);
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
	uint64_t *places = NULL, end = 0;
	int err;

	image->header_len = txn->header.header_len;
	err = list_places(txn, &commit->state, image->header_len, &places,
			  &end);
	if (!err)
		err = b2f_txn_make_index(txn, commit, places, &image->bytes,
					  &image->size, why);
	if (!err)
		err = place(txn, commit, end, image);
	free(places);
	return err;
}
