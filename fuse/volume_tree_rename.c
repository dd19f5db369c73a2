/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_tree_rename.c - rename, also over an existing file
 *
 * OLD becomes NEW.  On the backing filesystem that is one rename(2) to the name
 * that is shown as NEW (resolve.h); frames keep their suffix.
 *
 * Each name of a frame with several names is a symbolic link (links.h): the
 * link gets the new name, and the frame stays in its home.
 *
 * If NEW exists, one step replaces it, also across a crash: before this step
 * OLD and NEW are unchanged, after it OLD is gone and NEW is the old file:
 *
 *   neither is a sparse frame   rename(2) over the name of NEW
 *   only NEW is                 NEW steps aside (aside.h), and leaves a link;
 *                               rename(2) over that
 *   OLD is                      NEW steps aside; OLD changes places with the
 *                               link, which is doomed by that
 *
 * If only one of them is a frame, that frame loses its suffix for the exchange,
 * and gets it back afterwards; it is shown by the same name throughout.
 *
 * After a loss of power, too, NEW is one of the two files; see durable.h.
 *
 * Without RENAME_EXCHANGE or symbolic links on the backing filesystem, and in a
 * lower layer of overlayfs, a sparse frame is deleted before OLD gets its name:
 * for a moment NEW does not exist.  If a name without a suffix would be shown
 * as another one (a text called x.b2), OLD moves to a backing name beside NEW,
 * which is shown by its full backing name until it is deleted.
 *
 * An empty pack and an empty directory are deleted first, too, if the other
 * replaces them: there is nothing in them to lose.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aside.h"
#include "b2frame/error.h"
#include "dir.h"
#include "durable.h"
#include "entry.h"
#include "links.h"
#include "packs.h"
#include "programs/home.h"
#include "programs/io.h"
#include "setattr.h"
#include "volume_tree.h"

/* How often a rename begins, if other mounts rename the same files. */
#define TRIES 8

/* A side of a rename. */
struct side {
	struct fs_entry entry;
	struct fs_found found;
	/* Its node, if the kernel knows it. */
	struct fs_pin pin;
};

struct renaming {
	struct fs *fs;
	struct side from;
	struct side to;
	/* A file exists at @to. */
	bool replaces;
	/* rename_names() has locked the directory of @to (links.h). */
	bool is_locked;
	/* @from was synced before names_lock was taken. */
	bool is_synced;
	/* The backing name that @from gets. */
	char name[FS_NAME_SIZE];
	/* The backing name of the old @to until it is deleted (aside.h). */
	char aside[FS_NAME_SIZE];
};

static bool is_sparse(const struct side *side)
{
	return side->found.probe.kind == FS_KIND_FRAME &&
	       side->found.probe.sparse;
}

static bool is_frame(const struct side *side)
{
	return side->found.probe.kind == FS_KIND_FRAME;
}

static bool is_dir(const struct side *side)
{
	return side->found.probe.kind == FS_KIND_DIR;
}

/* Is the side one of several names of a frame? */
static bool is_name(const struct side *side)
{
	return side->found.probe.home[0] != '\0';
}

/* Another mount may have moved the frame to its last name. */
static int check_name(const struct side *side)
{
	return is_name(side) ? b2f_home_check_name(side->entry.pin.fd,
						   side->found.name,
						   side->found.probe.home)
			     : 0;
}

static bool is_same_dir(const struct renaming *r)
{
	return r->from.entry.pin.node == r->to.entry.pin.node;
}

/* Are OLD and NEW names of one file? */
static bool is_same_file(const struct renaming *r)
{
	const struct stat *from = &r->from.found.probe.st;
	const struct stat *to = &r->to.found.probe.st;

	return r->replaces && from->st_dev == to->st_dev &&
	       from->st_ino == to->st_ino;
}

/* Notes that the node of @side has the name @name in @entry now. */
static void note_moved(struct fs *fs, const struct side *side,
		       const struct fs_entry *entry, const char *name)
{
	if (!side->pin.node)
		return;
	fs_durable_note_changed(fs, side->pin.node, entry->pin.fd);
	/* The frame itself stays at its home. */
	if (is_name(side))
		return;
	/* Without memory the kernel looks up the name again. */
	(void)!fs_tree_move(fs->tree, side->pin.node, entry->pin.node, name);
}

