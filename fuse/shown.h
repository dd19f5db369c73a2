/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shown.h - a frame that is open to be read only: its bytes, or its .npy view
 *
 * What a handle has of a frame that has no file of the tree: one in a pack, or in
 * an object store.
 *
 * Layer: fuse.  Threads: immutable once it is open.
 */
#ifndef B2F_FUSE_SHOWN_H
#define B2F_FUSE_SHOWN_H

#include <sys/stat.h>

#include "b2frame/file.h"
#include "fuse_api.h"

struct fs_shown {
	/* NULL: nothing is open. */
	struct b2f_file *file;
	struct b2f_stream *stream;
	/* What a view has before the data; malloc'ed. */
	uint8_t *head;
	size_t head_len;
	/* Of all that is shown. */
	uint64_t size;
};

/*
 * Shows @file, which has to outlive it, or its view.  Close *@out with
 * fs_shown_close(), also after an error.  Returns 0, -ENOMEM, or as
 * b2f_file_npy_header().
 */
B2F_MUST_CHECK
int fs_shown_open(struct b2f_file *file, bool is_view, struct fs_shown *out);

/* The file stays open.  A zeroed @shown does nothing. */
void fs_shown_close(struct fs_shown *shown);

/* What is known of a frame without its data; of one that is broken, zeros. */
struct fs_shown_sizes {
	bool known;
	/* As shown, and stored. */
	uint64_t nbytes;
	uint64_t cbytes;
	/* Of the header before the data of its .npy view; 0: it has none. */
	uint64_t head_len;
};

/* Reads them from @frame.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_shown_sizes_of(const struct b2f_frame *frame,
		      struct fs_shown_sizes *out);

/* Sets what stat(2) says of sizes, for the frame or its view. */
void fs_shown_attributes(const struct fs_shown_sizes *sizes, bool is_view,
			 struct stat *out);

/* Bytes of what is shown, behind @nhead bytes of the header from @off on. */
struct fs_shown_view {
	size_t off;
	size_t nhead;
	struct b2f_view data;
};

/*
 * Finds the @size bytes at @off.  Returns how many these are, or as
 * b2f_file_view(); end with b2f_file_view_release(&out->data).
 */
B2F_MUST_CHECK
ssize_t fs_shown_find(const struct fs_shown *shown, size_t size, uint64_t off,
		      struct fs_shown_view *out);

/* Answers @req with @view, but for an error: -ENOMEM. */
B2F_MUST_CHECK
int fs_shown_reply(fuse_req_t req, const struct fs_shown *shown,
		   const struct fs_shown_view *view);

/* lseek(2) to data or holes: holes only of a frame without a header. */
B2F_MUST_CHECK
int64_t fs_shown_seek(const struct fs_shown *shown, off_t off, int whence);

#endif
