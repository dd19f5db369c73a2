/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_blank.c - a frame whose index has lost its content with the power */
#include "frame/frame_blank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "base/checked.h"
#include "frame/frame_read.h"
#include "frame/settings.h"
#include "store/write.h"

/* No index of a frame that was just made is longer. */
#define INDEX_MAX 1024

/* A longer file is not read: its header was written by then. */
#define SMALL_MAX (UINT64_C(4) << 20)

/* Ends the listing at the first chunk file that an index may have named. */
static int is_chunk(void *arg, int64_t id)
{
	(void)arg;
	return id >= 0 && !(id & B2F_OBJECT_PENDING);
}

/* Are the bytes of @object all zeros, if there are any?  1, 0 or an errno. */
static int is_zeros(const struct b2f_object *object)
{
	uint8_t bytes[INDEX_MAX] = {0};

	for (uint64_t off = 0; off < object->size; off += sizeof(bytes)) {
		size_t n = (size_t)b2f_min_u64(sizeof(bytes),
					       object->size - off);

		int err = b2f_object_read(object, off, bytes, n, NULL);

		if (err)
			return err;
		for (size_t i = 0; i < n; i++)
			if (bytes[i])
				return 0;
	}
	return 1;
}

/* Looks at the index, which in a new frame has @max bytes at most. */
static int look(struct b2f_store *store, uint64_t max)
{
	struct b2f_object object = {.fd = -1};
	int ret = b2f_object_open(store, B2F_OBJECT_INDEX, &object, NULL);

	if (!ret)
		ret = object.size <= SMALL_MAX ? is_zeros(&object) : 0;
	if (ret > 0)
		ret = object.size > max || b2f_object_was_written(&object)
			      ? B2F_BLANK_LOST
			      : B2F_BLANK_NEW;
	b2f_object_close(&object);
	return ret;
}

bool b2f_frame_is_new_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

	return dot && dot != name &&
	       (!strcmp(dot, ".b2frame") || !strcmp(dot, ".b2nd"));
}

int b2f_frame_blank(struct b2f_store *store)
{
	bool sparse = b2f_store_is_sparse(store);
	int ret = look(store, sparse ? INDEX_MAX : SMALL_MAX), any = 0;

	if (sparse && ret == B2F_BLANK_NEW)
		any = b2f_store_list(store, is_chunk, NULL);
	if (any)
		ret = any < 0 ? any : B2F_BLANK_NOT;
	/* The index has gone, or was cut, since it could not be parsed. */
	return ret == -ENOENT || b2f_is_format_error(ret) ? B2F_BLANK_NOT : ret;
}

/* Gives @f the index of an empty frame. */
static int take_empty(struct b2f_frame *f, struct b2f_why *why)
{
	const struct b2f_settings settings = b2f_settings_default();
	B2F_OWN uint8_t *index = NULL;
	size_t size = 0;
	int err = b2f_settings_index(&settings, !b2f_store_is_sparse(f->store),
				     &index, &size, why);

	if (!err)
		err = b2f_frame_parse(f, index, size, why);
	f->blank = !err;
	return err;
}

int b2f_frame_read_blank(struct b2f_frame *f, int broken, struct b2f_why *why)
{
	bool may_be = b2f_store_is_sparse(f->store) ||
		      b2f_frame_is_new_name(f->label);
	int ret;

	if (f->offset || !may_be)
		return broken;
	ret = b2f_frame_blank(f->store);
	if (ret < 0)
		return b2f_why_set(why, ret, "read: %s", b2f_strerror(ret));
	if (ret == B2F_BLANK_NEW)
		return take_empty(f, why);
	if (ret == B2F_BLANK_LOST)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "zeros where its index was written");
	return broken;
}
