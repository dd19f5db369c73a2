/* SPDX-License-Identifier: BSD-3-Clause */
/* op_dir.c - directories: open, read, close */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "listing.h"
#include "ops.h"
#include "reply.h"

void fs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_node *node = fs_node_of(fs, ino);
	struct fs_listing *listing = NULL;
	struct fs_handle *handle = NULL;
	int err;

	err = fs_listing_new(fs, node, &listing);
	if (!err)
		err = fs_handle_open_listing(fs, node, listing, &handle);
	if (err) {
		fs_listing_free(listing);
		fs_reply_error(req, err);
		return;
	}
	fi->fh = (uintptr_t)handle;
	if (fuse_reply_open(req, fi) < 0)
		fs_handle_close(fs, handle);
}

/*
 * Fills @buf with entries from @pos on.  Returns how many bytes, or an errno.
 */
static ssize_t fill(fuse_req_t req, struct fs_listing *listing, int64_t pos,
		    char *buf, size_t size)
{
	struct fs_listed entry;
	size_t used = 0;
	int result;

	while ((result = fs_listing_get(fs_of(req), listing, pos, &entry)) ==
	       1) {
		const struct stat st = {.st_ino = entry.ino,
					.st_mode = DTTOIF(entry.type)};
		size_t n = fuse_add_direntry(req, buf + used, size - used,
					     entry.name, &st, entry.next_pos);

		if (n > size - used)
			break;
		used += n;
		pos = entry.next_pos;
	}
	/* First give out what was found before an error. */
	return result < 0 && used == 0 ? result : (ssize_t)used;
}

void fs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi)
{
	struct fs_listing *listing = fs_handle_of(fi)->listing;
	char *buf = malloc(size);
	ssize_t n;

	(void)ino;
	if (!buf) {
		fs_reply_error(req, -ENOMEM);
		return;
	}
	/* Several threads may share one open directory. */
	fs_listing_lock(listing);
	n = fill(req, listing, off, buf, size);
	fs_listing_unlock(listing);
	if (n < 0)
		fs_reply_error(req, (int)n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	free(buf);
}

void fs_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fs_handle_close(fs_of(req), fs_handle_of(fi));
	fuse_reply_err(req, 0);
}
