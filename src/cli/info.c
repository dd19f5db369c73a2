/* SPDX-License-Identifier: BSD-3-Clause */
/* info.c - the facts about a frame, as an object and as text */
#include "cli/info.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/names.h"
#include "cli/info_table.h"
#include "cli/json.h"
#include "cli/show.h"
#include "cli/text.h"
#include "meta/msgpack.h"

/* A codec, a list of filters. */
#define CODEC "[{?codec=unknown}codec {codec_id}|{codec}][ ({+codec_meta})]"
#define FILTERS                                                                \
	"[<filters|[{?name=unknown}unknown {id}|{name}][ ({+meta:signed})]>|"   \
	"none]"

/* The facts that people look for first: kind, size, writable or not. */
const char cli_info_text[] =
	"{}\n"
	"[  frame        {+in_mount}\n]"
	"  kind         [{?stands_for}no data of its own"
	"|{?objects}serialized objects|{?array.npy}a .npy file|{?array}an array"
	"|{?tensor}plain data of an array"
	"|{!nbytes}{?vlmetalayers}no data, only attributes (see --meta)"
	"|plain data]\n"
	"[  stands for   {stands_for}\n]"
	"[  objects      {objects} of python-blosc2: serialized, no plain "
	"bytes\n]"
	"[{?array}  array        shape {array.shape:shape}, chunks "
	"{array.chunks:shape}, blocks {array.blocks:shape}\n"
	"  dtype        [{array.dtype}|not given]\n"
	"  in C order   {array.nbytes:bytes}[, padding {array.padding:bytes}]\n"
	"  shown as     [{?stands_for}nothing: its data are elsewhere"
	"|{?objects}nothing: it holds serialized objects"
	"|{!array.readable}nothing: it is not readable as an array"
	"|{?array.npy}a .npy file of {shown_nbytes:bytes}"
	"|its items in C order]\n]"
	"[  tensor       shape {tensor.shape:shape}, dtype {tensor.dtype}\n]"
	/* In a table with deleted rows, items of a column are not its rows. */
	"[  table        a column of a CTable of {table.rows} rows"
	"[{?table.has_deleted}, in {table.items} items: deleted rows are among "
	"them, see _valid_rows]\n]"
	"  decoded      {nbytes:bytes}\n"
	"  stored       {cbytes:bytes}, ratio {ratio:ratio}\n"
	"  writable     [{?writable}yes|no: {why}]\n"
	"  storage      [a Bloscpack file, checksums: {bloscpack.checksum}"
	"|[{?storage=sparse}sparse (a directory)|contiguous (a file)], format "
	"version {version}]\n"
	"  chunks       {nchunks}[ of {+chunksize:bytes}"
	"|{?chunksize=0} of variable size][, {+nspecial} in the index alone]\n"
	"  blocks       [{+blocksize:bytes}|automatic]\n"
	"  items        {typesize} byte[{!typesize=1}s]\n"
	"  codec        " CODEC "[{!bloscpack}, level {clevel}, blocks split "
	"[{?splitmode=auto}automatically|{?splitmode=forward-compat}"
	"forward-compatibly|{splitmode}][{?use_dict}, with dictionaries]]\n"
	"  filters      " FILTERS "\n"
	/* Names of vlmetalayers are compressed with them: see --meta. */
	"  metalayers   {metalayers:count}[: <metalayers|{name}>]; of variable "
	"length: {vlmetalayers:count}\n"
	"[{!bloscpack}  index        {index_nbytes:bytes}: header {header_len}, "
	"trailer {trailer_len}\n]";

static const char chunk_head[] =
	"  chunk  kind        stored at           nbytes      cbytes     ratio"
	"    block  blocks  codec     filters\n";

/* A frame may have millions of chunks: print without JSON objects. */
static void put_filters(const struct b2f_chunk_info *c)
{
	const char *separator = "";

	for (int i = 0; i < B2F_SLOTS; i++) {
		const char *name = b2f_filter_name(c->filters[i]);

		if (!c->filters[i])
			continue;
		printf("%s%s", separator, name);
		if (strcmp(name, "unknown") == 0)
			printf(" %u", c->filters[i]);
		/*
		 * Numbers of bits may be negative; those of channels are small.
		 */
		if (c->filters_meta[i])
			printf(" (%d)", (int)(int8_t)c->filters_meta[i]);
		separator = ", ";
	}
	puts(separator[0] ? "" : "none");
}

