/* SPDX-License-Identifier: BSD-3-Clause */
/* become.c - replaces a file by a directory */
#include "store/become.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "b2frame/error.h"
#include "store/files.h"
#include "store/files_attr.h"

static int failed(const char *verb, struct b2f_why *why)
{
	return b2f_why_set(why, -errno, "%s: %s", verb, strerror(errno));
}

/*
 * Returns 0 if @name is the file's only name; else -ESTALE, -EMLINK or an
 * errno.
 */
static int check_name(const struct b2f_become *b, const char *name,
		      struct b2f_why *why)
{
	struct stat st;

	if (fstatat(b->dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT
			       ? b2f_why_set(why, -ESTALE, "it was renamed")
			       : failed("stat", why);
	if (st.st_dev != b->old.st_dev || st.st_ino != b->old.st_ino)
		return b2f_why_set(why, -ESTALE, "its name is another file's");
	if (st.st_nlink != 1)
		return b2f_why_set(why, -EMLINK, "it has several names");
	return 0;
}

/*
 * A program that locks NAME.b2lock has opened the file by its name, or is about
 * to: then no other file may get the name.
 */
static int check_lock(const struct b2f_become *b, struct b2f_why *why)
{
	char lock[NAME_MAX + sizeof(B2F_LOCK_NAME)];
	struct stat st;

	snprintf(lock, sizeof(lock), "%s" B2F_LOCK_NAME, b->name);
	if (fstatat(b->dirfd, lock, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return b2f_why_set(why, -EBUSY, "another program may lock %s",
				   lock);
	/* The name is too long to have a lock file. */
	return errno == ENOENT || errno == ENAMETOOLONG ? 0
							: failed("stat", why);
}

/*
 * Gives the index all attributes of the file.  If the owner cannot be set, the
 * frame stays one file.
 */
static int inherit_index(const struct b2f_become *b, int old, int dir,
			 struct b2f_why *why)
{
	struct stat st;
	int fd, err;

	fd = b2f_files_open(dir, B2F_INDEX_NAME, O_RDWR);
	if (fd < 0)
		return failed("open the index", why);
	err = b2f_files_inherit_file(old, fd, why);
	if (!err && fstat(fd, &st))
		err = failed("stat the index", why);
	close(fd);
	if (!err && (st.st_uid != b->old.st_uid || st.st_gid != b->old.st_gid ||
		     st.st_mode != b->old.st_mode))
		err = b2f_why_set(why, -EPERM, "it would change its owner");
	return err;
}

/* Do this last: it lets other users into the directory. */
static int inherit_dir(const struct b2f_become *b, int old, int dir,
		       struct b2f_why *why)
{
	mode_t mode = b2f_store_dir_mode(b->old.st_mode);

	if ((b->dir.st_uid != b->old.st_uid ||
	     b->dir.st_gid != b->old.st_gid) &&
	    fchown(dir, b->old.st_uid, b->old.st_gid))
		return failed("chown", why);
	if (b2f_files_inherit_entry(old, dir))
		return b2f_why_set(why, -EPERM, "it would lose its ACL");
	if (fchmod(dir, mode | (b->dir.st_mode & S_ISGID)))
		return failed("chmod", why);
	return 0;
}

int b2f_become_begin(struct b2f_become *b, struct b2f_store *old,
		     const struct b2f_store_plan *plan, struct b2f_store **out,
		     struct b2f_why *why)
{
	struct b2f_store_plan own = *plan;
	struct b2f_store_made made;
	int err = 0;

	if (fstat(b2f_files_of(old)->fd, &b->old))
		err = failed("stat", why);
	if (!err)
		err = check_name(b, b->name, why);
	if (!err)
		err = check_lock(b, why);
	own.mode = 0600;
	own.replaces = b->old.st_ino;
	if (!err)
		err = b2f_store_make_hidden(b->dirfd, &own, b->hidden, &made,
					    why);
	if (err)
		return err;
	b->dir = made.dir;
	err = inherit_index(b, b2f_files_of(old)->fd, made.fd, why);
	if (!err)
		err = inherit_dir(b, b2f_files_of(old)->fd, made.fd, why);
	if (err) {
		b2f_store_free(made.store);
		b2f_become_undo(b);
	} else {
		*out = made.store;
	}
	return err;
}

static int exchange(const struct b2f_become *b)
{
	return renameat2(b->dirfd, b->hidden, b->dirfd, b->name,
			 RENAME_EXCHANGE)
		       ? -errno
		       : 0;
}

/* If another program has removed the directory, its name is free. */
static int exchange_back(const struct b2f_become *b)
{
	int err = exchange(b);

	return err == -ENOENT && !renameat2(b->dirfd, b->hidden, b->dirfd,
					    b->name, RENAME_NOREPLACE)
		       ? 0
		       : err;
}

/* Gives both their old names; @err is the cause. */
static int give_back(struct b2f_become *b, int err, struct b2f_why *why)
{
	int failed = exchange_back(b);

	b->is_astray = failed != 0;
	if (!failed)
		return err;
	return b2f_why_set(why, failed,
			   "a file that another program has just put there, or "
			   "changed, is called %s now, and could not be "
			   "renamed: %s",
			   b->hidden, b2f_strerror(failed));
}

int b2f_become_exchange(struct b2f_become *b, struct b2f_why *why)
{
	int err = check_name(b, b->name, why);

	if (err)
		return err;
	err = exchange(b);
	if (err)
		return b2f_why_set(why, err == -ENOSYS ? -EINVAL : err,
				   "exchange names: %s", b2f_strerror(err));
	/* Another program may have put another file there before that. */
	err = check_name(b, b->hidden, why);
	if (err)
		return give_back(b, err, why);
	/* If that fails the directory stays: it is as empty as the file. */
	err = check_lock(b, why);
	return err && exchange_back(b) == 0 ? err : 0;
}

int b2f_become_exchange_back(struct b2f_become *b, struct b2f_why *why)
{
	return give_back(b, 0, why);
}

void b2f_become_end(const struct b2f_become *b)
{
	(void)unlinkat(b->dirfd, b->hidden, 0);
}

void b2f_become_undo(const struct b2f_become *b)
{
	struct stat st;

	/* Another program may have taken the hidden name. */
	if (fstatat(b->dirfd, b->hidden, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == b->dir.st_dev && st.st_ino == b->dir.st_ino)
		(void)!b2f_store_unmake(b->dirfd, b->hidden);
}
