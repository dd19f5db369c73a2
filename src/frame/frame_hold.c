/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_hold.c - keeps other writers from a frame */
#include "b2frame/convert.h"
#include "frame/frame.h"
#include "store/write.h"

int b2f_frame_hold(struct b2f_frame *frame)
{
	struct b2f_frame_stamp now;
	struct b2f_why why = {""};
	struct stat st;
	int err = 0;

	if (frame->store->sparse)
		err = b2f_store_lock(frame->store, &why);
	if (!err)
		err = b2f_store_stat_index(frame->store, &st);
	if (err)
		return b2f_frame_report(frame, err, &why);
	now = b2f_frame_stamp_of(&st);
	if (b2f_frame_stamp_equal(&now, &frame->stamp))
		return 0;
	b2f_why_set(&why, -ESTALE, "another program has changed it");
	return b2f_frame_report(frame, -ESTALE, &why);
}
