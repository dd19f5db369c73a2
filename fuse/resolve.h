/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resolve.h - maps names of the mount to backing names
 *
 * A frame STEM.SUFFIX is shown as STEM, unless a file is shown by the name
 * STEM itself, or another frame has the same stem; then it is shown by its
 * full name, as all other files are.  Beside x.b2frame, which is shown as x,
 * x.b2frame.b2frame is shown as x.b2frame.  So no name hides another one, and
 * names depend only on the entries of the directory.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_RESOLVE_H
#define B2F_FUSE_RESOLVE_H

#include "known.h"
#include "probe.h"

/* A backing directory in which names are looked up. */
struct fs_place {
	struct fs_tree *tree;
	int dirfd;
	/* Its known names since fs_known_enter(). */
	struct fs_known *known;
	dev_t dev;
	ino_t ino;
	/* For a new name: names that are about to be removed, or NULL. */
	const char *leaving;
	const char *replaced;
};

/* The file found for a name of the mount. */
struct fs_found {
	/* Close it. */
	struct fs_probe probe;
	/* Its name on the backing filesystem. */
	char name[FS_NAME_SIZE];
};

/* The name of the file itself in the directory: @name, or its home. */
static inline const char *fs_found_entry(const struct fs_found *found)
{
	return found->probe.home[0] ? found->probe.home : found->name;
}

/* The key of its node, for fs_tree_get(). */
static inline struct fs_backed fs_found_key(const struct fs_found *found)
{
	const struct fs_probe *probe = &found->probe;

	return (struct fs_backed){
		.kind = probe->kind,
		.sparse = probe->kind == FS_KIND_FRAME && probe->sparse,
		.dev = probe->st.st_dev,
		.ino = probe->st.st_ino,
		.born_ns = probe->born_ns,
	};
}

/* Finds the file shown as @name.  Returns 0, -ENOENT or an errno. */
B2F_MUST_CHECK
int fs_resolve_find(const struct fs_place *place, const char *name,
		    struct fs_found *out);

/*
 * Copies the name by which @name in @place, which the directory calls a plain
 * file (@is_file) or not, is shown to @shown; it has a frame's suffix.  If it
 * is a frame, opens it as *@frame with fs_probe_kind(), or takes
 * fs_probe_remembered(); close that.
 *
 * Returns 0 or an errno (-ENOENT: deleted); then @frame is not open.
 */
B2F_MUST_CHECK
int fs_resolve_shown(const struct fs_place *place, const char *name,
		     bool is_file, struct fs_probe *frame,
		     char shown[FS_NAME_SIZE]);

/*
 * The other direction: the backing name for a file to be shown as NAME.  Every
 * later mount must show the file as NAME, too, and other files by their old
 * names.  So a new frame gets the first possible one of these names:
 *
 *   NAME.b2frame   unless that exists, or is the name of another frame
 *   NAME.b2f ...   likewise, with the other suffixes
 *   NAME           a frame without suffix, if NAME does not end in one itself
 *   -EEXIST        if all of these are taken
 *
 * So a new x.b2frame beside a frame x.b2frame, shown as x, becomes
 * x.b2frame.b2frame.  A file that is no frame gets the name NAME; -EEXIST if a
 * frame has that backing name, but is shown by another one.  No file gets the
 * name of an index, which would turn its directory into a frame, or a name that
 * mounts use themselves (home.h).  If another program takes the name meanwhile,
 * the call that makes the file gives EEXIST.
 */

/*
 * Finds the backing name of a new frame @name, with suffix @suffix if possible.
 * Returns 0, -EEXIST, -ENAMETOOLONG or an errno.
 */
B2F_MUST_CHECK
int fs_backing_name_of_frame(const struct fs_place *place, const char *name,
			     enum b2f_suffix suffix, char out[FS_NAME_SIZE]);

/*
 * May a new file that is no frame get the backing name @name?  Returns 0,
 * -EEXIST, -ENAMETOOLONG, -EPERM (it is a name that no file gets) or an
 * errno.
 */
B2F_MUST_CHECK
int fs_backing_name_check(const struct fs_place *place, const char *name);

#endif
