/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aside.h - moves a file aside that another one is about to replace
 *
 * rename(2) replaces a file that is no directory in one step.  A directory (a
 * sparse frame) can only be exchanged with another file; but then OLD's name
 * would show NEW with its old bytes.  So NEW is first moved aside: to a hidden
 * name beside its own, and its own name becomes a symbolic link to the hidden
 * one.  The link's path goes through OLD, if OLD is a directory beside NEW,
 * else through the link's own directory: moved to OLD's place, the link leads
 * nowhere, for C-Blosc2 as for us.  Each step changes one entry, or exchanges
 * two:
 *
 *   new/                                  NEW, as it was
 *   new/, ASIDE -> ASIDE                  the same; the link is never shown
 *   new -> old/../ASIDE, ASIDE/, old/     both as they were
 *   new/, old -> old/../ASIDE, ASIDE/     OLD is NEW; the doomed link and the
 *                                         file aside are not shown
 *   new/, ASIDE/                          the same
 *   new/                                  the same
 *
 * A file that replaces a directory is renamed over the link; a directory from
 * elsewhere is exchanged with a link through ".", which is doomed there.
 *
 * After a crash, the next change or listing of a writable mount puts NEW back,
 * or deletes it.  If another program has removed the link, the file that lies
 * aside stays, and is shown.  A mount locks the directories (flock) meanwhile.
 *
 * Layer: fuse.  Threads: any, as the kernel makes one change of a directory at
 * a time.  All functions may block on I/O.
 */
#ifndef B2F_FUSE_ASIDE_H
#define B2F_FUSE_ASIDE_H

#include "entry.h"
#include "name_set.h"

/*
 * Locks the directory @path_fd against other mounts.  Any user who can read it
 * can lock it, so after a while this goes on without the lock.  Close the
 * descriptor to unlock; -1: the directory cannot be opened.
 */
int fs_aside_lock(int path_fd);

/*
 * Moves the file @what, which is @name in @dirfd, to @aside, and makes @name a
 * link to it.  The link is doomed once it is exchanged with @old, a directory
 * in @dirfd; NULL: with a directory from elsewhere, or not at all.
 *
 * Returns 0; or an errno, and nothing has changed: -ESTALE (@name is another
 * file now); -EINVAL, -EPERM, -EOPNOTSUPP, -ENOSYS, -EXDEV (the backing
 * filesystem cannot exchange them, or has no symbolic links).
 */
B2F_MUST_CHECK
int fs_aside_step(int dirfd, const char *name, const struct stat *what,
		  const char *old, char aside[FS_NAME_SIZE]);

/*
 * Exchanges the file @what, which is @name in @dirfd, with the link @aside.
 * Returns 0; or -ESTALE (@name is another file now) or an errno, and @name is
 * what it was, unless the way back fails, too.
 */
B2F_MUST_CHECK
int fs_aside_exchange(int dirfd, const char *name, const struct stat *what,
		      const char *aside);

/*
 * Moves the file at @aside back to @name, a link to it.  Returns 0; or -ESTALE
 * (@name is another file now) or an errno, and nothing has changed.
 */
B2F_MUST_CHECK
int fs_aside_return(int dirfd, const char *name, const char *aside);

/*
 * Makes @name, one of several names of the frame at @home, a link that is
 * doomed as in fs_aside_step(), or with @is_plain an ordinary link again.
 * Returns 0; or -ESTALE (it is another file now) or an errno.
 */
B2F_MUST_CHECK
int fs_aside_relink(int dirfd, const char *name, const char *home,
		    const char *old, bool is_plain);

/*
 * Puts @found back, if a mount that was killed left it aside; @entry is about
 * to change.  Returns 1 (look the name up again), 0 (it was not aside), or an
 * errno.  Waits for a mount that is moving it.
 */
B2F_MUST_CHECK
int fs_aside_settle(const struct fs_entry *entry, const struct fs_found *found);

/*
 * Finds all files that lie aside in @dirfd, however many there are, and which
 * of them a link leads to, or have a name that another file has; *@out is empty
 * if that fails.  Free it with fs_name_set_fini().
 */
void fs_aside_find(int dirfd, struct fs_name_set *out);

/*
 * Was neither found for @aside?  A file with neither is not hidden, so no
 * rename has to be finished for it.
 */
bool fs_aside_is_alone(const struct fs_name_set *found, const char *aside);

/* Is @aside in @dirfd hidden, because its file is to be put back or deleted? */
bool fs_aside_hides(int dirfd, const char *aside);

/*
 * Call this when a listing of @dirfd finds @name, which lies aside, or is a
 * link that is or may be doomed.  Ends what a crashed mount began, unless a
 * mount is at work.
 */
void fs_aside_finish(struct fs *fs, int dirfd, const char *name);

/* The same for all names in @dirfd, which is about to be deleted. */
void fs_aside_finish_all(struct fs *fs, int dirfd);

#endif
