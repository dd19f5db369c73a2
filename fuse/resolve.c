/* SPDX-License-Identifier: BSD-3-Clause */
/* resolve.c - names of the mount and names of the backing directory */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "resolve.h"

/* Is it known that there is no @name? */
static bool lacks(const struct fs_place *place, const char *name)
{
	return place->known &&
	       fs_known_lacks(place->known, place->dev, place->ino, name);
}

int fs_resolve_exists(const struct fs_place *place, const char *name)
{
	struct stat st;
	int fd, err;

	if (lacks(place, name))
		return 0;
	/* fstatat(2) could ask our own mount, and wait for ever. */
	err = fs_tree_open_at(place->tree, place->dirfd, name, &fd, &st);
	if (err == -ENOENT)
		return 0;
	if (err)
		return err;
	close(fd);
	return 1;
}

int fs_resolve_is_frame(const struct fs_place *place, const char *name)
{
	struct fs_probe probe;
	int err;

	if (lacks(place, name))
		return 0;
	err = fs_probe_kind(place->tree, place->dirfd, name, &probe);
	if (err)
		return err == -ENOENT ? 0 : err;
	fs_probe_close(&probe);
	return probe.kind == FS_KIND_FRAME;
}

static int show_frame(const struct fs_place *place, const char *name,
		      char shown[FS_NAME_SIZE]);

int fs_resolve_is_shown(const struct fs_place *place, const char *name)
{
	char shown[FS_NAME_SIZE];
	int is_frame, err;

	/* Only frames are shown by other names. */
	is_frame = fs_suffix_stem(name, shown)
			   ? fs_resolve_is_frame(place, name)
			   : 0;
	if (is_frame <= 0)
		return is_frame ? is_frame
				: fs_resolve_exists(place, name);
	err = show_frame(place, name, shown);
	return err ? err : strcmp(shown, name) == 0;
}

/*
 * Is anything else than the frame @name shown as @stem, or about to be?  Each
 * step of this recursion takes a suffix off, so it ends.
 */
static int is_taken(const struct fs_place *place, const char *name,
		    const char *stem)
{
	char other[FS_NAME_SIZE];
	int taken = fs_resolve_is_shown(place, stem);

	for (enum b2f_suffix i = 0; taken == 0 && i < B2F_SUFFIXES; i++) {
		if (fs_suffix_join(stem, i, other) && strcmp(other, name) != 0)
			taken = fs_resolve_is_frame(place, other);
	}
	return taken;
}

/* Copies the name that the frame @name is shown by. */
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
		     struct fs_probe *frame, char shown[FS_NAME_SIZE])
{
	char stem[FS_NAME_SIZE];
	int err;

	frame->fd = -1;
	snprintf(shown, FS_NAME_SIZE, "%s", name);
	if (!fs_suffix_stem(name, stem))
		return 0;
	err = fs_probe_kind(place->tree, place->dirfd, name, frame);
	if (!err && frame->kind == FS_KIND_FRAME)
		err = show_frame(place, name, shown);
	if (err || frame->kind != FS_KIND_FRAME)
		fs_probe_close(frame);
	return err;
}

bool fs_resolve_remembered(const struct fs_place *place, const char *name,
			   struct fs_probe *frame, char shown[FS_NAME_SIZE])
{
	char stem[FS_NAME_SIZE];
	struct fs_probe probe;

	if (!fs_suffix_stem(name, stem) || !place->known ||
	    !fs_known_has(place->known, place->dev, place->ino) ||
	    !fs_probe_remembered(place->tree, place->dirfd, place->dev, name,
				 &probe) ||
	    show_frame(place, name, shown))
		return false;
	*frame = probe;
	return true;
}

/* Finds the only frame @stem.SUFFIX; nothing has the name @stem itself. */
static int find_frame(const struct fs_place *place, const char *stem,
		      struct fs_found *out)
{
	struct fs_found found = {.probe = {.fd = -1}};
	struct fs_probe probe;
	char name[FS_NAME_SIZE];
	int nframes = 0, err = 0;

	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES && nframes < 2; i++) {
		if (!fs_suffix_join(stem, i, name) || lacks(place, name))
			continue;
		err = fs_probe_open(place->tree, place->dirfd, name, &probe);
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
		memcpy(found.name, name, sizeof(name));
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
	/*
	 * That file is shown by another name, so @name may be a frame's stem.
	 */
	return err ? err : find_frame(place, name, out);
}
