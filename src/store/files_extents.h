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

/*
 * Gives the first @size bytes of @fd one place on the disk, which counts as
 * unwritten until all of it is written.  Returns whether it has one.
 */
bool b2f_files_reserve(int fd, uint64_t size);

/* Like b2f_object_was_written(), for the first @size bytes of @fd. */
bool b2f_files_was_written(int fd, uint64_t size);

#endif
