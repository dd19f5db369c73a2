/* SPDX-License-Identifier: BSD-3-Clause */
/* volume_pack.c - what is in packs (packs.h), which are only read */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "answer.h"
#include "bucket_node.h"
#include "packs.h"
#include "table_rows.h"
#include "view.h"
#include "volume.h"

static const struct b2f_pack_entry *entry_of(const struct fs_member *node)
{
	return b2f_pack_entry(node->pack->pack, fs_pack_node_entry(node));
}

static int do_lookup(struct fs *fs, fuse_ino_t ino, const char *name,
		     struct fuse_entry_param *out)
{
	struct fs_member *dir = fs_packs_node(fs, ino);
	int err = fs_packs_use(fs, dir->pack);

	if (err)
		return err;
	err = fs_packs_lookup(fs, dir, name, out);
	fs_packs_unuse(fs, dir->pack);
	return err;
}

static int do_stat(struct fs *fs, fuse_ino_t ino, struct stat *out)
{
	struct fs_member *node = fs_packs_node(fs, ino);
	int err = fs_packs_use(fs, node->pack);

	if (err)
		return err;
	err = fs_pack_node_getattr(fs, node, out);
	fs_packs_unuse(fs, node->pack);
	return err;
}

/* All packs are on the filesystem that is mounted, or on one below. */
static int do_statfs(struct fs *fs, fuse_ino_t ino, struct statvfs *out)
{
	struct fs_node *below =
		fs->bucket ? &fs->bucket->root->head : &fs->tree->root->head;

	(void)ino;
	return below->volume->ops->statfs(fs, fs_node_number(below), out);
}

static ssize_t pread_member(struct fs *fs, const struct fs_handle *handle,
			void *buf, size_t size, uint64_t off)
{
	const struct fs_member *node = handle->packed;

	(void)fs;
	return b2f_pack_read(node->pack->pack, fs_pack_node_entry(node), off,
			     buf, size);
}

/*
 * A file that was written to in place may have given bytes of the new version from
 * where those of the old one were.
 */
static int check_read(struct fs *fs, const struct fs_handle *handle, ssize_t n)
{
	const struct fs_pack *pack = handle->packed->pack;
	int err = n < 0 || pack->path ? 0 : b2f_pack_check(pack->pack);

	if (err == -ESTALE)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: another program has written to it while "
				"it is open",
				pack->label);
	return err;
}

static void close_member(struct fs *fs, struct fs_handle *handle)
{
	struct fs_pack *pack = handle->packed->pack;

	if (handle->file)
		fs_pack_node_close(fs, handle->packed);
	fs_packs_unuse(fs, pack);
	fs_packs_put(pack);
}

static const struct fs_data_ops data_ops = {
	.close = close_member,
	.pread = pread_member,
	.check_read = check_read,
};

static int open_frame(struct fs *fs, struct fs_handle *handle)
{
	struct fs_member *node = handle->packed;
	struct b2f_file *file = NULL;
	int err = fs_pack_node_open(fs, node, &file);

	return err ? err
		   : fs_handle_show(handle, file, fs_pack_node_is_view(node));
}

/* Says why the bytes cannot be had, if so. */
static int open_plain(struct fs *fs, struct fs_handle *handle)
{
	uint8_t none;

	handle->nbytes = entry_of(handle->packed)->size;
	return (int)pread_member(fs, handle, &none, 0, 0);
}

static int do_open(struct fs *fs, fuse_ino_t ino, const struct fs_open_how *how,
		   struct fs_handle **out)
{
	struct fs_member *node = fs_packs_node(fs, ino);
	struct fs_handle *handle;
	int err;

	if (how->flags & (O_ACCMODE | O_TRUNC))
		return -EROFS;
	err = fs_packs_use(fs, node->pack);
	if (err)
		return err;
	handle = fs_handle_new(fs, &data_ops);
	if (!handle) {
		fs_packs_unuse(fs, node->pack);
		return -ENOMEM;
	}
	fs_node_ref(&node->head);
	handle->packed = node;
	/* A node never changes. */
	handle->keep_cache = true;
	err = entry_of(node)->kind == B2F_PACK_FRAME ? open_frame(fs, handle)
						     : open_plain(fs, handle);
	if (err)
		fs_handle_close(fs, handle);
	else
		*out = handle;
	return err;
}

