/* SPDX-License-Identifier: BSD-3-Clause */
/* backing_name.c - the backing name of something that shall be shown as NAME */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "backing_name.h"
#include "programs/home.h"

static bool is_going(const struct fs_backing_dir *dir, const char *name)
{
	return (dir->leaving && strcmp(dir->leaving, name) == 0) ||
	       (dir->replaced && strcmp(dir->replaced, name) == 0);
}

/* Returns 1 if @name exists and stays, 0 or an errno. */
static int stays(const struct fs_backing_dir *dir, const char *name)
{
	int exists = is_going(dir, name)
			     ? 0
			     : fs_resolve_exists(&dir->place, name);
	char home[FS_NAME_SIZE];

	/* No other request changes the directory now. */
	if (exists == 1 && b2f_home_link(dir->place.dirfd, name, -1, home) ==
				   B2F_HOME_DOOMED)
		exists = unlinkat(dir->place.dirfd, name, 0) ? -errno : 0;
	return exists;
}

/* Returns 1 if @name is shown by just that name and stays, 0 or an errno. */
static int stays_shown(const struct fs_backing_dir *dir, const char *name)
{
	if (is_going(dir, name))
		return 0;
	return fs_resolve_is_shown(&dir->place, name);
}

/*
 * Counts the frames, other than @other, that have the stem @stem and stay.
 * Returns the count or an errno.
 */
static int count_frames(const struct fs_backing_dir *dir, const char *stem,
			const char *other)
{
	char name[FS_NAME_SIZE];
	int n = 0, is_frame;

	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES; i++) {
		if (!fs_suffix_join(stem, i, name) || is_going(dir, name) ||
		    (other && strcmp(other, name) == 0))
			continue;
		is_frame = fs_resolve_is_frame(&dir->place, name);
		if (is_frame < 0)
			return is_frame;
		n += is_frame;
	}
	return n;
}

/*
 * Can a file be put at the backing name @name without changing how others are
 * shown?  A single frame @name.SUFFIX is shown as @name now; two of them have
 * their full names already.  Returns 1, 0 or an errno.
 */
static int is_free(const struct fs_backing_dir *dir, const char *name)
{
	int n;

	if (strcmp(name, B2F_INDEX_NAME) == 0)
		return 0;
	n = stays(dir, name);
	if (n)
		return n < 0 ? n : 0;
	n = count_frames(dir, name, NULL);
	return n < 0 ? n : n != 1;
}

/* Can a new frame be put at @full, which is @name and a suffix? */
static int is_free_with_suffix(const struct fs_backing_dir *dir,
			       const char *name, const char *full)
{
	int n = stays_shown(dir, name);

	if (n)
		return n < 0 ? n : 0;
	/* is_free() looks for @full itself. */
	n = count_frames(dir, name, full);
	if (n)
		return n < 0 ? n : 0;
	return is_free(dir, full);
}

static int check_length(const char *name)
{
	return strlen(name) > FS_NAME_MAX ? -ENAMETOOLONG : 0;
}

/*
 * Finds a free backing name: with suffix @first, or another one, or none.
 * Returns 1 and sets @out, 0, or an errno.
 */
static int find_name(const struct fs_backing_dir *dir, const char *name,
		     enum b2f_suffix first, char out[FS_NAME_SIZE])
{
	char stem[FS_NAME_SIZE];
	int result = 0;

	for (enum b2f_suffix i = 0; result == 0 && i < B2F_SUFFIXES; i++) {
		/* Not every suffix fits behind a long name. */
		if (fs_suffix_join(name, (first + i) % B2F_SUFFIXES, out))
			result = is_free_with_suffix(dir, name, out);
	}
	if (result == 0 && !fs_suffix_stem(name, stem)) {
		result = is_free(dir, name);
		snprintf(out, FS_NAME_SIZE, "%s", name);
	}
	return result;
}

int fs_backing_name_of_frame(const struct fs_backing_dir *dir, const char *name,
			     enum b2f_suffix suffix, char out[FS_NAME_SIZE])
{
	char found[FS_NAME_SIZE];
	int result = check_length(name);

	if (result)
		return result;
	result = find_name(dir, name, suffix, found);
	if (result == 1)
		memcpy(out, found, sizeof(found));
	return result == 1 ? 0 : result < 0 ? result : -EEXIST;
}

int fs_backing_name_check(const struct fs_backing_dir *dir, const char *name)
{
	int result = check_length(name);

	if (result)
		return result;
	if (strcmp(name, B2F_INDEX_NAME) == 0)
		return -EPERM;
	result = is_free(dir, name);
	return result == 1 ? 0 : result < 0 ? result : -EEXIST;
}
