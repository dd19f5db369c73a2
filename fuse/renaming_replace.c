/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renaming_replace.c - OLD takes the place of NEW
 *
 * There is one step before which OLD and NEW are as they were, and behind which OLD
 * has gone and NEW is what it was, also after a crash:
 *
 *   neither is a sparse frame   rename(2) over the name of NEW
 *   only NEW is                 NEW steps aside (aside.h), and leaves a link;
 *                               rename(2) over that
 *   OLD is                      NEW steps aside; OLD changes places with the link,
 *                               which is doomed by that
 *
 * One of them may be no frame.  Then a frame goes by its name without a suffix
 * meanwhile, by which it is shown as before; afterwards it gets its suffix.
 *
 * NEW is one of the two after a loss of power, too; see durable.h.
 *
 * Without RENAME_EXCHANGE or symbolic links on the backing filesystem, and in a
 * lower layer of overlayfs, a sparse frame is deleted before OLD gets its name: there
 * is a moment without NEW.  If a name without a suffix would be shown as another one
 * (a text called x.b2), OLD moves beside NEW, which is shown by its full name until it
 * is deleted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aside.h"
#include "b2frame/error.h"
#include "renaming.h"

/*
 * If neither side was a directory that is no frame, another mount was faster,
 * and the kernel is to look again.
 */
static int judge(const struct fs_renaming *r, int err)
{
	bool is_about_kind = err == -EISDIR || err == -ENOTDIR ||
			     err == -ENOTEMPTY || err == -EEXIST;

	return is_about_kind && !fs_side_is_dir(&r->to) ? -ESTALE : err;
}

/*
 * Renames OLD over NEW: rename(2) knows both kinds, and the names are the same.
 */
static int move_over(struct fs_renaming *r)
{
	struct fs_backed *replaced = fs_entry_hold(r->fs, &r->to.found);
	int err = fs_renaming_move_old(r, 0);

	if ((err == -ENOTEMPTY || err == -EEXIST) && fs_side_is_dir(&r->to)) {
		fs_entry_clear_dir(&r->to.entry, &r->to.found);
		err = fs_renaming_move_old(r, 0);
	}
	if (!err)
		fs_entry_retire(r->fs, replaced, &r->to.found);
	fs_entry_let_go(r->fs, replaced, err);
	return judge(r, err);
}

/* Moves OLD beside NEW, then deletes NEW. */
static int move_beside(struct fs_renaming *r)
{
	int err = fs_renaming_move_old(r, RENAME_NOREPLACE);

	if (err)
		return err;
	err = fs_entry_delete(&r->to.entry, &r->to.found);
	if (!err)
		return 0;
	/* Move it back; if even that fails, both are there. */
	if (fs_renaming_entry(&r->to.entry, r->name, &r->from.entry,
			      r->from.found.name, RENAME_NOREPLACE) == 0)
		fs_renaming_move(r->fs, &r->from, &r->from.entry,
				 r->from.found.name);
	return err;
}

/* Is its entry a directory, and no link to one? */
static bool is_directory(const struct fs_side *side)
{
	return fs_side_is_sparse(side) && !fs_side_is_name(side);
}

/*
 * Deletes NEW, then moves OLD to its place.  If OLD is a directory, rename(2) tells
 * before whether it can be moved at all: "not empty" means that it can.
 */
static int move_after(struct fs_renaming *r)
{
	int err = 0;

	if (is_directory(&r->from) && is_directory(&r->to))
		err = fs_renaming_entry(&r->from.entry, r->from.found.name,
					&r->to.entry, r->to.found.name, 0);
	if (err && err != -ENOTEMPTY && err != -EEXIST)
		return err;
	err = fs_entry_delete(&r->to.entry, &r->to.found);
	return err ? err : fs_renaming_move_old(r, RENAME_NOREPLACE);
}

/* NEW is a link to where it lies, and is replaced in the next step. */
static int step_aside(struct fs_renaming *r)
{
	struct fs_side *to = &r->to;
	bool by_old = fs_renaming_is_same_dir(r) && is_directory(&r->from);
	const char *old = by_old ? r->from.found.name : NULL;
	char aside[FS_NAME_SIZE];
	struct stat st;
	int err;

	if (fs_side_is_name(to)) {
		/* The link would lead to another frame there. */
		if (!old && fstatat(r->from.entry.pin.fd, to->found.probe.home,
				    &st, AT_SYMLINK_NOFOLLOW) == 0)
			return -EXDEV;
		return fs_aside_relink(to->entry.pin.fd, to->found.name,
				       to->found.probe.home, old, false);
	}
	err = fs_aside_step(to->entry.pin.fd, to->found.name,
			    &to->found.probe.st, old, aside);
	if (err)
		return err;
	fs_renaming_move(r->fs, to, &to->entry, aside);
	memcpy(r->aside, aside, sizeof(aside));
	return 0;
}

