/* SPDX-License-Identifier: BSD-3-Clause */
/* shown.c - a frame that is open to be read only: its bytes, or its .npy view */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "shown.h"

/* As of frames elsewhere: 0 blocks would be a hole for tar and cp. */
#define BLOCKS_MIN 8

/* What a view has before the data; 0: there can be none. */
static int find_head_len(const struct b2f_frame *frame, uint64_t *len)
{
	uint8_t *head = NULL;
	size_t n = 0;
	int err = b2f_frame_is_npy(frame)
			  ? B2F_EUNSUPPORTED
			  : b2f_frame_npy_header(frame, &head, &n);

	free(head);
	*len = err ? 0 : n;
	return err == -ENOMEM ? err : 0;
}

int fs_shown_sizes_of(const struct b2f_frame *frame, struct fs_shown_sizes *out)
{
	struct fs_shown_sizes sizes = {
		.known = true,
		.nbytes = b2f_frame_shown_nbytes(frame),
		.cbytes = b2f_frame_info_get(frame)->cbytes,
	};
	int err = find_head_len(frame, &sizes.head_len);

	if (!err)
		*out = sizes;
	return err;
}

void fs_shown_attributes(const struct fs_shown_sizes *sizes, bool is_view,
			 struct stat *out)
{
	out->st_size = (off_t)sizes->nbytes;
	if (is_view)
		out->st_size += (off_t)sizes->head_len;
	out->st_blocks = (blkcnt_t)(sizes->cbytes / 512 + 1);
	if (out->st_blocks < BLOCKS_MIN)
		out->st_blocks = sizes->nbytes ? BLOCKS_MIN : 0;
}

int fs_shown_open(struct b2f_file *file, bool is_view, struct fs_shown *out)
{
	int err;

	out->file = file;
	err = b2f_stream_new(file, &out->stream);
	if (!err && is_view)
		err = b2f_file_npy_header(file, &out->head, &out->head_len);
	if (!err)
		out->size = out->head_len + b2f_file_size(file);
	return err;
}

void fs_shown_close(struct fs_shown *shown)
{
	b2f_stream_free(shown->stream);
	free(shown->head);
	*shown = (struct fs_shown){0};
}

ssize_t fs_shown_find(const struct fs_shown *shown, size_t size, uint64_t off,
		      struct fs_shown_view *out)
{
	size_t nhead = 0;
	ssize_t n;

	if (off < shown->head_len) {
		nhead = shown->head_len - (size_t)off;
		nhead = size < nhead ? size : nhead;
	}
	n = b2f_file_view(shown->file, shown->stream, size - nhead,
			  off + nhead - shown->head_len, &out->data);
	if (n < 0)
		return n;
	out->off = (size_t)off;
	out->nhead = nhead;
	return n + (ssize_t)nhead;
}

/* With a part of the header before the data. */
static int reply_both(fuse_req_t req, const struct fs_shown *shown,
		      const struct fs_shown_view *view)
{
	const struct b2f_view *data = &view->data;
	struct iovec *iov = malloc((data->niov + 1) * sizeof(*iov));

	if (!iov)
		return -ENOMEM;
	iov[0] = (struct iovec){.iov_base = shown->head + view->off,
				.iov_len = view->nhead};
	for (size_t i = 0; i < data->niov; i++)
		iov[i + 1] = data->iov[i];
	fuse_reply_iov(req, iov, (int)data->niov + 1);
	free(iov);
	return 0;
}

int fs_shown_reply(fuse_req_t req, const struct fs_shown *shown,
		   const struct fs_shown_view *view)
{
	if (view->nhead)
		return reply_both(req, shown, view);
	fuse_reply_iov(req, view->data.iov, (int)view->data.niov);
	return 0;
}

int64_t fs_shown_seek(const struct fs_shown *shown, off_t off, int whence)
{
	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		return -EINVAL;
	if (off < 0 || (uint64_t)off >= shown->size)
		return -ENXIO;
	if (!shown->file || shown->head)
		return whence == SEEK_DATA ? off : (int64_t)shown->size;
	return whence == SEEK_DATA
		       ? b2f_file_seek_data(shown->file, (uint64_t)off)
		       : b2f_file_seek_hole(shown->file, (uint64_t)off);
}
