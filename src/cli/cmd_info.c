/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_info.c - bloscctl info: prints facts about frames */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/frame.h"
#include "b2frame/names.h"
#include "cli/at.h"
#include "cli/common.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/mounts.h"
#include "cli/need.h"
#include "cli/operands.h"
#include "cli/options.h"
#include "cli/server.h"
#include "cli/text.h"
#include "meta/escape.h"
#include "meta/msgpack.h"
#include "programs/table.h"

struct info {
	struct cli_common common;
	bool chunks;
	bool meta;
	/* A frame was printed. */
	bool again;
};

#define FIELD(name) offsetof(struct info, name)

static const struct cli_option table[] = {
	{.shared = cli_common_recursive},
	CLI_FLAG("chunks", 0, chunks, "every chunk as well"),
	CLI_FLAG("meta", 0, meta, "every metalayer as well"),
	CLI_OPTION("json", 0, NULL, cli_json_want, 0,
	 "all but the chunks as JSON; several frames as\n"
	 "an array; with --chunks, the chunks too"),
	{.shared = cli_common_frame_offset},
	{.shared = cli_common_quiet},
	{.shared = cli_server_reading_options},
	{0},
};

/* Opens _meta of the table to which the column @at belongs, if it is there. */
static int open_meta(const struct cli_at *at, struct b2f_frame **out)
{
	const struct b2f_frame_options how = {.label = B2F_TABLE_META};
	const char *column = at->key ? at->key : at->path;
	struct cli_at meta = *at;
	B2F_OWN char *path = NULL;
	size_t len;
	int err;

	/* On a server it would cost requests. */
	if (at->kind == CLI_KIND_URL || at->kind == CLI_KIND_STDIN ||
	    !b2f_table_has_column(column, &len))
		return -ENOENT;
	path = cli_need_text("%.*s" B2F_TABLE_META, (int)len, column);
	if (at->key)
		meta.key = path;
	else if (cli_at_is_named(at))
		meta = cli_at_named(path);
	else
		meta.name = "../" B2F_TABLE_META;
	cli_message_pause(true);
	err = cli_frames_open(&how, &meta, out);
	cli_message_pause(false);
	return err;
}

/*
 * Describes the rows of the CTable (programs/table.h) of which @frame at @at
 * is, by its name, a column; NULL: it is none, or their number is not known.
 * Looks for _meta beside _cols; prints no errors.
 */
static json_t *describe_table(const struct cli_at *at,
			      const struct b2f_frame *frame)
{
	const struct b2f_array *array = b2f_frame_array(frame);
	CLI_OWN_FRAME struct b2f_frame *meta = NULL;
	uint64_t nrows;

	if (!array || array->ndim == 0 || open_meta(at, &meta) != 0 ||
	    b2f_table_rows(meta, &nrows) != 0)
		return NULL;
	return json_pack("{s:I, s:I, s:b}", "rows", (json_int_t)nrows, "items",
			 (json_int_t)array->shape[0], "has_deleted",
			 (uint64_t)array->shape[0] != nrows);
}

/* Longer texts, and longer hex dumps, are cut. */
#define TEXT_SHOWN 160
#define HEX_SHOWN  32

static bool is_text(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (data[i] < 0x20 && data[i] != '\n' && data[i] != '\t')
			return false;
	return size > 0;
}

static void put_content(const uint8_t *data, size_t size)
{
	bool text = is_text(data, size);
	size_t most = text ? TEXT_SHOWN : HEX_SHOWN;
	size_t n = size < most ? size : most;

	if (b2f_msgpack_print(stdout, data, size))
		return;
	if (text)
		b2f_escape_put(stdout, (const char *)data, n);
	for (size_t i = 0; i < n && !text; i++)
		printf("%s%02x", i ? " " : "", data[i]);
	if (n < size)
		fputs(text ? "..." : " ...", stdout);
}

static void put_meta(const struct cli_meta *meta)
{
	printf("  %-10s  %8zu bytes  ", meta->is_vl ? "vlmeta" : "meta",
	       meta->info.size);
	b2f_escape_put(stdout, meta->info.name, meta->info.name_len);
	fputs(": ", stdout);
	put_content(meta->content, meta->info.size);
	putchar('\n');
}

/* Prints metalayers and vlmetalayers.  Returns as print_chunks(). */
static int print_metas(const struct b2f_frame *frame)
{
	int first = 0;

	for (size_t i = 0; i < cli_frames_nmetas(frame); i++) {
		struct cli_meta meta;
		int err = cli_frames_meta(frame, i, &meta);

		if (err)
			printf("  %-10s  unreadable\n", "vlmeta");
		else
			put_meta(&meta);
		first = first ? first : err;
		free(meta.decoded);
	}
	return first;
}

/* A codec, a list of filters. */
#define CODEC "[{?codec=unknown}codec {codec_id}|{codec}][ ({+codec_meta})]"
#define FILTERS                                                                \
	"[<filters|[{?name=unknown}unknown {id}|{name}][ ({+meta:signed})]>|"   \
	"none]"

/*
 * All but the chunks, as text (show.h): first the facts that people look for,
 * kind, size, writable or not.
 */
