/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_hold.c - keeps other writers from a frame */
#include "frame/frame_hold.h"
#include "b2frame/convert.h"
#include "frame/frame_report.h"
#include "store/lock.h"
#include "store/write.h"

/* How long to wait for locks of other programs. */
#define LOCK_WAIT_MS 10000

/*
 * Keeps other writers of bloscfs out.  A contiguous frame that we may only read
 * is replaced without a lock: its writers need write permission.
 */
static int lock(struct b2f_frame *frame, struct b2f_why *why)
{
	int err = b2f_store_lock(frame->store, why);
	bool may_only_read = err == -EACCES || err == -EPERM || err == -EROFS;

	return may_only_read && !frame->header.sparse ? 0 : err;
}

/* Checks that the opened version is still there; @err: the lock failed. */
static int check(struct b2f_frame *frame, int err, struct b2f_why *why)
{
	if (!err)
		err = b2f_frame_check_same(frame);
	if (err == -ESTALE)
		b2f_why_set(why, err, "another program has changed it");
	return err ? b2f_frame_report(frame, err, why) : 0;
}

int b2f_frame_hold(struct b2f_frame *frame)
{
	struct b2f_why why = {""};
	int err = lock(frame, &why);

	if (!err && !frame->held)
		err = b2f_lock_out(frame->store, LOCK_WAIT_MS, &frame->held,
				   &why);
	if (err)
		b2f_frame_let_in(frame);
	return check(frame, err, &why);
}

int b2f_frame_hold_to_look(struct b2f_frame *frame)
{
	struct b2f_why why = {""};
	int err = lock(frame, &why);

	return check(frame, err == -EROFS ? 0 : err, &why);
}

void b2f_frame_let_in(struct b2f_frame *frame)
{
	b2f_lock_close(frame->held);
	frame->held = NULL;
}
