/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * suffix.h - the suffixes of frames: off a name, and onto one
 *
 * Strings only; which names exist is resolve.h's business, and which suffixes,
 * b2frame/names.h's.
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
 * If @name is a stem and a suffix, copies the stem and returns true.  False,
 * and @stem is untouched, if it has no suffix or if nothing, "." or ".." would
 * be left.
 */
bool fs_suffix_stem(const char *name, char stem[FS_NAME_SIZE]);

/*
 * The suffix of @name, B2F_SUFFIX_SPARSE if it has none that fs_suffix_stem()
 * takes.
 */
enum b2f_suffix fs_suffix_of(const char *name);

/*
 * The suffix for a frame that is to be shown as @name: that of arrays for a
 * .npy file, which is likely to become one; otherwise @otherwise.
 */
enum b2f_suffix fs_suffix_for(const char *name, enum b2f_suffix otherwise);

/*
 * Puts suffix @suffix behind @stem.  False, and @name is untouched, if that is
 * longer than NAME_MAX.
 */
bool fs_suffix_join(const char *stem, enum b2f_suffix suffix,
		    char name[FS_NAME_SIZE]);

#endif
