/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * known.h - the names in backing directories, kept current by inotify
 *
 * A lookup of NAME tries several backing names, most of which do not exist
 * (resolve.h).  So a directory with many lookups is *learned*: the daemon reads
 * its names once, and inotify(7) then reports each change, by any program,
 * before the call that made it returns.  Unlike a comparison of times, this
 * misses no change within one tick of the clock.
 *
 *   unknown   nothing is known; after some requests the directory is learned
 *   learning  its names are being read
 *   known     a name that is not in the set does not exist
 *
 * A listing has to look at each file NAME.SUFFIX to find the name that it is
 * shown by.  If the file is a frame, and the only entry with its stem, its name
 * is marked, until an event reports a write to the file or a new entry with
 * that stem.  A file with hard links is not marked, because no event reports
 * writes through a name in another directory.  (If a link is added later, and
 * the file overwritten through it, a listing shows the old name, but a lookup
 * finds the right one.)  After writes by mmap(2) the close of the file is
 * reported.
 *
 * A directory stays unknown if events or names are not reliable: on filesystems
 * that other machines can change, or that ignore case; if it has too many
 * names; or if inotify has reached its limits.  Only speed depends on this.  If
 * events are lost, all directories become unknown.
 *
 * Memory: at most 64 bytes for each of FS_KNOWN_NAMES names in all directories.
 *
 * Layer: fuse.
 *
 * Threads: any.  The only lock is known->lock.  A thread holds it while it
 * reads events, which never waits, and takes it alone or after the lock of a
 * listing.
 */
#ifndef B2F_FUSE_KNOWN_H
#define B2F_FUSE_KNOWN_H

#include <pthread.h>
#include <sys/types.h>

#include "name_set.h"

/* How many directories, and how many names in all of them, are kept. */
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
	/* Requests while it was unknown, and how many make it learn. */
	unsigned int nasked;
	unsigned int learn_at;
	/* A marked name is a contiguous frame shown by its stem. */
	struct fs_name_set names;
	/* Events also report writes, so that names can be marked. */
	bool hears_writes;
	/* Counts the changes of @names; never set back. */
	uint64_t nevents;
};

struct fs_known {
	pthread_mutex_t lock;
	/* -1: no directory is ever known.  Never changes. */
	int events_fd;
	/* All below is under the lock. */
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
 * Call this when a request begins that looks for names in the directory @dev,
 * @ino, with @fd any descriptor of it.  Applies all changes up to now.  May
 * learn the directory, which blocks on I/O; @is_listed: at once, because all
 * its names will be looked for.
 */
void fs_known_enter(struct fs_known *known, dev_t dev, ino_t ino, int fd,
		    bool is_listed);

/* The knowledge of the last fs_known_enter() about a name; zeros: none. */
struct fs_known_name {
	/* The names of the directory are known: only this kernel changes them.
	 */
	bool is_known;
	/* The name may exist. */
	bool exists;
	/* It is marked as a frame that is shown by its stem. */
	bool has_stem;
	/* For fs_known_note_stem(). */
	uint64_t as_of;
};

struct fs_known_name fs_known_look(struct fs_known *known, dev_t dev, ino_t ino,
				   const char *name);

/*
 * The suffixes with which @stem may exist, as the last fs_known_enter() knew:
 * bit i for enum b2f_suffix i.
 */
unsigned int fs_known_suffixes(struct fs_known *known, dev_t dev, ino_t ino,
			       const char *stem);

/*
 * Marks @name as a frame shown by its stem, as found out since fs_known_look()
 * set @as_of.  Does nothing if the directory has changed
 * since, or has another entry with the stem.
 */
void fs_known_note_stem(struct fs_known *known, dev_t dev, ino_t ino,
			const char *name, uint64_t as_of);

#endif