static void step_back(struct fs_renaming *r)
{
	const struct fs_side *to = &r->to;
	int fd = to->entry.pin.fd;

	if (fs_side_is_name(to))
		(void)!fs_aside_relink(fd, to->found.name,
				       to->found.probe.home, NULL, true);
	else if (fs_aside_return(fd, to->found.name, r->aside) == 0 ||
		 renameat2(fd, r->aside, fd, to->found.name,
			   RENAME_NOREPLACE) == 0)
		fs_renaming_move(r->fs, to, &to->entry, to->found.name);
}

/* Puts OLD at the place of the link that NEW has left. */
static int take_place(struct fs_renaming *r)
{
	const char *old = r->from.found.name, *taken = r->to.found.name;
	const struct fs_entry *from = &r->from.entry, *to = &r->to.entry;
	bool exchanges = is_directory(&r->from);
	int err = fs_renaming_entry(from, old, to, taken,
				    exchanges ? RENAME_EXCHANGE : 0);

	if (err)
		return judge(r, err);
	fs_renaming_move(r->fs, &r->from, to, taken);
	/* It is not shown; a listing removes what cannot be removed now. */
	if (exchanges)
		unlinkat(from->pin.fd, old, 0);
	return 0;
}

/* Deletes what NEW was, which lies aside; a listing does it if we cannot. */
static void delete_aside(const struct fs_renaming *r)
{
	struct fs_found left = r->to.found;
	int err;

	if (fs_side_is_name(&r->to))
		return;
	memcpy(left.name, r->aside, sizeof(left.name));
	err = fs_entry_delete(&r->to.entry, &left);
	if (err)
		fs_logger_write(r->fs->logger, B2F_LOG_WARNING,
				"%s: %s has been replaced, but is still there: "
				"%s",
				r->fs->source.path, left.name,
				b2f_strerror(err));
}

static int move_over_aside(struct fs_renaming *r)
{
	int lock = fs_aside_lock(r->to.entry.pin.fd), other = -1;
	int err;

	if (!fs_renaming_is_same_dir(r))
		other = fs_aside_lock(r->from.entry.pin.fd);
	err = step_aside(r);
	if (err == -EINVAL || err == -EPERM || err == -EOPNOTSUPP ||
	    err == -EXDEV) {
		err = fs_side_is_name(&r->to) ? err : move_after(r);
	} else if (!err) {
		err = take_place(r);
		if (err)
			step_back(r);
		else
			delete_aside(r);
	}
	if (lock >= 0)
		close(lock);
	if (other >= 0)
		close(other);
	return err;
}

/* OLD takes the name that NEW has on the backing filesystem. */
static int take_name(struct fs_renaming *r)
{
	char name[FS_NAME_SIZE];
	int err;

	memcpy(name, r->name, sizeof(name));
	memcpy(r->name, r->to.found.name, sizeof(r->name));
	err = is_directory(&r->from) || is_directory(&r->to)
		      ? move_over_aside(r)
		      : move_over(r);
	if (err)
		return err;
	memcpy(r->from.found.name, r->to.found.name,
	       sizeof(r->from.found.name));
	/* It is shown as NEW by either name; prefer its own suffix. */
	if (strcmp(r->from.found.name, name) != 0)
		(void)!fs_renaming_call(r, &r->from, &r->to.entry, name);
	return 0;
}

/* The frame NEW goes by its name without a suffix, and so does OLD then. */
static int take_bare_name(struct fs_renaming *r)
{
	char full[FS_NAME_SIZE];
	int err;

	memcpy(full, r->to.found.name, sizeof(full));
	err = fs_renaming_call(r, &r->to, &r->to.entry, r->to.entry.name);
	if (err)
		return err;
	err = take_name(r);
	if (err)
		(void)!fs_renaming_call(r, &r->to, &r->to.entry, full);
	return err;
}

int fs_renaming_replace(struct fs_renaming *r)
{
	bool from_is_frame = fs_side_is_frame(&r->from);
	bool to_is_frame = fs_side_is_frame(&r->to);
	char stem[FS_NAME_SIZE];
	int err;

	if (fs_side_is_dir(&r->from) != fs_side_is_dir(&r->to))
		return fs_side_is_dir(&r->to) ? -EISDIR : -ENOTDIR;
	/* rename(2) leaves two names of one file as they are. */
	if (fs_renaming_is_same_file(r))
		return 0;
	err = fs_renaming_make_durable(r, &r->from, &r->to);
	if (err)
		return err;
	if (strcmp(r->name, r->to.found.name) == 0 ||
	    (from_is_frame && to_is_frame))
		return take_name(r);
	/* A frame of such a name would be shown by another one. */
	if (fs_suffix_stem(r->to.entry.name, stem))
		return move_beside(r);
	return from_is_frame ? take_name(r) : take_bare_name(r);
}
