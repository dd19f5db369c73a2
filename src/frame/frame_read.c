/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_read.c - the parts of an index, read and checked */
#include "frame/frame_read.h"

#include <stdlib.h>
#include <string.h>

#include "blp/blp_store.h"
#include "frame/frame_report.h"
#include "index/fingerprint.h"
#include "index/tags.h"

static int read_part(struct b2f_frame *f, const struct b2f_frame_source *src,
		     uint64_t off, uint64_t size, uint8_t **out,
		     struct b2f_why *why)
{
	uint8_t *buf;
	int err = size > B2F_SECTION_MAX ? B2F_ETOOBIG
					 : b2f_reserve_take(&f->reserved, size);

	if (err)
		return b2f_why_set(why, err, "%llu bytes of metadata",
				   (unsigned long long)size);
	buf = malloc(size ? size : 1);
	if (!buf)
		return -ENOMEM;
	err = b2f_object_read(&src->object, src->offset + off, buf, size, why);
	if (err)
		free(buf);
	else
		*out = buf;
	return err;
}

static int read_header(struct b2f_frame *f, const struct b2f_frame_source *src,
		       struct b2f_why *why)
{
	uint8_t fixed[B2F_FRAME_HEADER_FIXED];
	bool sparse = b2f_store_is_sparse(f->store);
	int err;

	if (src->available < B2F_FRAME_MIN)
		return b2f_why_set(why,
				   sparse ? B2F_ECORRUPT : B2F_ENOTFRAME,
				   sparse ? "%llu bytes are too few for an index"
					  : "not a Blosc2 frame: %llu bytes "
					    "are too few",
				   (unsigned long long)src->available);
	err = b2f_object_read(&src->object, src->offset, fixed, sizeof(fixed),
			      why);
	if (err)
		return err;
	err = b2f_frame_header_parse(fixed, sizeof(fixed), src->available,
				     &f->header, why);
	if (err)
		return sparse ? b2f_frame_judge_header(&src->object, err, why)
			      : err;
	if (f->header.sparse != b2f_store_is_sparse(f->store))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the index says that the frame is a %s",
				   f->header.sparse ? "directory" : "file");
	return 0;
}

static int read_meta(struct b2f_frame *f, const struct b2f_frame_source *src,
		     struct b2f_why *why)
{
	int err = read_part(f, src, 0, f->header.header_len, &f->header_bytes,
			    why);

	if (!err)
		err = b2f_meta_parse(f->header_bytes, f->header.header_len,
				     &f->meta, why);
	return err;
}

/* Where the trailer begins, from the start of the frame. */
static uint64_t trailer_start(const struct b2f_frame *f)
{
	return f->header.frame_len - f->trailer_len;
}

static int read_trailer(struct b2f_frame *f, const struct b2f_frame_source *src,
			struct b2f_why *why)
{
	uint8_t tail[B2F_FRAME_TAIL];
	int err = b2f_object_read(
		&src->object, src->offset + f->header.frame_len - sizeof(tail),
		tail, sizeof(tail), why);

	if (!err)
		err = b2f_trailer_len_parse(tail, &f->header, &f->trailer_len,
					    why);
	if (!err)
		err = read_part(f, src, trailer_start(f), f->trailer_len,
				&f->trailer_bytes, why);
	if (!err)
		err = b2f_vlmeta_parse(f->trailer_bytes, f->trailer_len,
				       &f->vlmeta, why);
	if (!err) {
		f->info.fingerprint_type = tail[B2F_FRAME_TAIL - 17];
		memcpy(f->info.fingerprint, tail + B2F_FRAME_TAIL - 16, 16);
	}
	return err;
}

/*
 * Checks the checksums of the index, if it has some.  *@ours: all but the
 * metalayers is as bloscfs wrote it.
 */
static int check_sums(struct b2f_frame *f, const uint8_t *chunk, size_t size,
		      bool *ours, struct b2f_why *why)
{
	const struct b2f_fingerprint_parts parts = {
		.header = f->header_bytes,
		.header_len = f->header.header_len,
		.chunk = chunk,
		.chunk_size = size,
		.trailer = f->trailer_bytes,
		.trailer_len = f->trailer_len,
	};
	enum b2f_fingerprint found = b2f_fingerprint_check(&parts);

	/* C-Blosc2 changes metalayers of a finished frame, but adds none. */
	if (found == B2F_FINGERPRINT_OTHER_META && f->meta.n == 0)
		found = B2F_FINGERPRINT_BAD_META;
	if (found == B2F_FINGERPRINT_BAD_META && f->how.damaged_meta)
		found = B2F_FINGERPRINT_OTHER_META;
	if (found == B2F_FINGERPRINT_BAD || found == B2F_FINGERPRINT_BAD_META)
		return b2f_why_set(why, B2F_ECORRUPT,
				   found == B2F_FINGERPRINT_BAD
					   ? "the index does not agree with "
					     "its checksum"
					   : "the metalayers do not agree with "
					     "the checksum of the index");
	f->sealed = found == B2F_FINGERPRINT_GOOD;
	f->undecided = f->sealed && !f->header.sparse &&
		       f->info.fingerprint_type == B2F_FINGERPRINT_EMPTY;
	f->small = f->undecided ||
		   (f->sealed && !f->header.sparse &&
		    f->info.fingerprint_type == B2F_FINGERPRINT_SMALL);
	*ours = found != B2F_FINGERPRINT_NONE;
	return 0;
}