/* renameat2(2) of a backing name.  Returns 0 or an errno. */
static int rename_entry(const struct fs_entry *from, const char *name,
			const struct fs_entry *to, const char *new_name,
			unsigned int flags)
{
	/* Not every filesystem knows RENAME_NOREPLACE. */
	if (flags == RENAME_NOREPLACE)
		return b2f_io_rename(from->pin.fd, name, to->pin.fd, new_name);
	return renameat2(from->pin.fd, name, to->pin.fd, new_name, flags)
		       ? -errno
		       : 0;
}

/* A file that replaces a durable one must be durable, too. */
static bool must_be_durable(const struct renaming *r, const struct side *fresh,
			    const struct side *old)
{
	const struct stat *st = &old->found.probe.st;

	if (fresh == &r->from && r->is_synced)
		return false;
	if (!is_frame(fresh))
		return S_ISREG(fresh->found.probe.st.st_mode);
	return fs_durable_state(r->fs, st->st_dev, st->st_ino) != B2F_DISK_NEW;
}

/* Syncs @fresh if @old is durable.  Returns 0 or an errno. */
static int make_durable(struct renaming *r, const struct side *fresh,
			const struct side *old)
{
	const struct fs_backed *root = r->fs->tree->root;
	int err;

	if (!must_be_durable(r, fresh, old))
		return 0;
	if (is_frame(fresh))
		return fs_durable_sync_found(r->fs, fresh->pin.node,
					     &fresh->found);
	err = fs_dir_sync(fresh->found.probe.fd);
	/* The right to rename a file opens neither it nor its folder. */
	if (err == -EACCES)
		err = fs_dir_sync_filesystem(fresh->entry.pin.fd);
	if (err == -EACCES && root->dev == fresh->found.probe.st.st_dev)
		err = fs_dir_sync_filesystem(root->fd);
	return err;
}

/* Renames OLD to @r->name in NEW's directory.  Returns 0 or an errno. */
static int move_old(struct renaming *r, unsigned int flags)
{
	int err = rename_entry(&r->from.entry, r->from.found.name, &r->to.entry,
			       r->name, flags);

	if (!err)
		note_moved(r->fs, &r->from, &r->to.entry, r->name);
	return err;
}

/*
 * Renames the frame @side in @entry from @side->found.name to @name; it is
 * shown as before.  Returns 0 or an errno.
 */
static int rename_side(struct renaming *r, struct side *side,
		       const struct fs_entry *entry, const char *name)
{
	int err;

	if (strcmp(side->found.name, name) == 0)
		return 0;
	err = rename_entry(entry, side->found.name, entry, name,
			   RENAME_NOREPLACE);
	if (err)
		return err;
	note_moved(r->fs, side, entry, name);
	snprintf(side->found.name, sizeof(side->found.name), "%s", name);
	return 0;
}

/* Would the backing name @backing show @side as @name? */
static bool fits(const struct side *side, const char *name, const char *backing)
{
	char stem[FS_NAME_SIZE];

	if (is_frame(side) && fs_suffix_stem(backing, stem))
		return strcmp(stem, name) == 0;
	return strcmp(backing, name) == 0;
}

/* Gives the frame @side the suffix of @old back, if that name is free. */
static void restore_suffix(struct renaming *r, struct side *side,
			   const struct fs_entry *entry, const char *old)
{
	struct fs_place place = fs_entry_place(entry);
	char name[FS_NAME_SIZE];

	/* The frame is shown by the same name with and without the suffix. */
	place.leaving = side->found.name;
	if (is_frame(side) && fs_suffix_stem(old, name) &&
	    fs_backing_name_of_frame(&place, entry->name, fs_suffix_of(old),
				     name) == 0)
		(void)!rename_side(r, side, entry, name);
}

/* Would both shown names fit @side without its suffix? */
static bool can_be_bare(const struct side *side, const struct side *other)
{
	return fits(side, side->entry.name, side->entry.name) &&
	       fits(side, other->entry.name, other->entry.name);
}

