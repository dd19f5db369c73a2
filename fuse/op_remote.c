/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_remote.c - the requests about a mount of an object store
 *
 * Changes are in op_remote_write.c.  A mount that is read-only has none of them: as
 * root can take that flag away with a remount, libfuse answers them with ENOSYS, and
 * opening for writing is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "facts.h"
#include "op_remote.h"
#include "op_remote_names.h"
#include "op_remote_write.h"
#include "ops.h"
#include "remote_attr.h"
#include "remote_changes.h"
#include "remote_find.h"
#include "remote_listing.h"
#include "remote_pack.h"
#include "remote_pack_find.h"
#include "reply.h"
#include "view.h"

static struct fs_remote_names *names_of(const struct fuse_file_info *fi)
{
	return (struct fs_remote_names *)(uintptr_t)fi->fh;
}

static struct fs_remote_entry entry_of(fuse_req_t req, fuse_ino_t ino)
{
	return fs_remote_entry_of(fs_of(req)->remote, ino);
}

static void do_lookup(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param answer;
	struct fs_remote_entry entry;
	int err;

	fs_stats_add(&fs->stats.nlookups, 1);
	err = fs_remote_find(fs, entry_of(req, ino).node, name, &entry);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fs_remote_attr_answer(fs, &entry, &answer);
	/* An answer that did not arrive is not counted by the kernel. */
	if (fuse_reply_entry(req, &answer) < 0)
		fs_remote_node_put(fs->remote, entry.node, 1);
}

static void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	fs_remote_node_put(fs_of(req)->remote, entry_of(req, ino).node, n);
	fuse_reply_none(req);
}

static void do_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		fs_remote_node_put(fs_of(req)->remote,
				   entry_of(req, forgets[i].ino).node,
				   forgets[i].nlookup);
	fuse_reply_none(req);
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct fs_remote_entry entry = entry_of(req, ino);
	struct fs *fs = fs_of(req);
	struct stat st;

	(void)fi;
	fs_remote_attr(fs, &entry, &st);
	fuse_reply_attr(req, &st, fs->options.attr_timeout_s);
}

/* How much room a store has is not told: nothing that df(1) would count. */
static void do_statfs(fuse_req_t req, fuse_ino_t ino)
{
	const struct statvfs st = {
		.f_bsize = 4096, .f_frsize = 4096, .f_namemax = NAME_MAX};

	(void)ino;
	fuse_reply_statfs(req, &st);
}

/* The names in @dir, as this mount knows them. */
static int list_names(struct fs *fs, struct fs_remote_node *dir,
		      struct fs_remote_names **out)
{
	struct fs_remote_names *listed = NULL;
	int err = dir->kind == FS_REMOTE_DIR ? 0 : -ENOTDIR;

	if (!err && dir->pack)
		return fs_remote_pack_find_names(dir, out);
	if (!err)
		err = fs_remote_listing_get(fs->remote, dir, &listed);
	if (!err)
		err = fs_remote_changes_apply(fs->remote, dir->path, listed,
					      out);
	fs_remote_names_put(listed);
	return err;
}

/* The listing stays as it is until the close. */
static void do_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct fs_remote_names *names = NULL;
	int err = list_names(fs_of(req), entry_of(req, ino).node, &names);

	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fi->fh = (uintptr_t)names;
	if (fuse_reply_open(req, fi) < 0)
		fs_remote_names_put(names);
}

static void do_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *fi)
{
	(void)ino;
	fs_remote_names_put(names_of(fi));
	fuse_reply_err(req, 0);
}

/*
 * What stat(2) will say, as far as the name tells: what is called like no frame
 * may be one, and what is called like a pack may be none.
 */
static struct stat attributes_of(const struct fs_remote_node *dir,
				 const struct fs_remote_name *name)
{
	struct stat st = {.st_ino = dir->ino};
	char *path = fs_remote_node_join(dir->path, name->stored);

	if (path)
		st.st_ino = fs_remote_node_number(path);
	free(path);
	if (!name->is_dir && !b2f_pack_is_name(name->stored))
		st.st_mode = S_IFREG;
	return st;
}

/* A listing on its way. */
struct listing {
	char *buf;
	size_t size;
	size_t used;
};

/* Adds a name; false: it does not fit any more. */
static bool put(fuse_req_t req, struct listing *l, const char *name,
		const struct stat *st, off_t next)
{
	size_t room = l->size - l->used;
	size_t n = fuse_add_direntry(req, l->buf + l->used, room, name, st,
				     next);

	if (n > room)
		return false;
	l->used += n;
	return true;
}

/*
 * Adds the view of what is shown as @shown, if that is an array and views are to be
 * listed: each name is looked up for that.
 */
static bool put_view(fuse_req_t req, struct listing *l,
		     struct fs_remote_node *dir, const char *shown, off_t next)
{
	struct stat st = {.st_mode = S_IFREG};
	struct fs_remote_entry entry;
	struct fs *fs = fs_of(req);
	char name[FS_NAME_SIZE];
	bool fits = true;

