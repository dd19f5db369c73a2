/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_rename.c - rename, over what is there too
 *
 * OLD becomes NEW.  On the backing filesystem that is one rename(2) of OLD's
 * entry, to the name by which it is shown as NEW (place.h); frames keep their
 * suffix.  If something is shown as NEW already, it must be gone at the end,
 * and there must be a NEW at every moment, also after a crash:
 *
 *   neither is a sparse   rename over it if the names are the same; else as the
 *   frame                 next but one
 *   both are frames       exchange the two entries, so that NEW is the new one
 *                         at once; delete the old one, which is at OLD's place
 *                         now; give the new one its own suffix, if it differs
 *   only one is a frame   rename OLD beside NEW: as long as both are there, the
 *                         frame is shown by its full name; delete the old one
 *   and both would have   exchange them and delete the old one
 *   the same name
 *
 * After a loss of power too NEW is one of the two; see durable.h.
 *
 * If OLD and NEW are to change places, their entries do, after a frame has lost
 * its suffix for a moment if what it meets is no frame; it is shown by the same
 * name without one, so at every moment both names are there.
 *
 * Without RENAME_EXCHANGE on the backing filesystem, the old one is hidden
 * first; then there is a moment without NEW.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attr_set.h"
#include "durable.h"
#include "ops.h"
#include "reply.h"
#include "spot.h"

/* One of the two sides. */
struct side {
	struct fs_spot spot;
	struct fs_found found;
	/* Its node, if the kernel knows it, so that it can be found meanwhile.
	 */
	struct fs_pin pin;
};

