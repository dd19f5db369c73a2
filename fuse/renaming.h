/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renaming.h - what the parts of a rename know of both names
 *
 * Layer: fuse.  Threads: any; functions may block on I/O.
 */
#ifndef B2F_FUSE_RENAMING_H
#define B2F_FUSE_RENAMING_H

#include "entry.h"

/* A side of a rename. */
struct fs_side {
	struct fs_entry entry;
	struct fs_found found;
	/* Its node, if the kernel knows it. */
	struct fs_pin pin;
};

struct fs_renaming {
	struct fs *fs;
	struct fs_side from;
	struct fs_side to;
	/* There is a file at @to. */
	bool replaces;
	/* The backing name that @from gets. */
	char name[FS_NAME_SIZE];
	/* Where what was at @to lies until it is deleted (aside.h). */
	char aside[FS_NAME_SIZE];
};

static inline bool fs_side_is_sparse(const struct fs_side *side)
{
	return side->found.probe.kind == FS_KIND_FRAME &&
	       side->found.probe.sparse;
}

static inline bool fs_side_is_frame(const struct fs_side *side)
{
	return side->found.probe.kind == FS_KIND_FRAME;
}

static inline bool fs_side_is_dir(const struct fs_side *side)
{
	return side->found.probe.kind == FS_KIND_DIR;
}

/* Is it one of several names of a frame? */
static inline bool fs_side_is_name(const struct fs_side *side)
{
	return side->found.probe.home[0] != '\0';
}

/* Are both names in one directory? */
static inline bool fs_renaming_is_same_dir(const struct fs_renaming *r)
{
	return r->from.entry.dir == r->to.entry.dir;
}

/* Are OLD and NEW names of one file? */
static inline bool fs_renaming_is_same_file(const struct fs_renaming *r)
{
	const struct stat *from = &r->from.found.probe.st;
	const struct stat *to = &r->to.found.probe.st;

	return r->replaces && from->st_dev == to->st_dev &&
	       from->st_ino == to->st_ino;
}

/* Notes that the node of @side is @name in @entry now. */
void fs_renaming_move(struct fs *fs, const struct fs_side *side,
		      const struct fs_entry *entry, const char *name);

/* renameat2(2) of a backing name.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_renaming_entry(const struct fs_entry *from, const char *name,
		      const struct fs_entry *to, const char *new_name,
		      unsigned int flags);

/*
 * Renames the frame @side in @entry from @side->found.name to @name, by which it is
 * shown as before.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_renaming_call(struct fs_renaming *r, struct fs_side *side,
		     const struct fs_entry *entry, const char *name);

/* Renames OLD to @r->name beside NEW, or where that was.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_renaming_move_old(struct fs_renaming *r, unsigned int flags);

/*
 * A file that replaces a durable one must be durable itself: makes @fresh so if
 * @old is.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_renaming_make_durable(struct fs_renaming *r, const struct fs_side *fresh,
			     const struct fs_side *old);

/*
 * Lets both names change places (renaming_exchange.c).  Returns 0, -ENOENT
 * (there is only one), -EINVAL (for a moment one of them would not exist) or an
 * errno.
 */
B2F_MUST_CHECK
int fs_renaming_exchange(struct fs_renaming *r);

/*
 * Renames OLD to NEW, which is there (renaming_replace.c).  Returns 0, -EISDIR,
 * -ENOTDIR, -ESTALE (another mount was faster) or an errno.
 */
B2F_MUST_CHECK
int fs_renaming_replace(struct fs_renaming *r);

#endif
