/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nearest.h - the name that a mistyped word was most likely meant to be
 *
 * Layer: fuse.  Threads: pure functions.
 */
#ifndef B2F_FUSE_NEAREST_H
#define B2F_FUSE_NEAREST_H

#include <stddef.h>

/*
 * How many letters have to be put in, left out, replaced or swapped with the
 * next one to get from @a to @b; more than 2 where either is longer than any
 * option.
 */
size_t fs_nearest_distance(const char *a, const char *b);

#endif