static const char info_text[] =
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
	char ratio[CLI_TEXT_SIZE] = "-";

	printf("  %5" PRIu64 "  %-10s  ", nchunk, b2f_chunk_kind_name(c->kind));
	if (c->in_index) {
		printf("%-14s  %10" PRIu64 "\n", "index", (uint64_t)c->nbytes);
		return;
	}
	put_place(info, c);
	if (c->cbytes)
		snprintf(ratio, sizeof(ratio), "%.2f",
			 (double)c->nbytes / (double)c->cbytes);
	printf("  %10" PRIu64 "  %10" PRIu64 "  %8s  %7" PRIu32 "  %6" PRIu32
	       "  ",
	       (uint64_t)c->nbytes, (uint64_t)c->cbytes, ratio, c->blocksize,
	       c->nblocks);
	put_codec(c);
	fputs("  ", stdout);
	put_filters(c);
}

/*
 * Prints one line per chunk, as soon as its head is read.  Returns 0, or the
 * first error after trying all; the causes are logged.
 */
static int print_chunks(struct b2f_frame *frame)
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

/* Adds values to those that decode; the others have an error already. */
static void set_values(json_t *object, const struct b2f_frame *frame)
{
	size_t nmeta = b2f_frame_info_get(frame)->nmeta;

	for (size_t i = 0; i < cli_frames_nmetas(frame); i++) {
		const char *list = i < nmeta ? "metalayers" : "vlmetalayers";
		json_t *entry = json_array_get(json_object_get(object, list),
					       i < nmeta ? i : i - nmeta);
		json_t *value = NULL;
		struct cli_meta meta;

		if (json_object_get(entry, "error"))
			continue;
		if (cli_frames_meta(frame, i, &meta) == 0)
			value = b2f_msgpack_json(meta.content, meta.info.size);
		if (value)
			json_object_set_new(entry, "value", value);
		free(meta.decoded);
	}
}

/* Adds facts from outside of the frame: the table, decoded metalayers. */
static void add_meanings(json_t *object, const struct cli_at *at,
			 const struct b2f_frame *frame)
{
	json_t *rows = describe_table(at, frame);

	set_values(object, frame);
	if (rows)
		json_object_set_new(object, "table", rows);
}

/*
 * Describes @frame, which is at @at, with @chunks too; metalayers in
 * MessagePack get a "value".  Free *@out.  Returns as b2f_frame_describe(),
 * which may set *@out in spite of an error; the causes are logged.
 */
static int describe(const struct cli_at *at, struct b2f_frame *frame,
		    bool chunks, json_t **out)
{
	B2F_OWN char *text = NULL;
	int err = b2f_frame_describe(frame, chunks, &text);

	*out = text ? json_loads(text, 0, NULL) : NULL;
	if (!*out)
		return err ? err : -ENOMEM;
	add_meanings(*out, at, frame);
	return err;
}

/* Prints @object as text or as JSON, and frees it. */
static void say(struct info *o, const struct cli_at *at, json_t *object)
{
	/* An empty line between frames. */
	if (o->again && !cli_json_wanted())
		putchar('\n');
	o->again = true;
	cli_json_say(info_text, at->path, object);
}

static int print_frame(struct info *o, const struct cli_at *at,
		       struct b2f_frame *frame)
{
	bool json = cli_json_wanted();
	json_t *object = NULL;
	int err, meta_err = 0;

	err = describe(at, frame, o->chunks && json, &object);
	cli_message_explain(b2f_frame_label(frame), err);
	if (object)
		say(o, at, object);
	if (!err && o->meta && !json)
		meta_err = print_metas(frame);
	if (!err && o->chunks && !json)
		err = print_chunks(frame);
	return err ? err : meta_err;
}

static int print_mounted(struct info *o, const struct cli_at *at,
			 json_t *object)
{
	if (!o->chunks && !o->meta) {
		say(o, at, object);
		return 0;
	}
	cli_message_error("%s: a mount does not show chunks and metalayers; "
			  "the frame is %s",
			  at->path,
			  json_string_value(json_object_get(object, "frame")));
	json_decref(object);
	return B2F_EUNSUPPORTED;
}

static int print_operand(void *arg, const struct cli_operand *operand)
{
	struct info *o = arg;
	uint64_t offset = o->common.frame_offset;
	const struct b2f_frame_options how = {.offset = offset,
					      .join_objects = true};
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	json_t *mounted = NULL;
	int err;

	/* A file in a mount is described by the mount. */
	if (!offset && operand->at.kind == CLI_KIND_PATH &&
	    !cli_frames_is_frame(&operand->at))
		mounted = cli_mounts_frame(&operand->at);
	if (mounted)
		return print_mounted(o, &operand->at, mounted);
	err = cli_frames_open(&how, &operand->at, &frame);
	return err ? err : print_frame(o, &operand->at, frame);
}

const struct cli_command cli_info_command = {
	.name = "info",
	.letter = "i",
	.summary = "show what a frame says about itself",
	.operands = "FRAME...",
	.help = "Shows the index of each FRAME; no data are decoded. For a "
		"file in a mount,\nshows the mount's description of the frame "
		"behind it. - stands for a contiguous\nframe on standard "
		"input.",
	.options = table,
	.size = sizeof(struct info),
	.start = &(const struct info){.common.nthreads = 1,
				      .common.no_progress = true,
				      .common.stores = true},
	.missing = "a frame is missing",
	.each = print_operand,
	.run = cli_operands_run,
};