static void put_codec(const struct b2f_chunk_info *c)
{
	const char *name = b2f_codec_code_name(c->codec);

	if (strcmp(name, "unknown") == 0)
		printf("codec %u", c->codec);
	else
		printf("%-8s", name);
	if (c->codec_meta)
		printf(" (%u)", c->codec_meta);
}

static void put_place(const struct b2f_frame_info *info,
		      const struct b2f_chunk_info *c)
{
	if (info->sparse)
		printf("%08" PRIX64 ".chunk", c->place);
	else
		printf("%-14" PRIu64, info->header_len + c->place);
}

static void put_chunk(const struct b2f_frame_info *info, uint64_t nchunk,
		      const struct b2f_chunk_info *c)
{
	char ratio[CLI_TEXT_SIZE];

	printf("  %5" PRIu64 "  %-10s  ", nchunk, b2f_chunk_kind_name(c->kind));
	if (c->in_index) {
		printf("%-14s  %10" PRIu64 "\n", "index", (uint64_t)c->nbytes);
		return;
	}
	put_place(info, c);
	printf("  %10" PRIu64 "  %10" PRIu64 "  %8s  %7" PRIu32 "  %6" PRIu32 "  ",
	       (uint64_t)c->nbytes, (uint64_t)c->cbytes,
	       cli_text_ratio(c->nbytes, c->cbytes, ratio), c->blocksize,
	       c->nblocks);
	put_codec(c);
	fputs("  ", stdout);
	put_filters(c);
}

int cli_info_chunks(struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);
	int first = 0;

	fputs(chunk_head, stdout);
	for (uint64_t i = 0; i < info->nchunks; i++) {
		struct b2f_chunk_info c;
		int err = b2f_frame_chunk_info(frame, i, &c);

		if (err)
			printf("  %5" PRIu64 "  unreadable\n", i);
		else
			put_chunk(info, i, &c);
		first = first ? first : err;
	}
	return first;
}

static void set_value(json_t *list, size_t i, const uint8_t *content,
		      size_t size)
{
	json_t *value = b2f_msgpack_json(content, size);

	if (value)
		json_object_set_new(json_array_get(list, i), "value", value);
}

static void set_meta_values(json_t *list, const struct b2f_frame *frame)
{
	for (size_t i = 0; i < b2f_frame_info_get(frame)->nmeta; i++) {
		const uint8_t *content;
		struct b2f_meta_info info = b2f_frame_meta(frame, i, &content);

		set_value(list, i, content, info.size);
	}
}

/* Adds values to those that decode; the others have an error already. */
static void set_vlmeta_values(json_t *list, const struct b2f_frame *frame)
{
	for (size_t i = 0; i < b2f_frame_info_get(frame)->nvlmeta; i++) {
		struct b2f_meta_info info;
		uint8_t *content = NULL;

		if (json_object_get(json_array_get(list, i), "error"))
			continue;
		if (b2f_frame_vlmeta(frame, i, &info, &content) == 0)
			set_value(list, i, content, info.size);
		free(content);
	}
}

/* Adds facts from outside of the frame: the table, decoded metalayers. */
static void add_meanings(json_t *object, const struct cli_at *at,
			 const struct b2f_frame *frame)
{
	struct cli_table table;

	set_meta_values(json_object_get(object, "metalayers"), frame);
	set_vlmeta_values(json_object_get(object, "vlmetalayers"), frame);
	if (cli_info_table(at, frame, &table))
		json_object_set_new(
			object, "table",
			json_pack("{s:I, s:I, s:b}", "rows",
				  (json_int_t)table.nrows, "items",
				  (json_int_t)table.nitems, "has_deleted",
				  table.nitems != table.nrows));
}

int cli_info_object(const struct cli_at *at, struct b2f_frame *frame,
		    bool chunks, json_t **out)
{
	char *text = NULL;
	int err = b2f_frame_describe(frame, chunks, &text);

	*out = text ? json_loads(text, 0, NULL) : NULL;
	free(text);
	if (!*out)
		return err ? err : -ENOMEM;
	add_meanings(*out, at, frame);
	return err;
}
