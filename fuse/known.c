/* SPDX-License-Identifier: BSD-3-Clause */
/* known.c - the names in backing directories, kept current by inotify */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dir.h"
#include "known.h"
#include "programs/directory.h"
#include "programs/io.h"
#include "suffix.h"

/*
 * Without IN_MOVED_FROM: an exchange of two names is reported as if each were
 * gone for a moment, but both always exist.  So a name that was moved away
 * stays in the set, and is looked for in vain.
 */
#define EVENTS                                                                 \
	(IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR | IN_MASK_CREATE)

/* Also for directories that are listed. */
#define WRITE_EVENTS (IN_MODIFY | IN_CLOSE_WRITE)

#define EVENTS_SIZE 4096
#define EVENT_MAX   (sizeof(struct inotify_event) + NAME_MAX + 1)

/* Learning takes about as long as so many lookups. */
#define LEARN_AT 8

/* A directory may have so many names per request before it is learned. */
#define NAMES_PER_REQUEST 256

void fs_known_init(struct fs_known *known)
{
	pthread_mutex_init(&known->lock, NULL);
	known->events_fd = -1;
	known->dirs = calloc(FS_KNOWN_DIRS, sizeof(known->dirs[0]));
	if (known->dirs)
		known->events_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

/* Forgets the names of @dir.  @unwatch: removes its watch, too.  Locked. */
static void forget(struct fs_known *known, struct fs_known_dir *dir,
		   bool unwatch)
{
	known->nnames -= dir->names.nnames;
	fs_name_set_fini(&dir->names);
	if (dir->watch && unwatch)
		inotify_rm_watch(known->events_fd, dir->watch);
	dir->watch = 0;
	dir->state = FS_KNOWN_UNKNOWN;
	dir->nasked = 0;
	dir->hears_writes = false;
	dir->nevents++;
}

void fs_known_fini(struct fs_known *known)
{
	for (size_t i = 0; known->dirs && i < FS_KNOWN_DIRS; i++)
		fs_name_set_fini(&known->dirs[i].names);
	free(known->dirs);
	fs_dir_close(known->events_fd);
	pthread_mutex_destroy(&known->lock);
}

static void forget_all(struct fs_known *known)
{
	for (size_t i = 0; i < FS_KNOWN_DIRS; i++)
		forget(known, &known->dirs[i], true);
}

/* Adds a name; without room for it, forgets the directory.  Locked. */
static void add(struct fs_known *known, struct fs_known_dir *dir,
		struct fs_name_hash hash)
{
	size_t before = dir->names.nnames;
	int err = fs_name_set_add(&dir->names, hash);

	known->nnames += dir->names.nnames - before;
	if (err || known->nnames > FS_KNOWN_NAMES)
		forget(known, dir, true);
}

static void remove_name(struct fs_known *known, struct fs_known_dir *dir,
			struct fs_name_hash hash)
{
	known->nnames -= dir->names.nnames;
	fs_name_set_remove(&dir->names, hash);
	known->nnames += dir->names.nnames;
}

/* Called for the other names that have the stem @stem. */
typedef bool name_fn(struct fs_name_set *names, struct fs_name_hash hash);

/*
 * Calls @fn for each name that is @stem with a suffix, except @name.  Returns
 * whether there was one.
 */
static bool any_with_stem(struct fs_known_dir *dir, const char *stem,
			  const char *name, name_fn *fn)
{
	char other[FS_NAME_SIZE];
	bool any = false;

	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES; i++)
		if (fs_suffix_join(stem, i, other) && strcmp(other, name) != 0)
			any |= fn(&dir->names, fs_name_hash(other));
	return any;
}

static bool unmark(struct fs_name_set *names, struct fs_name_hash hash)
{
	fs_name_set_mark(names, hash, false);
	return false;
}

static bool has(struct fs_name_set *names, struct fs_name_hash hash)
{
	return fs_name_set_has(names, hash);
}

