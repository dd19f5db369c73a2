/* SPDX-License-Identifier: BSD-3-Clause */
/* tags.c - which version of each chunk an index means */
#include "index/tags.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/bytes.h"
#include "base/cursor.h"

/* "B2T1" */
#define MAGIC	   0x31543242u
#define MAGIC_SIZE 4

#define CODE_SIZE 4

/* Number of tags; 0 is none. */
#define NTAGS (B2F_TAG_MAX - B2F_TAG_MIN + 1)

/* The settings of the index chunk beside it. */
#define LIST_CLEVEL    5
#define LIST_BLOCKSIZE 16384

uint32_t b2f_tag_draw(void)
{
	struct timespec now;
	uint32_t drawn;

	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) != sizeof(drawn)) {
		/* Early at boot; a clock does not come back either. */
		clock_gettime(CLOCK_REALTIME, &now);
		drawn = (uint32_t)now.tv_nsec * 2654435761u ^
			(uint32_t)now.tv_sec;
	}
	return B2F_TAG_MIN | (drawn & (NTAGS - 1));
}

size_t b2f_tags_bound(uint64_t nentries)
{
	return MAGIC_SIZE +
	       b2f_chunk_encode_bound((uint32_t)(nentries * CODE_SIZE));
}

/* The code of @tag, which may be 0, behind @before. */
static uint32_t code_of(uint32_t tag, uint32_t before)
{
	return tag ? B2F_TAG_MIN | ((tag - before) & (NTAGS - 1)) : 0;
}

/* Returns whether there is a tag at all. */
static bool make_codes(const uint64_t *entries, uint64_t n, uint8_t *out)
{
	uint32_t before = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t tag = b2f_entry_tag(entries[i]);

		b2f_store_le32(out + i * CODE_SIZE, code_of(tag, before));
		before = tag ? tag : before;
	}
	return before != 0;
}

int b2f_tags_write(const uint64_t *entries, uint64_t nentries,
		   struct b2f_encoder *enc, uint8_t *dst, size_t *size,
		   struct b2f_why *why)
{
	const struct b2f_encode_options options = {
		.typesize = CODE_SIZE,
		.codec = B2F_CODEC_BLOSCLZ,
		.clevel = LIST_CLEVEL,
		.split = B2F_SPLIT_NEVER,
		.blocksize = LIST_BLOCKSIZE,
		.pipeline = {.filter = {[5] = B2F_FILTER_SHUFFLE}},
	};
	uint32_t nbytes = (uint32_t)(nentries * CODE_SIZE);
	uint8_t *codes = malloc(nbytes ? nbytes : 1);
	struct b2f_encoded encoded = {0};
	int err = 0;

	if (!codes)
		return -ENOMEM;
	*size = 0;
	if (make_codes(entries, nentries, codes)) {
		b2f_store_le32(dst, MAGIC);
		err = b2f_chunk_encode(
			enc, &options, b2f_bytes_at(codes, nbytes),
			b2f_room_at(dst + MAGIC_SIZE,
				    b2f_chunk_encode_bound(nbytes)),
			&encoded, why);
		*size = MAGIC_SIZE + encoded.cbytes;
	}
	free(codes);
	return err;
}

/* Puts the tag that @code means, behind *@before, into the entry *@raw. */
static bool add_tag(uint64_t *raw, uint32_t code, uint32_t *before)
{
	if (code == 0)
		return true;
	if (code < B2F_TAG_MIN || code > B2F_TAG_MAX || *raw >> 32)
		return false;
	*before = B2F_TAG_MIN | ((*before + code) & (NTAGS - 1));
	*raw |= (uint64_t)*before << 32;
	return true;
}

static int add_tags(const uint8_t *codes, struct b2f_entries *entries,
		    struct b2f_why *why)
{
	uint64_t *raw = entries->raw ? entries->raw : &entries->same;
	uint32_t before = 0;

	for (uint64_t i = 0; i < entries->n; i++) {
		uint32_t code = b2f_load_le32(codes + i * CODE_SIZE);

		if (!add_tag(&raw[i], code, &before))
			return b2f_why_set(why, B2F_ECORRUPT,
					   "chunk %llu has the tag code %08x",
					   (unsigned long long)i, code);
	}
	return 0;
}

/* Decodes the list in the @size bytes at @raw. */
static int parse_list(const uint8_t *raw, size_t size, struct b2f_decoder *dec,
		      struct b2f_entries *entries, struct b2f_why *why)
{
	const struct b2f_chunk_context context = {.typesize = CODE_SIZE};
	struct b2f_chunk chunk;
	uint8_t *codes;
	int err;

	err = b2f_chunk_open(raw, size, size, &context, &chunk, why);
	if (err)
		return err;
	/* An index chunk that repeats one entry has no chunk with a tag. */
	if (chunk.header.nbytes != entries->n * CODE_SIZE ||
	    (!entries->raw && entries->n > 1))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%u bytes of tags for %llu chunks",
				   chunk.header.nbytes,
				   (unsigned long long)entries->n);
	codes = malloc(chunk.header.nbytes);
	if (!codes)
		return -ENOMEM;
	err = b2f_chunk_decode_all(&chunk, dec, raw, codes, why);
	if (!err)
		err = add_tags(codes, entries, why);
	free(codes);
	return err;
}

int b2f_tags_parse(const uint8_t *raw, size_t size, struct b2f_decoder *dec,
		   struct b2f_entries *entries, struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, size);
	struct b2f_chunk_header index;
	uint32_t magic;
	int err;

	err = b2f_chunk_header_parse(raw, size, &index, why);
	if (err)
		return err;
	b2f_cursor_skip(&cur, index.cbytes);
	magic = b2f_cursor_le32(&cur);
	/* The end, or zeros, which give the file its length. */
	if (magic == 0)
		return 0;
	if (magic != MAGIC)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "behind its index chunk is what this "
				   "program does not know (%08x)",
				   magic);
	return parse_list(raw + cur.pos, b2f_cursor_left(&cur), dec, entries,
			  why);
}