/* Adds the view of @entry, if that is to be listed and its name is free. */
static bool put_view(struct fs *fs, struct fs_member *dir, size_t entry,
		     off_t next, struct fs_answer *answer)
{
	struct fs_pack *pack = dir->pack;
	const char *shown = b2f_pack_entry(pack->pack, entry)->shown;
	char name[FS_NAME_SIZE];
	size_t other;

	if (fs->options.view.npy != FS_VIEW_LIST || !fs_view_name(shown, name) ||
	    b2f_pack_lookup(pack->pack, fs_pack_node_entry(dir), name,
			    &other) == 0 ||
	    !fs_pack_node_has_view(fs, pack, entry))
		return true;
	return fs_answer_put_name(
		answer, name,
		fs_pack_node_ino(fs_pack_node_of(pack, entry, true)), S_IFREG,
		next);
}

/* Positions: 0 and 1 are dots; each entry has two, the second its view's. */
static bool put_at(struct fs *fs, struct fs_member *dir, size_t pos,
		   struct fs_answer *answer)
{
	struct fs_pack *pack = dir->pack;
	const struct b2f_pack_entry *e;
	off_t next = (off_t)pos + 1;
	size_t entry;

	if (pos < 2)
		return fs_answer_put_name(answer, pos ? ".." : ".",
					  fs_pack_node_ino(dir), S_IFDIR, next);
	entry = b2f_pack_child(pack->pack, fs_pack_node_entry(dir),
			       (pos - 2) / 2);
	if (pos % 2)
		return put_view(fs, dir, entry, next, answer);
	e = b2f_pack_entry(pack->pack, entry);
	return fs_answer_put_name(
		answer, e->shown,
		fs_pack_node_ino(fs_pack_node_of(pack, entry, false)),
		e->kind == B2F_PACK_DIR ? S_IFDIR : S_IFREG, next);
}

static int do_list(struct fs *fs, fuse_ino_t ino, struct fs_handle *handle,
		   off_t off, struct fs_answer *answer)
{
	struct fs_member *dir = fs_packs_node(fs, ino);
	int err = fs_packs_use(fs, dir->pack);
	size_t n;

	(void)handle;
	if (err)
		return err;
	n = 2 + 2 * b2f_pack_nchildren(dir->pack->pack, fs_pack_node_entry(dir));
	for (size_t pos = (size_t)off; off >= 0 && pos < n; pos++)
		if (!put_at(fs, dir, pos, answer))
			break;
	fs_packs_unuse(fs, dir->pack);
	return 0;
}

static int do_with_frame(struct fs *fs, fuse_ino_t ino, fs_frame_fn *fn,
			 void *arg)
{
	struct fs_member *node = fs_packs_node(fs, ino);
	struct b2f_frame *frame = NULL;
	int err = fs_packs_use(fs, node->pack);

	if (err)
		return err;
	err = entry_of(node)->kind == B2F_PACK_FRAME
		      ? fs_pack_node_open_frame(fs, node, &frame)
		      : -ENODATA;
	if (!err)
		err = fn(arg, frame);
	b2f_frame_close(frame);
	fs_packs_unuse(fs, node->pack);
	return err;
}

static int do_get_rows(struct fs *fs, fuse_ino_t ino,
		       const struct b2f_frame *frame, char **out, size_t *size)
{
	const struct fs_member *node = fs_packs_node(fs, ino);

	return fs_table_rows_fact_in_pack(
		node->pack->pack, fs_pack_node_entry(node), frame, out, size);
}

const struct fs_volume_ops fs_volume_pack = {
	.lookup = do_lookup,
	.release = fs_packs_release,
	.stat = do_stat,
	.statfs = do_statfs,
	.open = do_open,
	.list = do_list,
	.with_frame = do_with_frame,
	.get_rows = do_get_rows,
};
