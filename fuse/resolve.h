/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resolve.h - names of the mount and names of the backing directory
 *
 * A frame STEM.SUFFIX is shown as STEM, unless a file is shown by the name STEM
 * itself, or another frame has the same stem; then it is shown by its full
 * name, as all other files are.  Beside x.b2frame, which is shown as x,
 * x.b2frame.b2frame is shown as x.b2frame.  So a name never hides another one,
 * and depends only on what is in the directory.
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

/* The name of the file itself in that directory: @name, or its home. */
static inline const char *fs_found_entry(const struct fs_found *found)
{
	return found->probe.home[0] ? found->probe.home : found->name;
}

/* The key of its node, for fs_tree_get(). */
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
 * Returns 1 if @name in the backing directory @dirfd is shown by just that
 * name, 0 if it is shown by another or does not exist, or an errno.
 */
B2F_MUST_CHECK
int fs_resolve_is_shown(struct fs_tree *tree, int dirfd, const char *name);

/*
 * Finds what is shown as @name in the backing directory @dirfd.  Returns 0,
 * -ENOENT or an errno.
 */
B2F_MUST_CHECK
int fs_resolve_find(struct fs_tree *tree, int dirfd, const char *name,
		    struct fs_found *out);

/*
 * Tells whether @name in the backing directory @dirfd is a frame, and copies
 * the name that it is shown by to @shown.  A name without a suffix of frames
 * costs no look: it is shown as it is, and reported as no frame.
 *
 * Returns 0 or an errno (-ENOENT: it is gone).
 */
B2F_MUST_CHECK
int fs_resolve_shown(struct fs_tree *tree, int dirfd, const char *name,
		     bool *is_frame, char shown[FS_NAME_SIZE]);

/* Returns 1 if @name exists in the backing directory @dirfd, 0 or an errno. */
B2F_MUST_CHECK
int fs_resolve_exists(struct fs_tree *tree, int dirfd, const char *name);

/* Returns 1 if @name is a frame there, 0 or an errno. */
B2F_MUST_CHECK
int fs_resolve_is_frame(struct fs_tree *tree, int dirfd, const char *name);

#endif
