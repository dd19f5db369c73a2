/* SPDX-License-Identifier: BSD-3-Clause */
/* target.c - a frame that is made as a whole or not at all */
#include "cli/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "cli/attributes.h"
#include "cli/cleanup.h"
#include "cli/frames.h"
#include "cli/kind.h"
#include "cli/message.h"
#include "cli/text.h"

/* 16 hexadecimal digits follow. */
#define TEMP_NAME ".bloscctl-"

/* What C-Blosc2 locks of a sparse frame (docs/format.md 6). */
#define LOCK ".b2lock"

/* Where large files may live for a while, even across a reboot. */
#define SCRATCH_DIR "/var/tmp/"

bool cli_target_is_temp(const char *name)
{
	size_t prefix = strlen(TEMP_NAME);

	return strncmp(name, TEMP_NAME, prefix) == 0 &&
	       strspn(name + prefix, "0123456789abcdef") == 16 &&
	       !name[prefix + 16];
}

/*
 * The first @len characters of temp are its directory; none: the current one.
 */
static int open_dir(struct cli_target *t, int len)
{
	char *dir = strndup(len ? t->temp : ".", len ? (size_t)len : 1);

	if (!dir)
		return cli_message_errno(t->name, -ENOMEM);
	t->base = t->temp + len;
	t->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(dir);
	return t->dirfd < 0 ? cli_message_errno(t->name, -errno) : 0;
}

/* The bytes of @path that are its directory, with the slash. */
static int dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) + 1 : 0;
}

/* A temporary name in the directory of @path; malloc'ed, or NULL. */
static char *temp_name(const char *path, uint64_t number)
{
	char *name;

	return asprintf(&name, "%.*s" TEMP_NAME "%016llx", dir_len(path), path,
			(unsigned long long)number) < 0
		       ? NULL
		       : name;
}

/*
 * An unused name in the directory of @path, so long that a guess never fails, as
 * directories cannot be made and tried in one step.
 */
static int unused_name(const char *path, char **out)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	*out = temp_name(path, random);
	return *out ? 0 : -ENOMEM;
}

static int make_temp_name(struct cli_target *t, const char *path)
{
	int err = unused_name(path, &t->temp);

	if (err)
		return cli_message_errno(path, err);
	cli_cleanup_add(t->temp);
	return open_dir(t, dir_len(path));
}

/* Files and frames may be replaced if the user says so. */
static int check_replaceable(const struct cli_target *t, const struct stat *st)
{
	const char *name = t->name;
	struct b2f_frame_peek peek;
	int err;

	if (S_ISREG(st->st_mode))
		return 0;
	if (!S_ISDIR(st->st_mode)) {
		cli_message_error("%s: it exists, and is no regular file",
				  name);
		return -EEXIST;
	}
	err = b2f_frame_peek(AT_FDCWD, t->path, &peek);
	if (err)
		return cli_message_errno(name, err);
	if (!peek.is_frame) {
		cli_message_error("%s: it is a directory, but no frame", name);
		return -EISDIR;
	}
	return cli_frames_check_removable(t->path);
}

/* Files and directories, as nodes of a search tree. */
struct made {
	dev_t dev;
	ino_t ino;
};

/* A run makes a name once. */
static void *made_here;

