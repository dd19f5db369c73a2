/* SPDX-License-Identifier: BSD-3-Clause */
/* target_commit.c - gives a result its name */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "cli/cleanup.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/target.h"
#include "programs/io.h"

/* The file that C-Blosc2 locks in a sparse frame (docs/format.md 6). */
#define LOCK ".b2lock"

/* The replaced file is in the workshop, and is removed with it. */
static int remove_old(const struct cli_target *t)
{
	int err = cli_frames_remove_any(t->dirfd, CLI_TARGET_OLD);

	if (err)
		cli_message_error("%s: done, but the old one could not be "
				  "removed: it is %s/%s now (%s)",
				  t->name, t->temp, CLI_TARGET_OLD,
				  b2f_strerror(err));
	return err;
}

/* Without RENAME_EXCHANGE the name is missing for a moment. */
static int exchange_slowly(const struct cli_target *t)
{
	int err = 0;

	if (renameat(t->parent, t->last, t->dirfd, CLI_TARGET_OLD) != 0)
		return -errno;
	if (renameat(t->dirfd, t->base, t->parent, t->last) != 0) {
		err = -errno;
		if (renameat(t->dirfd, CLI_TARGET_OLD, t->parent, t->last) != 0)
			cli_message_error("%s: it is %s/%s now", t->name,
					  t->temp, CLI_TARGET_OLD);
	}
	return err;
}

/*
 * Exchanges the two, atomically where the kernel can do that.  The result gets
 * the name of the old one first, so that nothing can fail afterwards.
 */
static int exchange(const struct cli_target *t)
{
	int err = 0;

	if (renameat(t->dirfd, t->base, t->dirfd, CLI_TARGET_OLD) != 0)
		return -errno;
	if (renameat2(t->dirfd, CLI_TARGET_OLD, t->parent, t->last,
		      RENAME_EXCHANGE) == 0)
		return 0;
	err = -errno;
	if (renameat(t->dirfd, CLI_TARGET_OLD, t->dirfd, t->base) != 0 ||
	    (err != -EINVAL && err != -ENOSYS))
		return err;
	return exchange_slowly(t);
}

/*
 * Copies the names of the frame @old to @new, and links its lock file: a
 * program that waits for the lock gets the one that others will ask for.
 */
static void carry_over(int old, int new)
{
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
	cli_at_close(old);
	cli_at_close(new);
}

/* rename(2) replaces a file by a file; everything else is exchanged. */
static int replace(const struct cli_target *t)
{
	struct stat old, new;

	if (fstatat(t->dirfd, t->base, &new, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	/* The old one has been removed meanwhile. */
	if (fstatat(t->parent, t->last, &old, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? b2f_io_rename(t->dirfd, t->base,
						       t->parent, t->last)
				       : -errno;
	if (S_ISREG(old.st_mode) && S_ISREG(new.st_mode))
		return renameat(t->dirfd, t->base, t->parent, t->last) ? -errno
								    : 0;
	if (S_ISDIR(old.st_mode) && S_ISDIR(new.st_mode))
		carry_over(cli_at_open_below(t->parent, t->last, O_PATH),
			   cli_at_open_below(t->dirfd, t->base, O_PATH));
	return exchange(t);
}

/*
 * Moving a directory needs write permission on it, even for its owner: a
 * read-only one is made writable meanwhile, by its descriptor.
 */
static int give_name(const struct cli_target *t)
{
	int fd = openat(t->dirfd, t->base,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool lent = fd >= 0 && fstat(fd, &st) == 0 && !(st.st_mode & S_IWUSR) &&
		    fchmod(fd, (st.st_mode & 07777) | S_IWUSR) == 0;
	int err = t->replaces ? replace(t)
			      : b2f_io_rename(t->dirfd, t->base, t->parent,
					      t->last);

	if (lent && fchmod(fd, st.st_mode & 07777) != 0 && !err)
		err = -errno;
	cli_at_close(fd);
	return err;
}

/*
 * Makes the name durable.  If that fails, the result is there all the same, and
 * the file that it replaced stays in the workshop.
 */
static int sync_name(const struct cli_target *t)
{
	int err = cli_at_sync(t->parent);

	if (!err)
		return 0;
	cli_message_error("%s: done, but a loss of power may undo it: %s",
			  t->name, b2f_strerror(err));
	if (faccessat(t->dirfd, CLI_TARGET_OLD, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		cli_message_error("%s: the old one is %s/%s now", t->name,
				  t->temp, CLI_TARGET_OLD);
	return B2F_EINDOUBT;
}

/*
 * A file that cannot be opened as a frame has no writer that loses data, unless
 * the lock of C-Blosc2 is the reason.
 */
static int hold_old(const struct cli_target *t, struct b2f_frame **old)
{
	const struct b2f_frame_options how = {0};
	const struct cli_at at = cli_target_result(t);
	int err;

	if (t->replaces != CLI_REPLACE_OTHERS)
		return 0;
	cli_message_pause(true);
	err = cli_frames_open(&how, &at, old);
	cli_message_pause(false);
	if (err == -EAGAIN)
		return cli_frames_refuse_locked(t->name);
	return err ? 0 : cli_frames_hold(t->name, *old);
}

static int publish(struct cli_target *t, bool durable)
{
	int err;

	cli_cleanup_lock();
	err = give_name(t);
	cli_cleanup_unlock();
	if (err)
		return cli_message_errno(t->name, err);
	if (durable)
		err = sync_name(t);
	if (!err && t->replaces)
		err = remove_old(t);
	cli_target_close_workshop(t);
	return err;
}

int cli_target_commit(struct cli_target *target, bool durable)
{
	const struct cli_at at = cli_target_at(target);
	struct b2f_frame *old = NULL;
	int err = cli_target_know(&at);

	if (err)
		return cli_message_errno(target->name, err);
	err = hold_old(target, &old);
	if (!err)
		err = publish(target, durable);
	b2f_frame_close(old);
	return err;
}
