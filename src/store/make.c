/* SPDX-License-Identifier: BSD-3-Clause */
/* make.c - making and removing sparse frames in directories */
#include "store/make.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "store/files.h"
#include "store/write.h"

/* Prefix of the name of a frame while it is being made. */
#define HIDDEN ".bloscfs-deleted-new-"
_Static_assert(sizeof(HIDDEN "0123456789abcdef-0123456789abcdef") ==
		       B2F_HIDDEN_SIZE,
	       "callers have room");

/* How many names a new directory may have. */
#define TRIES 3

#define DEFAULT_ACL "system.posix_acl_default"

/*
 * The layout of an ACL as xattr: a version of 4 bytes, then entries (little
 * endian).
 */
enum {
	ACL_HEADER = 4,
	ACL_ENTRY = 8,
	ACL_USER_OBJ = 0x01,
	ACL_GROUP_OBJ = 0x04,
	ACL_MASK = 0x10,
	ACL_OTHER = 0x20,
};

static int failed(const char *verb, const char *name, struct b2f_why *why)
{
	return b2f_why_set(why, -errno, "%s %s: %s", verb, name,
			   strerror(errno));
}

/*
 * Narrows @mode by the default ACL of @dir.  The kernel does this for a file
 * that is created with its mode; a chmod afterwards has to do it itself.
 */
static mode_t allowed_by_acl(int dir, mode_t mode)
{
	mode_t user = 7, group = 7, other = 7;
	bool has_mask = false;
	uint8_t acl[4004];
	ssize_t size = fgetxattr(dir, DEFAULT_ACL, acl, sizeof(acl));

	for (ssize_t i = ACL_HEADER; i + ACL_ENTRY <= size; i += ACL_ENTRY) {
		mode_t bits = acl[i + 2] & 7;

		switch (acl[i]) {
		case ACL_USER_OBJ:
			user = bits;
			break;
		case ACL_GROUP_OBJ:
			if (!has_mask)
				group = bits;
			break;
		case ACL_MASK:
			group = bits;
			has_mask = true;
			break;
		case ACL_OTHER:
			other = bits;
			break;
		default:
			break;
		}
	}
	return mode & (07000 | user << 6 | group << 3 | other);
}

/*
 * Users who may read or write the frame must be able to enter its directory;
 * the owner always is.
 */
mode_t b2f_store_dir_mode(mode_t mode)
{
	mode &= 0666;
	return mode | (mode & 0444) >> 2 | (mode & 0222) >> 1 | S_IRWXU;
}

/* Sets the mode of @fd, and returns its attributes in *@st. */
static int set_mode(int fd, mode_t mode, struct stat *st, const char *name,
		    struct b2f_why *why)
{
	if (fstat(fd, st))
		return failed("stat", name, why);
	if ((st->st_mode & 07777) == mode)
		return 0;
	if (fchmod(fd, mode))
		return failed("chmod", name, why);
	return fstat(fd, st) ? failed("stat", name, why) : 0;
}

/* Also sets @made->index. */
static int make_index(int dir, mode_t mode, const struct b2f_store_plan *plan,
		      struct b2f_store_made *made, struct b2f_why *why)
{
	int fd, err;

	fd = openat(dir, B2F_INDEX_NAME,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed("create", B2F_INDEX_NAME, why);
	err = b2f_files_write_fully(fd, 0, plan->index, plan->size, why);
	if (!err)
		err = set_mode(fd, mode, &made->index, B2F_INDEX_NAME, why);
	if (!err && plan->durable && b2f_files_fsync(fd))
		err = failed("fsync", B2F_INDEX_NAME, why);
	if (close(fd) && !err)
		err = failed("close", B2F_INDEX_NAME, why);
	if (err)
		(void)unlinkat(dir, B2F_INDEX_NAME, 0);
	return err;
}

/* Refuses the directory @fd if it has entries. */
static int check_empty(int fd, struct b2f_why *why)
{
	/* The kernel lists at least one entry per call. */
	_Alignas(struct dirent64) char buf[512];
	ssize_t size;

	while ((size = getdents64(fd, buf, sizeof(buf))) > 0) {
		const struct dirent64 *d;

		for (ssize_t i = 0; i < size; i += d->d_reclen) {
			d = (const struct dirent64 *)(buf + i);
			if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
				return b2f_why_set(why, -EEXIST, "not empty");
		}
	}
	return size < 0 ? failed("list", "the directory", why) : 0;
}

/* Can users other than @uid replace files of @uid in this directory? */
static bool is_shared(const struct stat *dir, uid_t uid)
{
	if (dir->st_uid != uid && dir->st_uid != 0)
		return true;
	return (dir->st_mode & (S_IWGRP | S_IWOTH)) &&
	       !(dir->st_mode & S_ISVTX);
}

/*
 * The owner of the directory @dirfd can replace the new directory by another
 * one.  Refuses it unless it belongs to that owner, or is empty and the
 * maker's.
 */
static int check_new(int dirfd, struct b2f_store_made *made,
		     struct b2f_why *why)
{
	uid_t uid = (uid_t)setfsuid((uid_t)-1);
	struct stat parent;

