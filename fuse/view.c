/* SPDX-License-Identifier: BSD-3-Clause */
/* view.c - the view NAME.npy beside an array NAME: a header, then its bytes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk_frame.h"
#include "view.h"

#define SUFFIX ".npy"

/* How long an open waits for the ticker. */
#define WAIT_MS 200

uint64_t fs_view_ino(uint64_t ino)
{
	return ino ^ UINT64_C(1) << 62;
}

/* The key of the node that shows the backing file of @node as @kind. */
static struct fs_backed key_of(const struct fs_backed *node, enum fs_kind kind)
{
	return (struct fs_backed){
		.kind = kind,
		.sparse = node->sparse,
		.dev = node->dev,
		.ino = node->ino,
	};
}

int fs_view_enter(struct fs *fs, struct fs_backed *node, struct fs_backed **out)
{
	const struct fs_backed key = key_of(node, FS_KIND_FRAME);
	char name[FS_NAME_SIZE];
	FS_PIN(parent);
	int err;

	if (node->kind != FS_KIND_VIEW) {
		fs_node_ref(&node->head);
		*out = node;
		return 0;
	}
	/*
	 * If the kernel knows the frame's node, it has the current name;
	 * otherwise use the directory of the view.
	 */
	*out = fs_tree_find(fs->tree, &key, false);
	/* The frame was deleted, but is open. */
	if (!*out)
		*out = fs_tree_find(fs->tree, &key, true);
	if (*out)
		return 0;
	err = fs_tree_pin_parent(fs->tree, node, &parent, name);
	return err ? err : fs_tree_get(fs->tree, parent.node, name, &key, out);
}

/* The node of the view of @frame, with a reference; NULL: there is none. */
static struct fs_backed *find(struct fs *fs, const struct fs_backed *frame)
{
	const struct fs_backed key = key_of(frame, FS_KIND_VIEW);

	return fs_tree_find(fs->tree, &key, false);
}

void fs_view_retire(struct fs *fs, const struct fs_found *found)
{
	const struct fs_backed key = fs_found_key(found);
	struct fs_backed *view;

	if (key.kind != FS_KIND_FRAME)
		return;
	view = find(fs, &key);
	if (!view)
		return;
	view->retired = true;
	fs_tree_forget(view);
}

int fs_view_get(struct fs *fs, struct fs_backed *parent, const char *name,
		const struct fs_backed *frame, struct fs_backed **out)
{
	const struct fs_backed key = key_of(frame, FS_KIND_VIEW);

	return fs_tree_get(fs->tree, parent, name, &key, out);
}

bool fs_view_stem(const struct fs *fs, const char *name,
		  char stem[FS_NAME_SIZE])
{
	size_t n = strlen(name), suffix = sizeof(SUFFIX) - 1;

	if (fs->options.view.npy == FS_VIEW_OFF || n <= suffix ||
	    n >= FS_NAME_SIZE + suffix ||
	    strcmp(name + n - suffix, SUFFIX) != 0)
		return false;
	memcpy(stem, name, n - suffix);
	stem[n - suffix] = '\0';
	return true;
}

bool fs_view_name(const char *name, char out[FS_NAME_SIZE])
{
	if (strlen(name) + sizeof(SUFFIX) > FS_NAME_SIZE)
		return false;
	snprintf(out, FS_NAME_SIZE, "%.*s" SUFFIX,
		 (int)(FS_NAME_SIZE - sizeof(SUFFIX)), name);
	return true;
}

/* Reads the header's length from the frame on disk. */
static int read_head_len(struct fs *fs, struct fs_backed *frame_node, int fd,
			 uint64_t *len)
{
	struct b2f_frame *frame = NULL;
	B2F_OWN uint8_t *head = NULL;
	size_t n = 0;
	int err = fs_disk_frame_open(fs, frame_node, fd, &frame);

	if (!err)
		err = b2f_frame_npy_header(frame, &head, &n);
	b2f_frame_close(frame);
	if (!err)
		*len = n;
	return err;
}

/* Finds the length of the header of the closed frame @frame. */
static int find_head_len(struct fs *fs, struct fs_backed *frame, uint64_t *len)
{
	struct fs_sizes sizes = {0};
	FS_PIN(pin);
	struct stat index;
	bool known = false;
	int err = fs_tree_pin(fs->tree, frame, &pin);

	if (!err)
		err = fs_probe_index(pin.fd, frame->sparse, &index);
	if (!err)
		known = fs_sizes_get(fs->tree, &index, &sizes);
	*len = sizes.head_len;
	if (!err && !*len) {
		err = read_head_len(fs, frame, pin.fd, len);
		sizes.head_len = (uint32_t)*len;
		/* The known stamp is settled: a later one differs. */
		if (!err && known)
			fs_sizes_keep(fs->tree, &sizes);
	}
	return err;
}

static int get_head_len(struct fs *fs, struct fs_backed *node, uint64_t *len)
{
	struct fs_open_frame *frame = fs_open_frame_peek(fs, node, false);
	B2F_OWN uint8_t *head = NULL;
	size_t n = 0;
	int err;

	if (!frame)
		return find_head_len(fs, node, len);
	err = b2f_file_npy_header(frame->open.data, &head, &n);
	fs_open_frame_put(fs, frame);
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
	B2F_HOLD(&fs->state_lock);

	/* To the frame's cache this is a foreign change. */
	if (handle->head)
		fs_cache_state_theirs(&state->seen, NULL);
	else if (state->has_view)
		state->seen.drop |= FS_CACHE_DROP_VIEW;
	if (fs_cache_state_end_change(&state->seen))
		fs_wakeup_call(&fs->wakeup, true);
}

static void drop_view(struct fs *fs, const struct fs_backed *frame)
{
	struct fs_backed *view = find(fs, frame);

	if (!view)
		return;
	(void)fs_node_drop_cached(&view->head);
	fs_tree_forget(view);
}

void fs_view_drop_cached(struct fs *fs, struct fs_backed *node,
			 unsigned int which)
{
	struct fs_cache_state *seen = &node->state.seen;
	unsigned int drop;
	uint64_t nended;

	pthread_mutex_lock(&fs->state_lock);
	drop = fs_cache_state_begin_drop(seen, which, &nended);
	pthread_mutex_unlock(&fs->state_lock);
	if (!drop)
		return;
	if (drop & FS_CACHE_DROP_SELF)
		(void)fs_node_drop_cached(&node->head);
	if (drop & FS_CACHE_DROP_VIEW)
		drop_view(fs, node);
	B2F_HOLD(&fs->state_lock);
	fs_cache_state_end_drop(seen, drop, nended);
	pthread_cond_broadcast(&fs->files.settled);
	if (seen->drop)
		fs_wakeup_call(&fs->wakeup, true);
}

bool fs_view_wait_dropped(struct fs *fs, struct fs_backed *node,
			  unsigned int which)
{
	const struct fs_cache_state *seen = &node->state.seen;
	struct timespec until = b2f_monotonic_in_ms(WAIT_MS);
	bool late = false;
	B2F_HOLD(&fs->state_lock);

	while (((seen->drop & which) || seen->ndropping > 0) && !late) {
		fs_wakeup_call(&fs->wakeup, true);
		late = pthread_cond_clockwait(&fs->files.settled,
					      &fs->state_lock, CLOCK_MONOTONIC,
					      &until) != 0;
	}
	/* Rather show old data for a moment than for good. */
	return !late || seen->nbegun != seen->nended;
}
