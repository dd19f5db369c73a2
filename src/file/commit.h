/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * commit.h - commits for functions that hold the commit_lock
 *
 * Layer: file.  May include: base/ frame/.  Threads: the caller holds the
 * commit_lock of the file.
 */
#ifndef B2F_FILE_COMMIT_H
#define B2F_FILE_COMMIT_H

#include "b2frame/write.h"

/* Like b2f_file_try_commit(). */
B2F_MUST_CHECK
int b2f_commit_now(struct b2f_file *file, enum b2f_commit_how how);

#endif
