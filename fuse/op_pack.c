/* SPDX-License-Identifier: BSD-3-Clause */
/* op_pack.c - the requests about nodes of packs, which can only be read */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "facts.h"
#include "op_pack.h"
#include "reply.h"
#include "table_rows.h"

static const struct b2f_pack_entry *entry_of(const struct fs_pack_node *node)
{
	return b2f_pack_entry(node->pack->pack, fs_pack_node_entry(node));
}

void fs_op_pack_reply(fuse_req_t req, const struct fuse_entry_param *answer)
{
	struct fs *fs = fs_of(req);

	/* An answer that did not arrive is not counted by the kernel. */
	if (fuse_reply_entry(req, answer) < 0)
		fs_packs_forget(fs, fs_packs_node(fs, answer->ino), 1);
}

void fs_op_pack_lookup(fuse_req_t req, struct fs_pack_node *dir,
		       const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param answer;
	int err;

	fs_stats_add(&fs->stats.nlookups, 1);
	err = fs_packs_use(fs, dir->pack);
	if (!err) {
		err = fs_packs_lookup(fs, dir, name, &answer);
		fs_packs_unuse(fs, dir->pack);
	}
	if (err)
		fs_reply_error(req, err);
	else
		fs_op_pack_reply(req, &answer);
}

void fs_op_pack_getattr(fuse_req_t req, struct fs_pack_node *node)
{
	struct fs *fs = fs_of(req);
	struct stat st;
	int err = fs_packs_use(fs, node->pack);

	if (!err) {
		err = fs_pack_node_getattr(fs, node, &st);
		fs_packs_unuse(fs, node->pack);
	}
	if (err)
		fs_reply_error(req, err);
	else
		fuse_reply_attr(req, &st, fs->options.attr_timeout_s);
}

/* A listing on its way. */
struct listing {
	fuse_req_t req;
	char *buf;
	size_t size;
	size_t used;
	/* With room for attributes, which are not known. */
	bool plus;
};

/* Adds a name; false: it does not fit any more. */
static bool put(struct listing *l, const char *name, uint64_t ino, bool is_dir,
		off_t next)
{
	const struct fuse_entry_param param = {
		.attr.st_ino = ino,
		.attr.st_mode = is_dir ? S_IFDIR : S_IFREG,
	};
	size_t room = l->size - l->used, n;
	char *at = l->buf + l->used;

	if (l->plus)
		n = fuse_add_direntry_plus(l->req, at, room, name, &param,
					   next);
	else
		n = fuse_add_direntry(l->req, at, room, name, &param.attr,
				      next);
	if (n > room)
		return false;
	l->used += n;
	return true;
}

/* Adds the view of @entry, if that is to be listed and its name is free. */
static bool put_view(struct listing *l, struct fs_pack_node *dir, size_t entry,
		     off_t next)
{
	struct fs *fs = fs_of(l->req);
	struct fs_pack *pack = dir->pack;
	const char *shown = b2f_pack_entry(pack->pack, entry)->shown;
	char name[FS_NAME_SIZE];
	size_t other;

	if (fs->options.npy != FS_VIEW_LIST ||
	    snprintf(name, sizeof(name), "%s.npy", shown) >=
		    (int)sizeof(name) ||
	    b2f_pack_lookup(pack->pack, fs_pack_node_entry(dir), name, &other) ==
		    0 ||
	    !fs_pack_node_has_view(fs, pack, entry))
		return true;
	return put(l, name, fs_pack_node_ino(fs_pack_node_of(pack, entry, true)),
		   false, next);
}

/* Positions: 0 and 1 are dots; each entry has two, the second its view's. */
static bool put_at(struct listing *l, struct fs_pack_node *dir, size_t pos)
{
	struct fs_pack *pack = dir->pack;
	off_t next = (off_t)pos + 1;
	size_t entry;

	if (pos < 2)
		return put(l, pos ? ".." : ".", fs_pack_node_ino(dir), true, next);
	entry = b2f_pack_child(pack->pack, fs_pack_node_entry(dir), (pos - 2) / 2);
	if (pos % 2)
		return put_view(l, dir, entry, next);
	return put(l, b2f_pack_entry(pack->pack, entry)->shown,
		   fs_pack_node_ino(fs_pack_node_of(pack, entry, false)),
		   b2f_pack_entry(pack->pack, entry)->kind == B2F_PACK_DIR,
		   next);
}

static void fill(struct listing *l, struct fs_pack_node *dir, off_t off)
{
	size_t n = b2f_pack_nchildren(dir->pack->pack, fs_pack_node_entry(dir));

	for (size_t pos = (size_t)off; off >= 0 && pos < 2 + 2 * n; pos++)
		if (!put_at(l, dir, pos))
			break;
}

void fs_op_pack_readdir(fuse_req_t req, struct fs_pack_node *dir, size_t size,
			off_t off, bool plus)
{
	struct listing l = {
		.req = req, .buf = malloc(size), .size = size, .plus = plus};
	int err = l.buf ? fs_packs_use(fs_of(req), dir->pack) : -ENOMEM;

	if (!err) {
		fill(&l, dir, off);
		fs_packs_unuse(fs_of(req), dir->pack);
		fuse_reply_buf(req, l.buf, l.used);
	} else {
		fs_reply_error(req, err);
	}
	free(l.buf);
}

static int get_fact(struct fs *fs, const struct fs_pack_node *node,
		    const char *name, char **out, size_t *n)
{
	struct b2f_frame *frame = NULL;
	int err = fs_facts_check_name(name);

	if (err)
		return err;
	if (entry_of(node)->kind != B2F_PACK_FRAME)
		return -ENODATA;
	err = fs_pack_node_open_frame(fs, node, &frame);
	if (!err && strcmp(name, FS_TABLE_ROWS_FACT) == 0)
		err = fs_table_rows_fact_in_pack(node, frame, out, n);
	else if (!err)
		err = fs_facts_get(frame, name, out, n);
	b2f_frame_close(frame);
	return err;
}

void fs_op_pack_getxattr(fuse_req_t req, struct fs_pack_node *node,
			 const char *name, size_t size)
{
	struct fs *fs = fs_of(req);
	char *value = NULL;
	size_t n = 0;
	int err = fs->config.no_xattr ? -ENOSYS
					: fs_packs_use(fs, node->pack);

	if (!err) {
		err = get_fact(fs, node, name, &value, &n);
		fs_packs_unuse(fs, node->pack);
	}
	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_value(req, value, n, size);
	free(value);
}

/* The names of what a frame tells; none of what cannot be opened. */
static void list_facts(struct fs *fs, const struct fs_pack_node *node,
		       char **names, size_t *n)
{
	struct b2f_frame *frame = NULL;

	if (fs->config.list_xattr && entry_of(node)->kind == B2F_PACK_FRAME &&
	    !fs_pack_node_open_frame(fs, node, &frame) &&
	    fs_facts_list(frame, names, n))
		*n = 0;
	b2f_frame_close(frame);
}

void fs_op_pack_listxattr(fuse_req_t req, struct fs_pack_node *node,
			  size_t size)
{
	struct fs *fs = fs_of(req);
	char *names = NULL;
	size_t n = 0;
	int err = fs->config.no_xattr ? -ENOSYS
					: fs_packs_use(fs, node->pack);

	if (err) {
		fs_reply_error(req, err);
		return;
	}
	list_facts(fs, node, &names, &n);
	fs_packs_unuse(fs, node->pack);
	fs_reply_value(req, names ? names : "", n, size);
	free(names);
}