	if (fs->options.npy != FS_VIEW_LIST ||
	    snprintf(name, sizeof(name), "%s.npy", shown) >= (int)sizeof(name) ||
	    fs_remote_find(fs, dir, name, &entry))
		return true;
	st.st_ino = fs_view_ino(entry.node->ino);
	/* Not if it is something else that is called so. */
	if (entry.is_view)
		fits = put(req, l, name, &st, next);
	fs_remote_node_put(fs->remote, entry.node, 1);
	return fits;
}

/* Positions: 0 and 1 are dots, then each name has two, the second its view's. */
static bool put_at(fuse_req_t req, struct listing *l,
		   struct fs_remote_node *dir,
		   const struct fs_remote_names *names, size_t pos)
{
	const struct stat here = {.st_ino = dir->ino, .st_mode = S_IFDIR};
	const struct fs_remote_name *name;
	off_t next = (off_t)pos + 1;
	struct stat st;

	if (pos < 2)
		return put(req, l, pos ? ".." : ".", &here, next);
	name = &names->list[(pos - 2) / 2];
	if (pos % 2)
		return put_view(req, l, dir, name->shown, next);
	st = attributes_of(dir, name);
	return put(req, l, name->shown, &st, next);
}

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	struct fs_remote_node *dir = entry_of(req, ino).node;
	const struct fs_remote_names *names = names_of(fi);
	struct listing l = {.buf = malloc(size), .size = size};

	if (!l.buf) {
		fs_reply_error(req, -ENOMEM);
		return;
	}
	for (size_t pos = (size_t)off; off >= 0 && pos < 2 + 2 * names->n; pos++)
		if (!put_at(req, &l, dir, names, pos))
			break;
	fuse_reply_buf(req, l.buf, l.used);
	free(l.buf);
}

/*
 * Opens the frame @node for what it says of itself.  One that may be written to
 * meanwhile is opened anew, as the file replaces its frame then.
 */
static int open_facts(struct fs *fs, struct fs_remote_node *node,
		      struct b2f_file **out)
{
	int err;

	if (!fs->read_write || node->pack)
		return fs_remote_node_open(fs, node, out);
	err = node->broken;
	if (!err)
		err = fs_remote_node_open_now(fs, node->path, out);
	/* It is on its way there. */
	return err == -ENOENT ? -ENODATA : err;
}

static void close_facts(struct fs *fs, struct fs_remote_node *node,
			struct b2f_file *file)
{
	if (fs->read_write && !node->pack)
		b2f_file_close(file);
	else
		fs_remote_node_close(fs, node);
}

/* What the frame @node says of itself. */
static int get_fact(struct fs *fs, struct fs_remote_node *node,
		    const char *name, char **out, size_t *n)
{
	struct b2f_file *file = NULL;
	int err = fs_facts_check_name(name);

	if (err)
		return err;
	if (node->kind != FS_REMOTE_FRAME)
		return -ENODATA;
	err = open_facts(fs, node, &file);
	if (err)
		return err;
	err = fs_facts_get(b2f_file_frame(file), name, out, n);
	close_facts(fs, node, file);
	return err;
}

static void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			size_t size)
{
	struct fs *fs = fs_of(req);
	char *value = NULL;
	size_t n = 0;
	int err = -ENOSYS;

	if (ino == FUSE_ROOT_ID &&
	    strncmp(name, "user.bloscfs.", strlen("user.bloscfs.")) == 0) {
		fs_op_getxattr(req, ino, name, size);
		return;
	}
	if (!fs->config.no_xattr)
		err = get_fact(fs, entry_of(req, ino).node, name, &value, &n);
	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_value(req, value, n, size);
	free(value);
}

static void do_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct fs_remote_node *node = entry_of(req, ino).node;
	struct fs *fs = fs_of(req);
	struct b2f_file *file = NULL;
	char *names = NULL;
	size_t n = 0;
	int err = fs->config.no_xattr ? -ENOSYS : 0;

	if (!err && fs->config.list_xattr && node->kind == FS_REMOTE_FRAME)
		err = open_facts(fs, node, &file);
	if (file) {
		err = fs_facts_list(b2f_file_frame(file), &names, &n);
		close_facts(fs, node, file);
	}
	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_value(req, names ? names : "", n, size);
	free(names);
}

struct fuse_lowlevel_ops fs_op_remote_table(bool read_write)
{
	struct fuse_lowlevel_ops ops = {
		.lookup = do_lookup,
		.forget = do_forget,
		.forget_multi = do_forget_multi,
		.getattr = do_getattr,
		.statfs = do_statfs,
		.opendir = do_opendir,
		.readdir = do_readdir,
		.releasedir = do_releasedir,
		.open = fs_op_open,
		.read = fs_op_read,
		.lseek = fs_op_lseek,
		.release = fs_op_release,
		.getxattr = do_getxattr,
		.listxattr = do_listxattr,
	};

	if (read_write) {
		fs_op_remote_add_changes(&ops);
		fs_op_remote_add_names(&ops);
	}
	return ops;
}
