/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_copy.h - frames that the server copies itself
 *
 * Layer: remote.  May include: base/ store/ frame/.  Threads: one at a time.
 */
#ifndef B2F_REMOTE_REMOTE_COPY_H
#define B2F_REMOTE_REMOTE_COPY_H

#include "make/sink.h"
#include "frame/frame.h"
#include "remote/remote_place.h"

/*
 * Gives the chunks of @list numbers that no chunk in @to has, from @least on.  Returns 0,
 * -EXDEV (they cannot have other numbers, and there are chunks, or were below @least)
 * or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_choose_numbers(struct b2f_remote_place *to, uint64_t least,
			      struct b2f_copy_list *list, struct b2f_why *why);

/*
 * Has the server copy the chunks of @frame, a frame of the same remote, to @to, by
 * their numbers; no index names them there.  Returns 0, -ENOENT (one has gone) or an
 * error of requests; then some may be there.
 */
B2F_MUST_CHECK
int b2f_remote_copy_chunks(struct b2f_frame *frame, struct b2f_remote_place *to,
			   struct b2f_copy_list *list, struct b2f_why *why);

#endif