static int compare_made(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Notes what is about to get its name. */
static int note_made(const struct cli_target *t)
{
	struct made *made = malloc(sizeof(*made));
	struct stat st;
	void *node;

	if (!made)
		return -ENOMEM;
	if (fstatat(t->dirfd, t->base, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		free(made);
		return -errno;
	}
	*made = (struct made){st.st_dev, st.st_ino};
	node = tsearch(made, &made_here, compare_made);
	if (!node || *(struct made **)node != made)
		free(made);
	return node ? 0 : -ENOMEM;
}

static bool is_made(const struct stat *st)
{
	const struct made made = {st->st_dev, st->st_ino};

	return tfind(&made, &made_here, compare_made) != NULL;
}

static int check_existing(struct cli_target *t, enum cli_replace replace)
{
	struct stat st;

	if (stat(t->path, &st) != 0)
		return cli_message_errno(t->name, -errno);
	if (replace == CLI_REPLACE_OTHERS && is_made(&st)) {
		cli_message_error("%s: this run has made it; -o puts what else "
				  "has that name somewhere else",
				  t->name);
		return -EEXIST;
	}
	if (replace == CLI_REPLACE_NOTHING) {
		cli_message_error("%s: it exists already; -f overwrites it",
				  t->name);
		return -EEXIST;
	}
	t->exists = true;
	return check_replaceable(t, &st);
}

/* All but the temporary name. */
static int begin(struct cli_target *out, const char *path,
		 enum cli_replace replace)
{
	struct stat st;
	bool exists = lstat(path, &st) == 0;

	*out = (struct cli_target){.name = path, .dirfd = -1};
	if (cli_kind_check_output(path))
		return -EROFS;
	/* A link stays a link: what it points to is replaced. */
	out->path = exists ? realpath(path, NULL) : cli_text_bare(path);
	if (!out->path)
		return cli_message_errno(path, -errno);
	return exists ? check_existing(out, replace) : 0;
}

int cli_target_open(struct cli_target *out, const char *path,
		    enum cli_replace replace)
{
	int err = begin(out, path, replace);

	if (!err)
		err = make_temp_name(out, out->path);
	if (err)
		cli_target_close(out);
	return err;
}

int cli_target_open_scratch(struct cli_target *out, const char *path)
{
	int err;

	*out = (struct cli_target){.name = path ? path : SCRATCH_DIR,
				   .dirfd = -1};
	err = make_temp_name(out, out->name);

	if (err)
		cli_target_close(out);
	return err;
}

int cli_target_set_attributes(const struct cli_target *target,
			      const struct stat *like, const char *from)
{
	int err = cli_attributes_set(target->temp, like, from);

	return cli_message_errno(target->name, err);
}

/* Removes the file or frame @path; that there is none is no error. */
static int remove_any(const char *path)
{
	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	return errno == EISDIR ? b2f_frame_remove(AT_FDCWD, path) : -errno;
}

/* What has the name temp gets another one, which nothing else knows. */
static int move_aside(const struct cli_target *t, char **out)
{
	int err = unused_name(t->temp, out);

	if (!err && rename(t->temp, *out) != 0) {
		err = -errno;
		free(*out);
		*out = NULL;
	}
	return err;
}

/*
 * Is there a whole frame under the temporary name?  It was replaced by a program that
 * was killed before it removed it.  Its chunks must not be taken for those of a copy.
 */
static int clear_left(const struct cli_target *t)
{
	int fd = open(t->temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char *aside = NULL;
	int err = 0;

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		err = -EBUSY;
	else if (faccessat(fd, B2F_INDEX_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		err = move_aside(t, &aside);
	if (aside)
		err = remove_any(aside);
	free(aside);
	close(fd);
	return err;
}

int cli_target_open_kept(struct cli_target *out, const char *path,
			 enum cli_replace replace,
			 const struct b2f_frame_stamp *version)
{
	int err = begin(out, path, replace);
	const char *name;

	if (err)
		goto out;
	out->kept = true;
	name = out->path + dir_len(out->path);
	out->temp = temp_name(out->path, b2f_copy_key(version, name));
	if (!out->temp)
		err = cli_message_errno(path, -ENOMEM);
	else
		err = open_dir(out, dir_len(out->path));
	if (!err)
		err = cli_target_explain_kept(out, clear_left(out));
out:
	if (err) {
		/* It may be another program's. */
		free(out->temp);
		out->temp = NULL;
		cli_target_close(out);
	}
	return err;
}

int cli_target_explain_kept(struct cli_target *target, int err)
{
	if (err != -EBUSY && err != -EEXIST)
		return cli_message_errno(target->name, err);
	if (err == -EBUSY)
		cli_message_error("%s: another copy of it is being made",
				  target->name);
	else
		cli_message_error("%s: %s, which its copy would be, is another "
				  "user's",
				  target->name, target->temp);
	free(target->temp);
	target->temp = NULL;
	return err;
}

/* What is at temp after the exchange. */
static int remove_old(const struct cli_target *t)
{
	int err = remove_any(t->temp);

	if (err)
		cli_message_error("%s: done, but the old one could not be "
				  "removed: it is %s now (%s)",
				  t->name, t->temp, strerror(-err));
	return err;
}

/* Under the name of a copy it would be taken for a part of one. */
static int remove_replaced(struct cli_target *t)
{
	char *aside = NULL;

	if (t->kept && move_aside(t, &aside) == 0) {
		free(t->temp);
		t->temp = aside;
	}
	return remove_old(t);
}

/* What a copy that goes on later has not begun. */
static void remove_empty(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return;
	if (S_ISDIR(st.st_mode) ? rmdir(path) : st.st_size == 0 && unlink(path))
		errno = 0;
}

/*
 * rename() that replaces nothing (-EEXIST); not every filesystem knows how, so
 * links, and at last a look beforehand, have to do.
 */
static int rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (link(from, to) == 0)
		return unlink(from) == 0 ? 0 : -errno;
	if (errno != EPERM && errno != ENOTSUP)
		return -errno;
	/* Without links either, only a look beforehand is left. */
	if (faccessat(AT_FDCWD, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return rename(from, to) == 0 ? 0 : -errno;
}

/* Without a system call for it there is a moment without @to. */
static int exchange_slowly(const char *from, const char *to)
{
	char *aside;
	int err = 0;

	if (asprintf(&aside, "%s.old", from) < 0)
		return -ENOMEM;
	if (rename(to, aside) != 0 || rename(from, to) != 0) {
		err = -errno;
		/* Only if it was the second one that failed. */
		rename(aside, to);
	} else if (rename(aside, from) != 0) {
		err = -errno;
	}
	free(aside);
	return err;
}

/* Each gets the name of the other one, at once where the kernel can do that. */
static int exchange(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return exchange_slowly(from, to);
}

/*
 * The names of the frame @from are those of @to, too; and its lock file is the same, so
 * that a program which waits for the lock gets the one that others will ask for.
 */
static void carry_over(const char *from, const char *to)
{
	int old = open(from, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int new = open(to, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char slot[sizeof(B2F_SLOT_NAME) + 10], name[NAME_MAX + 1];
	ssize_t n = 1;

	for (unsigned int i = 0; n > 0 && old >= 0 && new >= 0; i++) {
		snprintf(slot, sizeof(slot), B2F_SLOT_NAME "%u", i);
		n = readlinkat(old, slot, name, sizeof(name) - 1);
		if (n > 0)
			name[n] = '\0';
		if (n > 0 && symlinkat(name, new, slot) != 0)
			n = 0;
	}
	if (old >= 0 && new >= 0 && linkat(old, LOCK, new, LOCK, 0) != 0)
		errno = 0;
	if (old >= 0)
		close(old);
	if (new >= 0)
		close(new);
}

/* A file takes the place of a file by itself; all else has to be exchanged. */
static int replace(const struct cli_target *t)
{
	struct stat old, new;

	if (lstat(t->temp, &new) != 0)
		return -errno;
	/* The old one has gone meanwhile. */
	if (lstat(t->path, &old) != 0)
		return errno == ENOENT ? rename_new(t->temp, t->path) : -errno;
	if (S_ISREG(old.st_mode) && S_ISREG(new.st_mode))
		return rename(t->temp, t->path) != 0 ? -errno : 0;
	if (S_ISDIR(old.st_mode) && S_ISDIR(new.st_mode))
		carry_over(t->path, t->temp);
	return exchange(t->temp, t->path);
}

int cli_target_commit(struct cli_target *target, bool durable)
{
	int err;

	err = note_made(target);
	if (err)
		return cli_message_errno(target->name, err);
	cli_cleanup_lock();
	if (target->exists)
		err = replace(target);
	else
		err = rename_new(target->temp, target->path);
	if (!err)
		cli_cleanup_drop(target->temp);
	cli_cleanup_unlock();
	if (!err && durable && fsync(target->dirfd) != 0)
		err = -errno;
	if (err)
		return cli_message_errno(target->name, err);
	if (target->exists)
		err = remove_replaced(target);
	free(target->temp);
	target->temp = NULL;
	return err;
}

/* What was made of a copy that is never going on, unless another copy is at it. */
static void remove_begun(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		unlink(path);
		return;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		cli_cleanup_remove(path);
	close(fd);
}

void cli_target_close(struct cli_target *target)
{
	int err;

	if (target->temp && target->kept && target->outdated) {
		remove_begun(target->temp);
	} else if (target->temp && target->kept) {
		remove_empty(target->temp);
	} else if (target->temp) {
		cli_cleanup_lock();
		err = remove_any(target->temp);
		/* It may be a directory whose index is missing. */
		if (err != -ENOENT)
			cli_message_errno(target->temp, err);
		cli_cleanup_drop(target->temp);
		cli_cleanup_unlock();
	}
	if (target->dirfd >= 0)
		close(target->dirfd);
	free(target->temp);
	free(target->path);
	*target = (struct cli_target){.dirfd = -1};
}
