/* SPDX-License-Identifier: BSD-3-Clause */
/* aside.c - moves a file aside that another one is about to replace */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "aside.h"
#include "dir.h"
#include "programs/directory.h"
#include "programs/home.h"

/* Another mount holds the lock for a moment; a user could hold it forever. */
#define TRIES	100
#define WAIT_NS 10000000

static int open_to_lock(int path_fd)
{
	return openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int fs_aside_lock(int path_fd)
{
	const struct timespec wait = {.tv_nsec = WAIT_NS};
	int fd = open_to_lock(path_fd);

	for (int i = 0; fd >= 0 && i < TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			break;
		nanosleep(&wait, NULL);
	}
	return fd;
}

/* Takes the lock for tidying; -1: another mount has it. */
static int lock_alone(int path_fd)
{
	int fd = open_to_lock(path_fd);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int fs_aside_return(int dirfd, const char *name, const char *aside)
{
	if (renameat2(dirfd, name, dirfd, aside, RENAME_EXCHANGE))
		return -errno;
	switch (b2f_home_leads_to(dirfd, aside, aside)) {
	case 0:
		/* The link may have been removed meanwhile. */
		if (renameat2(dirfd, name, dirfd, aside, RENAME_EXCHANGE) ==
			    0 ||
		    errno != ENOENT)
			return -ESTALE;
		break;
	case 1:
		unlinkat(dirfd, aside, 0);
	}
	/* If this fails, a listing removes the link. */
	return 0;
}

int fs_aside_exchange(int dirfd, const char *name, const struct stat *what,
		      const char *aside)
{
	int err;

	if (renameat2(dirfd, name, dirfd, aside, RENAME_EXCHANGE)) {
		err = -errno;
		unlinkat(dirfd, aside, 0);
		return err;
	}
	if (fs_dir_has(dirfd, aside, what))
		return 0;
	(void)!fs_aside_return(dirfd, name, aside);
	return -ESTALE;
}

int fs_aside_step(int dirfd, const char *name, const struct stat *what,
		  const char *old, char aside[FS_NAME_SIZE])
{
	char target[B2F_HOME_TARGET_SIZE], there[FS_NAME_SIZE];
	int err = b2f_home_new_aside(name, there);

	if (err)
		return err;
	b2f_home_target(there, old, target);
	if (symlinkat(target, dirfd, there))
		return -errno;
	err = fs_aside_exchange(dirfd, name, what, there);
	if (!err)
		memcpy(aside, there, sizeof(there));
	return err;
}

int fs_aside_relink(int dirfd, const char *name, const char *home,
		    const char *old, bool is_plain)
{
	char target[B2F_HOME_TARGET_SIZE], there[FS_NAME_SIZE];
	int err = b2f_home_check_name(dirfd, name, home);

	if (!err)
		err = b2f_home_new_aside(name, there);
	if (err)
		return err;
	b2f_home_target(home, old, target);
	if (symlinkat(is_plain ? home : target, dirfd, there))
		return -errno;
	if (renameat(dirfd, there, dirfd, name)) {
		err = -errno;
		unlinkat(dirfd, there, 0);
	}
	return err;
}

int fs_aside_settle(const struct fs_entry *entry, const struct fs_found *found)
{
	const char *aside = found->probe.home;
	int dirfd = entry->pin.fd, err = 0, lock;

	if (!b2f_home_is_aside(aside))
		return 0;
	lock = fs_aside_lock(dirfd);
	if (b2f_home_leads_to(dirfd, found->name, aside) > 0)
		err = fs_aside_return(dirfd, found->name, aside);
	fs_dir_close(lock);
	return err ? err : 1;
}

/* The hash of a name that files aside have in theirs, as a key of a set. */
static struct fs_name_hash key_of(uint64_t hash)
{
	return (struct fs_name_hash){.low = hash | !hash};
}

static int add_aside(void *arg, int dirfd, const struct dirent *d)
{
	int err;

	(void)dirfd;
	if (!b2f_home_is_aside(d->d_name))
		return 0;
	err = fs_name_set_add(arg, key_of(b2f_home_aside_hash(d->d_name)));
	return err ? err : fs_name_set_add(arg, fs_name_hash(d->d_name));
}

/* Marks the files aside that belong to the entry @d, or to which it leads. */
static int mark_aside(void *arg, int dirfd, const struct dirent *d)
{
	enum b2f_home_link kind = B2F_HOME_NO_LINK;
	char target[FS_NAME_SIZE];

	if (b2f_directory_may_be_link(d->d_type))
		kind = b2f_home_link(dirfd, d->d_name, -1, target);
	if (kind == B2F_HOME_NAME || kind == B2F_HOME_UNTIL)
		fs_name_set_mark(arg, fs_name_hash(target), true);
	fs_name_set_mark(arg, key_of(b2f_home_hash(d->d_name)), true);
	return kind == B2F_HOME_FAILED ? -EIO : 0;
}

void fs_aside_find(int dirfd, struct fs_name_set *out)
{
	fs_name_set_fini(out);
	if (b2f_directory_each(dirfd, ".", add_aside, out) ||
	    (out->nnames && b2f_directory_each(dirfd, ".", mark_aside, out)))
		fs_name_set_fini(out);
}

bool fs_aside_is_alone(const struct fs_name_set *found, const char *aside)
{
	const struct fs_name_hash name = fs_name_hash(aside);

	return fs_name_set_has(found, name) &&
	       !fs_name_set_is_marked(found, name) &&
	       !fs_name_set_is_marked(found,
				      key_of(b2f_home_aside_hash(aside)));
}

bool fs_aside_hides(int dirfd, const char *aside)
{
	return b2f_home_is_aside(aside) &&
	       (b2f_home_leads_to(dirfd, aside, aside) > 0 ||
		b2f_home_find_aside(dirfd, aside, NULL) != B2F_HOME_ALONE);
}

/* Deletes the replaced file at @aside. */
static void delete_aside(struct fs *fs, int dirfd, const char *aside)
{
	struct stat st;

	if (fstatat(dirfd, aside, &st, AT_SYMLINK_NOFOLLOW) == 0)
		fs_unlinked_delete(fs, dirfd, aside, &st);
}

static void finish_aside(struct fs *fs, int dirfd, const char *aside)
{
	char link[FS_NAME_SIZE];
	int left;

	if (b2f_home_leads_to(dirfd, aside, aside) > 0) {
		unlinkat(dirfd, aside, 0);
		return;
	}
	left = b2f_home_find_aside(dirfd, aside, link);
	if (left == B2F_HOME_LINKED)
		(void)!fs_aside_return(dirfd, link, aside);
	else if (left == B2F_HOME_REPLACED)
		delete_aside(fs, dirfd, aside);
}

void fs_aside_finish(struct fs *fs, int dirfd, const char *name)
{
	char home[FS_NAME_SIZE];
	int lock = lock_alone(dirfd);
	enum b2f_home_link kind;

	if (lock < 0)
		return;
	kind = b2f_home_link(dirfd, name, -1, home);
	if (b2f_home_is_aside(name))
		finish_aside(fs, dirfd, name);
	else if (kind == B2F_HOME_DOOMED)
		unlinkat(dirfd, name, 0);
	else if (kind == B2F_HOME_UNTIL && b2f_home_is(home))
		(void)!fs_aside_relink(dirfd, name, home, NULL, true);
	close(lock);
}

struct tidying {
	struct fs *fs;
	struct fs_name_set asides;
};

static int finish_each(void *arg, int dirfd, const struct dirent *d)
{
	struct tidying *t = arg;

	if (b2f_directory_may_be_link(d->d_type) ||
	    (b2f_home_is_aside(d->d_name) &&
	     !fs_aside_is_alone(&t->asides, d->d_name)))
		fs_aside_finish(t->fs, dirfd, d->d_name);
	return 0;
}

void fs_aside_finish_all(struct fs *fs, int dirfd)
{
	struct tidying t = {.fs = fs};

	fs_aside_find(dirfd, &t.asides);
	(void)!b2f_directory_each(dirfd, ".", finish_each, &t);
	fs_name_set_fini(&t.asides);
}
