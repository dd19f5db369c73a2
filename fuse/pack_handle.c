/* SPDX-License-Identifier: BSD-3-Clause */
/* pack_handle.c - handles of packs, which are only read */
#include <errno.h>
#include <fcntl.h>

#include "pack_handle.h"
#include "packs.h"

static const struct b2f_pack_entry *entry_of(const struct fs_pack_node *node)
{
	return b2f_pack_entry(node->pack->pack, fs_pack_node_entry(node));
}

static ssize_t do_pread(struct fs *fs, const struct fs_handle *handle,
			void *buf, size_t size, uint64_t off)
{
	const struct fs_pack_node *node = handle->packed;

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
	int err = n < 0 ? 0 : b2f_pack_check(pack->pack);

	if (err == -ESTALE)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: another program has written to it while "
				"it is open",
				pack->label);
	return err;
}

static void do_close(struct fs *fs, struct fs_handle *handle)
{
	struct fs_pack *pack = handle->packed->pack;

	if (handle->file)
		fs_pack_node_close(fs, handle->packed);
	fs_packs_unuse(fs, pack);
	fs_packs_put(fs, pack, 1);
}

static const struct fs_data_ops data_ops = {
	.close = do_close,
	.pread = do_pread,
	.check_read = check_read,
};

static int open_frame(struct fs *fs, struct fs_handle *handle)
{
	struct fs_pack_node *node = handle->packed;
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
	return (int)do_pread(fs, handle, &none, 0, 0);
}

int fs_pack_handle_open(struct fs *fs, struct fs_pack_node *node, int flags,
			struct fs_handle **out)
{
	struct fs_handle *handle;
	int err;

	if (flags & (O_ACCMODE | O_TRUNC))
		return -EROFS;
	err = fs_packs_use(fs, node->pack);
	if (err)
		return err;
	handle = fs_handle_new(fs, &data_ops);
	if (!handle) {
		fs_packs_unuse(fs, node->pack);
		return -ENOMEM;
	}
	fs_packs_ref(fs, node->pack);
	handle->packed = node;
	/* What a node shows never changes. */
	handle->keep_cache = true;
	err = entry_of(node)->kind == B2F_PACK_FRAME ? open_frame(fs, handle)
						     : open_plain(fs, handle);
	if (err)
		fs_handle_close(fs, handle);
	else
		*out = handle;
	return err;
}
