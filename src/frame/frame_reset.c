/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_reset.c - an empty frame in the place of one that cannot be read */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "b2frame/repair.h"
#include "base/log_line.h"
#include "frame/frame.h"
#include "frame/settings.h"
#include "store/lock.h"
#include "store/write.h"

/* How long other programs' locks are waited for. */
#define LOCK_WAIT_MS 3000

static int reset(struct b2f_store *store, const struct b2f_settings *settings,
		 struct b2f_why *why)
{
	struct b2f_lock *lock = NULL;
	struct timespec now;
	uint8_t *index = NULL;
	size_t size = 0;
	int err;

	err = b2f_settings_index(settings, false, &index, &size, why);
	if (!err)
		err = b2f_store_lock(store, why);
	if (!err)
		err = b2f_lock_out(store, LOCK_WAIT_MS, &lock, why);
	clock_gettime(CLOCK_REALTIME, &now);
	if (!err)
		err = b2f_store_replace_index(store, index, size, &now, why);
	b2f_lock_close(lock);
	free(index);
	return err;
}

int b2f_frame_reset(const struct b2f_settings *settings, int dirfd,
		    const char *name, const struct b2f_frame_options *options)
{
	const char *label = options->label ? options->label : name;
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	int err;

	err = b2f_store_open(dirfd, name, !options->nofollow, &store, &why);
	if (!err && !store->sparse)
		err = -EROFS;
	if (!err)
		err = reset(store, settings, &why);
	b2f_store_free(store);
	if (err)
		b2f_log(options->log, B2F_LOG_ERROR, "%s: not made empty: %s",
			label, why.text[0] ? why.text : strerror(-err));
	else
		b2f_log(options->log, B2F_LOG_WARNING,
			"%s: could not be read; it was cut to nothing, and is "
			"an empty file now",
			label);
	return err;
}
