/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entry_pages.h - the entries of a frame that is being written, in pages
 *
 * A page is the entries of one block of the index chunk.  States of a frame
 * share the pages in which they do not differ: a snapshot of all entries takes
 * a pointer per page, and a change copies one page.
 *
 * A page without a change keeps its stored bytes for the next commit: only
 * pages that differ from the previous index are encoded, all others are copied.
 *
 * Layer: index.  May include: base/ chunk/.
 *
 * Threads: the pages of one state are for one thread at a time.  Any number of
 * states may share a page.  The known facts of a page belong to the thread that
 * makes an index; only one thread at a time does so for states that share
 * pages.
 */
#ifndef B2F_INDEX_ENTRY_PAGES_H
#define B2F_INDEX_ENTRY_PAGES_H

#include <stdatomic.h>

#include "chunk/encoder.h"

/* Entries of a page: at 8 bytes each they fill a block of C-Blosc2's index. */
#define B2F_PAGE_ENTRIES 2048

/* A page as a block of stored bytes; malloc'ed, or NULL. */
struct b2f_page_block {
	uint8_t *bytes;
	uint32_t size;
	/*
	 * A further value on which the bytes depend: b2f_index_key(), or the
	 * tag before.
	 */
	uint64_t key;
};

struct b2f_page {
	atomic_uint nrefs;
	/*
	 * Entries that have room here; the first page may have less than a
	 * whole one.
	 */
	uint32_t cap;
	/* Number of entries for which the fields up to @tags are known. */
	uint32_t nknown;
	bool is_same;
	/* 1 + the largest chunk id, or 0; the last tag, or 0. */
	uint64_t above;
	uint32_t last_tag;
	/*
	 * End of the last chunk, set with @values in a contiguous frame; else
	 * 0.
	 */
	uint64_t end;
	/* Stored bytes in the index chunk, and in the list of tags (tags.h). */
	struct b2f_page_block values;
	struct b2f_page_block tags;
	uint64_t raw[];
};

/* Pages of one state.  Zero-initialize it; end with b2f_pages_fini(). */
struct b2f_pages {
	struct b2f_page **at;
	size_t n;
	size_t cap;
};

static inline uint64_t b2f_pages_get(const struct b2f_pages *pages, uint64_t i)
{
	return pages->at[i / B2F_PAGE_ENTRIES]->raw[i % B2F_PAGE_ENTRIES];
}

/* Sets entry @i; b2f_pages_own() has copied its page if it was shared. */
static inline void b2f_pages_set(struct b2f_pages *pages, uint64_t i,
				 uint64_t raw)
{
	pages->at[i / B2F_PAGE_ENTRIES]->raw[i % B2F_PAGE_ENTRIES] = raw;
}

/* Makes room for @n entries; new ones have no value.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_pages_reserve(struct b2f_pages *pages, uint64_t n);

/*
 * Prepares the @n entries from @first on, which have room, for b2f_pages_set():
 * copies pages shared with other states.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_pages_own(struct b2f_pages *pages, uint64_t first, uint64_t n);

/* Shares the pages of @from with the empty @to.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_pages_copy(const struct b2f_pages *from, struct b2f_pages *to);

void b2f_pages_fini(struct b2f_pages *pages);

/* Are the first @n entries of @a and @b the same? */
bool b2f_pages_equal(const struct b2f_pages *a, const struct b2f_pages *b,
		     uint64_t n);

/* Returns how many of @n entries are in page @page. */
static inline uint32_t b2f_pages_count(uint64_t n, size_t page)
{
	uint64_t left = n - (uint64_t)page * B2F_PAGE_ENTRIES;

	return left < B2F_PAGE_ENTRIES ? (uint32_t)left : B2F_PAGE_ENTRIES;
}

/* Returns page @page of @n entries, with its facts known. */
struct b2f_page *b2f_pages_know(const struct b2f_pages *pages, uint64_t n,
				size_t page);

/* 1 + the largest chunk id of @n entries, or 0 if no chunk is stored. */
uint64_t b2f_pages_above(const struct b2f_pages *pages, uint64_t n);

/* Do all of the @n entries have the same value? */
bool b2f_pages_is_same(const struct b2f_pages *pages, uint64_t n);

/* A chunk of one item for each entry, and of one block for each page. */
struct b2f_page_list {
	/* Bytes of all items together, and of one item. */
	uint32_t nbytes;
	uint32_t item;
	/*
	 * Returns the block of page @page, and in *@key what its bytes depend
	 * on besides the page.  Called in the order of pages, from 0 on.
	 */
	struct b2f_page_block *(*find)(void *arg, size_t page, uint64_t *key);
	/* Writes the items of the page of the last find(). */
	void (*fill)(void *arg, size_t page, uint8_t *out);
	void *arg;
};

/*
 * Makes the chunk of @list at @dst, which has b2f_chunk_encode_bound() bytes;
 * *@zeros: all items are zeros, and nothing was made.  Pages that did not
 * change since an earlier index are copied from their stored bytes.  Returns 0
 * or -ENOMEM, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_pages_encode(const struct b2f_page_list *list, struct b2f_encoder *enc,
		     uint8_t *dst, uint32_t *cbytes, bool *zeros,
		     struct b2f_why *why);

/* How b2f_pages_encode() makes chunks of items of @item bytes. */
struct b2f_encode_options b2f_pages_options(uint32_t item);

#endif
