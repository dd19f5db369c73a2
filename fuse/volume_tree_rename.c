/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_tree_rename.c - rename, also over a file that is there
 *
 * OLD becomes NEW.  On the backing filesystem that is one rename(2) to the name
 * that is shown as NEW (backing_name.h); frames keep their suffix.  The file that is
 * NEW already is a matter of renaming_replace.c; renaming_exchange.c tells how both
 * change places.
 *
 * One of several names of a frame is a symbolic link (links.h): the link gets
 * the new name, and the frame stays where it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "form.h"
#include "links.h"
#include "lookup.h"
#include "programs/home.h"
#include "renaming.h"
#include "setattr.h"
#include "volume_tree.h"

/* Pins the node of @side, so that it can change its name. */
static void hold(struct fs *fs, struct fs_side *side)
{
	const struct fs_backed like = fs_found_key(&side->found);
	struct fs_backed *node = fs_tree_find(fs->tree, &like, false);

	if (!node)
		return;
	/* If another program has moved it, the kernel looks it up anew. */
	(void)!fs_tree_pin(fs->tree, node, &side->pin);
	fs_tree_forget(fs->tree, node, 1);
}

/* Notes that @side, one of several names of a frame, is about to be @name. */
static int announce(const struct fs_side *side, const char *name)
{
	char stem[FS_NAME_SIZE];

	/* Without a suffix it would be a symbolic link like any other. */
	if (!fs_suffix_stem(name, stem))
		return -EINVAL;
	return b2f_home_add(side->found.probe.fd, name);
}

/* The backing name that OLD gets as NEW. */
static int find_name(struct fs_renaming *r)
{
	struct fs_backing_dir place = fs_entry_dir(&r->to.entry);
	const char *name = r->to.entry.name;
	int err;

	if (fs_renaming_is_same_dir(r))
		place.leaving = r->from.found.name;
	if (r->replaces)
		place.replaced = r->to.found.name;
	if (fs_side_is_frame(&r->from))
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
 * whether the next reader changes the atime (relatime): the index has to have
 * it.
 */
static void note_renamed(const struct fs_renaming *r,
			 const struct fs_side *side)
{
	if (fs_side_is_sparse(side))
		fs_links_touch(r->fs, side->pin.node, side->pin.fd);
	else if (fs_side_is_frame(side) && side->pin.node)
		fs_setattr_note_ctime(r->fs, side->pin.node, side->pin.fd,
				      &side->found.probe.index);
}

static int rename_one(struct fs_renaming *r, unsigned int flags)
{
	int err;

	if (flags & RENAME_EXCHANGE)
		return fs_renaming_exchange(r);
	if (r->replaces && (flags & RENAME_NOREPLACE))
		return -EEXIST;
	err = find_name(r);
	if (!err && fs_side_is_name(&r->from))
		err = announce(&r->from, r->name);
	if (err)
		return err;
	if (r->replaces)
		return fs_renaming_replace(r);
	err = fs_renaming_move_old(r, RENAME_NOREPLACE);
	/* Another program was faster: the kernel looks again. */
	return err == -EEXIST && !(flags & RENAME_NOREPLACE) ? -ESTALE : err;
}

/*
 * Names of one frame stay in one directory.  If NEW is the last one, the frame
 * is called by it, and is a frame like any other.
 */
static int begin_names(struct fs_renaming *r, unsigned int flags)
{
	struct fs_side *from = &r->from, *to = &r->to;
	bool to_is_name = r->replaces && fs_side_is_name(to);
	int err = 0;

	if (!fs_renaming_is_same_dir(r) && (fs_side_is_name(from) ||
				(to_is_name && (flags & RENAME_EXCHANGE))))
		return -EXDEV;
	if (fs_side_is_name(from) && r->replaces &&
	    (fs_side_is_frame(to) || (flags & RENAME_EXCHANGE)))
		err = announce(from, to->found.name);
	if (!err && to_is_name && (flags & RENAME_EXCHANGE))
		return announce(to, from->found.name);
	if (!err && to_is_name && !fs_renaming_is_same_file(r) &&
	    fs_links_prepare(&to->entry, &to->found))
		to->found.probe.home[0] = '\0';
	return err;
}

static void end_names(struct fs_renaming *r)
{
	if (fs_side_is_name(&r->from))
		fs_links_settle(&r->from.entry, &r->from.found);
	if (r->replaces && fs_side_is_name(&r->to)) {
		fs_links_settle(&r->to.entry, &r->to.found);
		fs_links_touch(r->fs, r->to.pin.node, r->to.found.probe.fd);
	}
}

static int run(struct fs_renaming *r, unsigned int flags)
{
	bool has_names = fs_side_is_name(&r->from) ||
			 (r->replaces && fs_side_is_name(&r->to));
	int err;

	hold(r->fs, &r->from);
	if (r->replaces)
		hold(r->fs, &r->to);
	/* It is still at a home, but another program has deleted its names. */
	if (b2f_home_is(r->from.found.name) && fs_side_is_sparse(&r->from))
		fs_links_forget(r->from.found.probe.fd);
	if (!has_names)
		return rename_one(r, flags);
	fs_links_lock(r->fs);
	err = begin_names(r, flags);
	if (!err)
		err = rename_one(r, flags);
	end_names(r);
	fs_links_unlock(r->fs);
	return err;
}

/* Finds what is on either side. */
static int find_both(struct fs_renaming *r)
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

static int check_sticky(fuse_req_t req, const struct fs_renaming *r)
{
	int err = fs_entry_check_sticky(req, &r->from.entry, &r->from.found);

	if (!err && r->replaces)
		err = fs_entry_check_sticky(req, &r->to.entry, &r->to.found);
	return err;
}

static int enter_both(struct fs_renaming *r, fuse_ino_t parent,
		      const char *name, fuse_ino_t new_parent,
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

int fs_volume_tree_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
			  fuse_ino_t new_parent, const char *new_name,
			  unsigned int flags)
{
	struct fs_renaming r = {.fs = fs_of(req)};
	int err = 0;

	if (flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		err = -EINVAL;
	/* A directory with files is not replaced; two can change places. */
	if (!(flags & RENAME_EXCHANGE)) {
		int is = fs_volume_tree_look_inside(r.fs, new_parent, new_name);

		err = is < 0 ? is : err;
	}
	if (!err)
		err = enter_both(&r, parent, name, new_parent, new_name);
	fs_form_lock_names(r.fs);
	if (!err)
		err = find_both(&r);
	if (!err) {
		err = check_sticky(req, &r);
		if (!err)
			err = run(&r, flags);
		if (!err)
			note_renamed(&r, &r.from);
		if (!err && (flags & RENAME_EXCHANGE))
			note_renamed(&r, &r.to);
		fs_probe_close(&r.from.found.probe);
		if (r.replaces)
			fs_probe_close(&r.to.found.probe);
	}
	fs_form_unlock_names(r.fs);
	fs_tree_unpin(r.fs->tree, &r.from.pin);
	fs_tree_unpin(r.fs->tree, &r.to.pin);
	fs_entry_leave(&r.from.entry);
	fs_entry_leave(&r.to.entry);
	return err;
}
