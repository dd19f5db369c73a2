/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_chunks.c - the chunks of a frame as a table
 *
 * The widths are known from the index, so nothing waits for the last chunk.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/info.h"
#include "cli/text.h"

/* "0000002A.chunk"; a position in a file is not longer. */
#define PLACE_WIDTH 14

static int digits(uint64_t n)
{
	char text[24];

	return snprintf(text, sizeof(text), "%" PRIu64, n);
}

struct widths {
	int number;
	int size;
};

static struct widths choose_widths(const struct b2f_frame_info *info)
{
	/* The size of a chunk of variable size is not known yet. */
	uint64_t size = info->chunksize > 0 ? (uint64_t)info->chunksize + 32
					    : UINT32_MAX;
	struct widths w = {.number = digits(info->nchunks),
			   .size = digits(size)};

	if (w.number < 5)
		w.number = 5;
	if (w.size < 6)
		w.size = 6;
	return w;
}

static void put_titles(const struct widths *w)
{
	printf("  %*s  %-10s  %-*s  %*s  %*s  %8s  %7s  %6s  %-8s  %s\n",
	       w->number, "chunk", "kind", PLACE_WIDTH, "stored at", w->size,
	       "nbytes", w->size, "cbytes", "ratio", "block", "blocks", "codec",
	       "filters");
}

static void put_place(const struct b2f_frame_info *info,
		      const struct b2f_chunk_info *c)
{
	char text[24];

	if (c->in_index)
		snprintf(text, sizeof(text), "index");
	else if (info->sparse)
		snprintf(text, sizeof(text), "%08" PRIX64 ".chunk", c->place);
	else
		snprintf(text, sizeof(text), "%" PRIu64,
			 info->header_len + c->place);
	printf("%-*s", PLACE_WIDTH, text);
}

static void put_stored(const struct widths *w, const struct b2f_chunk_info *c)
{
	char ratio[CLI_TEXT_SIZE], codec[CLI_INFO_CODEC];

	printf("  %*" PRIu64 "  %8s  %7" PRIu32 "  %6" PRIu32 "  ", w->size,
	       c->cbytes, cli_text_ratio(c->nbytes, c->cbytes, ratio),
	       c->blocksize, c->nblocks);
	printf("%-8s  ", cli_info_codec(c->codec, c->codec_meta, codec));
	cli_info_filters(c->filters, c->filters_meta);
}

static void put_chunk(const struct b2f_frame_info *info, const struct widths *w,
		      uint64_t nchunk, const struct b2f_chunk_info *c)
{
	printf("  %*" PRIu64 "  %-10s  ", w->number, nchunk,
	       b2f_chunk_kind_name(c->kind));
	put_place(info, c);
	printf("  %*" PRIu64, w->size, c->nbytes);
	if (!c->in_index)
		put_stored(w, c);
	putchar('\n');
}

int cli_info_chunks(struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);
	struct widths w = choose_widths(info);
	int first = 0;

	put_titles(&w);
	for (uint64_t i = 0; i < info->nchunks; i++) {
		struct b2f_chunk_info c;
		int err = b2f_frame_chunk_info(frame, i, &c);

		if (err)
			printf("  %*" PRIu64 "  unreadable\n", w.number, i);
		else
			put_chunk(info, &w, i, &c);
		if (err && !first)
			first = err;
	}
	return first;
}
