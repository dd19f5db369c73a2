/* SPDX-License-Identifier: BSD-3-Clause */
/* entry_pages.c - the entries of a frame that is being written, in pages */
#include "index/entry_pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "chunk/encode_blocks.h"
#include "index/index.h"

/* The level of C-Blosc2's own indexes, so that ours look the same. */
#define CLEVEL 5

/* The first page begins with room for this many entries. */
#define FIRST_ENTRIES 16

static void forget_block(struct b2f_page_block *block)
{
	free(block->bytes);
	*block = (struct b2f_page_block){0};
}

/* Forgets the known facts of @page, after its entries have changed. */
static void forget(struct b2f_page *page)
{
	page->nknown = 0;
	page->end = 0;
	forget_block(&page->values);
	forget_block(&page->tags);
}

static void unref(struct b2f_page *page)
{
	if (!page || atomic_fetch_sub(&page->nrefs, 1) != 1)
		return;
	forget(page);
	free(page);
}

/*
 * Makes a page with room for @cap entries, and the entries of @like (or NULL).
 */
static struct b2f_page *new_page(uint32_t cap, const struct b2f_page *like)
{
	struct b2f_page *page =
		malloc(sizeof(*page) + cap * sizeof(*page->raw));

	if (!page)
		return NULL;
	memset(page, 0, sizeof(*page));
	atomic_init(&page->nrefs, 1);
	page->cap = cap;
	if (like)
		memcpy(page->raw, like->raw,
		       b2f_min_u64(cap, like->cap) * sizeof(*page->raw));
	return page;
}

/* Replaces page @i by one of its own with room for @cap entries. */
static int replace(struct b2f_pages *pages, size_t i, uint32_t cap)
{
	struct b2f_page *page = new_page(cap, pages->at[i]);

	if (!page)
		return -ENOMEM;
	unref(pages->at[i]);
	pages->at[i] = page;
	return 0;
}

static int reserve_table(struct b2f_pages *pages, size_t n)
{
	size_t cap = pages->cap;
	struct b2f_page **at;

	while (cap < n)
		cap = cap + cap / 2 + 1;
	if (cap == pages->cap)
		return 0;
	at = realloc(pages->at, cap * sizeof(*at));
	if (!at)
		return -ENOMEM;
	pages->at = at;
	pages->cap = cap;
	return 0;
}

/* Most frames have few chunks; a whole page would waste memory. */
static uint32_t first_cap(uint64_t n)
{
	return (uint32_t)b2f_min_u64(b2f_max_u64(n + n / 2, FIRST_ENTRIES),
				     B2F_PAGE_ENTRIES);
}

int b2f_pages_reserve(struct b2f_pages *pages, uint64_t n)
{
	size_t npages = (size_t)b2f_div_up_u64(n, B2F_PAGE_ENTRIES);
	uint32_t cap = npages > 1 ? B2F_PAGE_ENTRIES : first_cap(n);
	int err = reserve_table(pages, npages);

	if (!err && pages->n &&
	    pages->at[0]->cap < b2f_min_u64(n, B2F_PAGE_ENTRIES))
		err = replace(pages, 0, cap);
	while (!err && pages->n < npages) {
		pages->at[pages->n] = new_page(cap, NULL);
		if (!pages->at[pages->n])
			return -ENOMEM;
		pages->n++;
	}
	return err;
}

int b2f_pages_own(struct b2f_pages *pages, uint64_t first, uint64_t n)
{
	size_t end = (size_t)b2f_div_up_u64(first + n, B2F_PAGE_ENTRIES);
	int err = 0;

	for (size_t i = first / B2F_PAGE_ENTRIES; n && i < end && !err; i++) {
		if (atomic_load(&pages->at[i]->nrefs) > 1)
			err = replace(pages, i, pages->at[i]->cap);
		else
			forget(pages->at[i]);
	}
	return err;
}

int b2f_pages_copy(const struct b2f_pages *from, struct b2f_pages *to)
{
	int err = reserve_table(to, from->n ? from->n : 1);

	if (err)
		return err;
	for (size_t i = 0; i < from->n; i++) {
		atomic_fetch_add(&from->at[i]->nrefs, 1);
		to->at[i] = from->at[i];
	}
	to->n = from->n;
	return 0;
}

void b2f_pages_fini(struct b2f_pages *pages)
{
	for (size_t i = 0; i < pages->n; i++)
		unref(pages->at[i]);
	free(pages->at);
	*pages = (struct b2f_pages){0};
}

bool b2f_pages_equal(const struct b2f_pages *a, const struct b2f_pages *b,
		     uint64_t n)
{
	for (size_t i = 0; i < b2f_div_up_u64(n, B2F_PAGE_ENTRIES); i++)
		if (a->at[i] != b->at[i] &&
		    memcmp(a->at[i]->raw, b->at[i]->raw,
			   b2f_pages_count(n, i) * sizeof(*a->at[i]->raw)))
			return false;
	return true;
}

