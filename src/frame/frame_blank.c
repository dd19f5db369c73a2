/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_blank.c - a frame whose index has lost its content with the power */
#include "frame/frame_blank.h"

#include <stdlib.h>

#include "frame/frame_read.h"
#include "frame/settings.h"
#include "store/write.h"

/* No index of a frame that was just made is longer. */
#define INDEX_MAX 1024

/* Ends the listing at the first chunk file that an index may have named. */
static int is_chunk(void *arg, int64_t id)
{
	(void)arg;
	return id >= 0 && !(id & B2F_OBJECT_PENDING);
}

/* Are all bytes of the index zeros, if there are any? */
static bool has_no_content(struct b2f_store *store)
{
	uint8_t bytes[INDEX_MAX] = {0};
	struct b2f_object object = {.fd = -1};
	bool blank;

	if (b2f_object_open(store, B2F_OBJECT_INDEX, &object, NULL))
		return false;
	blank = object.size <= sizeof(bytes) &&
		!b2f_object_read(&object, 0, bytes, object.size, NULL);
	for (size_t i = 0; blank && i < object.size; i++)
		blank = bytes[i] == 0;
	b2f_object_close(&object);
	return blank;
}

bool b2f_frame_is_blank(struct b2f_store *store)
{
	return store->sparse && has_no_content(store) &&
	       b2f_store_list(store, is_chunk, NULL) == 0;
}

int b2f_frame_read_blank(struct b2f_frame *f, int broken, struct b2f_why *why)
{
	const struct b2f_settings settings = b2f_settings_default();
	uint8_t *index = NULL;
	size_t size = 0;
	int err;

	if (!b2f_frame_is_blank(f->store))
		return broken;
	err = b2f_settings_index(&settings, &index, &size, why);
	if (!err)
		err = b2f_frame_parse(f, index, size, why);
	f->blank = !err;
	free(index);
	return err;
}
