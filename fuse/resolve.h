/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resolve.h - names of the mount and names of the backing folder
 *
 * A frame STEM.SUFFIX is shown as STEM if nothing in the folder is shown as
 * STEM by that name, and no other frame wants to be STEM; else by its full
 * name.  All else is shown by its own name.  So beside x.b2frame, which is
 * shown as x, x.b2frame.b2frame is shown as x.b2frame.  So a name never hides
 * another one, and depends on nothing but what is in the folder.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_RESOLVE_H
#define B2F_FUSE_RESOLVE_H

#include "probe.h"

/* What a name of the mount stands for. */
struct fs_found {
	/* Close it. */
	struct fs_probe probe;
	/* Its name on the backing filesystem. */
	char name[FS_NAME_SIZE];
};

/* Where the file itself is, in the same folder: by its name, or at its home. */
static inline const char *fs_found_entry(const struct fs_found *found)
{
	return found->probe.home[0] ? found->probe.home : found->name;
}

/* What its node is found by. */
static inline struct fs_node fs_found_key(const struct fs_found *found)
{
	const struct fs_probe *probe = &found->probe;

	return (struct fs_node){
		.kind = probe->kind,
		.sparse = probe->kind == FS_KIND_FRAME && probe->sparse,
		.dev = probe->st.st_dev,
		.ino = probe->st.st_ino,
	};
}

/*
 * Returns 1 if @name in the backing folder @dirfd is shown by just that name,
 * 0 if not, or if there is none, or an errno.
 */
B2F_MUST_CHECK
int fs_resolve_is_shown(struct fs_tree *tree, int dirfd, const char *name);

/*
 * Finds what is shown as @name in the backing folder @dirfd.
 * Returns 0, -ENOENT or an errno.
 */
B2F_MUST_CHECK
int fs_resolve_find(struct fs_tree *tree, int dirfd, const char *name,
		    struct fs_found *out);

/*
 * Tells whether @name in the backing folder @dirfd is a frame, and copies the
 * name it is shown by (@name itself if it is none) to @shown.  Costs nothing
 * for names without a suffix of frames: those are taken not to be frames, as
 * their name stays the same.
 *
 * Returns 0 or an errno (-ENOENT: it has gone).
 */
B2F_MUST_CHECK
int fs_resolve_shown(struct fs_tree *tree, int dirfd, const char *name,
		     bool *is_frame, char shown[FS_NAME_SIZE]);

/* Returns 1 if the backing folder @dirfd has a @name, 0 if not, or an errno. */
B2F_MUST_CHECK
int fs_resolve_exists(struct fs_tree *tree, int dirfd, const char *name);

/* Returns 1 if that is a frame, 0 if not or if there is none, or an errno. */
B2F_MUST_CHECK
int fs_resolve_is_frame(struct fs_tree *tree, int dirfd, const char *name);

#endif
