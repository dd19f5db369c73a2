/* SPDX-License-Identifier: BSD-3-Clause */
/* info.c - what the index and the chunks of a frame say, as text */
#include "cli/info.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "b2frame/names.h"
#include "cli/info_table.h"
#include "cli/text.h"
#include "meta/escape.h"

/* "0000002A.chunk"; a position in a file is not longer. */
#define PLACE_WIDTH 14

/* Room for every text of codec_text(). */
#define CODEC_SIZE 40

static void put_field(const char *name)
{
	printf("  %-12s ", name);
}

/* "1.2 GiB (1288490188 bytes)"; small sizes once. */
static void put_size(uint64_t nbytes)
{
	char text[CLI_TEXT_SIZE];

	if (nbytes < 1024)
		printf("%" PRIu64 " bytes", nbytes);
	else
		printf("%s (%" PRIu64 " bytes)", cli_text_size(nbytes, text),
		       nbytes);
}

/* "shuffle, bytedelta (8)"; "none" without any. */
static void put_filters(const uint8_t *filters, const uint8_t *metas)
{
	const char *separator = "";

	for (int i = 0; i < B2F_SLOTS; i++) {
		if (!filters[i])
			continue;
		printf("%s%s", separator, b2f_filter_name(filters[i]));
		if (strcmp(b2f_filter_name(filters[i]), "unknown") == 0)
			printf(" %u", filters[i]);
		/* Numbers of bits are signed; channels are few. */
		if (metas[i])
			printf(" (%d)", (int)(int8_t)metas[i]);
		separator = ", ";
	}
	if (!separator[0])
		fputs("none", stdout);
}

/* Writes the name of @codec, and @meta if that is not 0; returns @buf. */
static const char *codec_text(uint8_t codec, uint8_t meta,
			      char buf[CODEC_SIZE])
{
	const char *name = b2f_codec_code_name(codec);
	int n;

	if (strcmp(name, "unknown") == 0)
		n = snprintf(buf, CODEC_SIZE, "codec %u", codec);
	else
		n = snprintf(buf, CODEC_SIZE, "%s", name);
	if (meta && n < CODEC_SIZE)
		snprintf(buf + n, CODEC_SIZE - (size_t)n, " (%u)", meta);
	return buf;
}

static void put_chunks(const struct b2f_frame_info *info)
{
	put_field("chunks");
	printf("%" PRIu64, info->nchunks);
	if (info->chunksize > 0) {
		fputs(" of ", stdout);
		put_size((uint64_t)info->chunksize);
	} else if (info->chunksize == 0) {
		fputs(" of variable size", stdout);
	}
	if (info->nspecial)
		printf(", %" PRIu64 " in the index alone", info->nspecial);
	putchar('\n');
}

static void put_sizes(const struct b2f_frame_info *info)
{
	char ratio[CLI_TEXT_SIZE];

	put_field("decoded");
	put_size(info->nbytes);
	putchar('\n');
	put_field("stored");
	put_size(info->cbytes);
	printf(", ratio %s\n",
	       cli_text_ratio(info->nbytes, info->cbytes, ratio));
}

static void put_storage(const struct b2f_frame_info *info)
{
	put_field("storage");
	if (info->bloscpack)
		printf("a Bloscpack file, checksums: %s\n", info->bloscpack);
	else
		printf("%s, format version %u\n",
		       info->sparse ? "sparse (a directory)"
				    : "contiguous (a file)",
		       info->version);
	put_chunks(info);
	put_field("blocks");
	if (info->blocksize)
		put_size(info->blocksize);
	else
		fputs("automatic", stdout);
	putchar('\n');
	put_field("items");
	printf("%" PRIu32 " byte%s\n", info->typesize,
	       info->typesize == 1 ? "" : "s");
}

static void put_settings(const struct b2f_frame_info *info)
{
	static const char *const splits[] = {
		"", "always", "never", "automatically", "forward-compatibly"};
	const char *split = info->splitmode <= 4 ? splits[info->splitmode] : "";
	char codec[CODEC_SIZE];

	put_field("codec");
	codec_text(info->codec, info->codec_meta, codec);
	if (info->bloscpack)
		puts(codec);
	else
		printf("%s, level %u, blocks split %s%s\n", codec,
		       info->clevel, split,
		       info->use_dict ? ", with dictionaries" : "");
	put_field("filters");
	put_filters(info->filters, info->filters_meta);
	putchar('\n');
}

static void put_shape64(const int64_t *items, unsigned int n)
{
	putchar('(');
	for (unsigned int i = 0; i < n; i++)
		printf("%s%" PRId64, i ? ", " : "", items[i]);
	putchar(')');
}

static void put_shape32(const int32_t *items, unsigned int n)
{
	putchar('(');
	for (unsigned int i = 0; i < n; i++)
		printf("%s%" PRId32, i ? ", " : "", items[i]);
	putchar(')');
}

static void put_npy(const struct b2f_frame *frame)
{
	fputs("a .npy file of ", stdout);
	put_size(b2f_frame_shown_nbytes(frame));
}

