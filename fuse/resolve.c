/* SPDX-License-Identifier: BSD-3-Clause */
/* resolve.c - maps names of the mount to backing names */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aside.h"
#include "b2frame/create.h"
#include "dir.h"
#include "programs/home.h"
#include "resolve.h"

static struct fs_known_name look(const struct fs_place *place, const char *name)
{
	return fs_known_look(place->known, place->dev, place->ino, name);
}

/* Is it known that @name does not exist? */
static bool lacks(const struct fs_place *place, const char *name)
{
	const struct fs_known_name known = look(place, name);

	return known.is_known && !known.exists;
}

/* The names that @stem may have with a suffix, one after the other. */
struct with_suffix {
	const char *stem;
	unsigned int may;
	enum b2f_suffix next;
	char name[FS_NAME_SIZE];
};

static struct with_suffix with_suffix(const struct fs_place *place,
				      const char *stem)
{
	return (struct with_suffix){
		.stem = stem,
		.may = fs_known_suffixes(place->known, place->dev, place->ino,
					 stem),
	};
}

/* Sets @w->name to the next name; false: there are no more. */
static bool next_name(struct with_suffix *w)
{
	while (w->next < B2F_SUFFIXES) {
		enum b2f_suffix i = w->next++;

		if (w->may >> i & 1 && fs_suffix_join(w->stem, i, w->name))
			return true;
	}
	return false;
}

/* Like exists_at(), for a name that is not known to be missing. */
static int look_at(const struct fs_place *place, const char *name)
{
	int64_t born_ns;
	struct stat st;
	int fd, err;

	/* fstatat(2) could ask our own mount, and wait forever. */
	err = fs_tree_look_at(place->tree, place->dirfd, name, &fd, &st,
			      &born_ns);
	if (err == -ENOENT)
		return 0;
	if (err)
		return err;
	close(fd);
	return 1;
}

/* Returns 1 if @name exists in @place, 0 or an errno. */
static int exists_at(const struct fs_place *place, const char *name)
{
	return lacks(place, name) ? 0 : look_at(place, name);
}

/*
 * Returns 1 if @name, which is not known to be missing, is a frame there, 0 or
 * an errno.
 */
static int is_frame_at(const struct fs_place *place, const char *name)
{
	struct fs_probe probe;
	int err = fs_probe_kind(place->tree, place->dirfd, name, &probe);

	if (err)
		return err == -ENOENT ? 0 : err;
	fs_probe_close(&probe);
	return probe.kind == FS_KIND_FRAME;
}

static int show_frame(const struct fs_place *place, const char *name,
		      char shown[FS_NAME_SIZE]);

/*
 * Returns 1 if @name in @place is shown by its own name, 0 if it is shown by
 * another one or does not exist, or an errno.
 */
static int is_shown(const struct fs_place *place, const char *name)
{
	char shown[FS_NAME_SIZE];
	int is_frame, err;

	if (lacks(place, name))
		return 0;
	/* Only frames are shown by other names. */
	is_frame = fs_suffix_stem(name, shown) ? is_frame_at(place, name) : 0;
	if (is_frame <= 0)
		return is_frame ? is_frame : look_at(place, name);
	err = show_frame(place, name, shown);
	return err ? err : strcmp(shown, name) == 0;
}

/*
 * Is another file than the frame @name shown as @stem, or about to be?  Each
 * step of this recursion takes a suffix off, so it ends.
 */
static int is_taken(const struct fs_place *place, const char *name,
		    const char *stem)
{
	struct with_suffix other = with_suffix(place, stem);
	int taken = is_shown(place, stem);

	while (taken == 0 && next_name(&other))
		if (strcmp(other.name, name) != 0)
			taken = is_frame_at(place, other.name);
	return taken;
}