	if (fstat(made->fd, &made->dir) || fstatat(dirfd, ".", &parent, 0))
		return failed("stat", "the directory", why);
	/* On a filesystem without owners both have the same. */
	if (made->dir.st_uid != uid && made->dir.st_uid != parent.st_uid)
		return b2f_why_set(why, -EEXIST,
				   "the directory was exchanged");
	return is_shared(&parent, uid) ? check_empty(made->fd, why) : 0;
}

/* Fills the directory @made->fd, and lets other users in at the end. */
static int fill(const struct b2f_store_plan *plan, struct b2f_store_made *made,
		struct b2f_why *why)
{
	int dir = made->fd;
	mode_t mode = allowed_by_acl(dir, plan->mode & 07777);
	mode_t dir_mode = b2f_store_dir_mode(mode);
	int err;

	/* Keep the bit by which files get the group of the directory. */
	dir_mode |= made->dir.st_mode & S_ISGID;
	err = make_index(dir, mode, plan, made, why);
	if (err)
		return err;
	err = set_mode(dir, dir_mode, &made->dir, "the directory", why);
	if (!err && plan->durable && b2f_files_fsync(dir) && errno != EINVAL &&
	    errno != EBADF)
		err = failed("fsync", "the directory", why);
	if (err)
		(void)unlinkat(dir, B2F_INDEX_NAME, 0);
	return err;
}

/* Makes a name that mounts hide. */
static int hidden_name(char name[B2F_HIDDEN_SIZE], ino_t replaces,
		       struct b2f_why *why)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return b2f_why_set(why, -EIO, "no random number");
	snprintf(name, B2F_HIDDEN_SIZE, HIDDEN "%016llx-%llx",
		 (unsigned long long)number, (unsigned long long)replaces);
	return 0;
}

/* Makes the directory @name; *@out has it open and locked. */
static int make_dir(int dirfd, const char *name,
		    const struct b2f_store_plan *plan,
		    struct b2f_store_made *out, struct b2f_why *why)
{
	struct b2f_store_made made = {.fd = -1};
	int err;

