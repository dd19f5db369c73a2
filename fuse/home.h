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
 * Chooses a name for the file @name that is about to be replaced (aside.h), with
 * the same suffix.  Returns 0 or -EIO.
 */
B2F_MUST_CHECK
int fs_home_new_aside(const char *name, char aside[FS_NAME_SIZE]);

/* Is @aside such a name, or that of the file @name? */
bool fs_home_is_aside(const char *aside);
bool fs_home_is_aside_of(const char *aside, const char *name);

/* A symbolic link, which leads to a home or aside. */
enum fs_home_link {
	/* It does not. */
	FS_HOME_NO_LINK,
	/* It is a name of what lies there. */
	FS_HOME_NAME,
	/* The same, as long as no other file takes its place (aside.h). */
	FS_HOME_UNTIL,
	/* It was one until another file took its place; it leads nowhere now. */
	FS_HOME_DOOMED,
};

/*
 * Reads @name in @dirfd, of which @fd is an O_PATH descriptor or -1.  Of a name
 * copies what it leads to, which lies in the same directory.
 */
enum fs_home_link fs_home_link(int dirfd, const char *name, int fd,
			       char home[FS_NAME_SIZE]);

/* As fs_home_link(): true for both kinds of names. */
bool fs_home_of(int dirfd, const char *name, char home[FS_NAME_SIZE]);

/* Would a symbolic link to @target be taken for a name? */
bool fs_home_is_target(const char *target);

/* Room for the target of a link that is doomed when it is replaced. */
#define FS_HOME_TARGET_SIZE (2 * FS_NAME_SIZE + 4)

/*
 * Makes the target of a link to @home that is doomed once it has changed places
 * with the directory @old in the same directory, or, without that, as soon as it
 * is in another directory.
 */
void fs_home_target(const char *home, const char *old,
		    char target[FS_HOME_TARGET_SIZE]);

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
