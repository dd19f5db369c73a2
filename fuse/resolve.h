/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resolve.h - names of the mount and names of the backing directory
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

/* A backing directory in which names are looked for. */
struct fs_place {
	struct fs_tree *tree;
	int dirfd;
	/* Its known names since fs_known_enter(); NULL: none. */
	struct fs_known *known;
	dev_t dev;
	ino_t ino;
};

/* The entry that a name of the mount stands for. */
struct fs_found {
	/* Close it. */
	struct fs_probe probe;
	/* Its name on the backing filesystem. */
	char name[FS_NAME_SIZE];
};

/* The name of the file itself in that directory: @name, or its home. */
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

/*
 * Finds the file that is shown as @name in @place.  Returns 0, -ENOENT or an
 * errno.
 */
B2F_MUST_CHECK
int fs_resolve_find(const struct fs_place *place, const char *name,
		    struct fs_found *out);

/*
 * Copies the name that @name in @place is shown by to @shown, and opens it as
 * *@frame with fs_probe_kind() if it is a frame; close that.  A name without a
 * suffix of frames costs no look: it is shown as it is, and taken for no frame.
 *
 * Returns 0 or an errno (-ENOENT: it is gone); @frame is not open then.
 */
B2F_MUST_CHECK
int fs_resolve_shown(const struct fs_place *place, const char *name,
		     struct fs_probe *frame, char shown[FS_NAME_SIZE]);

/*
 * The same of a frame in one file of which the last look is still true, as by
 * fs_probe_remembered().  Returns false if only fs_resolve_shown() can tell.
 */
bool fs_resolve_remembered(const struct fs_place *place, const char *name,
			   struct fs_probe *frame, char shown[FS_NAME_SIZE]);

/*
 * The rule read backwards: the backing name of a file that is to be shown as NAME.
 * A new file must come back as NAME at every later mount, and must not change how other
 * files are shown.  So a new frame becomes the first of these that is possible:
 *
 *   NAME.b2frame   unless that exists, or is the name of another frame
 *   NAME.b2f ...   likewise, with the other suffixes
 *   NAME           a frame without suffix, if NAME does not end in one itself
 *   -EEXIST        if all of these are taken
 *
 * So x.b2frame beside a frame x that is stored so becomes x.b2frame.b2frame.
 * Any other file becomes NAME, or -EEXIST if that is a frame that is shown by
 * another name.  No file gets the name of an index: it would turn its directory
 * into a frame.  If another program takes the name meanwhile, the call that makes the
 * file gives EEXIST.
 */

/* A backing directory, and the names in it that are about to go. */
struct fs_backing_dir {
	struct fs_place place;
	/* NULL: none. */
	const char *leaving;
	const char *replaced;
};

/*
 * Finds the backing name of a new frame @name, with suffix @suffix if
 * possible.  Returns 0 (nothing that stays is shown as @name), -EEXIST,
 * -ENAMETOOLONG or an errno.
 */
B2F_MUST_CHECK
int fs_backing_name_of_frame(const struct fs_backing_dir *dir, const char *name,
			     enum b2f_suffix suffix, char out[FS_NAME_SIZE]);

/*
 * Checks whether @name can be given to a new file that is no frame.  Returns 0,
 * -EEXIST, -ENAMETOOLONG, -EPERM (it is the name of an index) or an errno.
 */
B2F_MUST_CHECK
int fs_backing_name_check(const struct fs_backing_dir *dir, const char *name);

#endif