/* @name is new: a frame with its stem may not be shown by it now. */
static void unmark_others(struct fs_known_dir *dir, const char *name)
{
	char stem[FS_NAME_SIZE];

	if (!dir->hears_writes)
		return;
	(void)any_with_stem(dir, name, name, unmark);
	if (fs_suffix_stem(name, stem))
		(void)any_with_stem(dir, stem, name, unmark);
}

static struct fs_known_dir *find_watch(struct fs_known *known, int watch)
{
	size_t i = known->dirs[known->last].watch == watch ? known->last : 0;

	while (i < FS_KNOWN_DIRS && known->dirs[i].watch != watch)
		i++;
	if (i == FS_KNOWN_DIRS)
		return NULL;
	known->last = i;
	return &known->dirs[i];
}

/* Applies one event; locked. */
static void apply(struct fs_known *known, const struct inotify_event *event)
{
	struct fs_known_dir *dir;

	if (event->mask & IN_Q_OVERFLOW) {
		forget_all(known);
		return;
	}
	dir = find_watch(known, event->wd);
	/* The event is of a watch that was removed before. */
	if (!dir)
		return;
	dir->nevents++;
	if (event->mask & IN_IGNORED) {
		forget(known, dir, false);
	} else if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
		unmark_others(dir, event->name);
		add(known, dir, fs_name_hash(event->name));
	} else if (event->mask & IN_DELETE) {
		remove_name(known, dir, fs_name_hash(event->name));
	} else if (event->len > 0) {
		(void)unmark(&dir->names, fs_name_hash(event->name));
	}
}

/* Applies all pending events; locked. */
static void read_events(struct fs_known *known)
{
	_Alignas(struct inotify_event) char buf[EVENTS_SIZE];
	ssize_t n;

	do {
		const struct inotify_event *event;

		n = read(known->events_fd, buf, sizeof(buf));
		for (ssize_t i = 0; i < n;
		     i += (ssize_t)(sizeof(*event) + event->len)) {
			event = (const void *)(buf + i);
			apply(known, event);
		}
		/* With room left for any event, there was no other. */
	} while (n > (ssize_t)(sizeof(buf) - EVENT_MAX));
	if (n < 0 && errno != EAGAIN)
		forget_all(known);
}

/* The only place that the table has for a directory; locked. */
static struct fs_known_dir *place_of(struct fs_known *known, dev_t dev,
				     ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 32) *
		     UINT64_C(0x9e3779b97f4a7c15);

	return &known->dirs[(h >> 32) % FS_KNOWN_DIRS];
}

/* Finds the directory; NULL: its requests are not even counted.  Locked. */
static struct fs_known_dir *find(struct fs_known *known, dev_t dev, ino_t ino)
{
	struct fs_known_dir *dir = place_of(known, dev, ino);

	return dir->dev == dev && dir->ino == ino ? dir : NULL;
}

/* Forgets other directories until @dir has room for @n more names; locked. */
static void make_room(struct fs_known *known, const struct fs_known_dir *dir,
		      size_t n)
{
	for (size_t i = 0;
	     i < FS_KNOWN_DIRS && known->nnames + n > FS_KNOWN_NAMES; i++) {
		struct fs_known_dir *other = &known->dirs[known->hand];

		known->hand = (known->hand + 1) % FS_KNOWN_DIRS;
		if (other != dir && other->state == FS_KNOWN_KNOWN)
			forget(known, other, true);
	}
}

/*
 * Does inotify report all changes of names there?  False if another machine or
 * daemon can make them, and for encrypted names, which change when the key is
 * added.
 */
static bool is_told_of(int fd)
{
	unsigned int flags = 0;

	return fs_dir_is_local(fd) && (ioctl(fd, FS_IOC_GETFLAGS, &flags) ||
				       !(flags & FS_ENCRYPT_FL));
}

/* The names of a directory that are being read. */
struct reading {
	struct fs_name_set names;
	size_t max;
	/* A name with its case changed; "": no name has a letter. */
	char other_case[NAME_MAX + 1];
};

