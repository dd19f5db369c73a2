/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_change.c - making and removing objects and frames */
#include <stdlib.h>
#include <string.h>

#include "frame/settings.h"
#include "remote/conditions.h"
#include "remote/put.h"
#include "remote/remote_store.h"
#include "remote/sweeper.h"

int b2f_remote_allow_write(struct b2f_remote *remote, const char *path)
{
	struct b2f_why why = {""};
	int err = b2f_remote_probe(remote, path, &why);

	/* The bucket does not exist. */
	return b2f_remote_tell(remote, path, err, &why);
}

int b2f_remote_put(struct b2f_remote *remote, const char *path,
		   const void *bytes, size_t n,
		   const struct b2f_remote_stat *replaces,
		   struct b2f_remote_stat *out)
{
	const struct b2f_put_spec spec = {
		.path = path,
		.data = bytes,
		.size = n,
		.replaces = replaces,
		.note = {.marks = {b2f_note_draw()}, .nmarks = 1}};
	struct b2f_why why = {""};
	int err = b2f_remote_allow_write(remote, "");

	if (err)
		return err;
	err = b2f_put_run(remote, &spec, out, &why);
	if (err == -EEXIST || err == -ESTALE)
		return err;
	return b2f_remote_report(remote, path, err, &why);
}

int b2f_remote_remove(struct b2f_remote *remote, const char *path)
{
	struct b2f_removal removal = {.path = path};
	struct b2f_why why = {""};
	int err = b2f_remote_allow_write(remote, "");

	if (err)
		return err;
	err = b2f_remote_head(remote, path, &removal.version, &removal.note,
			      &why);
	if (err == -ENOENT)
		return 0;
	if (!err)
		err = b2f_removal_run(remote, &removal, &why);
	return b2f_remote_report(remote, path, err == -EAGAIN ? -ESTALE : err,
				 &why);
}

static int make_frame(struct b2f_remote *remote, const char *path,
		      const struct b2f_settings *settings,
		      const struct b2f_frame_options *options,
		      struct b2f_frame **out, struct b2f_why *why)
{
	B2F_OWN char *label = b2f_remote_join(remote->url.label, path);
	struct b2f_store *store = NULL;
	struct b2f_frame *frame = NULL;
	B2F_OWN uint8_t *index = NULL;
	size_t size = 0;
	int err = label ? b2f_settings_index(settings, false, &index, &size, why)
			: -ENOMEM;

	if (!err)
		err = b2f_remote_store_new(remote, path, true, &store);
	if (!err) {
		/* It has no index: the first commit makes it. */
		b2f_remote_store_place(store)->is_new = true;
		err = b2f_remote_place_fits(b2f_remote_store_place(store));
	}
	if (!err)
		err = b2f_frame_of_bytes(options, label, index, size, true,
					 &frame);
	if (!err) {
		b2f_store_free(frame->store);
		frame->store = store;
		store = NULL;
		err = b2f_store_stamp_index(frame->store, &frame->stamp);
	}
	if (err)
		b2f_frame_close(frame);
	else
		*out = frame;
	b2f_store_free(store);
	return err;
}

int b2f_remote_make_frame(struct b2f_remote *remote, const char *path,
			  const struct b2f_settings *settings,
			  const struct b2f_frame_options *options,
			  struct b2f_frame **out)
{
	struct b2f_remote_stat now;
	struct b2f_why why = {""};
	int err = b2f_remote_allow_write(remote, path);

	if (err)
		return err;
	err = b2f_remote_head_index(remote, path, &now, &why);
	if (err != -ENOENT)
		return err ? b2f_remote_report(remote, path, err, &why)
			   : -EEXIST;
	why = (struct b2f_why){""};
	err = make_frame(remote, path, settings, options, out, &why);
	return b2f_remote_report(remote, path, err, &why);
}
