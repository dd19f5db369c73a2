/* SPDX-License-Identifier: BSD-3-Clause */
/* files_write.c - changing a directory of files */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "programs/io.h"
#include "store/files.h"
#include "store/files_attr.h"

static int failed(const char *verb, const char *name, struct b2f_why *why)
{
	return b2f_why_set(why, -errno, "%s %s: %s", verb, name,
			   strerror(errno));
}

static int dir_lock(struct b2f_store *store, bool on, struct b2f_why *why)
{
	int dir = b2f_files_of(store)->fd;

	if (!on)
		return flock(dir, LOCK_UN);
	/* This is no full check, but it notices read-only mounts. */
	if (faccessat(dir, ".", W_OK | X_OK, AT_EACCESS))
		return b2f_why_set(why, -errno, "write to the directory: %s",
				   strerror(errno));
	return b2f_files_lock(dir, why);
}

/*
 * Creates a chunk file that gets its name when it is complete: a killed writer
 * leaves nothing.
 */
static int create_unnamed(struct b2f_store *store, int64_t id,
			  struct b2f_object *out, struct b2f_why *why)
{
	char name[B2F_CHUNK_NAME_SIZE];
	int dir = b2f_files_of(store)->fd;
	int fd, err;

	fd = openat(dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed("create", b2f_files_name(id, name), why);
	err = b2f_files_permit(dir, fd, why);
	if (err) {
		close(fd);
		return err;
	}
	*out = (struct b2f_object){.store = store, .fd = fd, .unnamed = true};
	return 0;
}

/* Gives @object its first name. */
static int publish(struct b2f_object *object, int64_t id, struct b2f_why *why)
{
	int dir = b2f_files_of(object->store)->fd;
	char buf[B2F_CHUNK_NAME_SIZE];
	const char *name = b2f_files_name(id, buf);
	int err = b2f_files_name_it(object->fd, dir, name, why);

	if (err)
		return err;
	object->unnamed = false;
	/* A chown of the frame meanwhile may have missed this file. */
	return b2f_files_permit_again(dir, object->fd, why);
}

static int open_named(int dir, const char *name)
{
	return openat(dir, name,
		      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int create_named(struct b2f_store *store, int64_t id,
			struct b2f_object *out, struct b2f_why *why)
{
	char buf[B2F_CHUNK_NAME_SIZE];
	const char *name = b2f_files_name(id, buf);
	int dir = b2f_files_of(store)->fd;
	int fd, err;

	fd = open_named(dir, name);
	/*
	 * Do not use O_TRUNC: the existing file may be a link to another place.
	 */
	if (fd < 0 && errno == EEXIST && id == B2F_OBJECT_NEW_INDEX) {
		if (unlinkat(dir, name, 0) && errno != ENOENT)
			return failed("remove", name, why);
		fd = open_named(dir, name);
	}
	if (fd < 0)
		return failed("create", name, why);
	/* A new index will inherit its permissions. */
	err = id == B2F_OBJECT_NEW_INDEX ? 0 : b2f_files_permit(dir, fd, why);
	if (err) {
		close(fd);
		(void)unlinkat(dir, name, 0);
		return err;
	}
	*out = (struct b2f_object){.store = store, .fd = fd};
	return 0;
}

/* Does a file with one of the names of object @id exist? */
static bool exists(struct b2f_store *store, int64_t id)
{
	int64_t tries[B2F_FILES_TRIES];
	int n = b2f_files_tries(id, tries);
	char buf[B2F_CHUNK_NAME_SIZE];

	for (int i = 0; i < n && i < 2; i++)
		if (faccessat(b2f_files_of(store)->fd,
			      b2f_files_name(tries[i], buf), F_OK,
			      AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

static int dir_create(struct b2f_store *store, int64_t id,
		      struct b2f_object *out, struct b2f_why *why)
{
	char buf[B2F_CHUNK_NAME_SIZE];
	int err = -EOPNOTSUPP;

	if (id != B2F_OBJECT_NEW_INDEX && exists(store, id)) {
		errno = EEXIST;
		return failed("create", b2f_files_name(id, buf), why);
	}
	if (id != B2F_OBJECT_NEW_INDEX)
		err = create_unnamed(store, id, out, why);
	if (b2f_files_has_no_tmpfile(-err))
		err = create_named(store, id, out, why);
	return err;
}

static int dir_write(const struct b2f_object *object, uint64_t off,
		     const void *buf, size_t n, struct b2f_why *why)
{
	return b2f_files_write_as_owner(object->fd, off, buf, n, why);
}

static int dir_inherit(const struct b2f_object *object,
		       const struct timespec *mtime, struct b2f_why *why)
{
	return b2f_files_inherit(b2f_files_of(object->store)->fd, object->fd,
				 mtime, why);
}

static int dir_name(struct b2f_store *store, int64_t id,
		    struct b2f_object *object, struct b2f_why *why)
{
	char from[B2F_CHUNK_NAME_SIZE], to[B2F_CHUNK_NAME_SIZE];
	int dir = b2f_files_of(store)->fd, err;

	if (object)
		return publish(object, id, why);
	b2f_files_name(id ^ B2F_OBJECT_PENDING, from);
	b2f_files_name(id, to);
	if (id & B2F_OBJECT_PENDING)
		err = renameat(dir, from, dir, to) ? -errno : 0;
	else
		err = b2f_io_rename(dir, from, dir, to);
	return err ? b2f_why_set(why, err, "rename to %s: %s", to,
				 strerror(-err))
		   : 0;
}

static int dir_install(struct b2f_store *store, const struct b2f_install *what,
		       struct b2f_why *why)
{
	int dir = b2f_files_of(store)->fd;

	(void)what;
	if (renameat(dir, B2F_FILES_NEW_INDEX, dir, B2F_INDEX_NAME))
		return failed("rename to", B2F_INDEX_NAME, why);
	return 0;
}

/* The mode may forbid its owner to read the index, to write it, or both. */
static int open_index(int dir)
{
	int fd = b2f_files_open(dir, B2F_INDEX_NAME, O_RDONLY);

	if (fd < 0 && errno == EACCES)
		fd = b2f_files_open(dir, B2F_INDEX_NAME, O_WRONLY);
	return fd;
}

static int sync_index(int dir, struct b2f_why *why)
{
	int fd = open_index(dir), err = 0;

	if (fd < 0 && errno == EACCES)
		return syncfs(dir) ? failed("sync", B2F_INDEX_NAME, why) : 0;
	if (fd < 0)
		return failed("open", B2F_INDEX_NAME, why);
	if (b2f_files_fsync(fd))
		err = failed("fsync", B2F_INDEX_NAME, why);
	close(fd);
	return err;
}

static int sync_names(int dir, struct b2f_why *why)
{
	/* Some filesystems have no fsync for directories, and need none. */
	if (b2f_files_fsync(dir) && errno != EINVAL && errno != EBADF)
		return failed("fsync", "the directory", why);
	return 0;
}

static int dir_settle(struct b2f_store *store, const struct b2f_object *object,
		      enum b2f_settle how, struct b2f_why *why)
{
	if (how == B2F_SETTLE_NAMES)
		return sync_names(b2f_files_of(store)->fd, why);
	if (!object)
		return sync_index(b2f_files_of(store)->fd, why);
	/* fsync will report an error. */
	if (how == B2F_SETTLE_SOON)
		(void)sync_file_range(object->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	if (how == B2F_SETTLE_ORDER)
		return b2f_files_write_out(object->fd, why);
	if (how == B2F_SETTLE_DURABLE && b2f_files_fsync(object->fd))
		return b2f_why_set(why, -errno, "fsync: %s", strerror(errno));
	return 0;
}

static int dir_remove(struct b2f_store *store, const uint64_t *ids, size_t n,
		      const struct b2f_range *range, struct b2f_why *why)
{
	int err = 0;

	(void)range;
	for (size_t i = 0; i < n && !err; i++) {
		char buf[B2F_CHUNK_NAME_SIZE];
		const char *name = b2f_files_name((int64_t)ids[i], buf);

		if (unlinkat(b2f_files_of(store)->fd, name, 0) &&
		    errno != ENOENT)
			err = failed("remove", name, why);
	}
	return err;
}

static int dir_list(struct b2f_store *store, int (*fn)(void *arg, int64_t id),
		    void *arg)
{
	return b2f_files_list(b2f_files_of(store)->fd, fn, arg);
}

const struct b2f_store_write_ops b2f_files_write = {
	.lock = dir_lock,
	.create = dir_create,
	.write = dir_write,
	.inherit = dir_inherit,
	.settle = dir_settle,
	.name = dir_name,
	.install = dir_install,
	.remove = dir_remove,
	.list = dir_list,
};
