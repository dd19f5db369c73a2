/* SPDX-License-Identifier: BSD-3-Clause */
/* pack_node.c - one entry of a pack: its frame, its sizes, its attributes */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packs.h"
#include "table_rows.h"
#include "view.h"

size_t fs_pack_node_entry(const struct fs_member *node)
{
	return (size_t)(node - node->pack->nodes) % node->pack->nentries;
}

bool fs_pack_node_is_view(const struct fs_member *node)
{
	return (size_t)(node - node->pack->nodes) >= node->pack->nentries;
}

struct fs_member *fs_pack_node_of(struct fs_pack *pack, size_t entry,
				      bool is_view)
{
	return &pack->nodes[entry + (is_view ? pack->nentries : 0)];
}

/* A view shares the data of its frame. */
static struct fs_member *frame_of(struct fs_member *node)
{
	return fs_pack_node_of(node->pack, fs_pack_node_entry(node), false);
}

int fs_pack_node_open_frame(struct fs *fs, const struct fs_member *node,
			struct b2f_frame **out)
{
	const struct fs_pack *pack = node->pack;
	size_t entry = fs_pack_node_entry(node);
	struct b2f_frame_options options = {.log = fs_logger_sink(fs->logger)};
	char *label = NULL;
	int err;

	if (asprintf(&label, "%s/%s", pack->label,
		     b2f_pack_entry(pack->pack, entry)->path) < 0)
		return -ENOMEM;
	options.label = label;
	err = b2f_pack_open_frame(pack->pack, entry, &options, out);
	free(label);
	return err;
}

bool fs_pack_node_is_final(int err)
{
	return err == B2F_ENOTFRAME || err == B2F_ECORRUPT ||
	       err == B2F_EUNSUPPORTED || err == B2F_ETOOBIG;
}

/*
 * A program that asks for sizes is about to read: the file stays open a while.
 */
static int read_open_sizes(struct fs *fs, struct fs_member *node,
			   struct fs_frame_sizes *out)
{
	struct b2f_file *file = NULL;
	int err = fs_pack_node_open(fs, node, &file);

	if (err)
		return err;
	err = fs_frame_sizes_read(b2f_file_frame(file), out);
	fs_pack_node_close(fs, node);
	return err;
}

/* Opens the frame for its sizes; of a broken one they are 0. */
static int read_sizes(struct fs *fs, struct fs_member *node,
		      struct fs_frame_sizes *out)
{
	struct fs_frame_sizes sizes = {.known = true};
	struct b2f_frame *frame = NULL;
	int err = node->pack->path
			  ? read_open_sizes(fs, node, &sizes)
			  : fs_pack_node_open_frame(fs, node, &frame);

	if (frame)
		err = fs_frame_sizes_read(frame, &sizes);
	else if (fs_pack_node_is_final(err))
		err = 0;
	b2f_frame_close(frame);
	if (!err)
		*out = sizes;
	return err;
}

/* The sizes of a view are in the node of its frame. */
static int get_sizes(struct fs *fs, struct fs_member *node,
		     struct fs_frame_sizes *out)
{
	struct fs_member *frame = frame_of(node);
	struct fs_frame_sizes sizes;
	int err = 0;

	pthread_mutex_lock(&fs->state_lock);
	sizes = frame->sizes;
	pthread_mutex_unlock(&fs->state_lock);
	if (!sizes.known)
		err = read_sizes(fs, frame, &sizes);
	if (err)
		return err;
	pthread_mutex_lock(&fs->state_lock);
	frame->sizes = sizes;
	pthread_mutex_unlock(&fs->state_lock);
	*out = sizes;
	return 0;
}

bool fs_pack_node_has_view(struct fs *fs, struct fs_pack *pack, size_t entry)
{
	const struct b2f_pack_entry *e = b2f_pack_entry(pack->pack, entry);
	struct fs_frame_sizes sizes;

	return fs->options.view.npy != FS_VIEW_OFF &&
	       e->kind == B2F_PACK_FRAME && !get_sizes(fs, &pack->nodes[entry], &sizes) &&
	       sizes.head_len > 0;
}

