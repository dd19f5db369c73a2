/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_tree_xattr.c - extended attributes of the tree: stored ones, and
 * settings
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "dir.h"
#include "disk_frame.h"
#include "frame_xattr.h"
#include "preset.h"
#include "setattr.h"
#include "table_rows.h"
#include "view.h"
#include "volume_tree.h"

#define USER "user."

/* Room for "/proc/self/fd/N/chunks.b2frame". */
#define PATH_SIZE 48

static bool is_made_up(const char *name)
{
	return fs_frame_xattr_begins(name, FS_FRAME_XATTR_PREFIX) ||
	       fs_frame_xattr_begins(name, FS_FRAME_XATTR_OWN);
}

/* Is @name a setting for new files in the directory @node? */
static bool is_of_dir(const struct fs_backed *node, const char *name)
{
	return node->kind == FS_KIND_DIR && fs_preset_is(name);
}

/* Pins the node that has the attributes of @node. */
static int pin_base(struct fs *fs, struct fs_backed *node, struct fs_pin *pin)
{
	struct fs_backed *base;
	int err = fs_view_enter(fs, node, &base);

	if (err)
		return err;
	err = fs_tree_pin(fs->tree, base, pin);
	/* The pin has its own reference. */
	fs_tree_forget(base);
	return err;
}

/*
 * Gets the value of @name, or with NULL all names, from the backing filesystem;
 * malloc'ed.  A frame has the attributes of its index.
 */
static int get_stored(const struct fs_backed *node, int fd, const char *name,
		      char **out, size_t *size)
{
	bool has_index = node->kind == FS_KIND_FRAME && node->sparse;
	char path[PATH_SIZE], *value = malloc(XATTR_SIZE_MAX);
	ssize_t n;

	if (!value)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d%s", fd,
		 has_index ? "/" B2F_INDEX_NAME : "");
	/* The index must not be a link; the path of @fd is always one. */
	if (name)
		n = has_index ? lgetxattr(path, name, value, XATTR_SIZE_MAX)
			      : getxattr(path, name, value, XATTR_SIZE_MAX);
	else
		n = has_index ? llistxattr(path, value, XATTR_SIZE_MAX)
			      : listxattr(path, value, XATTR_SIZE_MAX);
	if (n < 0) {
		free(value);
		return errno == ENOENT ? -ESTALE : -errno;
	}
	*out = value;
	*size = (size_t)n;
	return 0;
}

static int do_with_frame(struct fs *fs, struct fs_node *inode, fs_frame_fn *fn,
			 void *arg)
{
	struct b2f_frame *frame = NULL;
	FS_PIN(pin);
	int err = pin_base(fs, fs_backed_of(inode), &pin);

	if (!err && pin.node->kind != FS_KIND_FRAME)
		err = -ENODATA;
	if (!err)
		err = fs_disk_frame_open(fs, pin.node, pin.fd, &frame);
	if (!err)
		err = fn(arg, frame);
	b2f_frame_close(frame);
	return err;
}

static int do_count_rows(struct fs *fs, struct fs_node *inode,
			 const struct b2f_frame *frame, uint64_t *out)
{
	struct fs_backed *node = NULL;
	int err = fs_view_enter(fs, fs_backed_of(inode), &node);

	if (!err)
		err = fs_table_rows_count(fs, node, frame, out);
	fs_tree_forget(node);
	return err;
}

static int do_get_stored(struct fs *fs, struct fs_node *inode, const char *name,
			 char **out, size_t *size)
{
	struct fs_backed *node = fs_backed_of(inode);
	FS_PIN(pin);
	int err;

	if (node->kind == FS_KIND_SINGLE ||
	    (is_made_up(name) && !is_of_dir(node, name)))
		return -ENODATA;
	err = pin_base(fs, node, &pin);
	return err ? err : get_stored(pin.node, pin.fd, name, out, size);
}

/* Writes to @f the names among @names that the mount lists for @node. */
static void put_stored(FILE *f, const struct fs_backed *node, bool list_all,
		       const char *names, size_t size)
{
	for (size_t i = 0; i < size; i += strlen(names + i) + 1) {
		const char *name = names + i;

		if (fs_frame_xattr_begins(name, USER) &&
		    (!is_made_up(name) || (list_all && is_of_dir(node, name))))
			fwrite(name, strlen(name) + 1, 1, f);
	}
}

