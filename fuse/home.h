/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * home.h - where a frame with several names lies, and the slots in it
 *
 * links.h tells what they are for.  Nothing here knows whether they are true.
 *
 * Layer: fuse.  Threads: any; fs_home_add() and fs_home_drop() one at a time.
 * Functions with descriptors may block on I/O.
 */
#ifndef B2F_FUSE_HOME_H
#define B2F_FUSE_HOME_H

#include <stdbool.h>

#include "b2frame/error.h"
#include "suffix.h"

/* Names that one frame can have. */
#define FS_HOME_SLOTS 100

/* Chooses the name of a new home.  Returns 0 or -EIO. */
B2F_MUST_CHECK
int fs_home_new(char home[FS_NAME_SIZE]);

/* Is @name that of a home?  A link to such a name is a name of a frame. */
bool fs_home_is(const char *name);

/*
 * If @name in @dirfd ("": @dirfd itself, an O_PATH descriptor) is a symbolic
 * link to a home beside it, copies the home's name and returns true.
 */
bool fs_home_of(int dirfd, const char *name, char home[FS_NAME_SIZE]);

/* Copies slot @i of the frame @fd; false if it is empty or invalid. */
bool fs_home_slot(int fd, unsigned int i, char name[FS_NAME_SIZE]);

/* Counts the slots of the frame @fd; 0: it is at no home. */
unsigned int fs_home_count(int fd);

/* Puts @name into a slot, if it is in none.  Returns 0, -EMLINK or an errno. */
B2F_MUST_CHECK
int fs_home_add(int fd, const char *name);

/* Empties slot @i; the last one takes its place.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_home_drop(int fd, unsigned int i);

#endif
