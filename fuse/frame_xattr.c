/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_xattr.c - facts about a frame as values of extended attributes */
#include <errno.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/names.h"
#include "frame_xattr.h"
#include "meta/msgpack.h"

#define VLMETA	   "vlmeta."
#define VLMETA_RAW "vlmeta_raw."

/* Longer MessagePack decodes to more than an attribute can hold. */
#define DECODED_MAX (4 * XATTR_SIZE_MAX)

static void put_filters(FILE *f, const struct b2f_frame_info *info)
{
	const char *separator = "";

	for (size_t i = 0; i < B2F_SLOTS; i++) {
		if (info->filters[i] == 0)
			continue;
		fprintf(f, "%s%s", separator,
			b2f_filter_name(info->filters[i]));
		separator = "+";
	}
	if (!*separator)
		fputs("none", f);
}

static void put_ratio(FILE *f, const struct b2f_frame_info *info)
{
	fprintf(f, "%.2f",
		info->cbytes ? (double)info->nbytes / (double)info->cbytes : 0);
}

/* Writes a list of @n numbers; those of a shape are 64 bits wide. */
static void put_list(FILE *f, unsigned int n, const int64_t *wide,
		     const int32_t *narrow)
{
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "%s%" PRId64, i ? ", " : "[",
			wide ? wide[i] : (int64_t)narrow[i]);
	fputs(n ? "]" : "[]", f);
}

/* Writes the fact @name.  Returns whether there is such a fact. */
static bool put_array_fact(FILE *f, const struct b2f_array *array,
			   const char *key)
{
	if (!array)
		return false;
	if (strcmp(key, "shape") == 0)
		put_list(f, array->ndim, array->shape, NULL);
	else if (strcmp(key, "chunks") == 0)
		put_list(f, array->ndim, NULL, array->chunkshape);
	else if (strcmp(key, "blocks") == 0)
		put_list(f, array->ndim, NULL, array->blockshape);
	else if (strcmp(key, "dtype") == 0 && array->dtype)
		fputs(array->dtype, f);
	else
		return false;
	return true;
}

/* A tensor that is stored as plain data has neither chunks nor blocks. */
static bool put_tensor_fact(FILE *f, const struct b2f_array *tensor,
			    const char *key)
{
	return (strcmp(key, "shape") == 0 || strcmp(key, "dtype") == 0) &&
	       put_array_fact(f, tensor, key);
}

static bool put_fact(FILE *f, const struct b2f_frame_info *info,
		     const char *key)
{
	if (strcmp(key, "typesize") == 0)
		fprintf(f, "%" PRIu32, info->typesize);
	else if (strcmp(key, "codec") == 0)
		fputs(b2f_codec_code_name(info->codec), f);
	else if (strcmp(key, "clevel") == 0)
		fprintf(f, "%u", info->clevel);
	else if (strcmp(key, "filters") == 0)
		put_filters(f, info);
	else if (strcmp(key, "nbytes") == 0)
		fprintf(f, "%" PRIu64, info->nbytes);
	else if (strcmp(key, "cbytes") == 0)
		fprintf(f, "%" PRIu64, info->cbytes);
	else if (strcmp(key, "ratio") == 0)
		put_ratio(f, info);
	else if (strcmp(key, "nchunks") == 0)
		fprintf(f, "%" PRIu64, info->nchunks);
	else
		return false;
	return true;
}

static int get_vlmeta(const struct b2f_frame *frame, const char *name,
		      bool is_raw, char **out, size_t *size)
{
	uint8_t *content = NULL;
	size_t n = 0;
	int err = b2f_frame_vlmeta_find(frame, name, &content, &n);

	if (err)
		return err;
	err = is_raw || n > DECODED_MAX
		      ? -EBADMSG
		      : b2f_msgpack_plain(content, n, out, size);
	if (err != -EBADMSG) {
		free(content);
		return err;
	}
	*out = (char *)content;
	*size = n;
	return 0;
}

int fs_frame_xattr_get(struct b2f_frame *frame, const char *name, char **out,
		       size_t *size)
{
	const char *key = name + sizeof(FS_FRAME_XATTR_PREFIX) - 1;
	char *text = NULL;
	bool found;
	FILE *f;
	int err;

	if (fs_frame_xattr_begins(key, VLMETA))
		return get_vlmeta(frame, key + sizeof(VLMETA) - 1, false, out,
				  size);
	if (fs_frame_xattr_begins(key, VLMETA_RAW))
		return get_vlmeta(frame, key + sizeof(VLMETA_RAW) - 1, true,
				  out, size);
	if (strcmp(key, "info") == 0) {
		err = b2f_frame_describe(frame, false, out);
		if (!err)
			*size = strlen(*out);
		return err;
	}
	f = open_memstream(&text, size);
	if (!f)
		return -ENOMEM;
	found = put_fact(f, b2f_frame_info_get(frame), key) ||
		put_array_fact(f, b2f_frame_array(frame), key) ||
		put_tensor_fact(f, b2f_frame_tensor(frame), key);
	err = fclose(f) ? -ENOMEM : found ? 0 : -ENODATA;
	if (err)
		free(text);
	else
		*out = text;
	return err;
}

static void put_name(FILE *f, const char *key)
{
	fprintf(f, FS_FRAME_XATTR_PREFIX "%s%c", key, 0);
}

int fs_frame_xattr_list(struct b2f_frame *frame, char **out, size_t *size)
{
	static const char *const keys[] = {"info",   "typesize", "codec",
					   "clevel", "filters",	 "nbytes",
					   "cbytes", "ratio",	 "nchunks"};
	static const char *const array_keys[] = {"shape", "chunks", "blocks",
						 "dtype"};
	size_t nvlmeta = b2f_frame_info_get(frame)->nvlmeta;
	bool no_memory = false;
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		put_name(f, keys[i]);
	for (size_t i = 0; b2f_frame_array(frame) && i < 4; i++)
		put_name(f, array_keys[i]);
	for (size_t i = 0; b2f_frame_tensor(frame) && i < 4; i += 3)
		put_name(f, array_keys[i]);
	for (size_t i = 0; i < nvlmeta; i++) {
		struct b2f_meta_info info;
		uint8_t *content = NULL;
		int err = b2f_frame_vlmeta(frame, i, &info, &content);

		free(content);
		no_memory |= err == -ENOMEM;
		/* A damaged vlmetalayer is not listed. */
		if (err)
			continue;
		/* A name of an attribute has no 0, and a maximum length. */
		if (strlen(info.name) == info.name_len &&
		    info.name_len < XATTR_NAME_MAX -
					    sizeof(FS_FRAME_XATTR_PREFIX) -
					    sizeof(VLMETA))
			fprintf(f, FS_FRAME_XATTR_PREFIX VLMETA "%s%c",
				info.name, 0);
	}
	if (fclose(f) || no_memory) {
		free(text);
		return -ENOMEM;
	}
	*out = text;
	return 0;
}
