/* SPDX-License-Identifier: BSD-3-Clause */
/* view_head.c - the header of a view, and changes of the data behind it */
#include <errno.h>
#include <stdlib.h>

#include "disk_frame.h"
#include "view.h"

/* Reads the header's length from the frame on disk. */
static int read_head_len(struct fs *fs, struct fs_backed *frame_node, int fd,
			 uint64_t *len)
{
	struct b2f_frame *frame = NULL;
	uint8_t *head = NULL;
	size_t n = 0;
	int err = fs_disk_frame_open(fs, frame_node, fd, &frame);

	if (!err)
		err = b2f_frame_npy_header(frame, &head, &n);
	b2f_frame_close(frame);
	free(head);
	if (!err)
		*len = n;
	return err;
}

/* Finds the length of the header of @frame, which is not open. */
static int find_head_len(struct fs *fs, struct fs_backed *frame, uint64_t *len)
{
	struct fs_sizes sizes = {0};
	struct fs_pin pin = {0};
	struct stat index;
	bool known = false;
	int err = fs_tree_pin(fs->tree, frame, &pin);

	if (!err)
		err = fs_probe_index(pin.fd, frame->sparse, &index);
	if (!err)
		known = fs_sizes_get(&fs->tree->sizes, &index, &sizes);
	*len = sizes.head_len;
	if (!err && !*len) {
		err = read_head_len(fs, frame, pin.fd, len);
		sizes.head_len = (uint32_t)*len;
		/* A younger index has another stamp, as that one is settled. */
		if (!err && known)
			fs_sizes_keep(&fs->tree->sizes, &sizes);
	}
	fs_tree_unpin(fs->tree, &pin);
	return err;
}

static int get_head_len(struct fs *fs, struct fs_backed *node, uint64_t *len)
{
	struct fs_open_frame *frame = fs_open_frame_peek(fs, node);
	uint8_t *head = NULL;
	size_t n = 0;
	int err;

	if (!frame)
		return find_head_len(fs, node, len);
	err = b2f_file_npy_header(frame->open.data, &head, &n);
	fs_open_frame_put(fs, frame);
	free(head);
	*len = n;
	return err;
}

int fs_view_head_attr(struct fs *fs, struct fs_backed *frame, struct stat *st)
{
	uint64_t len = 0;
	int err = get_head_len(fs, frame, &len);

	if (err)
		return err;
	st->st_size += (off_t)len;
	st->st_ino = fs_view_ino(st->st_ino);
	return 0;
}

void fs_view_head_note_change(struct fs *fs, struct fs_handle *handle)
{
	struct fs_state *state = &handle->frame->pin.node->state;
	bool must;

	pthread_mutex_lock(&fs->state_lock);
	must = handle->head || state->has_view;
	/* For the kernel's cache of the frame, this is a foreign change. */
	if (handle->head)
		fs_cache_state_theirs(&state->seen, NULL);
	else if (must)
		state->seen.drop |= FS_CACHE_DROP_VIEW;
	pthread_mutex_unlock(&fs->state_lock);
	if (must)
		fs_wakeup_call(&fs->wakeup, true);
}
