/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index_write.h - writes the bytes of an index
 *
 * The opposite of index.h.  Parts that a commit does not change are kept byte
 * for byte: metalayers, vlmetalayers, and header fields this library does not
 * know.
 *
 * Layer: index.  May include: base/ chunk/.  Threads: pure functions.
 */
#ifndef B2F_INDEX_INDEX_WRITE_H
#define B2F_INDEX_INDEX_WRITE_H

#include "chunk/encoder.h"
#include "index/entry_pages.h"
#include "index/index.h"

/* A header without metalayers, a trailer without vlmetalayers. */
#define B2F_FRAME_HEADER_PLAIN	97
#define B2F_FRAME_TRAILER_PLAIN 35

/* All that an index is made of. */
struct b2f_index_parts {
	/*
	 * Sizes and settings to write; @header_len must fit @header_bytes,
	 * frame_len is computed.  If @nbytes is 0 there are no entries.
	 * @cbytes are the stored bytes of the chunks; a sparse frame's index
	 * says b2f_index_margin() more.
	 */
	struct b2f_frame_header header;
	/* The previous header with its metalayers; fields are replaced. */
	const uint8_t *header_bytes;
	/*
	 * Raw entries, with the tags of a sparse frame: @pages, or if that is
	 * NULL @entries; both NULL: zeros.  Unchanged pages are copied from
	 * their stored bytes.
	 */
	const uint64_t *entries;
	const struct b2f_pages *pages;
	uint64_t nentries;
	/*
	 * For a contiguous frame: returns the position, in bytes behind the
	 * header, of the stored chunk of entry @i, whose raw value is @raw.  It
	 * is not called for pages with b2f_index_has_values().  The entries
	 * then have the tags only.  NULL: there are no tags, and the entries
	 * have the positions.
	 */
	uint64_t (*place)(const void *arg, uint64_t i, uint64_t raw);
	const void *place_arg;
	/*
	 * Length of the index that this one replaces, or 0: a reader of
	 * C-Blosc2 notices a change by the length alone, so the lengths of
	 * 1,024 indexes in a row differ.  @len_draw: a random number if another
	 * program made that index, whose earlier lengths are unknown; or 0.
	 */
	uint64_t len_before;
	uint32_t len_draw;
	/* The previous trailer with its vlmetalayers. */
	const uint8_t *trailer_bytes;
	uint32_t trailer_len;
	/* The trailer gets a fingerprint (index/fingerprint.h). */
	bool sealed;
	/* Write B2F_FINGERPRINT_SMALL, or _EMPTY. */
	bool small;
};

/*
 * C-Blosc2 opens no sparse frame with a chunk id above the compressed size in
 * the index, less 32.  When it writes a smaller chunk in the place of another,
 * it subtracts the difference from that size, and cannot open its own frame if
 * the size comes too near the ids.  An index of ours therefore adds this margin
 * to the compressed size of the chunks of the @n raw @entries; the margin is
 * enough even for chunks of 0 bytes.
 */
uint64_t b2f_index_margin(const uint64_t *entries, uint64_t n);
uint64_t b2f_pages_margin(const struct b2f_pages *pages, uint64_t n);

/* Two indexes with the same key have the same bytes for an unchanged page. */
static inline uint64_t b2f_index_key(uint32_t header_len, bool sparse)
{
	return sparse ? 0 : header_len;
}

/*
 * Are the bytes of @page known for an index of a contiguous frame whose header
 * has @header_len bytes?
 */
static inline bool b2f_index_has_values(const struct b2f_page *page,
					uint32_t header_len)
{
	return page->values.bytes &&
	       page->values.key == b2f_index_key(header_len, false);
}

/* The raw entry of a special chunk; @special is ZEROS, NAN or UNINIT. */
uint64_t b2f_entry_raw(enum b2f_special special);

/* Writes the B2F_FRAME_HEADER_PLAIN bytes of a header without metalayers. */
void b2f_frame_header_write(const struct b2f_frame_header *header,
			    uint8_t *out);

/* Writes the B2F_FRAME_TRAILER_PLAIN bytes of an empty trailer. */
void b2f_trailer_write(uint8_t *out);

/*
 * Writes the fields of @header that a commit changes (sizes, counts, flags) to
 * the header at @out of a frame of @frame_len bytes, compressed to @cbytes.
 */
void b2f_frame_header_count(const struct b2f_frame_header *header,
			    uint64_t frame_len, uint64_t cbytes, uint8_t *out);

/*
 * Puts the settings of @header (codec, filters, block size) into the header of
 * a frame at @out; other fields stay.
 */
void b2f_frame_header_set(const struct b2f_frame_header *header, uint8_t *out);

/*
 * Makes the index in *@out, malloc'ed, *@size bytes.  For a contiguous frame
 * these are the header and, right behind it, the parts that belong behind the
 * header.cbytes bytes of chunks.
 *
 * Returns 0, -EINVAL (parts that do not fit each other), B2F_ETOOBIG (more
 * chunks than the format allows, or more bytes than b2f_frame_open() reads) or
 * -ENOMEM, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_index_write(const struct b2f_index_parts *parts, uint8_t **out,
		    size_t *size, struct b2f_why *why);

/*
 * Makes the header of a frame with the settings of @header and the metalayers
 * @metas in *@out, malloc'ed, *@size bytes.
 *
 * Returns 0, -EINVAL (a name that is too long, too many or too large
 * metalayers) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_header_with_metas(const struct b2f_frame_header *header,
			  const struct b2f_meta_list *metas, uint8_t **out,
			  size_t *size);

/* Makes a trailer with the vlmetalayers @metas, whose contents are chunks. */
B2F_MUST_CHECK
int b2f_trailer_with_metas(const struct b2f_meta_list *metas, uint8_t **out,
			   size_t *size);

#endif
