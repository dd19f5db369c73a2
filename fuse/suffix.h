/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * suffix.h - takes the suffixes of frames off names, and adds them
 *
 * Handles strings only; resolve.h looks which names exist, b2frame/names.h
 * lists the suffixes.
 *
 * Layer: fuse.  Threads: pure functions.
 */
#ifndef B2F_FUSE_SUFFIX_H
#define B2F_FUSE_SUFFIX_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "b2frame/names.h"

/* Room for any name and its 0. */
#define FS_NAME_SIZE (NAME_MAX + 1)

/* Length of ".b2frame", for which every new name has to leave room. */
#define FS_SUFFIX_RESERVED 8

/* Length of the longest name of a new file. */
#define FS_NAME_MAX (NAME_MAX - FS_SUFFIX_RESERVED)

/*
 * If @name is a stem and a suffix, copies the stem and returns true.  Returns
 * false, with @stem untouched, if it has no suffix, or if the rest is empty,
 * "." or "..".
 */
bool fs_suffix_stem(const char *name, char stem[FS_NAME_SIZE]);

/* The suffix of @name; B2F_SUFFIX_SPARSE if fs_suffix_stem() finds none. */
enum b2f_suffix fs_suffix_of(const char *name);

/*
 * The suffix for a frame to be shown as @name: the suffix of arrays for a .npy
 * file, which is likely to become one; otherwise @otherwise.
 */
enum b2f_suffix fs_suffix_for(const char *name, enum b2f_suffix otherwise);

/*
 * Joins @stem and the suffix @suffix.  Returns false, with @name untouched, if
 * the result is longer than NAME_MAX.
 */
bool fs_suffix_join(const char *stem, enum b2f_suffix suffix,
		    char name[FS_NAME_SIZE]);

#endif