static int exchange_entries(struct renaming *r)
{
	struct side *a = &r->from, *b = &r->to;
	char name[FS_NAME_SIZE];
	int err = rename_entry(&a->entry, a->found.name, &b->entry,
			       b->found.name, RENAME_EXCHANGE);

	if (err)
		return err;
	note_moved(r->fs, a, &b->entry, b->found.name);
	note_moved(r->fs, b, &a->entry, a->found.name);
	memcpy(name, a->found.name, sizeof(name));
	memcpy(a->found.name, b->found.name, sizeof(name));
	memcpy(b->found.name, name, sizeof(name));
	return 0;
}

/*
 * Exchanges a frame and another file.  The frame goes without its suffix, so
 * that the backing names are the shown ones.
 */
static int exchange_bare(struct renaming *r)
{
	struct side *a = &r->from, *b = &r->to;
	char old_a[FS_NAME_SIZE], old_b[FS_NAME_SIZE];
	int err = 0;

	if (is_name(a) || is_name(b) || !can_be_bare(a, b) ||
	    !can_be_bare(b, a))
		return -EINVAL;
	memcpy(old_a, a->found.name, sizeof(old_a));
	memcpy(old_b, b->found.name, sizeof(old_b));
	if (is_frame(a))
		err = rename_side(r, a, &a->entry, a->entry.name);
	if (!err && is_frame(b))
		err = rename_side(r, b, &b->entry, b->entry.name);
	if (!err)
		err = exchange_entries(r);
	if (err) {
		restore_suffix(r, a, &a->entry, old_a);
		restore_suffix(r, b, &b->entry, old_b);
		return err;
	}
	restore_suffix(r, a, &b->entry, old_a);
	restore_suffix(r, b, &a->entry, old_b);
	return 0;
}

/*
 * Exchanges the two names by exchanging their directory entries.  If only one
 * of them is a frame, it first loses its suffix; it is shown by the same name,
 * so both names exist at every moment.  -EINVAL: for a moment one of them would
 * not exist.
 */
static int exchange(struct renaming *r)
{
	struct side *a = &r->from, *b = &r->to;
	int err;

	if (!r->replaces)
		return -ENOENT;
	err = make_durable(r, a, b);
	if (!err)
		err = make_durable(r, b, a);
	if (err)
		return err;
	if (fits(a, b->entry.name, b->found.name) &&
	    fits(b, a->entry.name, a->found.name))
		return exchange_entries(r);
	return exchange_bare(r);
}

/*
 * If NEW was no directory, an error about kinds of files means that another
 * mount changed NEW meanwhile: the kernel is to look again.
 */
static int judge(const struct renaming *r, int err)
{
	bool is_about_kind = err == -EISDIR || err == -ENOTDIR ||
			     err == -ENOTEMPTY || err == -EEXIST;

	return is_about_kind && !is_dir(&r->to) ? -ESTALE : err;
}

/*
 * Renames OLD over NEW with one rename(2): both are of one kind, and OLD takes
 * NEW's backing name.
 */
static int move_over(struct renaming *r)
{
	struct fs_backed *replaced = fs_entry_hold(r->fs, &r->to.found);
	int err = move_old(r, 0);

	if ((err == -ENOTEMPTY || err == -EEXIST) && is_dir(&r->to)) {
		fs_entry_clear_dir(&r->to.entry, &r->to.found);
		err = move_old(r, 0);
	}
	if (!err)
		fs_entry_retire(r->fs, replaced, &r->to.found);
	fs_entry_let_go(r->fs, replaced, err);
	return judge(r, err);
}

/* Renames OLD to a name beside NEW, then deletes NEW. */
static int move_beside(struct renaming *r)
{
	int err = move_old(r, RENAME_NOREPLACE);

	if (err)
		return err;
	err = fs_entry_delete(&r->to.entry, &r->to.found);
	if (!err)
		return 0;
	/* Move it back; if that fails, too, both exist. */
	if (rename_entry(&r->to.entry, r->name, &r->from.entry,
			 r->from.found.name, RENAME_NOREPLACE) == 0)
		note_moved(r->fs, &r->from, &r->from.entry, r->from.found.name);
	return err;
}

