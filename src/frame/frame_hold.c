/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_hold.c - keeps other writers from a frame */
#include "b2frame/convert.h"
#include "frame/frame.h"
#include "frame/frame_report.h"
#include "store/write.h"

/*
 * Keeps other writers of bloscfs out.  A contiguous frame that may only be read is
 * replaced without that: its writers have to be able to write to it.
 */
static int lock(struct b2f_frame *frame, struct b2f_why *why)
{
	int err = b2f_store_lock(frame->store, why);

	if (frame->store->sparse || err == -EBUSY || err == -ENOMEM)
		return err;
	return 0;
}

int b2f_frame_hold(struct b2f_frame *frame)
{
	struct b2f_frame_stamp now;
	struct b2f_why why = {""};
	int err;

	err = lock(frame, &why);
	if (!err)
		err = b2f_store_stamp_index(frame->store, &now);
	if (err)
		return b2f_frame_report(frame, err, &why);
	if (b2f_frame_stamp_equal(&now, &frame->stamp))
		return 0;
	b2f_why_set(&why, -ESTALE, "another program has changed it");
	return b2f_frame_report(frame, -ESTALE, &why);
}
