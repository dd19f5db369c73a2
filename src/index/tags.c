/* SPDX-License-Identifier: BSD-3-Clause */
/* tags.c - the version of each chunk that an index names */
#include "index/tags.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/cursor.h"

/* "B2T1" */
#define MAGIC	   0x31543242u
#define MAGIC_SIZE 4

#define CODE_SIZE 4

/* Number of tags; 0 is none. */
#define NTAGS (B2F_TAG_MAX - B2F_TAG_MIN + 1)

uint32_t b2f_tag_draw(void)
{
	struct timespec now;
	uint32_t drawn;

	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) != sizeof(drawn)) {
		/* Early at boot; the clock does not repeat itself either. */
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

/* A list that is being written. */
struct writing {
	const struct b2f_pages *pages;
	uint64_t n;
	/* The last tag before the current page. */
	uint32_t before;
};

static struct b2f_page_block *find_tags(void *arg, size_t page, uint64_t *key)
{
	struct writing *w = arg;
	uint32_t last = 0;

	if (page)
		last = b2f_pages_know(w->pages, w->n, page - 1)->last_tag;
	else
		w->before = 0;
	if (last)
		w->before = last;
	*key = w->before;
	return &b2f_pages_know(w->pages, w->n, page)->tags;
}

static void fill_codes(void *arg, size_t page, uint8_t *out)
{
	const struct writing *w = arg;
	const uint64_t *raw = w->pages->at[page]->raw;
	uint32_t n = b2f_pages_count(w->n, page), before = w->before;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t tag = b2f_entry_tag(raw[i]);

		b2f_store_le32(out + i * CODE_SIZE, code_of(tag, before));
		before = tag ? tag : before;
	}
}

static bool has_tags(const struct b2f_pages *pages, uint64_t n)
{
	for (size_t i = 0; i < b2f_div_up_u64(n, B2F_PAGE_ENTRIES); i++)
		if (b2f_pages_know(pages, n, i)->last_tag)
			return true;
	return false;
}

int b2f_tags_write(const struct b2f_pages *pages, uint64_t n,
		   struct b2f_encoder *enc, uint8_t *dst, size_t *size,
		   struct b2f_why *why)
{
	struct writing writing = {.pages = pages, .n = n};
	const struct b2f_page_list list = {
		.nbytes = (uint32_t)(n * CODE_SIZE),
		.item = CODE_SIZE,
		.find = find_tags,
		.fill = fill_codes,
		.arg = &writing,
	};
	uint32_t cbytes;
	bool zeros;
	int err;

	*size = 0;
	if (!has_tags(pages, n))
		return 0;
	b2f_store_le32(dst, MAGIC);
	err = b2f_pages_encode(&list, enc, dst + MAGIC_SIZE, &cbytes, &zeros,
			       why);
	if (!err)
		*size = MAGIC_SIZE + cbytes;
	return err;
}

/* Decodes @code behind the tag *@before, and puts the tag into *@raw. */
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
		      struct b2f_reserved *reserved,
		      struct b2f_entries *entries, struct b2f_why *why)
{
	const struct b2f_chunk_context context = {.typesize = CODE_SIZE};
	struct b2f_chunk chunk;
	uint8_t *codes = NULL;
	uint64_t bytes;
	int err = b2f_chunk_open(raw, size, size, &context, &chunk, why);

	if (err)
		return err;
	/* An index chunk that repeats one entry has no chunk with a tag. */
	if (chunk.header.nbytes != entries->n * CODE_SIZE ||
	    (!entries->raw && entries->n > 1))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%u bytes of tags for %llu chunks",
				   chunk.header.nbytes,
				   (unsigned long long)entries->n);
	bytes = chunk.header.nbytes + b2f_index_beside(&chunk);
	err = b2f_reserve_take(reserved, bytes);
	if (err)
		return b2f_why_set(why, err,
				   "%llu bytes of tags are more than the cache "
				   "has left",
				   (unsigned long long)bytes);
	codes = malloc(chunk.header.nbytes);
	err = codes ? b2f_chunk_decode_all(&chunk, dec, raw, codes, why)
		    : -ENOMEM;
	if (!err)
		err = add_tags(codes, entries, why);
	free(codes);
	b2f_reserve_give(reserved, bytes);
	return err;
}

int b2f_tags_parse(const uint8_t *raw, size_t size, struct b2f_decoder *dec,
		   struct b2f_reserved *reserved, struct b2f_entries *entries,
		   struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, size);
	struct b2f_chunk_header index;
	uint32_t magic;
	int err = b2f_chunk_header_parse(raw, size, &index, why);

	if (err)
		return err;
	b2f_cursor_skip(&cur, index.cbytes);
	magic = b2f_cursor_le32(&cur);
	/* No list: the end, or zeros that pad the file. */
	if (magic == 0)
		return 0;
	if (magic != MAGIC)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "unknown data follow its index chunk (%08x)",
				   magic);
	return parse_list(raw + cur.pos, b2f_cursor_left(&cur), dec, reserved,
			  entries, why);
}
