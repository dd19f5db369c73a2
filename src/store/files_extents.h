/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files_extents.h - the state of a file's bytes on the disk
 *
 * Layer: store.  Threads: any.
 */
#ifndef B2F_STORE_FILES_EXTENTS_H
#define B2F_STORE_FILES_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Has the filesystem not given the first byte of @fd a place on the disk yet?
 */
bool b2f_files_is_delayed(int fd);

/* Like b2f_object_was_written(), for the first @size bytes of @fd. */
bool b2f_files_was_written(int fd, uint64_t size);

#endif
