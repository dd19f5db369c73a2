/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * links.h - compressed files with several names
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
 * The link alone decides what is a name; slots only tell how many there are,
 * without a look at the whole directory.  A slot is made before its name and
 * goes after it, so the slots know all names that we have made; a wrong one is
 * corrected when a name is looked up.  Each step makes, removes or exchanges
 * one entry:
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
 * A frame that has one name left is called by it again.  All names are in one
 * directory, as a link that was moved would lead to nowhere.
 *
 * Layer: fuse.
 *
 * Threads: a request that changes names or slots holds fs->named_homes.lock.  The
 * kernel does one change of a directory at a time, but lookups may heal slots
 * meanwhile.  All functions may block on I/O.
 */
#ifndef B2F_FUSE_LINKS_H
#define B2F_FUSE_LINKS_H

#include "entry.h"
#include "fs.h"
#include "resolve.h"

/*
 * Completes @found: of one of several names, counts them and heals the slots; a
 * home that has names is not to be found.
 *
 * Returns 0, or -ENOENT (@found->probe is closed then).
 */
B2F_MUST_CHECK
int fs_links_look(struct fs *fs, int dirfd, struct fs_found *found);

/* Is @name in the directory @dirfd a home that is not shown? */
bool fs_links_hides(struct fs *fs, int dirfd, const char *name);

/* Deletes leftovers in the directory @dirfd, which is to be deleted. */
void fs_links_purge_at(struct fs *fs, int dirfd);

/*
 * The inode number of the frame of which the entry @name in the directory
 * @dirfd, of @type (DT_...) and number @ino, is a name; @ino if it is none.
 */
uint64_t fs_links_ino(int dirfd, const char *name, unsigned char type,
		      uint64_t ino);

/*
 * Makes @entry another name of the frame @node, for the caller of @req; of a
 * contiguous frame, a hard link.  Locked.
 *
 * Returns 0, -EMLINK, -EPERM (a sparse frame in another directory, or stored
 * without a suffix; the only file of the mount; or the backing filesystem
 * cannot exchange names), -EEXIST, -ESTALE, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int fs_links_add(fuse_req_t req, const struct fs_entry *entry,
		 struct fs_backed *node);

/*
 * Call this before the name @found goes from the directory of @entry: completes
 * the slots.  If it is the only name, calls the frame by it and returns true.
 * Locked.
 */
bool fs_links_prepare(const struct fs_entry *entry,
		      const struct fs_found *found);

/*
 * Call this after names of the frame of @found changed in the directory of
 * @entry: corrects the slots, and calls the frame by its name if only one is
 * left.  Locked.
 */
void fs_links_settle(const struct fs_entry *entry,
		     const struct fs_found *found);

/*
 * Deletes the name @found in @entry.  For the last name, gives it to the frame
 * again instead, and returns 1.  Locked.  Returns 1, 0 or an errno.
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