struct renaming {
	struct fs *fs;
	struct side from;
	struct side to;
	/* There is something. */
	bool replaces;
	/* The final backing name. */
	char name[FS_NAMES_SIZE];
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

static bool is_folder(const struct side *side)
{
	return side->found.probe.kind == FS_KIND_DIR;
}

/* Keeps the node of @side open, whatever its name is meanwhile. */
static void hold(struct fs *fs, struct side *side)
{
	const struct fs_node like = fs_spot_like(&side->found);
	struct fs_node *node = fs_tree_find(fs->tree, &like);

	if (!node)
		return;
	/* Somebody may have moved it already: then it is looked up anew. */
	(void)!fs_tree_pin(fs->tree, node, &side->pin);
	fs_tree_forget(fs->tree, node, 1);
}

/* The node of @side is @name in @spot now. */
static void move_node(struct fs *fs, const struct side *side,
		      const struct fs_spot *spot, const char *name)
{
	/* Without memory it is looked up anew. */
	if (side->pin.node)
		(void)!fs_tree_move(fs->tree, side->pin.node, spot->dir, name);
}

static int rename_entry(const struct fs_spot *from, const char *name,
			const struct fs_spot *to, const char *new_name,
			unsigned int flags)
{
	if (renameat2(from->pin.fd, name, to->pin.fd, new_name, flags) == 0)
		return 0;
	/* Not every filesystem can tell whether there is something. */
	if (errno != EINVAL || flags != RENAME_NOREPLACE)
		return -errno;
	if (faccessat(to->pin.fd, new_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(from->pin.fd, name, to->pin.fd, new_name) ? -errno : 0;
}

/* Are both names in one folder? */
static bool is_same_folder(const struct renaming *r)
{
	return r->from.spot.dir == r->to.spot.dir;
}

/* The backing name that OLD gets as NEW. */
static int find_name(struct renaming *r)
{
	struct fs_place place = fs_spot_place(&r->to.spot);
	const char *name = r->to.spot.name;
	int err;

	if (is_same_folder(r))
		place.leaving = r->from.found.name;
	if (r->replaces)
		place.replaced = r->to.found.name;
	if (is_frame(&r->from))
		return fs_place_frame(
			&place, name,
			fs_names_suffix_for(
				name, fs_names_suffix(r->from.found.name)),
			r->name);
	err = fs_place_other(&place, name);
	if (!err)
		snprintf(r->name, sizeof(r->name), "%s", name);
	return err;
}

static int move(struct renaming *r, unsigned int flags)
{
	int err = rename_entry(&r->from.spot, r->from.found.name, &r->to.spot,
			       r->name, flags);

	if (!err)
		move_node(r->fs, &r->from, &r->to.spot, r->name);
	return err;
}

/* Both are the same kind of file to rename(2), and have the same name. */
static int move_over(struct renaming *r)
{
	struct fs_node *replaced = fs_spot_hold(r->fs, &r->to.found);
	int err = move(r, 0);

	if ((err == -ENOTEMPTY || err == -EEXIST) && is_folder(&r->to)) {
		fs_deleted_purge_at(r->fs, r->to.found.probe.fd);
		err = move(r, 0);
	}
	if (!err)
		fs_spot_retire(r->fs, replaced, &r->to.found);
	fs_spot_let_go(r->fs, replaced, err);
	return err;
}

/* OLD goes beside NEW, then NEW goes. */
static int move_beside(struct renaming *r)
{
	int err = move(r, RENAME_NOREPLACE);

	if (err)
		return err;
	err = fs_spot_delete(&r->to.spot, &r->to.found);
	if (!err)
		return 0;
	/* Back again; if not even that is possible, both are there. */
	if (rename_entry(&r->to.spot, r->name, &r->from.spot,
			 r->from.found.name, RENAME_NOREPLACE) == 0)
		move_node(r->fs, &r->from, &r->from.spot, r->from.found.name);
	return err;
}

/* NEW goes, then OLD takes its place. */
static int move_after(struct renaming *r)
{
	int err = fs_spot_delete(&r->to.spot, &r->to.found);

	return err ? err : move(r, RENAME_NOREPLACE);
}

/* Both swap their entries, then NEW goes from where OLD was. */
static int move_by_exchange(struct renaming *r)
{
	const char *old = r->from.found.name, *taken = r->to.found.name;
	struct fs_spot *from = &r->from.spot, *to = &r->to.spot;
	struct fs_found left = r->to.found;
	int err = rename_entry(from, old, to, taken, RENAME_EXCHANGE);

	if (err == -EINVAL)
		return move_after(r);
	if (err)
		return err;
	move_node(r->fs, &r->from, to, taken);
	move_node(r->fs, &r->to, from, old);
	snprintf(left.name, sizeof(left.name), "%s", old);
	err = fs_spot_delete(from, &left);
	if (err) {
		if (rename_entry(from, old, to, taken, RENAME_EXCHANGE) == 0) {
			move_node(r->fs, &r->from, from, old);
			move_node(r->fs, &r->to, to, taken);
		}
		return err;
	}
	/* Only for the looks: it is shown as NEW by either name. */
	if (strcmp(taken, r->name) != 0 &&
	    rename_entry(to, taken, to, r->name, RENAME_NOREPLACE) == 0)
		move_node(r->fs, &r->from, to, r->name);
	return 0;
}

/* What takes the place of @old, if that is durable, must be so itself. */
static int make_durable(struct renaming *r, const struct side *new,
			const struct side *old)
{
	if (!is_sparse(new) || fs_durable_is_not(r->fs, old->pin.node))
		return 0;
	return fs_durable_make(r->fs, new->pin.node, &new->found);
}

static int replace(struct renaming *r)
{
	bool same_name = strcmp(r->name, r->to.found.name) == 0;
	int err;

	if (is_folder(&r->from) != is_folder(&r->to))
		return is_folder(&r->to) ? -EISDIR : -ENOTDIR;
	/* Two names of one file: rename(2) leaves both. */
	if (r->from.found.probe.st.st_dev == r->to.found.probe.st.st_dev &&
	    r->from.found.probe.st.st_ino == r->to.found.probe.st.st_ino)
		return 0;
	err = make_durable(r, &r->from, &r->to);
	if (err)
		return err;
	if (same_name && !is_sparse(&r->from) && !is_sparse(&r->to))
		return move_over(r);
	if (same_name || (is_frame(&r->from) && is_frame(&r->to)))
		return move_by_exchange(r);
	return move_beside(r);
}

/* Is @side shown as @name if its entry is called @entry? */
static bool fits(const struct side *side, const char *name, const char *entry)
{
	char stem[FS_NAMES_SIZE];

	if (is_frame(side) && fs_names_stem(entry, stem))
		return strcmp(stem, name) == 0;
	return strcmp(entry, name) == 0;
}

/*
 * Calls the frame @side @name in @spot, where it is as @side->found.name; it is
 * shown by the same name as before.
 */
static int rename_frame(struct renaming *r, struct side *side,
			const struct fs_spot *spot, const char *name)
{
	int err;

	if (strcmp(side->found.name, name) == 0)
		return 0;
	err = rename_entry(spot, side->found.name, spot, name,
			   RENAME_NOREPLACE);
	if (err)
		return err;
	move_node(r->fs, side, spot, name);
	snprintf(side->found.name, sizeof(side->found.name), "%s", name);
	return 0;
}

/* Gives the frame @side the suffix it had as @old, if it can have it. */
static void restore_suffix(struct renaming *r, struct side *side,
			   const struct fs_spot *spot, const char *old)
{
	struct fs_place place = fs_spot_place(spot);
	char name[FS_NAMES_SIZE];

	/* By either name it is shown as the same. */
	place.leaving = side->found.name;
	if (is_frame(side) && fs_names_stem(old, name) &&
	    fs_place_frame(&place, spot->name, fs_names_suffix(old), name) == 0)
		(void)!rename_frame(r, side, spot, name);
}

/* Is @side, without a suffix of its own, shown by either name? */
static bool can_be_bare(const struct side *side, const struct side *other)
{
	return fits(side, side->spot.name, side->spot.name) &&
	       fits(side, other->spot.name, other->spot.name);
}

static int exchange_entries(struct renaming *r)
{
	struct side *a = &r->from, *b = &r->to;
	char name[FS_NAMES_SIZE];
	int err = rename_entry(&a->spot, a->found.name, &b->spot,
			       b->found.name, RENAME_EXCHANGE);

	if (err)
		return err;
	move_node(r->fs, a, &b->spot, b->found.name);
	move_node(r->fs, b, &a->spot, a->found.name);
	memcpy(name, a->found.name, sizeof(name));
	memcpy(a->found.name, b->found.name, sizeof(name));
	memcpy(b->found.name, name, sizeof(name));
	return 0;
}

/*
 * A frame and what is none: a frame without its suffix is shown by the same
 * name, so that entries called as shown can change places.
 */
static int exchange_bare(struct renaming *r)
{
	struct side *a = &r->from, *b = &r->to;
	char old_a[FS_NAMES_SIZE], old_b[FS_NAMES_SIZE];
	int err = 0;

	if (!can_be_bare(a, b) || !can_be_bare(b, a))
		return -EINVAL;
	memcpy(old_a, a->found.name, sizeof(old_a));
	memcpy(old_b, b->found.name, sizeof(old_b));
	if (is_frame(a))
		err = rename_frame(r, a, &a->spot, a->spot.name);
	if (!err && is_frame(b))
		err = rename_frame(r, b, &b->spot, b->spot.name);
	if (!err)
		err = exchange_entries(r);
	if (err) {
		restore_suffix(r, a, &a->spot, old_a);
		restore_suffix(r, b, &b->spot, old_b);
		return err;
	}
	restore_suffix(r, a, &b->spot, old_a);
	restore_suffix(r, b, &a->spot, old_b);
	return 0;
}

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
	if (fits(a, b->spot.name, b->found.name) &&
	    fits(b, a->spot.name, a->found.name))
		return exchange_entries(r);
	return exchange_bare(r);
}

/*
 * A rename changes the ctime of a file, by which the backing filesystem decides
 * whether the next reader changes the atime (relatime): the index has to have
 * it.  What belongs to another user keeps the one that it has.
 */
static void note_renamed(const struct renaming *r, const struct side *side)
{
	struct fs_meta meta = fs_meta_none();

	if (!is_sparse(side) || !side->pin.node)
		return;
	meta.has_times = true;
	meta.times[0] = side->found.probe.index.st_atim;
	meta.times[1].tv_nsec = UTIME_OMIT;
	(void)!fs_meta_set_frame(r->fs, side->pin.node, side->pin.fd, &meta);
}

static int run(struct renaming *r, unsigned int flags)
{
	int err;

	hold(r->fs, &r->from);
	if (r->replaces)
		hold(r->fs, &r->to);
	if (flags & RENAME_EXCHANGE)
		return exchange(r);
	if (r->replaces && (flags & RENAME_NOREPLACE))
		return -EEXIST;
	err = find_name(r);
	if (err)
		return err;
	if (r->replaces)
		return replace(r);
	err = move(r, RENAME_NOREPLACE);
	/* Somebody else was faster: the kernel looks again. */
	return err == -EEXIST && !(flags & RENAME_NOREPLACE) ? -ESTALE : err;
}

/* Finds what is on either side. */
static int find_both(struct renaming *r)
{
	int err = fs_spot_find(&r->from.spot, &r->from.found);

	if (err == -ENOENT && fs_spot_has_view(&r->from.spot))
		return -EPERM;
	if (err)
		return err;
	err = fs_spot_find(&r->to.spot, &r->to.found);
	r->replaces = !err;
	if (err && err != -ENOENT) {
		fs_probe_close(&r->from.found.probe);
		return err;
	}
	return 0;
}

static int enter_both(struct renaming *r, fuse_ino_t parent, const char *name,
		      fuse_ino_t new_parent, const char *new_name)
{
	int err = fs_spot_enter(r->fs, parent, name, &r->from.spot);

	if (!err)
		err = fs_spot_enter(r->fs, new_parent, new_name, &r->to.spot);
	if (!err && strlen(new_name) > FS_NAMES_MAX)
		err = -ENAMETOOLONG;
	return err;
}

void fs_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		  fuse_ino_t new_parent, const char *new_name,
		  unsigned int flags)
{
	struct renaming r = {.fs = fs_of(req)};
	int err = 0;

	if (flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		err = -EINVAL;
	if (!err)
		err = enter_both(&r, parent, name, new_parent, new_name);
	if (!err)
		err = find_both(&r);
	if (!err) {
		err = run(&r, flags);
		if (!err)
			note_renamed(&r, &r.from);
		if (!err && (flags & RENAME_EXCHANGE))
			note_renamed(&r, &r.to);
		fs_probe_close(&r.from.found.probe);
		if (r.replaces)
			fs_probe_close(&r.to.found.probe);
	}
	fs_tree_unpin(r.fs->tree, &r.from.pin);
	fs_tree_unpin(r.fs->tree, &r.to.pin);
	fs_spot_leave(&r.from.spot);
	fs_spot_leave(&r.to.spot);
	fs_reply_error(req, err);
}
