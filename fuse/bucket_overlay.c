/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_overlay.c - names made or removed since they were listed */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bucket_overlay.h"

/* A changed name; the key is its shown form. */
struct change {
	UT_hash_handle hh;
	char *shown;
	char *stored;
	bool is_dir;
	enum fs_bucket_change what;
	uint64_t ms;
};

/* The changes of a directory; the key is its path. */
struct fs_bucket_overlay {
	UT_hash_handle hh;
	char *dir;
	struct change *names;
};

static void free_change(struct change *c)
{
	if (!c)
		return;
	free(c->shown);
	free(c->stored);
	free(c);
}

/* Locked, as all below that do not lock themselves. */
static struct fs_bucket_overlay *find_dir(struct fs_bucket *r, const char *dir)
{
	struct fs_bucket_overlay *changes;

	HASH_FIND_STR(r->changes, dir, changes);
	return changes;
}

static struct change *find(struct fs_bucket *r, const char *dir,
			   const char *shown)
{
	struct fs_bucket_overlay *changes = find_dir(r, dir);
	struct change *c = NULL;

	if (changes)
		HASH_FIND_STR(changes->names, shown, c);
	return c;
}

static void drop_change(struct fs_bucket_overlay *changes, struct change *c)
{
	HASH_DELETE(hh, changes->names, c);
	free_change(c);
}

static void drop_dir(struct fs_bucket *r, struct fs_bucket_overlay *changes)
{
	HASH_DELETE(hh, r->changes, changes);
	free(changes->dir);
	free(changes);
}

/* Returns the changes of @dir, perhaps new; NULL: no memory. */
static struct fs_bucket_overlay *need_dir(struct fs_bucket *r, const char *dir)
{
	struct fs_bucket_overlay *changes = find_dir(r, dir);

	if (changes)
		return changes;
	changes = calloc(1, sizeof(*changes));
	if (changes)
		changes->dir = strdup(dir);
	if (!changes || !changes->dir) {
		free(changes);
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, r->changes, changes->dir, strlen(changes->dir),
			changes);
	return changes;
}

enum fs_bucket_change fs_bucket_overlay_find(struct fs_bucket *r,
					     const char *dir, const char *shown,
					     struct fs_bucket_made *out)
{
	enum fs_bucket_change what = FS_BUCKET_UNCHANGED;
	B2F_HOLD(&r->volume.fs->state_lock);
	struct change *c = find(r, dir, shown);

	*out->stored = '\0';
	if (c)
		what = c->what;
	if (what == FS_BUCKET_MADE || what == FS_BUCKET_PINNED) {
		snprintf(out->stored, sizeof(out->stored), "%s", c->stored);
		out->is_dir = c->is_dir;
	}
	return what;
}

static struct change *new_change(const char *shown, const char *stored,
				 bool is_dir, enum fs_bucket_change what)
{
	struct change *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->shown = strdup(shown);
	c->stored = strdup(stored);
	if (!c->shown || !c->stored) {
		free_change(c);
		return NULL;
	}
	c->is_dir = is_dir;
	c->what = what;
	c->ms = fs_clock_ms();
	return c;
}

int fs_bucket_overlay_note(struct fs_bucket *r, const char *dir,
			   const char *shown, const char *stored, bool is_dir,
			   enum fs_bucket_change what)
{
	struct change *c = new_change(shown, stored, is_dir, what), *old;
	struct fs_bucket_overlay *changes = NULL;
	B2F_HOLD(&r->volume.fs->state_lock);

	if (c)
		changes = need_dir(r, dir);
	if (changes) {
		old = find(r, dir, shown);
		if (old)
			drop_change(changes, old);
		HASH_ADD_KEYPTR(hh, changes->names, c->shown, strlen(c->shown),
				c);
	}
	if (!changes)
		free_change(c);
	return changes ? 0 : -ENOMEM;
}

/* Splits @path; the part before the last '/' is @dir, malloc'ed, or NULL. */
static const char *split(const char *path, char **dir)
{
	const char *name = basename(path);

	*dir = strndup(path, name > path ? (size_t)(name - path) - 1 : 0);
	return name;
}

void fs_bucket_overlay_settle(struct fs_bucket *r, const char *path)
{
	B2F_OWN char *dir = NULL;
	const char *name = split(path, &dir);
	char shown[FS_NAME_SIZE];
	struct change *c = NULL;
	B2F_HOLD(&r->volume.fs->state_lock);

	if (dir && fs_suffix_stem(name, shown))
		c = find(r, dir, shown);
	if (c && c->what == FS_BUCKET_PINNED) {
		c->what = FS_BUCKET_MADE;
		c->ms = fs_clock_ms();
	}
}

