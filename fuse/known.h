/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * known.h - what is told of the names of a backing directory, without asking
 *
 * To find out what NAME stands for, several backing names are looked for, of
 * which most do not exist (resolve.h).  So a directory in which many names are
 * looked for is *learned*: its names are read once, and inotify(7) tells of
 * each change since, by whatever program, before the call that made it returns.
 * Unlike a comparison of times, that misses no change within one tick of the
 * clock.
 *
 *   unknown   nothing is known; after some requests the directory is learned
 *   learning  its names are being read
 *   known     what is not in the set does not exist
 *
 * A listing asks of each file NAME.SUFFIX what it is shown as, which takes a
 * look at it.  If it is a frame, and the only entry with its stem, that is
 * noted with the name, until an event tells that this file was written to or
 * that an entry with the stem has come.  A file with several names is not
 * noted, as no event tells of writes by a name in another directory.  (If one
 * is added later, and the file is made into no frame by it, a listing has the
 * old name, and a lookup the right one.)  Of writes by mmap(2) the close of the
 * file tells.
 *
 * A directory stays unknown where events or names cannot be relied upon: on
 * filesystems that other machines can change, or that take two names for the
 * same; where it has too many names; and where inotify has nothing left.
 * Nothing but speed depends on it.  If events are lost, all is unknown again.
 *
 * Memory: at most 64 bytes for each of FS_KNOWN_NAMES names in all directories.
 *
 * Layer: fuse.
 *
 * Threads: any.  One lock, known->lock, under which events are read, which
 * never waits; taken with no other lock or after that of a listing.
 */
#ifndef B2F_FUSE_KNOWN_H
#define B2F_FUSE_KNOWN_H

#include <pthread.h>
#include <sys/types.h>

#include "name_set.h"

/* Directories of which something is kept, and names of all of them. */
#define FS_KNOWN_DIRS  512
#define FS_KNOWN_NAMES (1 << 17)

enum fs_known_state {
	FS_KNOWN_UNKNOWN,
	FS_KNOWN_LEARNING,
	FS_KNOWN_KNOWN,
};

struct fs_known_dir {
	dev_t dev;
	ino_t ino;
	enum fs_known_state state;
	/* Watch of inotify; 0: none. */
	int watch;
	/* Requests in it while it was unknown, and when to learn it. */
	unsigned int nasked;
	unsigned int learn_at;
	/* Marked: a frame in one file, shown by its stem. */
	struct fs_name_set names;
	/* Events tell of writes too, so that names can be marked. */
	bool hears_writes;
	/* Counts what has happened to @names; never set back. */
	uint64_t nevents;
};

struct fs_known {
	pthread_mutex_t lock;
	/* -1: no directory is ever known.  Const. */
	int events_fd;
	/* The rest is under the lock. */
	struct fs_known_dir *dirs;
	size_t nnames;
	/* The directory of the last event. */
	size_t last;
	/* Where to look next for a directory to forget. */
	size_t hand;
};

/* Without inotify or memory, no directory is ever known. */
void fs_known_init(struct fs_known *known);
void fs_known_fini(struct fs_known *known);

/*
 * Begins a request that looks for names in the directory @dev, @ino, of which
 * @fd is any descriptor: takes note of all changes up to now.  May learn the
 * directory, which blocks on I/O; @is_listed: all its names are about to be
 * looked for, so that it pays at once.
 */
void fs_known_enter(struct fs_known *known, dev_t dev, ino_t ino, int fd,
		    bool is_listed);

/* Are the names of the directory known?  Then only this kernel changes it. */
bool fs_known_has(struct fs_known *known, dev_t dev, ino_t ino);

/*
 * Is it known that the directory had no @name at the last fs_known_enter()?
 */
bool fs_known_lacks(struct fs_known *known, dev_t dev, ino_t ino,
		    const char *name);

/*
 * Is it known that @name, a plain file, is a frame that is shown by its stem?
 * If not, *@as_of is for fs_known_note_stem().
 */
bool fs_known_has_stem(struct fs_known *known, dev_t dev, ino_t ino,
		       const char *name, uint64_t *as_of);

/*
 * Notes that it is so, as was found out since fs_known_has_stem() gave
 * @as_of.  Does nothing if the directory has changed meanwhile, or has other
 * entries with the stem.
 */
void fs_known_note_stem(struct fs_known *known, dev_t dev, ino_t ino,
			const char *name, uint64_t as_of);

#endif
