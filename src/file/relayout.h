/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * relayout.h - turns a .npy file into an array, and back
 *
 * Layer: file.  May include: base/ frame/ array/.  Threads: any.
 */
#ifndef B2F_FILE_RELAYOUT_H
#define B2F_FILE_RELAYOUT_H

#include <stdint.h>

#include "base/attr.h"

struct b2f_file;
struct b2f_frame;

/*
 * Makes @file a plain frame of its first @keep shown bytes.  No lock is held.
 * Returns 0, or as b2f_file_pwrite(), and leaves @file unchanged.
 */
B2F_MUST_CHECK
int b2f_relayout_to_plain(struct b2f_file *file, uint64_t keep);

/*
 * Makes @file an array if it begins like a .npy file, or will after @size bytes
 * at @buf are written to @off; called before that write, so that bytes are not
 * encoded twice.  No lock is held.
 */
void b2f_relayout_before(struct b2f_file *file, const void *buf, uint64_t size,
		       uint64_t off);

/*
 * Makes @file, an array, the array of zeros @frame, which was derived from it.
 * The commit_lock and the write_lock are held.  Returns 0 or as
 * b2f_relayout_to_plain().
 */
B2F_MUST_CHECK
int b2f_relayout_to_zeros(struct b2f_file *file, struct b2f_frame *frame);

/*
 * Before a commit: makes an incomplete array plain, and a plain file that is a
 * whole .npy file an array, if possible.  The commit_lock and the write_lock
 * are held.  Returns as b2f_relayout_to_plain().
 */
B2F_MUST_CHECK
int b2f_relayout_for_commit(struct b2f_file *file);

#endif
