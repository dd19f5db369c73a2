/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index.h - parses the index of a frame: header, chunk entries, metadata
 *
 * In a sparse frame this is the file chunks.b2frame; in a contiguous frame the
 * same parts stand before and behind the chunks (docs/format.md 3).  Each
 * parser gets just the bytes of its part, found by offset and length, so that a
 * large frame is never read whole.
 *
 * Layer: index.  May include: base/ chunk/.
 *
 * Threads: a struct b2f_index is immutable once parsed.
 */
#ifndef B2F_INDEX_INDEX_H
#define B2F_INDEX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/error.h"
#include "base/attr.h"
#include "base/checked.h"
#include "base/reserve.h"
#include "base/why.h"
#include "chunk/chunk.h"

/* Fixed part of the header, and the shortest frame there can be. */
#define B2F_FRAME_HEADER_FIXED 87
#define B2F_FRAME_MIN	       112
/* The last bytes of a frame, with the length of the trailer in them. */
#define B2F_FRAME_TAIL	  25
#define B2F_NCHUNKS_MAX	  268435455
#define B2F_META_MAX	  16
#define B2F_VLMETA_MAX	  8192
#define B2F_META_NAME_MAX 31
/*
 * Most bytes of a header, of a trailer, and of all between them in a sparse
 * frame: more is a false size in a file of holes, or too much to keep.
 */
#define B2F_SECTION_MAX (UINT64_C(256) << 20)

/* The fixed part of the header (docs/format.md 3.1). */
struct b2f_frame_header {
	uint64_t frame_len;
	/* Decoded bytes of all chunks. */
	uint64_t nbytes;
	/* Stored bytes of all chunks; of a contiguous frame, dead ones too. */
	uint64_t cbytes;
	uint32_t header_len;
	/* Real type size, may be > 255. */
	uint32_t typesize;
	/*
	 * The block size for new chunks; 0: automatic.  Existing chunks may
	 * have others.
	 */
	uint32_t blocksize;
	/*
	 * Decoded bytes of each chunk but a short one; 0: variable; -1: not
	 * known yet.
	 */
	int32_t chunksize;
	/* 2 or 3. */
	uint8_t version;
	/* The whole byte at 25. */
	uint8_t general_flags;
	/* A directory of chunk files. */
	bool sparse;
	/* Codec for new chunks; enum b2f_codec_code. */
	uint8_t codec;
	uint8_t codec_meta;
	uint8_t clevel;
	/* 1 always, 2 never, 3 auto, 4 forward-compatible. */
	uint8_t splitmode;
	bool use_dict;
	struct b2f_pipeline pipeline;
};

/* May a chunk of the frame have blocks of different lengths? */
static inline bool
b2f_frame_header_has_vlblocks(const struct b2f_frame_header *header)
{
	return header->general_flags & 0x80;
}

/* A metalayer, or a vlmetalayer, whose content is a chunk. */
struct b2f_meta {
	/* May hold any byte; a 0 is added behind it. */
	char name[B2F_META_NAME_MAX + 1];
	size_t name_len;
	/* Points into the buffer of the section. */
	const uint8_t *content;
	size_t size;
};

/* All metalayers of one section, in its order. */
struct b2f_meta_list {
	/* Malloc'ed; free with b2f_meta_list_fini(). */
	struct b2f_meta *items;
	size_t n;
};

/* The value of one chunk entry. */
struct b2f_entry {
	/* NONE: the chunk is stored, at @place. */
	enum b2f_special special;
	/* Its low 32 bits are the object (store/store.h) that has the chunk. */
	uint64_t place;
};

/*
 * Parses and checks the fixed part: @size bytes at @raw, at least
 * B2F_FRAME_HEADER_FIXED, of a frame for which the store has @available bytes.
 *
 * Returns 0, B2F_ENOTFRAME (no magic), B2F_ECORRUPT, or B2F_EUNSUPPORTED (a
 * version of the future or a beta), with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_frame_header_parse(const uint8_t *raw, size_t size, uint64_t available,
			   struct b2f_frame_header *out, struct b2f_why *why);

/* True if the @size bytes at @raw begin as a frame does. */
bool b2f_frame_magic(const uint8_t *raw, size_t size);

