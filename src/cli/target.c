/* SPDX-License-Identifier: BSD-3-Clause */
/* target.c - a frame that is made, and named, completely or not at all */
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
#include "cli/message.h"
#include "cli/need.h"
#include "cli/text.h"
#include "programs/copy_frame.h"
#include "programs/io.h"

/* 16 hexadecimal digits follow. */
#define TEMP_NAME ".bloscctl-"

/* Names in the workshop: of the result; then of the file that it replaced. */
#define MADE "new"
#define OLD  "old"

/* The file that C-Blosc2 locks in a sparse frame (docs/format.md 6). */
#define LOCK ".b2lock"

/* For large temporary files, which survive a reboot. */
#define SCRATCH_DIR "/var/tmp/"

bool cli_target_is_temp(const char *name)
{
	size_t prefix = strlen(TEMP_NAME);

	return strncmp(name, TEMP_NAME, prefix) == 0 &&
	       strspn(name + prefix, "0123456789abcdef") == 16 &&
	       !name[prefix + 16];
}

/*
 * Makes the workshop @fd ours alone.  If another user owns it, either
 * that user has replaced ours, or the filesystem has no owners: then even root
 * cannot change the owner, and the files belong to one user anyway.
 */
static int own_workshop(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (st.st_uid != geteuid() && fchown(fd, geteuid(), (gid_t)-1) != 0 &&
	    geteuid() == 0 && errno != EPERM && errno != EINVAL)
		return -errno;
	/* Files inherit the group if the parent directory says so. */
	return fchmod(fd, 0700 | (st.st_mode & S_ISGID)) != 0 && errno != EPERM
		       ? -errno
		       : 0;
}

/* Makes the workshop t->temp, which must not exist. */
static int make_workshop(struct cli_target *t)
{
	int err;

	cli_cleanup_add(t->to.dir, t->temp);
	if (mkdirat(t->to.dir, t->temp, 0700) != 0)
		return -errno;
	t->at.dir = cli_at_open_below(t->to.dir, t->temp, O_RDONLY);
	err = t->at.dir < 0 ? t->at.dir : own_workshop(t->at.dir);
	return err;
}

static char *temp_name(uint64_t number)
{
	return cli_need_text(TEMP_NAME "%016llx", (unsigned long long)number);
}

/* Goes on after @err, or closes @t. A random name of this length is free. */
static int make_new_workshop(struct cli_target *t, int err)
{
	uint64_t random;

	if (!err && getrandom(&random, sizeof(random), 0) != sizeof(random))
		err = cli_message_errno(t->at.path, -errno);
	if (!err) {
		t->temp = temp_name(random);
		err = cli_message_errno(t->at.path, make_workshop(t));
	}
	if (err)
		cli_target_close(t);
	return err;
}

static int check_replaceable(const struct cli_target *t, const struct stat *st)
{
	const char *name = t->at.path;
	struct b2f_frame_peek peek;
	int err;

	if (S_ISREG(st->st_mode))
		return 0;
	if (!S_ISDIR(st->st_mode))
		return cli_refuse(
			-EEXIST, "%s: it exists, and is no regular file", name);
	err = b2f_frame_peek(t->to.dir, t->to.name, NULL, &peek);
	if (err)
		return cli_message_errno(name, err);
	if (!peek.is_frame)
		return cli_refuse(-EISDIR,
				  "%s: it is a directory, but no frame", name);
	return cli_frames_check_removable(t->to.dir, t->to.name, name);
}

/* The files that this run has made or reads, a search tree of struct stat. */
static void *known;

static int compare(const void *a, const void *b)
{
	const struct stat *x = a, *y = b;

	if (x->st_dev != y->st_dev)
		return x->st_dev < y->st_dev ? -1 : 1;
	return x->st_ino < y->st_ino ? -1 : x->st_ino > y->st_ino;
}

int cli_target_know(const struct cli_at *at)
{
	struct stat *st = cli_need(malloc(sizeof(*st)));
	int err = cli_at_stat(at, st);

	if (err ||
	    *(struct stat **)cli_need(tsearch(st, &known, compare)) != st)
		free(st);
	return err;
}

