/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resources.h - how many descriptors and how much heap the process may use
 *
 * Layer: fuse.  Threads: from the only one, at the start.
 */
#ifndef B2F_FUSE_RESOURCES_H
#define B2F_FUSE_RESOURCES_H

#include <stddef.h>

/*
 * Raises RLIMIT_NOFILE as far as it goes.  Returns how many descriptors the
 * tree may keep open for convenience, at least 16; what is left is for files
 * that are in use.
 */
size_t fs_resources_raise_files(void);

/* Keeps the heap close to what is allocated from it. */
void fs_resources_tune_heap(void);

/* Loads what would otherwise be loaded when it may be too late. */
void fs_resources_load_early(void);

#endif