/*
 * Gets the length of the trailer out of the last B2F_FRAME_TAIL bytes of a
 * frame.  Returns 0 or B2F_ECORRUPT.
 */
B2F_MUST_CHECK
int b2f_trailer_len_parse(const uint8_t *tail,
			  const struct b2f_frame_header *header,
			  uint32_t *trailer_len, struct b2f_why *why);

/*
 * Parses the metalayers of the @size bytes of header at @raw (header_len of
 * them); @out points into @raw.  Returns 0, B2F_ECORRUPT or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_meta_parse(const uint8_t *raw, size_t size, struct b2f_meta_list *out,
		   struct b2f_why *why);

/*
 * Parses the vlmetalayers of the trailer of @size bytes at @raw; @out points
 * into @raw.  Returns 0, B2F_ECORRUPT or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_vlmeta_parse(const uint8_t *raw, size_t size, struct b2f_meta_list *out,
		     struct b2f_why *why);

void b2f_meta_list_fini(struct b2f_meta_list *list);

/* The first of @list named @name, or NULL. */
const struct b2f_meta *b2f_meta_find(const struct b2f_meta_list *list,
				     const char *name);

/*
 * A raw entry, in memory.  For a special chunk it is the value in the index
 * chunk (bit 63 is set).  For any other:
 *
 *   bits 0..30    chunk id; in a contiguous frame the id of the chunk's range
 *                 (store/ranges.h), while the index on disk has a position
 *   bit 31        a transaction has written it (txn/txn.h); in no index
 *   bits 32..61   identify this version of the chunk
 *   bit 62        the chunk has a seal, whose tag is bits 32..62
 *
 * The index chunk on disk has the number alone; index/tags.h adds the upper
 * bits.
 */
#define B2F_ENTRY_SEALED (UINT64_C(1) << 62)
#define B2F_ENTRY_ID	 UINT64_C(0x7fffffff)

/* The tag of the seal that the chunk of entry @raw has to have; 0: none. */
static inline uint32_t b2f_entry_tag(uint64_t raw)
{
	return raw >> 62 == 1 ? (uint32_t)(raw >> 32) : 0;
}

/* The most memory for the buffers in which a whole @chunk is decoded. */
static inline uint64_t b2f_index_beside(const struct b2f_chunk *chunk)
{
	/* A buffer for the filters, and one for planes of zeros. */
	return 2 * b2f_min_u64(chunk->unit_size, chunk->header.nbytes);
}

/* The decoded index chunk: where every chunk is. */
struct b2f_entries {
	/* nchunks raw values, malloc'ed; NULL if all are @same. */
	uint64_t *raw;
	/* The value of every entry if @raw is NULL. */
	uint64_t same;
	uint64_t n;
	/* Entries that are special chunks. */
	uint64_t nspecial;
};

/*
 * Decodes the index chunk in the @size bytes at @raw and checks every value.
 * An index that repeats one value takes no memory, however long it is; any
 * other counts for @reserved, before it is decoded.  Free @out with
 * b2f_entries_fini().
 *
 * Returns 0, B2F_ECORRUPT, B2F_EUNSUPPORTED, B2F_ETOOBIG (too many chunks for
 * so few stored bytes, or for the memory) or -ENOMEM, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_entries_parse(const uint8_t *raw, size_t size,
		      const struct b2f_frame_header *header,
		      struct b2f_decoder *dec, struct b2f_reserved *reserved,
		      struct b2f_entries *out, struct b2f_why *why);

void b2f_entries_fini(struct b2f_entries *entries);

/* The raw value of entry @i (< n). */
uint64_t b2f_entries_raw(const struct b2f_entries *entries, uint64_t i);

/* Parses the raw value @raw, which was checked. */
struct b2f_entry b2f_entry_of(uint64_t raw);

/* Entry @i (< n). */
struct b2f_entry b2f_entries_get(const struct b2f_entries *entries, uint64_t i);

#endif