void fs_bucket_overlay_pin(struct fs_bucket *r, const char *dir)
{
	char stem[FS_NAME_SIZE], *path = strdup(dir), *above;
	const char *name;

	while (path && *path) {
		name = split(path, &above);
		/*
		 * Without memory it is not pinned, and may be hidden once it is
		 * empty.  The name of a directory has no suffix of a frame.
		 */
		if (above && !fs_suffix_stem(name, stem))
			(void)!fs_bucket_overlay_note(r, above, name, name,
						      true, FS_BUCKET_PINNED);
		free(path);
		path = above;
	}
	free(path);
}

/* Forgets @c, unless only a frame's name is listed, not what it leads to. */
static void take_listed(struct fs_bucket_overlay *changes, struct change *c,
			const struct fs_bucket_names *names)
{
	const struct fs_bucket_name *name =
		fs_bucket_names_find(names, c->shown);

	if (c->what != FS_BUCKET_MADE && name && name->is_dir && name->stem)
		c->what = FS_BUCKET_DOUBTED;
	else
		drop_change(changes, c);
}

void fs_bucket_overlay_listed(struct fs_bucket *r, const char *dir,
			      const struct fs_bucket_names *names, uint64_t ms)
{
	struct change *c, *next;
	B2F_HOLD(&r->volume.fs->state_lock);
	struct fs_bucket_overlay *changes = find_dir(r, dir);

	if (changes) {
		HASH_ITER (hh, changes->names, c, next)
			if (c->what != FS_BUCKET_PINNED && c->ms < ms)
				take_listed(changes, c, names);
		if (!changes->names)
			drop_dir(r, changes);
	}
}

size_t fs_bucket_overlay_doubts(struct fs_bucket *r, const char *dir,
				char *shown[], size_t max)
{
	struct change *c, *next;
	size_t n = 0;
	B2F_HOLD(&r->volume.fs->state_lock);
	struct fs_bucket_overlay *changes = find_dir(r, dir);

	if (changes)
		HASH_ITER (hh, changes->names, c, next)
			if (c->what == FS_BUCKET_DOUBTED && n < max &&
			    (shown[n] = strdup(c->shown)))
				n++;
	return n;
}

void fs_bucket_overlay_judge(struct fs_bucket *r, const char *dir,
			     const char *shown, bool is_there)
{
	B2F_HOLD(&r->volume.fs->state_lock);
	struct change *c = find(r, dir, shown);

	if (!c || c->what != FS_BUCKET_DOUBTED) {
		/* Another request has ended the doubt. */
	} else if (is_there) {
		drop_change(find_dir(r, dir), c);
	} else {
		c->what = FS_BUCKET_REMOVED;
		c->ms = fs_clock_ms();
	}
}

static int add_made(struct fs_bucket_overlay *changes,
		    struct fs_bucket_names *names)
{
	struct change *c, *next;
	int err = 0;

	HASH_ITER (hh, changes->names, c, next)
		if (!err &&
		    (c->what == FS_BUCKET_MADE || c->what == FS_BUCKET_PINNED))
			err = fs_bucket_names_add(names, c->shown, c->stored,
						  c->is_dir);
	return err;
}

/* Merges the unchanged names of @listed, then the new ones. */
static int merge(struct fs_bucket_overlay *changes,
		 const struct fs_bucket_names *listed,
		 struct fs_bucket_names *names)
{
	struct change *c;
	int err = 0;

	for (size_t i = 0; i < listed->n && !err; i++) {
		const struct fs_bucket_name *name = &listed->list[i];

		HASH_FIND_STR(changes->names, name->shown, c);
		if (!c || c->what == FS_BUCKET_DOUBTED)
			err = fs_bucket_names_add(names, name->shown,
						  name->stored, name->is_dir);
	}
	return err ? err : add_made(changes, names);
}

int fs_bucket_overlay_apply(struct fs_bucket *r, const char *dir,
			    struct fs_bucket_names *listed,
			    struct fs_bucket_names **out)
{
	struct fs_bucket_names *names = listed;
	int err = 0;
	B2F_HOLD(&r->volume.fs->state_lock);
	struct fs_bucket_overlay *changes = find_dir(r, dir);

	if (changes) {
		names = fs_bucket_names_new();
		err = names ? merge(changes, listed, names) : -ENOMEM;
	}
	if (names == listed) {
		fs_bucket_names_ref(listed);
	} else if (err) {
		fs_bucket_names_put(names);
		return err;
	}
	*out = names;
	return 0;
}

void fs_bucket_overlay_fini(struct fs_bucket *r)
{
	struct fs_bucket_overlay *changes, *next_dir;
	struct change *c, *next;

	HASH_ITER (hh, r->changes, changes, next_dir) {
		HASH_ITER (hh, changes->names, c, next)
			drop_change(changes, c);
		drop_dir(r, changes);
	}
}
