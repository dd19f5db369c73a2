/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pages.h - the entries of a backing directory by their ordinals
 *
 * The directory's own positions may be anything, and 0 with some FUSE servers: they
 * only say where to read on if a reader goes back far.  The two pages that were
 * read last are kept: the kernel goes back by what a program had no room for, and
 * removals meanwhile must let no entry be left out.
 *
 * Layer: fuse.  Threads: the caller serializes all calls.
 */
#ifndef B2F_FUSE_PAGES_H
#define B2F_FUSE_PAGES_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/error.h"

/* The result of one getdents64(2). */
struct fs_page {
	/* The ordinals of its first entry, and of the entry behind its last. */
	int64_t first;
	int64_t end;
	size_t nbytes;
	_Alignas(struct dirent64) char data[64 << 10];
};

/* Zero-initialize it. */
struct fs_pages {
	/* The ordinal of the entry that is gone to. */
	int64_t pos;
	/* Private. */
	struct fs_page pages[2];
	/* The page read last: the descriptor is behind it. */
	unsigned int last;
	/* The page with the entry @pos, and where in it that begins. */
	unsigned int current;
	size_t start;
	/* Where pages begin, in their order; but for the first one. */
	struct fs_pages_mark *marks;
	size_t nmarks;
};

void fs_pages_fini(struct fs_pages *pages);

/*
 * Goes to the entry @pos of the directory @fd; 0 after others reads it anew.
 * Returns 1, 0 (the directory ends before) or an errno.
 */
B2F_MUST_CHECK
int fs_pages_go(struct fs_pages *pages, int fd, int64_t pos);

/* Returns the entry; NULL: the page ends here. */
const struct dirent64 *fs_pages_entry(const struct fs_pages *pages);

/* The entry behind @d in its page, or NULL. */
const struct dirent64 *fs_pages_after(const struct fs_pages *pages,
				      const struct dirent64 *d);

/* The ordinal behind the last entry of the page. */
int64_t fs_pages_end(const struct fs_pages *pages);

#endif