static void look(struct b2f_page *page, uint32_t n)
{
	page->above = page->last_tag = 0;
	page->is_same = true;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t raw = page->raw[i];

		page->is_same &= raw == page->raw[0];
		if (raw >> 63)
			continue;
		page->above = b2f_max_u64(page->above,
					  (raw & B2F_ENTRY_ID) + 1);
		if (b2f_entry_tag(raw))
			page->last_tag = b2f_entry_tag(raw);
	}
	page->nknown = n;
}

struct b2f_page *b2f_pages_know(const struct b2f_pages *pages, uint64_t n,
				size_t page)
{
	struct b2f_page *found = pages->at[page];
	uint32_t count = b2f_pages_count(n, page);

	if (found->nknown != count) {
		forget(found);
		look(found, count);
	}
	return found;
}

uint64_t b2f_pages_above(const struct b2f_pages *pages, uint64_t n)
{
	uint64_t above = 0;

	for (size_t i = 0; i < b2f_div_up_u64(n, B2F_PAGE_ENTRIES); i++)
		above = b2f_max_u64(above, b2f_pages_know(pages, n, i)->above);
	return above;
}

bool b2f_pages_is_same(const struct b2f_pages *pages, uint64_t n)
{
	for (size_t i = 0; i < b2f_div_up_u64(n, B2F_PAGE_ENTRIES); i++) {
		const struct b2f_page *page = b2f_pages_know(pages, n, i);

		if (!page->is_same || page->raw[0] != pages->at[0]->raw[0])
			return false;
	}
	return true;
}

struct b2f_encode_options b2f_pages_options(uint32_t item)
{
	return (struct b2f_encode_options){
		.typesize = item,
		.codec = B2F_CODEC_BLOSCLZ,
		.clevel = CLEVEL,
		.split = B2F_SPLIT_NEVER,
		.blocksize = B2F_PAGE_ENTRIES * item,
		.pipeline = {.filter = {[5] = B2F_FILTER_SHUFFLE}},
	};
}

/* Keeps the stored bytes of @block for the next index, if there is memory. */
static void keep(struct b2f_page_block *block, uint64_t key,
		 const uint8_t *bytes, uint32_t size)
{
	uint8_t *kept = malloc(size);

	free(block->bytes);
	*block = (struct b2f_page_block){0};
	if (!kept)
		return;
	memcpy(kept, bytes, size);
	*block = (struct b2f_page_block){kept, size, key};
}

/* Puts block @page, copied or encoded; returns as b2f_encode_blocks_put(). */
static int put(const struct b2f_page_list *list, struct b2f_encode_blocks *b,
	       uint32_t page)
{
	uint8_t *items = b->enc->data.data;
	uint32_t begin = b->at;
	struct b2f_page_block *block;
	uint64_t key = 0;
	int ret;

	block = list->find(list->arg, page, &key);
	if (block->bytes && block->key == key)
		return b2f_encode_blocks_copy(b, page, block->bytes,
					      block->size);
	list->fill(list->arg, page, items);
	ret = b2f_encode_blocks_put(b, page, items);
	if (ret > 0)
		keep(block, key, b->dst + begin, b->at - begin);
	return ret;
}

static int put_blocks(const struct b2f_page_list *list,
		      struct b2f_encode_blocks *b, struct b2f_encoder *enc,
		      const struct b2f_encode_plan *plan, uint8_t *dst)
{
	int ret = b2f_encode_blocks_begin(b, enc, plan, dst);

	for (uint32_t i = 0; i < b->nblocks && ret > 0; i++)
		ret = put(list, b, i);
	return ret;
}

static void put_as_is(const struct b2f_page_list *list,
		      const struct b2f_encode_plan *plan, uint8_t *dst,
		      uint32_t *cbytes)
{
	uint8_t *at = dst + B2F_CHUNK_HEADER_MAX;
	uint64_t key;

	for (uint32_t off = 0, i = 0; off < plan->nbytes; i++) {
		(void)list->find(list->arg, i, &key);
		list->fill(list->arg, i, at + off);
		off += B2F_PAGE_ENTRIES * list->item;
	}
	*cbytes = B2F_CHUNK_HEADER_MAX + plan->nbytes;
	b2f_encode_plan_header(plan, B2F_ENCODE_AS_IS, *cbytes, dst);
}

int b2f_pages_encode(const struct b2f_page_list *list, struct b2f_encoder *enc,
		     uint8_t *dst, uint32_t *cbytes, bool *zeros,
		     struct b2f_why *why)
{
	const struct b2f_encode_options options = b2f_pages_options(list->item);
	struct b2f_encode_plan plan;
	struct b2f_encode_blocks b;
	int ret = 0, err;

	*zeros = false;
	err = b2f_encode_plan_make(&options, list->nbytes, &plan, why);
	if (!err)
		err = b2f_scratch_reserve(&enc->data, options.blocksize);
	if (!err && !plan.as_is)
		ret = put_blocks(list, &b, enc, &plan, dst);
	if (err || ret < 0)
		return err ? err : ret;
	if (!ret) {
		put_as_is(list, &plan, dst, cbytes);
		return 0;
	}
	*zeros = !b.has_data;
	*cbytes = b.at;
	b2f_encode_plan_header(&plan, B2F_ENCODE_BLOCKS, b.at, dst);
	return 0;
}