	if (mkdirat(dirfd, name, 0700))
		return failed("create", "the directory", why);
	made.fd = openat(dirfd, name,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (made.fd < 0) {
		err = failed("open", "the directory", why);
	} else {
		/* Programs that remove leftovers skip locked directories. */
		err = flock(made.fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK
			      ? b2f_why_set(why, -EBUSY,
					    "it is taken for a leftover")
			      : check_new(dirfd, &made, why);
		if (!err)
			err = fill(plan, &made, why);
		if (err)
			close(made.fd);
	}
	if (err)
		(void)unlinkat(dirfd, name, AT_REMOVEDIR);
	else
		*out = made;
	return err;
}

/* Deletes what make_dir() made. */
static void undo(int dirfd, const char *name)
{
	char index[B2F_HIDDEN_SIZE + sizeof("/" B2F_INDEX_NAME)];

	snprintf(index, sizeof(index), "%s/" B2F_INDEX_NAME, name);
	(void)unlinkat(dirfd, index, 0);
	(void)unlinkat(dirfd, name, AT_REMOVEDIR);
}

/* Like b2f_store_make_open(); *@out has the directory open and locked. */
static int make_hidden_first(int dirfd, const char *name,
			     const struct b2f_store_plan *plan,
			     struct b2f_store_made *out, struct b2f_why *why)
{
	char hidden[B2F_HIDDEN_SIZE];
	int err = -EBUSY;

	/*
	 * A killed maker leaves no half frame under the final name.  Another
	 * mount may remove the directory as a leftover before it is locked.
	 */
	for (int i = 0; i < TRIES && (err == -EBUSY || err == -ENOENT); i++) {
		err = hidden_name(hidden, 0, why);
		if (!err)
			err = make_dir(dirfd, hidden, plan, out, why);
	}
	if (err)
		return err;
	if (renameat2(dirfd, hidden, dirfd, name, RENAME_NOREPLACE)) {
		err = failed("create", "the directory", why);
		close(out->fd);
		undo(dirfd, hidden);
	}
	/* Some filesystems have no RENAME_NOREPLACE. */
	if (err == -EINVAL)
		err = make_dir(dirfd, name, plan, out, why);
	return err;
}

int b2f_store_make(int dirfd, const char *name,
		   const struct b2f_store_plan *plan, struct b2f_why *why)
{
	struct b2f_store_made made;
	int err = make_hidden_first(dirfd, name, plan, &made, why);

	if (!err)
		close(made.fd);
	return err;
}

/* Hands out the new directory as @store in @out; or frees both if @err. */
static int hand_out(int err, struct b2f_store *store,
		    struct b2f_store_made *out)
{
	if (err) {
		free(store);
		return err;
	}
	b2f_files_of(store)->fd = out->fd;
	b2f_files_of(store)->is_new = true;
	out->store = store;
	return 0;
}

int b2f_store_make_open(int dirfd, const char *name,
			const struct b2f_store_plan *plan,
			struct b2f_store_made *out, struct b2f_why *why)
{
	struct b2f_store *store = b2f_files_new(-1, true);
	int err;

	/* Before anything is made that had to be undone. */
	if (!store)
		return -ENOMEM;
	err = make_hidden_first(dirfd, name, plan, out, why);
	/* The caller may not be about to write to it. */
	if (!err)
		(void)!flock(out->fd, LOCK_UN);
	return hand_out(err, store, out);
}

int b2f_store_make_hidden(int dirfd, const struct b2f_store_plan *plan,
			  char name[B2F_HIDDEN_SIZE],
			  struct b2f_store_made *out, struct b2f_why *why)
{
	struct b2f_store *store = b2f_files_new(-1, true);
	int err;

	if (!store)
		return -ENOMEM;
	err = hidden_name(name, plan->replaces, why);
	if (!err)
		err = make_dir(dirfd, name, plan, out, why);
	return hand_out(err, store, out);
}

bool b2f_store_begin_new(struct b2f_store *store)
{
	bool is_new = false;

	if (b2f_files_is_file(store)) {
		is_new = b2f_files_of(store)->is_new;
		b2f_files_of(store)->is_new = false;
	}
	return is_new;
}

/* Deletes and counts the files that b2f_store_list() finds. */
struct sweep {
	struct b2f_store *store;
	uint64_t ngone;
};

static int sweep_one(void *arg, int64_t id)
{
	struct sweep *sweep = arg;
	int err = b2f_store_remove(sweep->store, id, NULL);

	sweep->ngone += !err;
	/* A directory with such a name is not a file of the frame. */
	return err == -EISDIR ? 0 : err;
}

/* Removes the slots, which have numbers without gaps. */
static void remove_slots(struct b2f_store *store)
{
	char name[sizeof(B2F_SLOT_NAME) + 10];
	unsigned int i = 0;

	do
		snprintf(name, sizeof(name), B2F_SLOT_NAME "%u", i++);
	while (unlinkat(b2f_files_of(store)->fd, name, 0) == 0);
}

static int remove_lock_file(struct b2f_store *store)
{
	if (unlinkat(b2f_files_of(store)->fd, B2F_LOCK_NAME, 0) &&
	    errno != ENOENT && errno != EISDIR)
		return -errno;
	return 0;
}

/* Deletes the files and then the directory. */
static int remove_all(struct b2f_store *store, int dirfd, const char *name)
{
	struct sweep sweep = {.store = store};
	uint64_t before;
	int err = b2f_store_remove(store, B2F_OBJECT_INDEX, NULL);

	if (!err)
		err = remove_lock_file(store);
	remove_slots(store);
	/* On some filesystems a deletion shifts the listing: repeat it. */
	do {
		before = sweep.ngone;
		if (!err)
			err = b2f_store_list(store, sweep_one, &sweep);
		if (err)
			return err;
		if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
			return 0;
	} while (sweep.ngone > before &&
		 (errno == ENOTEMPTY || errno == EEXIST));
	return errno == EEXIST ? -ENOTEMPTY : -errno;
}

int b2f_store_unmake(int dirfd, const char *name)
{
	struct b2f_store *store = NULL;
	struct stat st;
	int err = b2f_store_open(dirfd, name, false, &store, NULL);

	if (err)
		return err;
	if (!b2f_files_is_dir(store))
		err = -ENOTDIR;
	if (!err)
		err = b2f_store_stat_index(store, &st);
	/*
	 * The kernel reports "not empty" only after it has checked that this
	 * user may delete the directory; if not, the frame must stay whole.
	 */
	if (!err && unlinkat(dirfd, name, AT_REMOVEDIR) && errno != ENOTEMPTY &&
	    errno != EEXIST)
		err = -errno;
	if (!err)
		err = remove_all(store, dirfd, name);
	b2f_store_free(store);
	return err;
}
