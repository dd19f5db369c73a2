/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renaming_exchange.c - two names change places, whatever they are
 *
 * Their entries do.  If a frame meets what is no frame, it loses its suffix for
 * a moment before: it is shown by the same name without one, so at every moment
 * both names are there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "renaming.h"

/* Is @side shown as @name if its backing name is @backing? */
static bool fits(const struct fs_side *side, const char *name,
		 const char *backing)
{
	char stem[FS_NAME_SIZE];

	if (fs_side_is_frame(side) && fs_suffix_stem(backing, stem))
		return strcmp(stem, name) == 0;
	return strcmp(backing, name) == 0;
}

/* Gives the frame @side the suffix of @old again, if that is free. */
static void restore_suffix(struct fs_renaming *r, struct fs_side *side,
			   const struct fs_entry *entry, const char *old)
{
	struct fs_backing_dir place = fs_entry_dir(entry);
	char name[FS_NAME_SIZE];

	/* It is shown by the same name with and without it. */
	place.leaving = side->found.name;
	if (fs_side_is_frame(side) && fs_suffix_stem(old, name) &&
	    fs_backing_name_of_frame(&place, entry->name, fs_suffix_of(old),
				     name) == 0)
		(void)!fs_renaming_call(r, side, entry, name);
}

/* Is @side shown by either name once it has no suffix? */
static bool can_be_bare(const struct fs_side *side, const struct fs_side *other)
{
	return fits(side, side->entry.name, side->entry.name) &&
	       fits(side, other->entry.name, other->entry.name);
}

static int exchange_entries(struct fs_renaming *r)
{
	struct fs_side *a = &r->from, *b = &r->to;
	char name[FS_NAME_SIZE];
	int err = fs_renaming_entry(&a->entry, a->found.name, &b->entry,
				    b->found.name, RENAME_EXCHANGE);

	if (err)
		return err;
	fs_renaming_move(r->fs, a, &b->entry, b->found.name);
	fs_renaming_move(r->fs, b, &a->entry, a->found.name);
	memcpy(name, a->found.name, sizeof(name));
	memcpy(a->found.name, b->found.name, sizeof(name));
	memcpy(b->found.name, name, sizeof(name));
	return 0;
}

/*
 * Exchanges a frame and another file: a frame without its suffix is shown by
 * the same name, so that backing names as shown can change places.
 */
static int exchange_bare(struct fs_renaming *r)
{
	struct fs_side *a = &r->from, *b = &r->to;
	char old_a[FS_NAME_SIZE], old_b[FS_NAME_SIZE];
	int err = 0;

	if (fs_side_is_name(a) || fs_side_is_name(b) || !can_be_bare(a, b) ||
	    !can_be_bare(b, a))
		return -EINVAL;
	memcpy(old_a, a->found.name, sizeof(old_a));
	memcpy(old_b, b->found.name, sizeof(old_b));
	if (fs_side_is_frame(a))
		err = fs_renaming_call(r, a, &a->entry, a->entry.name);
	if (!err && fs_side_is_frame(b))
		err = fs_renaming_call(r, b, &b->entry, b->entry.name);
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

int fs_renaming_exchange(struct fs_renaming *r)
{
	struct fs_side *a = &r->from, *b = &r->to;
	int err;

	if (!r->replaces)
		return -ENOENT;
	err = fs_renaming_make_durable(r, a, b);
	if (!err)
		err = fs_renaming_make_durable(r, b, a);
	if (err)
		return err;
	if (fits(a, b->entry.name, b->found.name) &&
	    fits(b, a->entry.name, a->found.name))
		return exchange_entries(r);
	return exchange_bare(r);
}