static int do_list_stored(struct fs *fs, struct fs_node *inode, FILE *f)
{
	struct fs_backed *node = fs_backed_of(inode);
	FS_PIN(pin);
	B2F_OWN char *names = NULL;
	size_t size = 0;
	int err;

	if (node->kind == FS_KIND_SINGLE)
		return 0;
	err = pin_base(fs, node, &pin);
	if (!err)
		err = get_stored(pin.node, pin.fd, NULL, &names, &size);
	if (!err)
		put_stored(f, pin.node, fs->options.view.xattr == FS_VIEW_LIST,
			   names, size);
	/* A filesystem without xattrs has an empty list. */
	return err == -EOPNOTSUPP ? 0 : err;
}

static int change_stored(void *arg, int fd)
{
	const struct fs_xattr_change *c = arg;
	char path[FS_DIR_PATH_SIZE];
	int ret;

	/* The path in /proc leads to this very file, index or other. */
	fs_dir_path(fd, path);
	if (c->value)
		ret = setxattr(path, c->name, c->value, c->size, c->flags);
	else
		ret = removexattr(path, c->name);
	return ret ? -errno : 0;
}

static int set_preset(struct fs *fs, struct fs_backed *node,
		      const struct fs_xattr_change *c)
{
	/* The attribute always has a value. */
	if (!c->value)
		return -EPERM;
	return c->flags & XATTR_CREATE ? -EEXIST : fs_preset_set(fs, node, c);
}

static int get_fact(struct fs *fs, struct fs_backed *node, int fd,
		    const char *name, char **out, size_t *size)
{
	struct b2f_frame *frame = NULL;
	int err = fs_disk_frame_open(fs, node, fd, &frame);

	if (!err)
		err = fs_frame_xattr_get(frame, name, out, size);
	b2f_frame_close(frame);
	return err;
}

/* Does the attribute have this value, even if it cannot be set? */
static bool has_value(struct fs *fs, struct fs_backed *node, int fd,
		      const struct fs_xattr_change *c)
{
	B2F_OWN char *value = NULL;
	size_t n = 0;
	int err = node->kind == FS_KIND_FRAME
			  ? get_fact(fs, node, fd, c->name, &value, &n)
			  : get_stored(node, fd, c->name, &value, &n);

	return !err && c->value && n == c->size &&
	       memcmp(value, c->value, n) == 0;
}

/* Changes the settings for new chunks, or new files in a directory. */
static int change_preset(struct fs *fs, struct fs_backed *node,
			 struct fs_xattr_change *c)
{
	FS_PIN(pin);
	int err = pin_base(fs, node, &pin);

	if (err)
		return err;
	node = pin.node;
	if (node->kind == FS_KIND_FRAME)
		err = set_preset(fs, node, c);
	else if (node->kind != FS_KIND_DIR)
		err = -EPERM;
	else if (c->value)
		err = fs_preset_check(c);
	if (err == -EINVAL && has_value(fs, node, pin.fd, c))
		err = 0;
	return !err && node->kind == FS_KIND_DIR ? change_stored(c, pin.fd)
						 : err;
}

static int do_set(struct fs *fs, struct fs_node *inode,
		  const struct fs_xattr_change *change)
{
	struct fs_xattr_change c = *change;
	struct fs_backed *node = fs_backed_of(inode);
	FS_PIN(pin);
	int err;

	if (!fs_frame_xattr_begins(c.name, USER))
		return -EOPNOTSUPP;
	if (node->kind == FS_KIND_SINGLE)
		return -EPERM;
	if (fs_preset_is(c.name))
		return change_preset(fs, node, &c);
	if (is_made_up(c.name))
		return -EPERM;
	err = pin_base(fs, node, &pin);
	if (err)
		return err;
	return pin.node->kind == FS_KIND_FRAME
		       ? fs_setattr_with_index(fs, pin.node, pin.fd,
					       change_stored, &c)
		       : change_stored(&c, pin.fd);
}

const struct fs_xattr_ops fs_volume_tree_xattr = {
	.with_frame = do_with_frame,
	.count_rows = do_count_rows,
	.get_stored = do_get_stored,
	.list_stored = do_list_stored,
	.set = do_set,
};