uint64_t fs_pack_node_ino(const struct fs_member *node)
{
	return fs_pack_node_is_view(node) ? fs_view_ino(node->ino) : node->ino;
}

/* A user who may read the file may enter the directory. */
static mode_t mode_of(const struct fs *fs, mode_t file_mode, bool is_dir)
{
	mode_t mode = file_mode & 0444;

	return is_dir ? S_IFDIR | ((mode | mode >> 2) & ~fs->config.dir_mask)
		      : S_IFREG | mode;
}

int fs_pack_node_getattr(struct fs *fs, struct fs_member *node, struct stat *out)
{
	const struct fs_pack *pack = node->pack;
	const struct b2f_pack_entry *e =
		b2f_pack_entry(pack->pack, fs_pack_node_entry(node));
	struct fs_frame_sizes sizes = {.nbytes = e->size, .cbytes = e->size};
	int err = 0;

	if (e->kind == B2F_PACK_FRAME)
		err = get_sizes(fs, node, &sizes);
	if (err)
		return err;
	*out = pack->st;
	out->st_mode = mode_of(fs, out->st_mode, e->kind == B2F_PACK_DIR);
	out->st_ino = fs_pack_node_ino(node);
	/* How many directories it has is not counted. */
	out->st_nlink = 1;
	fs_frame_sizes_show(&sizes, fs_pack_node_is_view(node), out);
	return 0;
}

void fs_pack_node_fini(struct fs *fs, struct fs_member *node)
{
	struct b2f_file *data;

	if (!node->file)
		return;
	pthread_mutex_lock(&fs->state_lock);
	data = fs_file_take_unused(fs, node->file);
	pthread_mutex_unlock(&fs->state_lock);
	b2f_file_close(data);
	free(node->file);
}

static int open_file(struct fs *fs, const struct fs_member *node,
		     struct b2f_file **out)
{
	struct b2f_frame *frame = NULL;
	int err = fs_pack_node_open_frame(fs, node, &frame);

	if (!err)
		fs_table_rows_warn_in_pack(fs, node->pack->pack,
					   fs_pack_node_entry(node), frame);
	if (!err)
		err = b2f_file_open(fs->runtime, frame, out);
	if (err)
		b2f_frame_close(frame);
	else if (node->pack->path)
		b2f_file_stay(*out);
	return err;
}

/* Returns the open file of @node, made by the first open; NULL: no memory. */
static struct fs_file *file_of(struct fs *fs, struct fs_member *node)
{
	struct fs_file *file, *made = NULL;

	pthread_mutex_lock(&fs->state_lock);
	file = node->file;
	pthread_mutex_unlock(&fs->state_lock);
	if (file)
		return file;
	made = calloc(1, sizeof(*made));
	if (made)
		made->stays = node->pack->path;
	pthread_mutex_lock(&fs->state_lock);
	if (!node->file) {
		node->file = made;
		made = NULL;
	}
	file = node->file;
	pthread_mutex_unlock(&fs->state_lock);
	free(made);
	return file;
}

int fs_pack_node_open(struct fs *fs, struct fs_member *node,
		      struct b2f_file **out)
{
	struct b2f_file *data = NULL;
	struct fs_file *file;
	int err;

	node = frame_of(node);
	file = file_of(fs, node);
	if (!file)
		return -ENOMEM;
	*out = fs_file_share(fs, file);
	if (*out)
		return 0;
	err = open_file(fs, node, &data);
	if (!err)
		*out = fs_file_add(fs, file, data);
	return err;
}

void fs_pack_node_close(struct fs *fs, struct fs_member *node)
{
	fs_file_close(fs, frame_of(node)->file);
}
