/* SPDX-License-Identifier: BSD-3-Clause */
/* view.c - NAME.npy beside an array NAME: the same bytes behind a header */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk_frame.h"
#include "entry.h"
#include "lookup.h"
#include "view.h"

#define SUFFIX ".npy"

uint64_t fs_view_ino(uint64_t ino)
{
	return ino ^ UINT64_C(1) << 62;
}

static struct fs_node same_file(const struct fs_node *node, enum fs_kind kind)
{
	return (struct fs_node){
		.kind = kind,
		.sparse = node->sparse,
		.dev = node->dev,
		.ino = node->ino,
	};
}

int fs_view_enter(struct fs *fs, struct fs_node *node, struct fs_node **out)
{
	const struct fs_node like = same_file(node, FS_KIND_FRAME);
	char name[FS_NAMES_SIZE];
	struct fs_pin parent = {0};
	int err;

	if (node->kind != FS_KIND_VIEW) {
		fs_tree_ref(fs->tree, node);
		*out = node;
		return 0;
	}
	/* If it is known, then where it is now; else where it was seen. */
	*out = fs_tree_find(fs->tree, &like);
	/* Deleted, and open all the same. */
	if (!*out)
		*out = fs_tree_find_retired(fs->tree, &like);
	if (*out)
		return 0;
	err = fs_tree_pin_parent(fs->tree, node, &parent, name);
	if (!err)
		err = fs_tree_get(fs->tree, parent.node, name, &like, out);
	fs_tree_unpin(fs->tree, &parent);
	return err;
}

void fs_view_leave(struct fs *fs, struct fs_node *base)
{
	if (base)
		fs_tree_forget(fs->tree, base, 1);
}

struct fs_node *fs_view_find(struct fs *fs, const struct fs_node *frame)
{
	const struct fs_node like = same_file(frame, FS_KIND_VIEW);

	return fs_tree_find(fs->tree, &like);
}

void fs_view_retire(struct fs *fs, const struct fs_found *found)
{
	const struct fs_node like = fs_entry_like(found);
	struct fs_node *view;

	if (like.kind != FS_KIND_FRAME)
		return;
	view = fs_view_find(fs, &like);
	if (!view)
		return;
	fs_tree_retire(fs->tree, view);
	fs_tree_forget(fs->tree, view, 1);
}

/* Copies what is before the suffix of @name; false if it has none. */
static bool get_stem(const char *name, char stem[FS_NAMES_SIZE])
{
	size_t n = strlen(name), suffix = sizeof(SUFFIX) - 1;

	if (n <= suffix || n >= FS_NAMES_SIZE + suffix ||
	    strcmp(name + n - suffix, SUFFIX) != 0)
		return false;
	memcpy(stem, name, n - suffix);
	stem[n - suffix] = '\0';
	return true;
}

/* An array that can be a .npy file, and is not shown as one anyway. */
static bool has_view(const struct fs *fs, const struct fs_probe *probe)
{
	return fs->options.npy != FS_VIEW_OFF && probe->kind == FS_KIND_FRAME &&
	       probe->has_npy_header && !probe->is_npy;
}

/* Finds the frame that the view @name is of.  Close @out->probe. */
static int find_frame(struct fs *fs, struct fs_node *parent, int dirfd,
		      const char *name, struct fs_found *out)
{
	char stem[FS_NAMES_SIZE];
	struct fs_found found;
	int err;

	if (fs->options.npy == FS_VIEW_OFF || !get_stem(name, stem))
		return -ENOENT;
	err = fs_lookup_find(fs, parent, dirfd, stem, &found);
	if (err)
		return err;
	if (!has_view(fs, &found.probe)) {
		fs_probe_close(&found.probe);
		return -ENOENT;
	}
	*out = found;
	return 0;
}

bool fs_view_exists(struct fs *fs, struct fs_node *parent, int dirfd,
		    const char *name)
{
	struct fs_found found;

	if (find_frame(fs, parent, dirfd, name, &found))
		return false;
	fs_probe_close(&found.probe);
	return true;
}

bool fs_view_name(struct fs *fs, const struct fs_found *found, const char *name,
		  char out[FS_NAMES_SIZE])
{
	if (!has_view(fs, &found->probe) ||
	    strlen(name) + sizeof(SUFFIX) > FS_NAMES_SIZE)
		return false;
	snprintf(out, FS_NAMES_SIZE, "%.*s" SUFFIX,
		 (int)(FS_NAMES_SIZE - sizeof(SUFFIX)), name);
	return true;
}