static bool swap_case(char *name)
{
	size_t n = strcspn(name, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	if (!name[n])
		return false;
	name[n] = (char)(name[n] ^ 'a' ^ 'A');
	return true;
}

static int take(void *arg, int dirfd, const struct dirent *d)
{
	struct reading *r = arg;

	(void)dirfd;
	if (r->names.nnames == r->max)
		return -EFBIG;
	if (!r->other_case[0]) {
		snprintf(r->other_case, sizeof(r->other_case), "%s",
			 d->d_name);
		if (!swap_case(r->other_case))
			r->other_case[0] = '\0';
	}
	return fs_name_set_add(&r->names, fs_name_hash(d->d_name));
}

/* Does the directory distinguish "a" from "A"?  Unknown without letters. */
static bool tells_case(const struct reading *r, int fd)
{
	int found;

	if (!r->other_case[0])
		return false;
	if (fs_name_set_has(&r->names, fs_name_hash(r->other_case)))
		return true;
	/* O_PATH, because the name may lead into our own mount. */
	found = openat(fd, r->other_case, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	fs_dir_close(found);
	return found < 0 && errno == ENOENT;
}

/* Reads all names of the directory, unless they are too many. */
static int read_names(int fd, struct reading *r)
{
	int dirfd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (dirfd < 0)
		return -errno;
	err = is_told_of(dirfd) ? b2f_directory_each(dirfd, ".", take, r)
				: -ENOTSUP;
	if (!err && !tells_case(r, dirfd))
		err = -ENOTSUP;
	close(dirfd);
	return err;
}

static int add_watch(struct fs_known *known, int fd, uint32_t events)
{
	char path[FS_DIR_PATH_SIZE];
	int wd;

	fs_dir_path(fd, path);
	wd = inotify_add_watch(known->events_fd, path, events);
	return wd < 0 ? -errno : wd;
}

/*
 * Begins to watch the directory, whose events are applied from now on.  Returns
 * the watch, or an errno.  Locked, so that no event is taken for one of an
 * older watch.
 */
static int watch(struct fs_known *known, struct fs_known_dir *dir, int fd)
{
	int wd = add_watch(known, fd, EVENTS);

	if (wd < 0)
		return wd;
	dir->watch = wd;
	dir->state = FS_KNOWN_LEARNING;
	return wd;
}

/* A known directory is being listed: watch for writes, too. */
static void hear_writes(struct fs_known *known, dev_t dev, ino_t ino, int fd)
{
	int wd = -ENOENT;
	B2F_HOLD(&known->lock);
	struct fs_known_dir *dir = find(known, dev, ino);

	if (dir && dir->watch && !dir->hears_writes)
		wd = add_watch(known, fd,
			       WRITE_EVENTS | IN_ONLYDIR | IN_MASK_ADD);
	/* The old watch went with its directory: this is another directory. */
	if (wd >= 0 && wd != dir->watch)
		inotify_rm_watch(known->events_fd, wd);
	else if (wd >= 0)
		dir->hears_writes = true;
}

/* Adds the names that were read to those that events reported.  Locked. */
static void merge(struct fs_known *known, struct fs_known_dir *dir,
		  const struct reading *r)
{
	make_room(known, dir, r->names.nnames);
	for (size_t i = 0; i < r->names.nslots; i++) {
		const struct fs_name_hash *hash = &r->names.slots[i];

		if ((hash->low | hash->high) &&
		    dir->state == FS_KNOWN_LEARNING)
			add(known, dir, *hash);
	}
	if (dir->state == FS_KNOWN_LEARNING)
		dir->state = FS_KNOWN_KNOWN;
}

/*
 * Learns the directory @dev, @ino, which is @fd.  A name that is removed
 * meanwhile may stay in the set: it is looked for in vain.
 */
static void learn(struct fs_known *known, dev_t dev, ino_t ino, int fd,
		  size_t max)
{
	struct reading r = {.max = max};
	struct fs_known_dir *dir;
	int wd = -ENOENT, err;

	pthread_mutex_lock(&known->lock);
	dir = find(known, dev, ino);
	if (dir && dir->state == FS_KNOWN_UNKNOWN)
		wd = watch(known, dir, fd);
	pthread_mutex_unlock(&known->lock);
	if (wd < 0)
		return;
	err = read_names(fd, &r);
	B2F_HOLD(&known->lock);
	dir = find_watch(known, wd);
	if (dir && !err)
		merge(known, dir, &r);
	else if (dir)
		forget(known, dir, true);
	fs_name_set_fini(&r.names);
}

/* Counts a request.  Returns how many names to learn at most; locked. */
static size_t count(struct fs_known *known, dev_t dev, ino_t ino,
		    bool is_listed)
{
	struct fs_known_dir *dir = place_of(known, dev, ino);

	if (dir->dev != dev || dir->ino != ino) {
		forget(known, dir, true);
		dir->dev = dev;
		dir->ino = ino;
		dir->learn_at = LEARN_AT;
	}
	if (dir->state != FS_KNOWN_UNKNOWN)
		return 0;
	if (is_listed)
		return FS_KNOWN_NAMES;
	if (++dir->nasked < dir->learn_at)
		return 0;
	/* It had more names: wait until learning pays. */
	dir->learn_at = dir->learn_at > UINT_MAX / 4 ? UINT_MAX
						     : 2 * dir->nasked;
	return (size_t)dir->nasked * NAMES_PER_REQUEST < FS_KNOWN_NAMES
		       ? (size_t)dir->nasked * NAMES_PER_REQUEST
		       : FS_KNOWN_NAMES;
}

void fs_known_enter(struct fs_known *known, dev_t dev, ino_t ino, int fd,
		    bool is_listed)
{
	size_t max;

	if (known->events_fd < 0)
		return;
	pthread_mutex_lock(&known->lock);
	read_events(known);
	max = count(known, dev, ino, is_listed);
	pthread_mutex_unlock(&known->lock);
	if (max > 0)
		learn(known, dev, ino, fd, max);
	if (is_listed)
		hear_writes(known, dev, ino, fd);
}

struct fs_known_name fs_known_look(struct fs_known *known, dev_t dev, ino_t ino,
				   const char *name)
{
	struct fs_known_name out = {.is_known = false};
	const struct fs_known_dir *dir;
	struct fs_name_hash hash;

	if (known->events_fd < 0)
		return out;
	hash = fs_name_hash(name);
	B2F_HOLD(&known->lock);
	dir = find(known, dev, ino);
	if (dir && dir->state == FS_KNOWN_KNOWN)
		out = (struct fs_known_name){
			.is_known = true,
			.exists = fs_name_set_has(&dir->names, hash),
			.has_stem = fs_name_set_is_marked(&dir->names, hash),
			.as_of = dir->nevents,
		};
	return out;
}

unsigned int fs_known_suffixes(struct fs_known *known, dev_t dev, ino_t ino,
			       const char *stem)
{
	struct fs_name_hash names[B2F_SUFFIXES];
	const struct fs_known_dir *dir;
	size_t len = strlen(stem);
	unsigned int may = 0;

	fs_name_hash_all(stem, names);
	B2F_HOLD(&known->lock);
	dir = known->events_fd < 0 ? NULL : find(known, dev, ino);
	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES; i++)
		if (len + strlen(b2f_suffix_text(i)) < FS_NAME_SIZE &&
		    (!dir || dir->state != FS_KNOWN_KNOWN ||
		     fs_name_set_has(&dir->names, names[i])))
			may |= 1u << i;
	return may;
}

void fs_known_note_stem(struct fs_known *known, dev_t dev, ino_t ino,
			const char *name, uint64_t as_of)
{
	struct fs_known_dir *dir;
	char stem[FS_NAME_SIZE];

	if (known->events_fd < 0 || !fs_suffix_stem(name, stem))
		return;
	B2F_HOLD(&known->lock);
	dir = find(known, dev, ino);
	if (dir && dir->state == FS_KNOWN_KNOWN && dir->hears_writes &&
	    dir->nevents == as_of &&
	    !fs_name_set_has(&dir->names, fs_name_hash(stem)) &&
	    !any_with_stem(dir, stem, name, has))
		fs_name_set_mark(&dir->names, fs_name_hash(name), true);
}
