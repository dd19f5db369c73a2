/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_blank.c - a frame whose index has lost its content with the power */
#include "frame/frame_blank.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "frame/frame_read.h"
#include "frame/settings.h"
#include "store/write.h"

/* No index of a frame that was just made is longer. */
#define INDEX_MAX 1024

/* No file of a small frame is longer, whatever its mount is told. */
#define SMALL_MAX (UINT64_C(4) << 20)

/* Ends the listing at the first chunk file that an index may have named. */
static int is_chunk(void *arg, int64_t id)
{
	(void)arg;
	return id >= 0 && !(id & B2F_OBJECT_PENDING);
}

/* Are the bytes of the index, @max at most, all zeros, if there are any? */
static bool has_no_content(struct b2f_store *store, uint64_t max)
{
	uint8_t bytes[INDEX_MAX] = {0};
	struct b2f_object object = {.fd = -1};
	bool blank;

	if (b2f_object_open(store, B2F_OBJECT_INDEX, &object, NULL))
		return false;
	blank = object.size <= max;
	for (uint64_t off = 0; blank && off < object.size;
	     off += sizeof(bytes)) {
		size_t n = (size_t)b2f_min_u64(sizeof(bytes),
					       object.size - off);

		blank = !b2f_object_read(&object, off, bytes, n, NULL);
		for (size_t i = 0; blank && i < n; i++)
			blank = bytes[i] == 0;
	}
	b2f_object_close(&object);
	return blank;
}

bool b2f_frame_is_new_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

	return dot && dot != name &&
	       (!strcmp(dot, ".b2frame") || !strcmp(dot, ".b2nd"));
}

bool b2f_frame_is_blank(struct b2f_store *store)
{
	if (!store->sparse)
		return has_no_content(store, SMALL_MAX);
	return has_no_content(store, INDEX_MAX) &&
	       b2f_store_list(store, is_chunk, NULL) == 0;
}

int b2f_frame_read_blank(struct b2f_frame *f, int broken, struct b2f_why *why)
{
	const struct b2f_settings settings = b2f_settings_default();
	uint8_t *index = NULL;
	size_t size = 0;
	int err;

	if (!(f->store->sparse || b2f_frame_is_new_name(f->label)) ||
	    f->offset || !b2f_frame_is_blank(f->store))
		return broken;
	err = b2f_settings_index(&settings, !f->store->sparse, &index, &size, why);
	if (!err)
		err = b2f_frame_parse(f, index, size, why);
	f->blank = !err;
	free(index);
	return err;
}
