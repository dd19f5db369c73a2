/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_blank.c - a frame whose index has lost its content with the power */
#include <stdlib.h>

#include "frame/frame.h"
#include "frame/settings.h"
#include "store/write.h"

/* Ends the listing at the first chunk file. */
static int is_chunk(void *arg, int64_t id)
{
	(void)arg;
	return id >= 0;
}

bool b2f_frame_is_blank(struct b2f_store *store)
{
	struct stat st;

	return store->sparse && !b2f_store_stat_index(store, &st) &&
	       S_ISREG(st.st_mode) && st.st_size == 0 &&
	       b2f_store_list(store, is_chunk, NULL) == 0;
}

int b2f_frame_read_blank(struct b2f_frame *f, struct b2f_why *why)
{
	const struct b2f_settings settings = b2f_settings_default();
	uint8_t *index = NULL;
	size_t size = 0;
	int err;

	if (!b2f_frame_is_blank(f->store))
		return B2F_ECORRUPT;
	err = b2f_settings_index(&settings, &index, &size, why);
	if (!err)
		err = b2f_frame_parse(f, index, size, why);
	f->blank = !err;
	free(index);
	return err;
}
