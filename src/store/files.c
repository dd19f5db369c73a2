/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - the stores of a filesystem: a directory, or a single file */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/files.h"
#include "store/files_extents.h"
#include "store/files_single.h"

static void files_expect(const struct b2f_object *object, uint64_t off,
			 uint64_t n)
{
	/* After an error the bytes are read when they are needed. */
	(void)posix_fadvise(object->fd, (off_t)off, (off_t)n,
			    POSIX_FADV_WILLNEED);
}

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	default:
		return "a device";
	}
}

/* Takes @fd into @out if it is a plain file. */
static int adopt(struct b2f_store *store, int fd, struct b2f_object *out,
		 struct b2f_why *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return b2f_why_set(why, -errno, "stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%s where a file should be",
				   kind_of(st.st_mode));
	*out = (struct b2f_object){
		.store = store,
		.size = (uint64_t)st.st_size,
		.identity = b2f_frame_stamp_of(&st),
		.fd = fd,
	};
	return 0;
}

/* If the whole frame is being removed, its index is usually gone first. */
static int chunk_missing(struct b2f_store *store, struct b2f_why *why)
{
	struct stat st;

	if (b2f_store_stat_index(store, &st) == -ENOENT)
		return b2f_why_set(why, -ESTALE,
				   "another program has deleted or replaced "
				   "the frame");
	return b2f_why_set(why, B2F_ECORRUPT, "the file is missing");
}

static int open_failed(struct b2f_store *store, int err, int64_t id,
		       struct b2f_why *why)
{
	/* A socket cannot be opened at all (ENXIO). */
	if (err == ELOOP || err == ENXIO)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a %s where a file should be",
				   err == ELOOP ? "symbolic link" : "socket");
	if (err == ENOENT && id != B2F_OBJECT_INDEX)
		return chunk_missing(store, why);
	return b2f_why_set(why, -err, "open: %s", strerror(err));
}

/* Returns the descriptor, or -1 with errno. */
static int open_name(struct b2f_store *store, int64_t id)
{
	char buf[B2F_CHUNK_NAME_SIZE];

	return b2f_files_open(b2f_files_of(store)->fd, b2f_files_name(id, buf),
			      O_RDONLY | (store->quiet ? O_NOATIME : 0));
}

static int dir_open(struct b2f_store *store, int64_t id, struct b2f_object *out,
		    struct b2f_why *why)
{
	int64_t tries[B2F_FILES_TRIES];
	int n = b2f_files_tries(id, tries), fd, err;

	fd = open_name(store, id);
	for (int i = 1; i < n && fd < 0 && errno == ENOENT; i++)
		fd = open_name(store, tries[i]);
	if (fd < 0)
		return open_failed(store, errno, id, why);
	err = adopt(store, fd, out, why);
	if (err)
		close(fd);
	return err;
}

static int files_look(const struct b2f_object *object,
		      struct b2f_frame_stamp *out)
{
	struct stat st;

	if (fstat(object->fd, &st))
		return -errno;
	*out = b2f_frame_stamp_of(&st);
	return 0;
}

static void dir_close(struct b2f_object *object)
{
	close(object->fd);
}

static int dir_stat(struct b2f_store *store, int64_t id, struct stat *out)
{
	int64_t tries[B2F_FILES_TRIES];
	int n = b2f_files_tries(id, tries), ret = -1;
	char buf[B2F_CHUNK_NAME_SIZE];

	for (int i = 0; i < n && ret; i++) {
		ret = fstatat(b2f_files_of(store)->fd,
			      b2f_files_name(tries[i], buf), out,
			      AT_SYMLINK_NOFOLLOW);
		if (ret && errno != ENOENT)
			break;
	}
	return ret ? -errno : 0;
}

static int file_open(struct b2f_store *store, int64_t id,
		     struct b2f_object *out, struct b2f_why *why)
{
	struct b2f_files *files = b2f_files_of(store);

	(void)id;
	/* All objects share the one descriptor of the store. */
	if (store->quiet && !atomic_exchange(&files->is_quiet, true))
		/* Fails for another user's file. */
		(void)!fcntl(files->fd, F_SETFL, O_NONBLOCK | O_NOATIME);
	return adopt(store, files->fd, out, why);
}