/* What the array is as a file. */
static void put_order(const struct b2f_frame *frame)
{
	const struct b2f_array *array = b2f_frame_array(frame);
	uint64_t nbytes = array->nitems * array->itemsize;
	uint64_t stored = b2f_frame_info_get(frame)->nbytes;

	put_field("in C order");
	put_size(nbytes);
	if (stored >= nbytes) {
		fputs(", padding ", stdout);
		put_size(stored - nbytes);
	}
	putchar('\n');
	put_field("shown as");
	if (b2f_frame_stands_for(frame))
		fputs("nothing: its data are elsewhere", stdout);
	else if (b2f_frame_objects(frame))
		fputs("nothing: it holds serialized objects", stdout);
	else if (b2f_frame_shown_error(frame))
		fputs("nothing: it is not readable as an array", stdout);
	else if (b2f_frame_is_npy(frame))
		put_npy(frame);
	else
		fputs("its items in C order", stdout);
	putchar('\n');
}

static void put_array(const struct b2f_frame *frame)
{
	const struct b2f_array *array = b2f_frame_array(frame);

	put_field("array");
	fputs("shape ", stdout);
	put_shape64(array->shape, array->ndim);
	fputs(", chunks ", stdout);
	put_shape32(array->chunkshape, array->ndim);
	fputs(", blocks ", stdout);
	put_shape32(array->blockshape, array->ndim);
	putchar('\n');
	put_field("dtype");
	if (array->dtype)
		b2f_escape_put(stdout, array->dtype, strlen(array->dtype));
	else
		fputs("not given", stdout);
	putchar('\n');
	put_order(frame);
}

/* Items of a column are no rows any more after these were deleted. */
static void put_table(const struct cli_at *at, const struct b2f_frame *frame)
{
	struct cli_table table;

	if (!cli_info_table(at, frame, &table))
		return;
	put_field("table");
	printf("a column of a CTable of %" PRIu64 " rows", table.nrows);
	if (table.nitems != table.nrows)
		printf(", in %" PRIu64 " items: deleted rows are among them, "
		       "see _valid_rows",
		       table.nitems);
	putchar('\n');
}

/* An array that is stored as plain data. */
static void put_tensor(const struct b2f_array *tensor)
{
	put_field("tensor");
	fputs("shape ", stdout);
	put_shape64(tensor->shape, tensor->ndim);
	fputs(", dtype ", stdout);
	b2f_escape_put(stdout, tensor->dtype, strlen(tensor->dtype));
	putchar('\n');
}

static void put_meta_names(const struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);

	put_field("metalayers");
	printf("%zu", info->nmeta);
	for (size_t i = 0; i < info->nmeta; i++) {
		const uint8_t *content;
		struct b2f_meta_info meta = b2f_frame_meta(frame, i, &content);

		fputs(i ? ", " : ": ", stdout);
		b2f_escape_put(stdout, meta.name, meta.name_len);
	}
	/* Their names are compressed with them: see --meta. */
	printf("; of variable length: %zu\n", info->nvlmeta);
}

static void put_writable(struct b2f_frame *frame)
{
	const char *why = b2f_frame_obstacle(frame);

	put_field("writable");
	printf("%s%s\n", why ? "no: " : "yes", why ? why : "");
}

static void put_stands_for(const struct b2f_frame *frame)
{
	const char *text = b2f_frame_stands_for(frame);
	const char *objects = b2f_frame_objects(frame);

	if (text) {
		put_field("stands for");
		b2f_escape_put(stdout, text, strlen(text));
		putchar('\n');
	}
	if (objects) {
		put_field("objects");
		printf("%s of python-blosc2: serialized, no plain bytes\n",
		       objects);
	}
}

static void put_index(const struct b2f_frame_info *info)
{
	put_field("index");
	put_size(info->sparse ? info->frame_len
			      : info->frame_len - info->cbytes);
	printf(": header %" PRIu32 ", trailer %" PRIu32 "\n", info->header_len,
	       info->trailer_len);
}

static void put_kind(const struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);
	const char *kind = "plain data";

	if (b2f_frame_stands_for(frame))
		kind = "no data of its own";
	else if (b2f_frame_objects(frame))
		kind = "serialized objects";
	else if (b2f_frame_is_npy(frame))
		kind = "a .npy file";
	else if (b2f_frame_array(frame))
		kind = "an array";
	else if (b2f_frame_tensor(frame))
		kind = "plain data of an array";
	else if (info->nbytes == 0 && info->nvlmeta > 0)
		kind = "no data, only attributes (see --meta)";
	put_field("kind");
	puts(kind);
}

/* What a person looks for first: what it is, how large, may it be changed? */
void cli_info_summary(const struct cli_at *at, struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);

	cli_text_name(stdout, b2f_frame_label(frame));
	putchar('\n');
	put_kind(frame);
	put_stands_for(frame);
	if (b2f_frame_array(frame))
		put_array(frame);
	if (b2f_frame_tensor(frame))
		put_tensor(b2f_frame_tensor(frame));
	put_table(at, frame);
	put_sizes(info);
	put_writable(frame);
	put_storage(info);
	put_settings(info);
	put_meta_names(frame);
	if (!info->bloscpack)
		put_index(info);
}

static int digits(uint64_t n)
{
	char text[24];

	return snprintf(text, sizeof(text), "%" PRIu64, n);
}

/*
 * Of the table of chunks: known from the index, so nothing waits for the last
 * chunk.
 */
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
	char ratio[CLI_TEXT_SIZE], codec[CODEC_SIZE];

	printf("  %*" PRIu64 "  %8s  %7" PRIu32 "  %6" PRIu32 "  ", w->size,
	       c->cbytes, cli_text_ratio(c->nbytes, c->cbytes, ratio),
	       c->blocksize, c->nblocks);
	printf("%-8s  ", codec_text(c->codec, c->codec_meta, codec));
	put_filters(c->filters, c->filters_meta);
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