/* Copies the name by which the frame @name is shown. */
static int show_frame(const struct fs_place *place, const char *name,
		      char shown[FS_NAME_SIZE])
{
	char stem[FS_NAME_SIZE];
	int taken;

	if (!fs_suffix_stem(name, stem)) {
		snprintf(shown, FS_NAME_SIZE, "%s", name);
		return 0;
	}
	taken = is_taken(place, name, stem);
	if (taken < 0)
		return taken;
	snprintf(shown, FS_NAME_SIZE, "%s", taken ? name : stem);
	return 0;
}

int fs_resolve_shown(const struct fs_place *place, const char *name,
		     bool is_file, struct fs_probe *frame,
		     char shown[FS_NAME_SIZE])
{
	int err = 0;

	frame->fd = -1;
	snprintf(shown, FS_NAME_SIZE, "%s", name);
	if (!is_file || !look(place, name).is_known ||
	    !fs_probe_remembered(place->tree, place->dirfd, place->dev, name,
				 frame))
		err = fs_probe_kind(place->tree, place->dirfd, name, frame);
	if (!err && frame->kind == FS_KIND_FRAME)
		err = show_frame(place, name, shown);
	if (err || frame->kind != FS_KIND_FRAME)
		fs_probe_close(frame);
	return err;
}

/* Finds the only frame @stem.SUFFIX; no file has the name @stem itself. */
static int find_frame(const struct fs_place *place, const char *stem,
		      struct fs_found *out)
{
	struct with_suffix at = with_suffix(place, stem);
	struct fs_found found = {.probe = {.fd = -1}};
	struct fs_probe probe;
	int nframes = 0, err = 0;

	while (nframes < 2 && next_name(&at)) {
		err = fs_probe_open(place->tree, place->dirfd, at.name, &probe);
		if (err == -ENOENT)
			continue;
		if (err)
			break;
		if (probe.kind != FS_KIND_FRAME) {
			fs_probe_close(&probe);
			continue;
		}
		nframes++;
		fs_probe_close(&found.probe);
		found.probe = probe;
		memcpy(found.name, at.name, sizeof(at.name));
	}
	if (err && err != -ENOENT)
		nframes = 0;
	else
		err = nframes == 1 ? 0 : -ENOENT;
	if (err)
		fs_probe_close(&found.probe);
	else
		*out = found;
	return err;
}

int fs_resolve_find(const struct fs_place *place, const char *name,
		    struct fs_found *out)
{
	char shown[FS_NAME_SIZE];
	struct fs_found found;
	int err;

	if (lacks(place, name))
		return find_frame(place, name, out);
	err = fs_probe_open(place->tree, place->dirfd, name, &found.probe);
	if (err == -ENOENT)
		return find_frame(place, name, out);
	if (err)
		return err;
	snprintf(found.name, sizeof(found.name), "%s", name);
	if (found.probe.kind == FS_KIND_FRAME)
		err = show_frame(place, name, shown);
	if (!err &&
	    (found.probe.kind != FS_KIND_FRAME || strcmp(shown, name) == 0)) {
		*out = found;
		return 0;
	}
	fs_probe_close(&found.probe);
	/* The file is shown by another name, so @name may be a frame's stem. */
	return err ? err : find_frame(place, name, out);
}

static bool is_going(const struct fs_place *place, const char *name)
{
	return (place->leaving && strcmp(place->leaving, name) == 0) ||
	       (place->replaced && strcmp(place->replaced, name) == 0);
}

/* Has a rename left @name, a link that is not to be seen? */
static bool is_doomed(const struct fs_place *place, const char *name)
{
	char home[FS_NAME_SIZE];

	return b2f_home_link(place->dirfd, name, -1, home) == B2F_HOME_DOOMED;
}