static int file_stat(struct b2f_store *store, int64_t id, struct stat *out)
{
	(void)id;
	return fstat(b2f_files_of(store)->fd, out) ? -errno : 0;
}

static void files_free(struct b2f_store *store)
{
	b2f_files_single_fini(b2f_files_of(store)->writer);
	b2f_place_fini(&b2f_files_of(store)->home);
	close(b2f_files_of(store)->fd);
	free(store);
}

static int dir_clone(struct b2f_store *store, struct b2f_store **out,
		     struct b2f_why *why)
{
	return b2f_store_open(b2f_files_of(store)->fd, ".", false, out, why);
}

static bool files_was_written(const struct b2f_object *object)
{
	return b2f_files_was_written(object->fd, object->size);
}

static int file_clone(struct b2f_store *store, struct b2f_store **out,
		      struct b2f_why *why)
{
	const struct b2f_files *files = b2f_files_of(store);
	struct b2f_store *clone = NULL;
	char path[48];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", files->fd);
	err = b2f_store_open(AT_FDCWD, path, true, &clone, why);
	if (!err && files->home.name)
		err = b2f_store_set_home(clone, files->home.dir,
					 files->home.name);
	if (err)
		b2f_store_free(clone);
	else
		*out = clone;
	return err;
}

static const struct b2f_store_ops dir_ops = {
	.open = dir_open,
	.read = b2f_files_read,
	.was_written = files_was_written,
	.expect = files_expect,
	.close = dir_close,
	.look = files_look,
	.stat = dir_stat,
	.free = files_free,
	.clone = dir_clone,
	.write = &b2f_files_write,
};

static const struct b2f_store_ops file_ops = {
	.open = file_open,
	.read = b2f_files_read,
	.was_written = files_was_written,
	.expect = files_expect,
	.look = files_look,
	.stat = file_stat,
	.stamp = b2f_files_single_stamp,
	.free = files_free,
	.clone = file_clone,
	.write = &b2f_files_single_write,
};

bool b2f_files_is_dir(const struct b2f_store *store)
{
	return store->ops == &dir_ops;
}

int b2f_store_dirfd(const struct b2f_store *store)
{
	return b2f_files_is_dir(store) ? ((const struct b2f_files *)store)->fd
				       : -1;
}

bool b2f_files_is_file(const struct b2f_store *store)
{
	return store->ops == &dir_ops || store->ops == &file_ops;
}

struct b2f_store *b2f_files_new(int fd, bool is_dir)
{
	struct b2f_files *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->base.kind = is_dir ? B2F_STORE_SPARSE : B2F_STORE_SINGLE;
	store->base.ops = is_dir ? &dir_ops : &file_ops;
	store->fd = fd;
	store->home.dir = AT_FDCWD;
	return &store->base;
}

int b2f_store_set_home(struct b2f_store *store, int dirfd, const char *name)
{
	struct b2f_files *files = b2f_files_of(store);
	struct b2f_place home;
	int err;

	if (store->ops != &file_ops || !*name)
		return 0;
	err = b2f_place_init(&home, *name == '/' ? AT_FDCWD : dirfd, name);
	if (err)
		return err;
	b2f_place_fini(&files->home);
	files->home = home;
	return 0;
}

int b2f_store_open(int dirfd, const char *name, bool follow,
		   struct b2f_store **out, struct b2f_why *why)
{
	struct b2f_store *store = NULL;
	struct stat st;
	int fd, err = 0;

	fd = (follow ? b2f_files_open_followed
		     : b2f_files_open)(dirfd, name, O_RDONLY);
	if (fd < 0)
		return b2f_why_set(why, -errno, "%s", strerror(errno));
	if (fstat(fd, &st))
		err = b2f_why_set(why, -errno, "%s", strerror(errno));
	else if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		err = b2f_why_set(why, B2F_ENOTFRAME,
				  "%s is not a Blosc2 frame",
				  kind_of(st.st_mode));
	if (!err) {
		store = b2f_files_new(fd, S_ISDIR(st.st_mode));
		err = store ? 0 : -ENOMEM;
	}
	if (err)
		close(fd);
	else
		*out = store;
	return err;
}
