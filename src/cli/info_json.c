/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_json.c - what a frame says about itself, as JSON
 *
 * The library writes it, but does not know what metalayers mean.
 */
#include <jansson.h>
#include <stdlib.h>

#include "cli/info.h"
#include "cli/info_table.h"
#include "meta/msgpack.h"

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

/* Of those that decode; the others have an error already. */
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

/*
 * Puts the values into @text; without memory it stays as it is.  15 digits: all
 * that a number which was written with fewer needs to stay what it was.
 */
static char *with_values(const struct cli_at *at,
			 const struct b2f_frame *frame, char *text)
{
	json_t *object = json_loads(text, 0, NULL);
	struct cli_table table;
	char *more;

	if (!object)
		return text;
	set_meta_values(json_object_get(object, "metalayers"), frame);
	set_vlmeta_values(json_object_get(object, "vlmetalayers"), frame);
	if (cli_info_table(at, frame, &table))
		json_object_set_new(
			object, "table",
			json_pack("{s:I, s:I}", "rows", (json_int_t)table.nrows,
				  "items", (json_int_t)table.nitems));
	more = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	json_decref(object);
	if (!more)
		return text;
	free(text);
	return more;
}

int cli_info_json(const struct cli_at *at, struct b2f_frame *frame,
		  bool chunks, char **out)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);
	int err = b2f_frame_describe(frame, chunks, out);

	if (*out && info->nmeta + info->nvlmeta > 0)
		*out = with_values(at, frame, *out);
	return err;
}
