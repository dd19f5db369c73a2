/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * home.h - hidden directories of frames with several names, and their slots
 *
 * A directory cannot have hard links.  So a sparse frame with several names in
 * a mount lies at a *home*, a hidden directory, and its names are symbolic
 * links to that, beside it.  Each slot in the home has one of the names
 * (fuse/links.h has all states).  The links alone decide.
 *
 * Layer: for bloscfs and bloscctl alone (made by store/).  Threads: any;
 * b2f_home_add() and b2f_home_drop() one at a time.  Functions with descriptors
 * may block on I/O.
 */
#ifndef B2F_PROGRAMS_HOME_H
#define B2F_PROGRAMS_HOME_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "b2frame/error.h"

/* Room for any name and its 0. */
#define B2F_NAME_SIZE (NAME_MAX + 1)

/* Names that one frame can have. */
#define B2F_HOME_SLOTS 100

/* Chooses the name of a new home.  Returns 0 or -EIO. */
B2F_MUST_CHECK
int b2f_home_new(char home[B2F_NAME_SIZE]);

/* Is @name the name of a home?  A link to a home is a name of a frame. */
bool b2f_home_is(const char *name);

/*
 * Chooses a name for the file @name that is about to be replaced (aside.h),
 * with the same suffix.  Returns 0 or -EIO.
 */
B2F_MUST_CHECK
int b2f_home_new_aside(const char *name, char aside[B2F_NAME_SIZE]);

/* Is @aside such a name?  If it is: is it such a name for the file @name? */
bool b2f_home_is_aside(const char *aside);
bool b2f_home_is_aside_of(const char *aside, const char *name);

/*
 * The hash of @name, and that in the name @aside: if they differ, @aside is not
 * for @name.
 */
uint64_t b2f_home_hash(const char *name);
uint64_t b2f_home_aside_hash(const char *aside);

/* A symbolic link, which leads to a home or aside. */
enum b2f_home_link {
	/* It leads to neither. */
	B2F_HOME_NO_LINK,
	/* It is a name of the frame there. */
	B2F_HOME_NAME,
	/* It is a name until another file takes its place (aside.h). */
	B2F_HOME_UNTIL,
	/* It was a name until another file took its place; it leads nowhere. */
	B2F_HOME_DOOMED,
	/* The disk did not tell. */
	B2F_HOME_FAILED,
};

/*
 * Reads the link @name in @dirfd; @fd is an O_PATH descriptor of it, or -1.  If
 * it is a name of a frame, copies to @home the name of the frame's home, which
 * lies in the same directory.
 */
enum b2f_home_link b2f_home_link(int dirfd, const char *name, int fd,
			       char home[B2F_NAME_SIZE]);

/* Like b2f_home_link(); true for both kinds of names. */
bool b2f_home_of(int dirfd, const char *name, char home[B2F_NAME_SIZE]);

/* Would a symbolic link to @target count as a name of a frame? */
bool b2f_home_is_target(const char *target);

/* Room for the target of a link that is doomed when it is replaced. */
#define B2F_HOME_TARGET_SIZE (2 * B2F_NAME_SIZE + 4)

/*
 * Makes the target of a link to @home that is doomed once it has changed places
 * with the directory @old in the same directory, or, without that, as soon as
 * it is in another directory.
 */
void b2f_home_target(const char *home, const char *old,
		    char target[B2F_HOME_TARGET_SIZE]);

/*
 * Does the symbolic link @name in @dirfd, which leads to @home, count as a name
 * of the frame there?  Any user who may write to the directory can make a link:
 * it has to belong to the owner of @home, to us or to root, or to stand in a
 * slot.  Returns 1, 0, or an errno if that cannot be told.
 */
B2F_MUST_CHECK
int b2f_home_accepts(int dirfd, const char *name, const char *home);

/*
 * Is @name in @dirfd a link that counts as a name of the frame at @home?  For
 * @home itself: is it a link to itself?  Returns 1, 0, or an errno if that
 * cannot be told: then nothing may be removed.
 */
B2F_MUST_CHECK
int b2f_home_leads_to(int dirfd, const char *name, const char *home);

/*
 * The same, but also for a link that does not count: another user's mount may
 * have made it.
 */
B2F_MUST_CHECK
int b2f_home_points_to(int dirfd, const char *name, const char *home);

/*
 * Is @name in @dirfd a name of the frame at @home, beside it?  Returns 0,
 * -ESTALE (no), or an errno if that cannot be told.
 */
B2F_MUST_CHECK
int b2f_home_check_name(int dirfd, const char *name, const char *home);

/*
 * Has the frame at @home in @dirfd a name besides @but (NULL: any name)?  Looks
 * at the slots, and if they name none, at all links in the directory.  Returns
 * 1, 0, or an errno if that cannot be told: then the frame must not be removed.
 */
B2F_MUST_CHECK
int b2f_home_has_name(int dirfd, const char *home, const char *but);

/* The same, but looks at the slots alone. */
B2F_MUST_CHECK
int b2f_home_slots_have_name(int dirfd, const char *home, const char *but);

/* A file aside, as a rename that was not finished has left it. */
enum b2f_home_aside {
	/* It is shown: no rename has to be finished. */
	B2F_HOME_ALONE,
	/* A link leads to it: it is to be put back. */
	B2F_HOME_LINKED,
	/* Another file has its name: it only waits to be deleted. */
	B2F_HOME_REPLACED,
};

/*
 * Looks for the name of the file at @aside in @dirfd, and copies the name of
 * the link that leads to it to @link, which may be NULL.  Returns an enum
 * b2f_home_aside, or an errno if that cannot be told.
 */
B2F_MUST_CHECK
int b2f_home_find_aside(int dirfd, const char *aside, char link[B2F_NAME_SIZE]);

/*
 * Copies slot @i of the frame @fd, or "" if it cannot be read; false if it is
 * empty or invalid.
 */
bool b2f_home_slot(int fd, unsigned int i, char name[B2F_NAME_SIZE]);

/* Counts the slots of the frame @fd; 0: it is at no home. */
unsigned int b2f_home_count(int fd);

/* Puts @name into a slot, if it is in none.  Returns 0, -EMLINK or an errno. */
B2F_MUST_CHECK
int b2f_home_add(int fd, const char *name);

/* Empties slot @i; the last one takes its place.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_home_drop(int fd, unsigned int i);

/* Empties the slot of @name, if there is one.  Returns as b2f_home_drop(). */
B2F_MUST_CHECK
int b2f_home_forget(int fd, const char *name);

#endif
