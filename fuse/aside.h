/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aside.h - a file that another one is about to replace
 *
 * rename(2) replaces what is no directory in one step.  A directory can only
 * change places with another file; if NEW just did so, it would be at OLD's name
 * then, with its old bytes.  So NEW steps aside first: it goes to a hidden name
 * beside its own, which becomes a symbolic link to it.  The link goes by way of
 * OLD, if that is a directory beside it, or of the very directory that it is in: at
 * the place of OLD it leads nowhere, for C-Blosc2 as for us.  Each step changes one
 * entry, or exchanges two:
 *
 *   new/                                  NEW, as it was
 *   new/, ASIDE -> ASIDE                  the same; the link is never shown
 *   new -> old/../ASIDE, ASIDE/, old/     both as they were
 *   new/, old -> old/../ASIDE, ASIDE/     OLD is NEW; the link is doomed, and not
 *                                         shown; nor is what lies aside
 *   new/, ASIDE/                          the same
 *   new/                                  the same
 *
 * A file that replaces a directory is renamed over the link; a directory that comes
 * from elsewhere changes places with a link by way of ".", which dooms it there.
 *
 * After a crash, the next change or listing of a writable mount puts NEW back,
 * or deletes it.  A file that lies aside although nothing has taken its place
 * stays, and is shown: another program has taken the link away.  The
 * directories are locked (flock) as long as a mount is at it.
 *
 * Layer: fuse.  Threads: any, as the kernel makes one change of a directory at a
 * time.  All functions may block on I/O.
 */
#ifndef B2F_FUSE_ASIDE_H
#define B2F_FUSE_ASIDE_H

#include "entry.h"

/*
 * Locks the directory @path_fd against other mounts; waits for them, but not for
 * ever, as any user who can read the directory can lock it.  Close the descriptor to
 * unlock it; -1: there are no locks.
 */
int fs_aside_lock(int path_fd);

/*
 * Moves the file @what, which is @name in @dirfd, to @aside and makes @name a link
 * to it, which is doomed once it has changed places with the directory @old there;
 * NULL: with one from another directory, or none.
 *
 * Returns 0, or an errno and leaves all as it was: -ESTALE (@name is another file by
 * now); -EINVAL, -EPERM, -EOPNOTSUPP, -EXDEV (the backing filesystem cannot
 * exchange them, or has no symbolic links).
 */
B2F_MUST_CHECK
int fs_aside_step(int dirfd, const char *name, const struct stat *what,
		  const char *old, char aside[FS_NAME_SIZE]);

/* Moves what lies at @aside back to @name, a link to it.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_aside_return(int dirfd, const char *name, const char *aside);

/*
 * Makes @name, one of several names of the frame at @home, a link that is doomed as
 * by fs_aside_step(), or (@is_plain) one like the others again.  Returns 0 or an
 * errno.
 */
B2F_MUST_CHECK
int fs_aside_relink(int dirfd, const char *name, const char *home,
		    const char *old, bool is_plain);

/*
 * @found, at the @entry that is about to change, may have stayed aside when another
 * mount was killed: puts it back.  Returns 1 (look it up anew), 0 (it has not), or
 * an errno.  Waits for a mount that is at it.
 */
B2F_MUST_CHECK
int fs_aside_settle(const struct fs_entry *entry, const struct fs_found *found);

/* Does @aside in @dirfd wait for its file's return, or for its end? */
bool fs_aside_hides(int dirfd, const char *aside);

/*
 * A listing of @dirfd has come upon @name, which lies aside or is a link that is,
 * or can be, doomed: if no mount is at it, brings to an end what a crashed one has
 * begun.
 */
void fs_aside_finish(struct fs *fs, int dirfd, const char *name);

/* The same for all in @dirfd, which is about to be deleted. */
void fs_aside_finish_all(struct fs *fs, int dirfd);

#endif
