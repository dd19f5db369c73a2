/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_handle.c - what the kernel has open in a mount of an object store */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "b2frame/file_anew.h"
#include "remote_anew.h"
#include "remote_pack.h"
#include "remote_writer.h"

void fs_remote_handle_put(struct fs *fs, struct fs_remote_handle *h)
{
	struct b2f_file *file = h->shown.file;

	if (atomic_fetch_sub(&h->nrefs, 1) != 1)
		return;
	pthread_mutex_lock(&fs->remote->lock);
	TAILQ_REMOVE(&fs->remote->handles, h, all);
	pthread_mutex_unlock(&fs->remote->lock);
	fs_remote_anew_end(fs, h);
	fs_shown_close(&h->shown);
	if (h->writes)
		fs_remote_writer_end(fs, h->node, file);
	if (file)
		fs_remote_node_close(fs, h->node);
	fs_remote_node_put(fs->remote, h->node, 1);
	free(h);
}

static bool asks_to_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

/* Makes @h, which has its data open, a writer. */
static int begin_writing(struct fs *fs, struct fs_remote_handle *h, int flags)
{
	struct b2f_file *file = h->shown.file;
	int err = fs_remote_writer_begin(fs, h->node, file);

	h->writes = !err;
	if (err || !(flags & O_TRUNC) || b2f_file_size(file) == 0)
		return err;
	if (b2f_file_keeps_size(file))
		return fs_remote_anew_new(h);
	err = b2f_file_truncate(file, 0);
	fs_remote_writer_note_change(fs, h->node, file);
	return err;
}

static int open_frame(struct fs *fs, struct fs_remote_handle *h, bool is_view,
		      int flags)
{
	struct b2f_file *file = NULL;
	int err = fs_remote_node_open(fs, h->node, &file);

	if (err)
		return err;
	err = fs_shown_open(file, is_view, &h->shown);
	if (!err && asks_to_write(flags))
		err = begin_writing(fs, h, flags);
	return err;
}

/* Says why the bytes cannot be had, if so. */
static int open_plain(struct fs_remote_handle *h)
{
	const struct fs_remote_node *node = h->node;
	uint8_t none;

	h->shown.size = node->sizes.nbytes;
	return node->pack ? (int)b2f_pack_read(node->pack->pack, node->entry, 0,
					       &none, 0)
			  : 0;
}

int fs_remote_handle_open(struct fs *fs, const struct fs_remote_entry *entry,
			  int flags, struct fs_remote_handle **out)
{
	struct fs_remote_node *node = entry->node;
	bool is_frame = node->kind == FS_REMOTE_FRAME;
	struct fs_remote_handle *h;
	int err = 0;

	if (asks_to_write(flags) &&
	    (!fs->read_write || !is_frame || entry->is_view || node->pack))
		return -EROFS;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	fs_remote_node_ref(fs->remote, node);
	atomic_init(&h->nrefs, 1);
	h->node = node;
	pthread_mutex_lock(&fs->remote->lock);
	TAILQ_INSERT_TAIL(&fs->remote->handles, h, all);
	pthread_mutex_unlock(&fs->remote->lock);
	if (is_frame)
		err = open_frame(fs, h, entry->is_view, flags);
	else
		err = open_plain(h);
	if (err == -ESTALE)
		fs_remote_node_doubt(fs->remote, node);
	if (err)
		fs_remote_handle_put(fs, h);
	else
		*out = h;
	return err;
}

void fs_remote_handle_fini(struct fs *fs)
{
	while (!TAILQ_EMPTY(&fs->remote->handles))
		fs_remote_handle_put(fs, TAILQ_FIRST(&fs->remote->handles));
}

void fs_remote_handle_opened(struct fs *fs, struct fs_remote_handle *h,
			     struct fuse_file_info *fi)
{
	/* What a node shows never changes, unless it is written to. */
	fi->keep_cache = fs_remote_writer_may_keep(fs, h->node);
	fi->direct_io = fs->options.direct_io;
	fi->fh = (uintptr_t)h;
	fs_stats_add(&fs->stats.nopens, 1);
	fs_stats_add(&fs->stats.nkept, fi->keep_cache);
}

int64_t fs_remote_handle_seek(struct fs *fs, const struct fs_remote_handle *h,
			      off_t off, int whence)
{
	uint64_t size;
	bool written;

	pthread_mutex_lock(&fs->remote->lock);
	written = h->node->writing.nwriters > 0;
	pthread_mutex_unlock(&fs->remote->lock);
	if (!written || (whence != SEEK_DATA && whence != SEEK_HOLE))
		return fs_shown_seek(&h->shown, off, whence);
	/* The kernel may have pages where there is a hole yet. */
	size = h->shown.head_len + b2f_file_size(h->shown.file);
	if (off < 0 || (uint64_t)off >= size)
		return -ENXIO;
	return whence == SEEK_DATA ? off : (int64_t)size;
}
