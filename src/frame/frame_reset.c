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

/* With the mode, owner and xattrs of the index that it replaces. */
static int write_index(struct b2f_store *store, const uint8_t *index,
		       size_t size, struct b2f_why *why)
{
	struct timespec now;
	int err;

	clock_gettime(CLOCK_REALTIME, &now);
	err = b2f_store_write_index(store, index, size, &now, true, why);
	if (!err)
		err = b2f_store_install(store, why);
	if (!err)
		err = b2f_store_sync_names(store, why);
	return err;
}

/* Keeps programs out that use the locks of C-Blosc2, if there are any. */
static int lock_out(struct b2f_store *store, struct b2f_lock **lock,
		    struct b2f_why *why)
{
	uint64_t generation;
	int err = b2f_lock_open(store, false, lock, why);

	if (err)
		return err == -ENOENT ? 0 : err;
	return b2f_lock_acquire(*lock, B2F_LOCK_EXCLUSIVE, LOCK_WAIT_MS,
				&generation, why);
}

static int reset(struct b2f_store *store, const struct b2f_settings *settings,
		 struct b2f_why *why)
{
	struct b2f_lock *lock = NULL;
	uint8_t *index = NULL;
	size_t size = 0;
	int err;

	err = b2f_settings_index(settings, false, &index, &size, why);
	if (!err)
		err = b2f_store_lock(store, why);
	if (!err)
		err = lock_out(store, &lock, why);
	if (!err)
		err = write_index(store, index, size, why);
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
