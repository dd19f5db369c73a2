/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_reset.c - puts an empty frame in the place of an unreadable one */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "frame/frame.h"
#include "frame/frame_blank.h"
#include "frame/settings.h"
#include "programs/repair.h"
#include "store/lock.h"
#include "store/write.h"

/* How long to wait for locks of other programs. */
#define LOCK_WAIT_MS 3000

/* A damaged file of another format is left alone; zeros have no format. */
static int check_magic(struct b2f_store *store, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	uint8_t head[B2F_FRAME_HEADER_FIXED];
	size_t n;
	int err = b2f_object_open(store, B2F_OBJECT_INDEX, &object, why);

	if (err)
		return err;
	n = (size_t)b2f_min_u64(sizeof(head), object.size);
	err = b2f_object_read(&object, 0, head, n, why);
	b2f_object_close(&object);
	if (err || b2f_frame_magic(head, n))
		return err;
	err = b2f_frame_blank(store);
	if (err == B2F_BLANK_NOT)
		return b2f_why_set(why, -EROFS, "it does not begin as a frame");
	return err < 0 ? err : 0;
}

static int reset(struct b2f_store *store, const struct b2f_settings *settings,
		 struct b2f_why *why)
{
	struct b2f_lock *lock = NULL;
	struct timespec now;
	B2F_OWN uint8_t *index = NULL;
	size_t size = 0;
	int err = b2f_settings_index(settings, !b2f_store_is_sparse(store),
				     &index, &size, why);

	if (!err)
		err = b2f_store_lock(store, why);
	if (!err)
		err = b2f_lock_out(store, LOCK_WAIT_MS, &lock, why);
	clock_gettime(CLOCK_REALTIME, &now);
	if (!err)
		err = b2f_store_replace_index(store, index, size, &now, why);
	b2f_lock_close(lock);
	return err;
}

int b2f_frame_reset(const struct b2f_settings *settings, int dirfd,
		    const char *name, const struct b2f_frame_options *options)
{
	const char *label = options->label ? options->label : name;
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	int err = b2f_store_open(dirfd, name, !options->nofollow, &store, &why);

	if (!err && !b2f_store_is_sparse(store))
		err = check_magic(store, &why);
	if (!err && options->home_name)
		err = b2f_store_set_home(store, options->home_fd,
					 options->home_name);
	if (!err)
		err = reset(store, settings, &why);
	b2f_store_free(store);
	if (err)
		b2f_log(options->log, B2F_LOG_ERROR, "%s: not made empty: %s",
			label, b2f_why_text(&why, err));
	else
		b2f_log(options->log, B2F_LOG_WARNING,
			"%s: could not be read; it was cut to nothing, and is "
			"an empty file now",
			label);
	return err;
}