/* Returns 1 if @name exists and is not about to be removed, 0 or an errno. */
static int stays(const struct fs_place *place, const char *name)
{
	int exists = is_going(place, name) ? 0 : exists_at(place, name);
	int lock;

	if (exists != 1 || !is_doomed(place, name))
		return exists;
	/* The rename of another mount is about to look at the link. */
	lock = fs_aside_lock(place->dirfd);
	if (is_doomed(place, name) && unlinkat(place->dirfd, name, 0))
		exists = -errno;
	fs_dir_close(lock);
	return exists < 0 ? exists : exists_at(place, name);
}

/*
 * Counts the frames with the stem @stem, except @other, that are not about to
 * be removed.  Returns the count or an errno.
 */
static int count_frames(const struct fs_place *place, const char *stem,
			const char *other)
{
	struct with_suffix at = with_suffix(place, stem);
	int n = 0, is_frame;

	while (next_name(&at)) {
		if (is_going(place, at.name) ||
		    (other && strcmp(other, at.name) == 0))
			continue;
		is_frame = is_frame_at(place, at.name);
		if (is_frame < 0)
			return is_frame;
		n += is_frame;
	}
	return n;
}

/* Would a new file @name count as an index, or as a leftover of a mount? */
static bool is_reserved(const char *name)
{
	return strcmp(name, B2F_INDEX_NAME) == 0 || b2f_home_is(name) ||
	       b2f_home_is_aside(name);
}

/*
 * Can a file get the backing name @name without changing how other files are
 * shown?  A single frame @name.SUFFIX is shown as @name now; two of them are
 * already shown by their full names.  Returns 1, 0 or an errno.
 */
static int is_free(const struct fs_place *place, const char *name)
{
	int n;

	if (is_reserved(name))
		return 0;
	n = stays(place, name);
	if (n)
		return n < 0 ? n : 0;
	n = count_frames(place, name, NULL);
	return n < 0 ? n : n != 1;
}

/* Can a new frame be put at @full, which is @name and a suffix? */
static int is_free_with_suffix(const struct fs_place *place, const char *name,
			       const char *full)
{
	int n = is_going(place, name) ? 0 : is_shown(place, name);

	if (n)
		return n < 0 ? n : 0;
	/* count_frames() leaves @full out, because is_free() looks for it. */
	n = count_frames(place, name, full);
	if (n)
		return n < 0 ? n : 0;
	return is_free(place, full);
}

static int check_length(const char *name)
{
	return strlen(name) > FS_NAME_MAX ? -ENAMETOOLONG : 0;
}

/*
 * Finds a free backing name: with suffix @first, or another one, or none.
 * Returns 1 and sets @out, 0, or an errno.
 */
static int choose_name(const struct fs_place *place, const char *name,
		       enum b2f_suffix first, char out[FS_NAME_SIZE])
{
	char stem[FS_NAME_SIZE];
	int result = 0;

	for (enum b2f_suffix i = 0; result == 0 && i < B2F_SUFFIXES; i++) {
		/* Not every suffix fits behind a long name. */
		if (fs_suffix_join(name, (first + i) % B2F_SUFFIXES, out))
			result = is_free_with_suffix(place, name, out);
	}
	if (result == 0 && !fs_suffix_stem(name, stem)) {
		result = is_free(place, name);
		snprintf(out, FS_NAME_SIZE, "%s", name);
	}
	return result;
}

int fs_backing_name_of_frame(const struct fs_place *place, const char *name,
			     enum b2f_suffix suffix, char out[FS_NAME_SIZE])
{
	char found[FS_NAME_SIZE];
	int result = check_length(name);

	if (result)
		return result;
	result = choose_name(place, name, suffix, found);
	if (result == 1)
		memcpy(out, found, sizeof(found));
	return result == 1 ? 0 : result < 0 ? result : -EEXIST;
}

int fs_backing_name_check(const struct fs_place *place, const char *name)
{
	int result = check_length(name);

	if (result)
		return result;
	if (is_reserved(name))
		return -EPERM;
	result = is_free(place, name);
	return result == 1 ? 0 : result < 0 ? result : -EEXIST;
}