/* Is its directory entry a directory, not a link? */
static bool is_directory(const struct side *side)
{
	return is_sparse(side) && !is_name(side);
}

/*
 * Deletes NEW, then moves OLD to its name.  If OLD is a directory, rename(2)
 * tells first whether it can be moved at all: ENOTEMPTY means that it can.
 */
static int move_after(struct renaming *r)
{
	int err = 0;

	if (is_directory(&r->from) && is_directory(&r->to))
		err = rename_entry(&r->from.entry, r->from.found.name,
				   &r->to.entry, r->to.found.name, 0);
	if (err && err != -ENOTEMPTY && err != -EEXIST)
		return err;
	err = fs_entry_delete(&r->to.entry, &r->to.found);
	return err ? err : move_old(r, RENAME_NOREPLACE);
}

/* Moves NEW aside and leaves a link to it, which the next step replaces. */
static int step_aside(struct renaming *r)
{
	struct side *to = &r->to;
	bool by_old = is_same_dir(r) && is_directory(&r->from);
	const char *old = by_old ? r->from.found.name : NULL;
	char aside[FS_NAME_SIZE];
	struct stat st;
	int err;

	if (is_name(to)) {
		/* In OLD's directory the link would lead to another frame. */
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
	note_moved(r->fs, to, &to->entry, aside);
	memcpy(r->aside, aside, sizeof(aside));
	return 0;
}

static void step_back(struct renaming *r)
{
	const struct side *to = &r->to;
	int fd = to->entry.pin.fd;

	if (is_name(to))
		(void)!fs_aside_relink(fd, to->found.name, to->found.probe.home,
				       NULL, true);
	else if (fs_aside_return(fd, to->found.name, r->aside) == 0 ||
		 renameat2(fd, r->aside, fd, to->found.name,
			   RENAME_NOREPLACE) == 0)
		note_moved(r->fs, to, &to->entry, to->found.name);
}

/* Moves OLD to the name of the link that NEW left. */
static int take_place(struct renaming *r)
{
	const char *old = r->from.found.name, *taken = r->to.found.name;
	const struct fs_entry *from = &r->from.entry, *to = &r->to.entry;
	unsigned int flags = is_directory(&r->from) ? RENAME_EXCHANGE : 0;
	enum b2f_home_link left = B2F_HOME_FAILED;
	char home[FS_NAME_SIZE];
	int err = rename_entry(from, old, to, taken, flags);

	if (err)
		return judge(r, err);
	if (flags)
		left = b2f_home_link(from->pin.fd, old, -1, home);
	/* If it cannot be looked at or removed now, a listing does so. */
	if (left == B2F_HOME_DOOMED) {
		unlinkat(from->pin.fd, old, 0);
	} else if (left != B2F_HOME_FAILED &&
		   rename_entry(from, old, to, taken, flags) != -ENOENT) {
		/* Another program had put a file in place of the link. */
		return -ESTALE;
	}
	note_moved(r->fs, &r->from, to, taken);
	return 0;
}

/* Deletes the old NEW, which lies aside; if this fails, a listing does so. */
static void delete_aside(const struct renaming *r)
{
	struct fs_found left = r->to.found;
	int err;

	if (is_name(&r->to))
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

static int move_over_aside(struct renaming *r)
{
	int lock = -1, err;

	if (!r->is_locked)
		lock = fs_aside_lock(r->to.entry.pin.fd);
	err = step_aside(r);
	if (err == -EINVAL || err == -EPERM || err == -EOPNOTSUPP ||
	    err == -ENOSYS || err == -EXDEV) {
		err = is_name(&r->to) ? err : move_after(r);
	} else if (!err) {
		err = take_place(r);
		if (err)
			step_back(r);
		else
			delete_aside(r);
	}
	fs_dir_close(lock);
	return err;
}

/* OLD takes the backing name of NEW. */
static int take_name(struct renaming *r)
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
	/* Either suffix shows OLD as NEW; prefer its own. */
	if (strcmp(r->from.found.name, name) != 0)
		(void)!rename_side(r, &r->from, &r->to.entry, name);
	return 0;
}

/* Without a suffix the frame NEW has the backing name that OLD needs. */
static int take_bare_name(struct renaming *r)
{
	char full[FS_NAME_SIZE];
	int err;

	memcpy(full, r->to.found.name, sizeof(full));
	err = rename_side(r, &r->to, &r->to.entry, r->to.entry.name);
	if (err)
		return err;
	err = take_name(r);
	if (err)
		(void)!rename_side(r, &r->to, &r->to.entry, full);
	return err;
}

/* Is the file a directory for the kernel, although it is none in SOURCE? */
static bool is_pack(const struct renaming *r, const struct side *side)
{
	return fs_packs_look(r->fs, side->entry.pin.fd, side->found.name) > 0;
}

/* A directory replaces an empty pack, or a pack an empty directory. */
static int replace_empty(struct renaming *r)
{
	const struct side *to = &r->to;
	int err;

	if (!is_pack(r, is_dir(to) ? &r->from : to))
		return is_dir(to) ? -EISDIR : -ENOTDIR;
	err = is_dir(to) ? fs_entry_delete_dir(&to->entry, &to->found)
			 : fs_entry_delete(&to->entry, &to->found);
	return err ? err : move_old(r, RENAME_NOREPLACE);
}

/* Renames OLD over NEW.  -ESTALE: another mount was first. */
static int replace(struct renaming *r)
{
	bool from_is_frame = is_frame(&r->from);
	bool to_is_frame = is_frame(&r->to);
	char stem[FS_NAME_SIZE];
	int err;

	if (is_dir(&r->from) != is_dir(&r->to))
		return replace_empty(r);
	/* rename(2) does nothing if both are names of one file. */
	if (is_same_file(r))
		return 0;
	err = make_durable(r, &r->from, &r->to);
	if (err)
		return err;
	if (strcmp(r->name, r->to.found.name) == 0 ||
	    (from_is_frame && to_is_frame))
		return take_name(r);
	/* A frame with this backing name would be shown by another name. */
	if (fs_suffix_stem(r->to.entry.name, stem))
		return move_beside(r);
	return from_is_frame ? take_name(r) : take_bare_name(r);
}

/* Pins the node of @side, so that its name can be changed. */
static void hold(struct fs *fs, struct side *side)
{
	const struct fs_backed like = fs_found_key(&side->found);
	struct fs_backed *node = fs_tree_find(fs->tree, &like, false);

	if (!node)
		return;
	/* If the file was moved, the kernel looks it up again. */
	(void)!fs_tree_pin(fs->tree, node, &side->pin);
	fs_tree_forget(node);
}

/* Notes that @side, one of several names of a frame, gets the name @name. */
static int announce(const struct side *side, const char *name)
{
	char stem[FS_NAME_SIZE];

	/* Without a suffix the name would be an ordinary symbolic link. */
	if (!fs_suffix_stem(name, stem))
		return -EINVAL;
	return b2f_home_add(side->found.probe.fd, name);
}

/* Finds the backing name of OLD as NEW. */
static int find_name(struct renaming *r)
{
	struct fs_place place = fs_entry_place(&r->to.entry);
	const char *name = r->to.entry.name;
	int err;

	if (is_same_dir(r))
		place.leaving = r->from.found.name;
	if (r->replaces)
		place.replaced = r->to.found.name;
	if (is_frame(&r->from))
		return fs_backing_name_of_frame(
			&place, name,
			fs_suffix_for(name, fs_suffix_of(r->from.found.name)),
			r->name);
	err = fs_backing_name_check(&place, name);
	if (!err)
		snprintf(r->name, sizeof(r->name), "%s", name);
	return err;
}

/*
 * A rename changes the ctime of a file, by which the backing filesystem decides
 * whether the next read updates the atime (relatime): the index has to have
 * that ctime.
 */
static void note_renamed(const struct renaming *r, const struct side *side)
{
	if (is_sparse(side))
		fs_links_touch(r->fs, side->pin.node, side->pin.fd);
	else if (is_frame(side) && side->pin.node)
		fs_setattr_note_ctime(r->fs, side->pin.node, side->pin.fd,
				      &side->found.probe.index);
}

static int rename_one(struct renaming *r, unsigned int flags)
{
	int err;

	if (flags & RENAME_EXCHANGE)
		return exchange(r);
	if (r->replaces && (flags & RENAME_NOREPLACE))
		return -EEXIST;
	err = find_name(r);
	if (!err && is_name(&r->from))
		err = announce(&r->from, r->name);
	if (err)
		return err;
	if (r->replaces)
		return replace(r);
	err = move_old(r, RENAME_NOREPLACE);
	/* Another program changed a name first: the kernel looks again. */
	return err == -EEXIST && !(flags & RENAME_NOREPLACE) ? -ESTALE : err;
}

/*
 * All names of one frame stay in one directory.  If NEW is the last name of its
 * frame, the frame itself takes it first.
 */
static int begin_names(struct renaming *r, unsigned int flags)
{
	struct side *from = &r->from, *to = &r->to;
	bool to_is_name = r->replaces && is_name(to);
	int err = check_name(from);

	if (!err && to_is_name)
		err = check_name(to);
	if (err)
		return err;
	if (!is_same_dir(r) &&
	    (is_name(from) || (to_is_name && (flags & RENAME_EXCHANGE))))
		return -EXDEV;
	if (is_name(from) && r->replaces &&
	    (is_frame(to) || (flags & RENAME_EXCHANGE)))
		err = announce(from, to->found.name);
	if (!err && to_is_name && (flags & RENAME_EXCHANGE))
		return announce(to, from->found.name);
	if (!err && to_is_name && !is_same_file(r) &&
	    fs_links_prepare(&to->entry, &to->found))
		to->found.probe.home[0] = '\0';
	return err;
}

static void end_names(struct renaming *r)
{
	if (is_name(&r->from))
		fs_links_settle(&r->from.entry, &r->from.found);
	if (r->replaces && is_name(&r->to)) {
		fs_links_settle(&r->to.entry, &r->to.found);
		fs_links_touch(r->fs, r->to.pin.node, r->to.found.probe.fd);
	}
}

static int rename_names(struct renaming *r, unsigned int flags)
{
	int lock = fs_links_lock(&r->to.entry);
	int err = begin_names(r, flags);

	if (!err) {
		err = rename_one(r, flags);
		end_names(r);
	}
	fs_links_unlock(r->fs, lock);
	return err;
}

/*
 * If another mount has moved the frame of @side to a home since it was found,
 * its name is a link, which would lead nowhere in another directory.  So this
 * locks the directory first.
 */
static int lock_frame(const struct side *side, int *lock)
{
	const struct fs_found *found = &side->found;

	*lock = fs_aside_lock(side->entry.pin.fd);
	return !is_directory(side) || fs_dir_has(side->entry.pin.fd, found->name,
						 &found->probe.st)
		       ? 0
		       : -ESTALE;
}

static int run(struct renaming *r, unsigned int flags)
{
	bool crosses = !is_same_dir(r);
	bool to_is_dir = r->replaces && is_directory(&r->to);
	int from_lock = -1, to_lock = -1, err = 0;

	hold(r->fs, &r->from);
	if (r->replaces)
		hold(r->fs, &r->to);
	/* Another program has deleted all names of the home. */
	if (b2f_home_is(r->from.found.name) && is_sparse(&r->from))
		fs_links_forget(r->from.found.probe.fd);
	r->is_locked = is_name(&r->from) || (r->replaces && is_name(&r->to));
	if (crosses && (is_directory(&r->from) || to_is_dir))
		err = lock_frame(&r->from, &from_lock);
	if (!err && crosses && to_is_dir && !r->is_locked &&
	    (flags & RENAME_EXCHANGE))
		err = lock_frame(&r->to, &to_lock);
	if (!err)
		err = r->is_locked ? rename_names(r, flags)
				   : rename_one(r, flags);
	fs_dir_close(from_lock);
	fs_dir_close(to_lock);
	return err;
}

static int find_both(struct renaming *r)
{
	int err = fs_lookup_find(&r->from.entry, &r->from.found);

	if (err == -ENOENT && fs_lookup_has_view(&r->from.entry))
		return -EPERM;
	if (err)
		return err;
	err = fs_lookup_find(&r->to.entry, &r->to.found);
	r->replaces = !err;
	if (err && err != -ENOENT) {
		fs_probe_close(&r->from.found.probe);
		return err;
	}
	return 0;
}

static void let_go(struct side *side)
{
	fs_probe_close(&side->found.probe);
	fs_tree_unpin(&side->pin);
}

/*
 * Finds both, after a sync of the one that is to replace the other: meanwhile
 * names_lock is free.  If that fails, or finds another file, the one of
 * replace() follows.
 */
static int find_synced(struct renaming *r, unsigned int flags)
{
	const struct stat *now = &r->from.found.probe.st;
	struct stat then;
	bool is_synced;
	int err = find_both(r);

	/* An earlier try may have synced another file. */
	r->is_synced = false;
	if (err || !r->replaces || (flags & RENAME_NOREPLACE) ||
	    !must_be_durable(r, &r->from, &r->to))
		return err;
	then = *now;
	hold(r->fs, &r->from);
	pthread_rwlock_unlock(&r->fs->names_lock);
	is_synced = make_durable(r, &r->from, &r->to) == 0;
	let_go(&r->from);
	let_go(&r->to);
	pthread_rwlock_rdlock(&r->fs->names_lock);
	err = find_both(r);
	r->is_synced = is_synced && !err && now->st_dev == then.st_dev &&
		       now->st_ino == then.st_ino;
	return err;
}

static int check_sticky(fuse_req_t req, const struct renaming *r)
{
	int err = fs_entry_check_sticky(req, &r->from.entry, &r->from.found);

	if (!err && r->replaces)
		err = fs_entry_check_sticky(req, &r->to.entry, &r->to.found);
	return err;
}

static int enter_both(struct renaming *r, struct fs_node *parent,
		      const char *name, struct fs_node *new_parent,
		      const char *new_name)
{
	int err = fs_entry_enter_to_change(r->fs, parent, name, &r->from.entry);

	if (!err)
		err = fs_entry_enter_to_change(r->fs, new_parent, new_name,
					       &r->to.entry);
	if (!err && strlen(new_name) > FS_NAME_MAX)
		err = -ENAMETOOLONG;
	return err;
}

/*
 * Returns 0 or an errno; -ESTALE: a file that was found is gone or has another
 * form since then, because another mount was faster.
 */
static int rename_once(fuse_req_t req, struct renaming *r, unsigned int flags)
{
	int err = find_synced(r, flags);

	if (err)
		return err;
	err = check_sticky(req, r);
	if (!err)
		err = run(r, flags);
	if (!err)
		note_renamed(r, &r->from);
	if (!err && (flags & RENAME_EXCHANGE))
		note_renamed(r, &r->to);
	let_go(&r->from);
	if (r->replaces)
		let_go(&r->to);
	return err == -ENOENT && r->replaces ? -ESTALE : err;
}

static int rename_both(fuse_req_t req, struct renaming *r, unsigned int flags)
{
	int err = -ESTALE;

	pthread_rwlock_rdlock(&r->fs->names_lock);
	/* The kernel itself tries again once only. */
	for (int i = 0; i < TRIES && err == -ESTALE; i++)
		err = rename_once(req, r, flags);
	pthread_rwlock_unlock(&r->fs->names_lock);
	return err;
}

int fs_volume_tree_rename(fuse_req_t req, struct fs_node *parent,
			  const char *name, struct fs_node *new_parent,
			  const char *new_name, unsigned int flags)
{
	struct renaming r = {.fs = fs_of(req)};
	int err = 0;

	if (flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		err = -EINVAL;
	/* A directory with files cannot be replaced, but can be exchanged. */
	if (!(flags & RENAME_EXCHANGE)) {
		int is = fs_packs_look_inside(r.fs, new_parent, new_name);

		err = is < 0 ? is : err;
	}
	if (!err)
		err = enter_both(&r, parent, name, new_parent, new_name);
	if (!err)
		err = rename_both(req, &r, flags);
	fs_entry_leave(&r.from.entry);
	fs_entry_leave(&r.to.entry);
	return err;
}
