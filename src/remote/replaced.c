/* SPDX-License-Identifier: BSD-3-Clause */
/* replaced.c - the frame that is there when another one is to get its place */
#include "remote/replaced.h"

#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "frame/frame.h"
#include "frame/txn_ids.h"

int b2f_replaced_find(struct b2f_remote_place *place, struct b2f_replaced *out,
		      struct b2f_why *why)
{
	char *path = b2f_remote_place_path(place, B2F_OBJECT_INDEX);
	char text[B2F_HTTP_NOTE_SIZE] = "";
	int err = path ? b2f_remote_head_text(place->remote, path, &out->index,
					      text, why)
		       : -ENOMEM;

	free(path);
	out->is_there = !err;
	if (err && err != -ENOENT)
		return err;
	if (err)
		*why = (struct b2f_why){""};
	b2f_note_read(text, &out->note);
	b2f_gone_fini(&out->gone);
	return b2f_gone_read(&out->gone, text);
}

int b2f_replaced_list(struct b2f_remote_place *place,
		      struct b2f_replaced *replaced, struct b2f_why *why)
{
	const struct b2f_frame_options options = {.log = NULL};
	struct b2f_frame_stamp stamp = b2f_remote_stamp(&replaced->index);
	struct b2f_frame *frame = NULL;
	int err = b2f_remote_open_frame(place->remote, place->path, &options,
					&frame);

	b2f_ids_fini(&replaced->ids);
	if (err == B2F_ECORRUPT || err == B2F_ENOTFRAME ||
	    err == B2F_EUNSUPPORTED)
		return 0;
	if (err == -ENOENT)
		err = -ESTALE;
	else if (err)
		return b2f_why_set(why, err, "it cannot be opened: %s",
				   b2f_strerror(err));
	else if (!b2f_frame_stamp_equal(&stamp, &frame->stamp))
		err = -ESTALE;
	else
		err = b2f_txn_frame_ids(frame, &replaced->ids);
	b2f_frame_close(frame);
	return err == -ESTALE ? b2f_why_set(why, err,
					    "another program changes it")
			      : err;
}

void b2f_replaced_fini(struct b2f_replaced *replaced)
{
	b2f_ids_fini(&replaced->ids);
	b2f_gone_fini(&replaced->gone);
}