/* The header's length, from the frame on disk. */
static int read_head_len(struct fs *fs, struct fs_node *frame_node, int fd,
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

/* Of the last look at the sizes of @frame, if that was at @stamp; else 0. */
static uint64_t known_head_len(struct fs *fs, const struct fs_node *frame,
			       const struct b2f_frame_stamp *stamp)
{
	const struct fs_sizes *sizes = &frame->state.sizes;
	uint64_t len = 0;

	pthread_mutex_lock(&fs->state_lock);
	if (sizes->known && b2f_frame_stamp_equal(&sizes->stamp, stamp))
		len = sizes->head_len;
	pthread_mutex_unlock(&fs->state_lock);
	return len;
}

static void keep_head_len(struct fs *fs, struct fs_node *frame,
			  const struct b2f_frame_stamp *stamp, uint64_t len)
{
	struct fs_sizes *sizes = &frame->state.sizes;

	pthread_mutex_lock(&fs->state_lock);
	if (sizes->known && b2f_frame_stamp_equal(&sizes->stamp, stamp))
		sizes->head_len = len;
	pthread_mutex_unlock(&fs->state_lock);
}

/* The length of the header of @frame, which nobody has open. */
static int find_head_len(struct fs *fs, struct fs_node *frame, uint64_t *len)
{
	struct b2f_frame_stamp stamp;
	struct fs_pin pin = {0};
	struct stat index;
	int err = fs_tree_pin(fs->tree, frame, &pin);

	if (!err)
		err = fs_probe_index(pin.fd, frame->sparse, &index);
	if (!err) {
		stamp = b2f_frame_stamp_of(&index);
		*len = known_head_len(fs, frame, &stamp);
		if (*len == 0)
			err = read_head_len(fs, frame, pin.fd, len);
		if (!err)
			keep_head_len(fs, frame, &stamp, *len);
	}
	fs_tree_unpin(fs->tree, &pin);
	return err;
}

static int get_head_len(struct fs *fs, struct fs_node *node, uint64_t *len)
{
	struct fs_open_frame *frame = fs_open_frame_peek(fs, node);
	uint8_t *head = NULL;
	size_t n = 0;
	int err;

	if (!frame)
		return find_head_len(fs, node, len);
	err = b2f_file_npy_header(frame->file, &head, &n);
	fs_open_frame_put(fs, frame);
	free(head);
	*len = n;
	return err;
}

int fs_view_attr(struct fs *fs, struct fs_node *frame, struct stat *st)
{
	uint64_t len = 0;
	int err = get_head_len(fs, frame, &len);

	if (err)
		return err;
	st->st_size += (off_t)len;
	st->st_ino = fs_view_ino(st->st_ino);
	return 0;
}

/* Makes the node of the view of @found, and what to answer. */
static int get_node(struct fs *fs, struct fs_node *parent,
		    const struct fs_found *found,
		    struct fuse_entry_param *answer, struct fs_node **out)
{
	struct fs_node *frame, *node, like;
	int err = fs_lookup_node(fs, parent, found, answer, &frame);

	if (err)
		return err;
	like = same_file(frame, FS_KIND_VIEW);
	err = fs_tree_get(fs->tree, parent, fs_found_entry(found), &like,
			  &node);
	if (!err) {
		err = fs_view_attr(fs, frame, &answer->attr);
		if (err)
			fs_tree_forget(fs->tree, node, 1);
	}
	fs_tree_forget(fs->tree, frame, 1);
	if (err)
		return err == B2F_EUNSUPPORTED ? -ENOENT : err;
	answer->ino = fs_ino_of(node);
	answer->generation = node->generation;
	/* The kernel does not know that it goes with another name. */
	answer->entry_timeout = 0;
	*out = node;
	return 0;
}

int fs_view_lookup(struct fs *fs, struct fs_node *parent, int dirfd,
		   const char *name, struct fuse_entry_param *answer,
		   struct fs_node **out)
{
	struct fs_found found;
	int err = find_frame(fs, parent, dirfd, name, &found);

	if (err)
		return err;
	err = get_node(fs, parent, &found, answer, out);
	fs_probe_close(&found.probe);
	return err;
}

int fs_view_open(struct fs_handle *handle)
{
	return b2f_file_npy_header(handle->frame->file, &handle->head,
				   &handle->head_len);
}

int fs_view_check(struct fs *fs, const struct fs_handle *handle, bool changes)
{
	if (!handle->head)
		return 0;
	/* A write would find out only when its place is settled. */
	if (changes)
		(void)!fs_open_frame_refresh(fs, handle->frame);
	return b2f_file_is_npy(handle->frame->file) ? -ESTALE : 0;
}

void fs_view_note_change(struct fs *fs, struct fs_handle *handle)
{
	struct fs_state *state = &handle->frame->pin.node->state;
	bool must;

	pthread_mutex_lock(&fs->state_lock);
	must = handle->head || state->has_view;
	/* As if another program had changed what the frame shows. */
	if (handle->head)
		fs_seen_theirs(&state->seen, NULL);
	else if (must)
		state->seen.drop |= FS_SEEN_DROP_VIEW;
	pthread_mutex_unlock(&fs->state_lock);
	if (must)
		fs_ticker_wake(&fs->ticker, true);
}