/* Any other difference would have kept the frame from being opened. */
bool b2f_frame_meta_has_changed(const struct b2f_frame *f)
{
	return !f->sealed && b2f_fingerprint_has_sums(f->info.fingerprint_type);
}

/* Turns the places in a contiguous frame's index into ids, up to @limit. */
static int name_places(struct b2f_frame *f, uint64_t limit)
{
	struct b2f_entries *e = &f->entries;
	uint64_t n = e->raw ? e->n : 1;
	int err;

	/* A derived frame shares the table of its original. */
	if (e->nspecial == e->n)
		return 0;
	if (!f->store->ranges)
		f->store->ranges = b2f_ranges_new();
	if (!f->store->ranges)
		return -ENOMEM;
	err = b2f_ranges_fill(f->store->ranges, e->raw ? e->raw : &e->same, n,
			      f->offset + f->header.header_len, limit);
	/* On a slow store no read goes beyond the end of a chunk. */
	return err || !f->store->ops->prefetch
		       ? err
		       : b2f_ranges_find_ends(f->store->ranges);
}

/* The index chunk: from the chunks (or the header) to the trailer. */
static int read_entries(struct b2f_frame *f, const struct b2f_frame_source *src,
			struct b2f_why *why)
{
	uint64_t start = f->header.header_len;
	struct b2f_decoder *dec = NULL;
	uint8_t *raw = NULL;
	bool ours = false;
	uint64_t size;
	int err;

	if (f->header.nbytes == 0) {
		/* A Bloscpack file may have a chunk of no bytes. */
		if (start != trailer_start(f) &&
		    !b2f_blp_of(src->object.store))
			return b2f_why_set(why, B2F_ECORRUPT,
					   "it has no data, but bytes before "
					   "the trailer");
		return check_sums(f, NULL, 0, &ours, why);
	}
	if (!f->header.sparse)
		start += f->header.cbytes;
	if (start > trailer_start(f))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the index begins behind its end");
	size = trailer_start(f) - start;
	err = read_part(f, src, start, size, &raw, why);
	if (!err)
		err = check_sums(f, raw, size, &ours, why);
	if (!err)
		err = b2f_decoder_new(&dec);
	if (!err)
		err = b2f_entries_parse(raw, size, &f->header, dec,
					&f->reserved, &f->entries, why);
	if (!err && !f->header.sparse)
		err = name_places(f, f->offset + start);
	if (!err && ours)
		err = b2f_tags_parse(raw, size, dec, &f->reserved, &f->entries,
				     why);
	b2f_decoder_free(dec);
	if (raw) {
		free(raw);
		b2f_reserve_give(&f->reserved, size);
	}
	return err;
}

int b2f_frame_read(struct b2f_frame *f, const struct b2f_frame_source *src,
		   struct b2f_why *why)
{
	int err = read_header(f, src, why);

	if (!err)
		err = read_meta(f, src, why);
	if (!err)
		err = read_trailer(f, src, why);
	return err ? err : read_entries(f, src, why);
}

void b2f_frame_forget(struct b2f_frame *f)
{
	b2f_meta_list_fini(&f->meta);
	b2f_meta_list_fini(&f->vlmeta);
	b2f_entries_fini(&f->entries);
	free(f->header_bytes);
	free(f->trailer_bytes);
	f->header_bytes = f->trailer_bytes = NULL;
	(void)!b2f_reserve_set(&f->reserved, 0);
}

int b2f_frame_parse(struct b2f_frame *f, const uint8_t *index, size_t size,
		    struct b2f_why *why)
{
	struct b2f_frame_source src = {.available = size};
	struct b2f_store *memory = NULL;
	int err = b2f_store_new_memory(index, size, &memory);

	if (err)
		return err;
	err = b2f_object_open(memory, B2F_OBJECT_INDEX, &src.object, why);
	if (!err)
		err = b2f_frame_read(f, &src, why);
	b2f_object_close(&src.object);
	b2f_store_free(memory);
	return err;
}