static int check_existing(struct cli_target *t, enum cli_replace replace)
{
	struct stat st;

	if (fstatat(t->to.dir, t->to.name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0
				       : cli_message_errno(t->at.path, -errno);
	if (replace == CLI_REPLACE_OTHERS && tfind(&st, &known, compare))
		return cli_refuse(-EEXIST,
				  "%s: this run has made it, or reads "
				  "it; -o names another place",
				  t->at.path);
	if (replace == CLI_REPLACE_NOTHING)
		return cli_refuse(-EEXIST,
				  "%s: it exists already; -f overwrites it",
				  t->at.path);
	t->replaces = replace;
	return check_replaceable(t, &st);
}

/* If the user names a link, its target is replaced. */
static char *follow(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? realpath(path, NULL)
				     : cli_text_bare(path);
}

/* Opens the directory of the result @at; NULL: of large temporary files. */
static int find(struct cli_target *t, const struct cli_at *at)
{
	bool is_named = !at || cli_at_is_named(at);

	*t = (struct cli_target)CLI_TARGET_NONE;
	t->at.path = t->to.path = at ? at->path : SCRATCH_DIR;
	t->at.name = MADE;
	t->memory = at && is_named ? follow(at->name)
				   : cli_need_copy(at ? at->name : SCRATCH_DIR);
	if (!t->memory)
		return cli_message_errno(t->at.path, -errno);
	t->to.name = t->memory;
	t->to.dir =
		is_named ? cli_at_open_holder(t->memory, O_RDONLY, &t->to.name)
			 : cli_at_open_below(at->dir, "", O_RDONLY);
	return t->to.dir < 0 ? cli_message_errno(t->at.path, t->to.dir) : 0;
}

/*
 * In the directory of a frame a result could replace a chunk, and would go when
 * the frame is removed.
 */
static int check_place(const struct cli_target *t)
{
	if (faccessat(t->to.dir, B2F_INDEX_NAME, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	return cli_refuse(-EINVAL,
			  "%s: its directory is a frame, and for chunks only",
			  t->at.path);
}

static int begin(struct cli_target *out, const struct cli_at *at,
		 enum cli_replace replace)
{
	int err;

	*out = (struct cli_target)CLI_TARGET_NONE;
	if (cli_kind_check_output(at->path))
		return -EROFS;
	err = find(out, at);
	if (!err)
		err = check_place(out);
	return err ? err : check_existing(out, replace);
}

int cli_target_open(struct cli_target *out, const struct cli_at *at,
		    enum cli_replace replace)
{
	return make_new_workshop(out, begin(out, at, replace));
}

int cli_target_open_scratch(struct cli_target *out, const struct cli_at *at)
{
	return make_new_workshop(out, find(out, at));
}

int cli_target_set_attributes(const struct cli_target *target,
			      const struct stat *like, int from)
{
	return cli_message_errno(target->at.path,
				 cli_attributes_set(&target->at, like, from));
}

/* In a directory like /tmp, any user can make one of that name. */
static int enter_workshop(struct cli_target *t)
{
	bool is_new = mkdirat(t->to.dir, t->temp, 0700) == 0;
	struct stat st;
	int err = 0;

	if (!is_new && errno != EEXIST)
		return -errno;
	t->at.dir = cli_at_open_below(t->to.dir, t->temp, O_RDONLY);
	if (t->at.dir < 0)
		return t->at.dir == -ENOTDIR ? -EEXIST : t->at.dir;
	if (fstat(t->at.dir, &st) != 0)
		return -errno;
	if (!is_new && st.st_uid != geteuid())
		err = -EEXIST;
	else if (flock(t->at.dir, LOCK_EX | LOCK_NB) != 0 &&
		 errno == EWOULDBLOCK)
		err = -EBUSY;
	return err ? err : own_workshop(t->at.dir);
}

/*
 * Removes a complete frame left in the workshop: the one that a killed program
 * had replaced.  Its chunks must not be taken for those of a copy.
 */
static int clear_left(const struct cli_target *t)
{
	int err = cli_frames_remove_any(t->at.dir, OLD);

	if (!err && faccessat(t->at.dir, MADE "/" B2F_INDEX_NAME, F_OK,
			      AT_SYMLINK_NOFOLLOW) == 0)
		err = cli_frames_remove_any(t->at.dir, MADE);
	return err;
}

int cli_target_open_kept(struct cli_target *out, const struct cli_at *at,
			 enum cli_replace replace,
			 const struct b2f_frame_stamp *version)
{
	int err = begin(out, at, replace);

	if (err)
		goto out;
	out->kept = true;
	out->temp = temp_name(b2f_copy_key(version, out->to.name));
	err = enter_workshop(out);
	if (!err)
		err = clear_left(out);
	err = cli_target_explain_kept(out, err);
out:
	if (err) {
		/* It may belong to another program. */
		free(out->temp);
		out->temp = NULL;
		cli_target_close(out);
	}
	return err;
}

int cli_target_explain_kept(struct cli_target *target, int err)
{
	if (err != -EBUSY && err != -EEXIST)
		return cli_message_errno(target->at.path, err);
	if (err == -EBUSY)
		cli_message_error("%s: another copy of it is being made",
				  target->at.path);
	else
		cli_message_error("%s: the directory for its copy, %s, belongs "
				  "to another user",
				  target->at.path, target->temp);
	free(target->temp);
	target->temp = NULL;
	return err;
}

/* The workshop is removed only if it is empty. */
static void close_workshop(struct cli_target *t)
{
	cli_cleanup_lock();
	if (unlinkat(t->to.dir, t->temp, AT_REMOVEDIR) != 0)
		errno = 0;
	cli_cleanup_drop(t->temp);
	cli_cleanup_unlock();
	free(t->temp);
	t->temp = NULL;
}

/* The replaced file is in the workshop, and is removed with it. */
static int remove_old(const struct cli_target *t)
{
	int err = cli_frames_remove_any(t->at.dir, OLD);

	if (err)
		cli_message_error("%s: done, but the old one could not be "
				  "removed: it is %s/%s now (%s)",
				  t->at.path, t->temp, OLD, b2f_strerror(err));
	return err;
}

/* Moves the result from the workshop to its place, over a file there. */
static int move(const struct cli_target *t)
{
	return renameat(t->at.dir, t->at.name, t->to.dir, t->to.name) != 0
		       ? -errno
		       : 0;
}

/* Without RENAME_EXCHANGE the name is missing for a moment. */
static int exchange_slowly(const struct cli_target *t)
{
	int err;

	if (renameat(t->to.dir, t->to.name, t->at.dir, OLD) != 0)
		return -errno;
	err = move(t);
	if (err && renameat(t->at.dir, OLD, t->to.dir, t->to.name) != 0)
		cli_message_error("%s: it is %s/%s now", t->at.path, t->temp,
				  OLD);
	return err;
}

/*
 * Exchanges the two, atomically where the kernel can do that.  The result gets
 * the name of the old one first, so that nothing can fail afterwards.
 */
static int exchange(const struct cli_target *t)
{
	int err = 0;

	if (renameat(t->at.dir, t->at.name, t->at.dir, OLD) != 0)
		return -errno;
	if (!renameat2(t->at.dir, OLD, t->to.dir, t->to.name, RENAME_EXCHANGE))
		return 0;
	err = -errno;
	if (renameat(t->at.dir, OLD, t->at.dir, t->at.name) != 0 ||
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

	if (fstatat(t->at.dir, t->at.name, &new, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	/* The old one has been removed meanwhile. */
	if (fstatat(t->to.dir, t->to.name, &old, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? b2f_io_rename(t->at.dir, t->at.name,
						       t->to.dir, t->to.name)
				       : -errno;
	if (S_ISREG(old.st_mode) && S_ISREG(new.st_mode))
		return move(t);
	if (S_ISDIR(old.st_mode) && S_ISDIR(new.st_mode))
		carry_over(cli_at_open_below(t->to.dir, t->to.name, O_PATH),
			   cli_at_open_below(t->at.dir, t->at.name, O_PATH));
	return exchange(t);
}

/*
 * Moving a directory needs write permission on it, even for its owner: a
 * read-only one is made writable meanwhile, by its descriptor.
 */
static int give_name(const struct cli_target *t)
{
	CLI_OWN_FD int fd =
		openat(t->at.dir, t->at.name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool lent = fd >= 0 && fstat(fd, &st) == 0 && !(st.st_mode & S_IWUSR) &&
		    fchmod(fd, (st.st_mode & 07777) | S_IWUSR) == 0;
	int err = t->replaces ? replace(t)
			      : b2f_io_rename(t->at.dir, t->at.name, t->to.dir,
					      t->to.name);

	if (lent && fchmod(fd, st.st_mode & 07777) != 0 && !err)
		err = -errno;
	return err;
}

/*
 * Makes the name durable.  If that fails, the result is there all the same, and
 * the file that it replaced stays in the workshop.
 */
static int sync_name(const struct cli_target *t)
{
	int err = cli_at_sync(t->to.dir);

	if (!err)
		return 0;
	cli_message_error("%s: done, but a loss of power may undo it: %s",
			  t->at.path, b2f_strerror(err));
	if (faccessat(t->at.dir, OLD, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		cli_message_error("%s: the old one is %s/%s now", t->at.path,
				  t->temp, OLD);
	return B2F_EINDOUBT;
}

/*
 * A file that cannot be opened as a frame has no writer that loses data, unless
 * the lock of C-Blosc2 is the reason.
 */
static int hold_old(const struct cli_target *t, struct b2f_frame **old)
{
	const struct b2f_frame_options how = {0};
	int err;

	if (t->replaces != CLI_REPLACE_OTHERS)
		return 0;
	cli_message_pause(true);
	err = cli_frames_open(&how, &t->to, old);
	cli_message_pause(false);
	if (err == -EAGAIN)
		return cli_frames_refuse_locked(t->at.path);
	return err ? 0 : cli_frames_hold(t->at.path, *old);
}

static int publish(struct cli_target *t, bool durable)
{
	int err;

	cli_cleanup_lock();
	err = give_name(t);
	cli_cleanup_unlock();
	if (err)
		return cli_message_errno(t->at.path, err);
	if (durable)
		err = sync_name(t);
	if (!err && t->replaces)
		err = remove_old(t);
	close_workshop(t);
	return err;
}

int cli_target_commit(struct cli_target *target, bool durable)
{
	CLI_OWN_FRAME struct b2f_frame *old = NULL;
	int err = cli_target_know(&target->at);

	if (err)
		return cli_message_errno(target->at.path, err);
	err = hold_old(target, &old);
	return err ? err : publish(target, durable);
}

/* Removes an interrupted copy that has no content yet. */
static void remove_empty(const struct cli_target *t)
{
	struct stat st;

	if (fstatat(t->at.dir, MADE, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	if (S_ISDIR(st.st_mode))
		unlinkat(t->at.dir, MADE, AT_REMOVEDIR);
	else if (st.st_size == 0)
		unlinkat(t->at.dir, MADE, 0);
}

static void remove_made(const struct cli_target *t)
{
	int err = cli_frames_remove_any(t->at.dir, MADE);

	/* It may be a directory without an index. */
	if (err == -ENOENT)
		cli_cleanup_remove(t->at.dir, MADE);
	else
		cli_message_errno(t->at.path, err);
}

void cli_target_close(struct cli_target *target)
{
	if (target->temp && target->at.dir >= 0) {
		if (!target->kept)
			remove_made(target);
		else if (target->outdated)
			cli_cleanup_remove(target->at.dir, MADE);
		else
			remove_empty(target);
	}
	if (target->temp)
		close_workshop(target);
	cli_at_close(target->at.dir);
	cli_at_close(target->to.dir);
	free(target->memory);
	*target = (struct cli_target)CLI_TARGET_NONE;
}
