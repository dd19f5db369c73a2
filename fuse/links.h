/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * links.h - sparse frames with several names (hard links)
 *
 * A directory cannot have hard links.  So a sparse frame with several names
 * lies at a *home* in their directory, and each name is a symbolic link to it,
 * by which C-Blosc2 opens it too:
 *
 *   a.b2frame -> .bloscfs-linked-ID.b2frame
 *   b.b2frame -> .bloscfs-linked-ID.b2frame
 *   .bloscfs-linked-ID.b2frame/          the frame; not shown
 *           .link.0 -> a.b2frame         its names: slots without gaps
 *           .link.1 -> b.b2frame
 *
 * Only the links count as names; the slots save a search of the whole
 * directory.  A slot is made before its name and removed after it, so the slots
 * have all names that a mount has made; a wrong slot is corrected when a name
 * is looked up.  Each step makes, removes or exchanges one entry:
 *
 *   state                          what is shown, and what becomes of it
 *   a.b2frame/, slot a             a, a frame like any other
 *   the same, home -> home         a; a link to itself is a leftover, which is
 *                                  never shown, and deleted when seen
 *   a -> home/, slot a             a; b is not made yet, or has just gone
 *   a -> home/, slots a, b         a, which seems to have two names until it is
 *                                  looked up
 *   a -> home/, b -> home/, slots  both
 *   the same, slot b is missing    both (another program has made b); slot b is
 *                                  made when b is looked up
 *   home/, without a name          .bloscfs-linked-ID: another program has
 *                                  deleted the names, not the frame
 *   a -> home, which is gone       a.b2frame, a symbolic link to nowhere
 *
 * When only one name is left, the frame itself takes it again.  All names are
 * in one directory, because a link that is moved elsewhere would lead nowhere.
 *
 * Layer: fuse.
 *
 * Threads: a request that changes names or slots holds fs->named_homes.lock,
 * and one that changes names also locks the directory against other mounts
 * (aside.h).  The kernel does one change of a directory at a time, but lookups
 * may heal slots meanwhile.  All functions may block on I/O.
 */
#ifndef B2F_FUSE_LINKS_H
#define B2F_FUSE_LINKS_H

#include "entry.h"
#include "fs.h"
#include "resolve.h"

/*
 * Completes @found: for one of several names, counts them and corrects the
 * slots.  Returns 0, or -ENOENT (a home with names; closes @found->probe).
 */
B2F_MUST_CHECK
int fs_links_look(struct fs *fs, int dirfd, struct fs_found *found);

/* Is @name in the directory @dirfd a home that is not shown? */
bool fs_links_hides(struct fs *fs, int dirfd, const char *name);

/* Like fs_aside_hides(), but reads @dirfd once for many names. */
bool fs_links_hides_aside(struct fs *fs, int dirfd, const char *name);

/* Deletes leftovers in the directory @dirfd, which is to be deleted. */
void fs_links_purge_at(struct fs *fs, int dirfd);

/*
 * Returns the inode number of the frame, if the entry @name in the directory
 * @dirfd, with @type (DT_...) and number @ino, is one of its names; otherwise
 * @ino.
 */
uint64_t fs_links_ino(int dirfd, const char *name, unsigned char type,
		      uint64_t ino);

/*
 * Begins a change of names in the directory of @entry.  End it with
 * fs_links_unlock() and the descriptor that this returns.
 */
int fs_links_lock(const struct fs_entry *entry);
void fs_links_unlock(struct fs *fs, int lock);

/*
 * Makes @entry another name of the frame @node; of a contiguous frame, a hard
 * link.  Locked.
 *
 * Returns 0, -EMLINK, -EPERM (a sparse frame in another directory, or stored
 * without a suffix; the only file of the mount; or the backing filesystem
 * cannot exchange names), -EEXIST, -ESTALE, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int fs_links_add(const struct fs_entry *entry, struct fs_backed *node);

/*
 * Call this before the name @found in the directory of @entry is removed:
 * completes the slots.  If it is the only name, moves the frame to it and
 * returns true.  Locked.
 */
bool fs_links_prepare(const struct fs_entry *entry,
		      const struct fs_found *found);

/*
 * Call this after names of the frame of @found changed in the directory of
 * @entry: corrects the slots, and moves the frame to its name if only one is
 * left.  Locked.
 */
void fs_links_settle(const struct fs_entry *entry,
		     const struct fs_found *found);

/*
 * Deletes the name @found in @entry.  If it is the last one, moves the frame to
 * it instead, and returns 1.  Locked.  Returns 1, 0 or an errno.
 */
B2F_MUST_CHECK
int fs_links_remove(const struct fs_entry *entry, const struct fs_found *found);

/*
 * Gives the frame @node, whose descriptor is @fd, a new ctime, because its
 * names changed.  A frame of another user keeps its ctime.  NULL does nothing.
 */
void fs_links_touch(struct fs *fs, struct fs_backed *node, int fd);

/* Empties all slots of the frame @fd, which leaves its home. */
void fs_links_forget(int fd);

#endif
