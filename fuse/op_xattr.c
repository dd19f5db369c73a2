/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_xattr.c - extended attributes
 *
 *   user.blosc2.*    of a frame: made up, see facts.h; those of preset.h can be
 *                    set, of directories too.  They are listed with xattr=list
 *                    only, as cp -a would copy them
 *   user.bloscfs.*   of the root: version, pid, stats
 *   user.*           those of the backing file; of a frame, of its index
 *   all others       do not exist.  ACLs in particular: the kernel checks modes
 *                    alone here
 *
 * With xattr=off the kernel is told that there are none at all; then it does
 * not ask for a capability before each write.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "b2frame/version.h"
#include "disk_frame.h"
#include "durable_sync.h"
#include "facts.h"
#include "ops.h"
#include "preset.h"
#include "reply.h"
#include "setattr.h"
#include "table_rows.h"
#include "view.h"

#define USER	 "user."
#define OWN_ROOT "user.bloscfs."

/* Room for "/proc/self/fd/N/chunks.b2frame". */
#define PATH_SIZE 48

static bool begins_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_made_up(const char *name)
{
	return begins_with(name, FS_FACTS_PREFIX) ||
	       begins_with(name, OWN_ROOT);
}

/* Is @name what new files in the directory @node are encoded with? */
static bool is_of_dir(const struct fs_node *node, const char *name)
{
	return node->kind == FS_KIND_DIR && fs_preset_is(name);
}

/* Pins the node that has the attributes of *@node, and sets *@node to it. */
static int pin_base(struct fs *fs, struct fs_node **node, struct fs_pin *pin)
{
	struct fs_node *base;
	int err = fs_view_enter(fs, *node, &base);

	if (err)
		return err;
	err = fs_tree_pin(fs->tree, base, pin);
	if (!err)
		*node = base;
	/* The pin has its own reference. */
	fs_tree_forget(fs->tree, base, 1);
	return err;
}

/*
 * Gets the value of @name, or with NULL all names, on the backing filesystem;
 * malloc'ed.  A frame has the attributes of its index.
 */
static int get_stored(const struct fs_node *node, int fd, const char *name,
		      char **out, size_t *size)
{
	bool has_index = node->kind == FS_KIND_FRAME && node->sparse;
	char path[PATH_SIZE], *value = malloc(XATTR_SIZE_MAX);
	ssize_t n;

	if (!value)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d%s", fd,
		 has_index ? "/" B2F_INDEX_NAME : "");
	/* The index must not be a link; the path of @fd itself is one. */
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

static int get_fact(struct fs *fs, struct fs_node *node, int fd,
		    const char *name, char **out, size_t *size)
{
	struct b2f_frame *frame = NULL;
	int err;

	if (node->kind != FS_KIND_FRAME)
		return -ENODATA;
	err = fs_disk_frame_open(fs, node, fd, &frame);
	if (!err && strcmp(name, FS_TABLE_ROWS_FACT) == 0)
		err = fs_table_rows_fact(fs, node, frame, out, size);
	else if (!err)
		err = fs_facts_get(frame, name, out, size);
	b2f_frame_close(frame);
	return err;
}

static int get_own(struct fs *fs, const struct fs_node *node, const char *name,
		   char **out, size_t *size)
{
	const char *key = name + sizeof(OWN_ROOT) - 1;
	char *text = NULL;
	int n = -1;

	if (!node->is_root)
		return -ENODATA;
	if (strcmp(key, "version") == 0)
		n = asprintf(&text, "%s", B2F_VERSION);
	else if (strcmp(key, "pid") == 0)
		n = asprintf(&text, "%ld", (long)getpid());
	else if (strcmp(key, "writable") == 0)
		n = asprintf(&text, "%d", fs->read_write);
	else if (strcmp(key, "options") == 0)
		n = asprintf(&text, "%s",
			     fs->options.own ? fs->options.own : "");
	else if (strcmp(key, "stats") == 0)
		n = fs_stats_json(fs, &text);
	else
		return -ENODATA;
	if (n < 0)
		return -ENOMEM;
	*out = text;
	*size = (size_t)n;
	return 0;
}

static int get_value(struct fs *fs, struct fs_node *node, const char *name,
		     char **out, size_t *size)
{
	struct fs_pin pin = {0};
	int err;

	if (!begins_with(name, USER))
		return fs_facts_check_name(name);
	if (begins_with(name, OWN_ROOT))
		return get_own(fs, node, name, out, size);
	if (node->kind == FS_KIND_SINGLE)
		return -ENODATA;
	err = pin_base(fs, &node, &pin);
	if (err)
		return err;
	if (begins_with(name, FS_FACTS_PREFIX) && !is_of_dir(node, name))
		err = get_fact(fs, node, pin.fd, name, out, size);
	else
		err = get_stored(node, pin.fd, name, out, size);
	fs_tree_unpin(fs->tree, &pin);
	return err;
}

void fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    size_t size)
{
	struct fs *fs = fs_of(req);
	char *value = NULL;
	size_t n = 0;
	int err;

	if (fs->config.no_xattr)
		err = -ENOSYS;
	else
		err = get_value(fs, fs_node_of(fs, ino), name, &value, &n);
	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_value(req, value, n, size);
	free(value);
}

/* Writes the names that are listed, of @names of @node, to @f. */
static void put_stored(FILE *f, const struct fs_node *node, bool list_all,
		       const char *names, size_t size)
{
	for (size_t i = 0; i < size; i += strlen(names + i) + 1) {
		const char *name = names + i;

		if (begins_with(name, USER) &&
		    (!is_made_up(name) || (list_all && is_of_dir(node, name))))
			fwrite(name, strlen(name) + 1, 1, f);
	}
}

static int list_stored(struct fs *fs, const struct fs_node *node, int fd,
		       FILE *f)
{
	char *names = NULL;
	size_t size = 0;
	int err = get_stored(node, fd, NULL, &names, &size);

	if (!err)
		put_stored(f, node, fs->config.list_xattr, names, size);
	free(names);
	/* A filesystem without xattrs has an empty list. */
	return err == -EOPNOTSUPP ? 0 : err;
}

static int list_facts(struct fs *fs, struct fs_node *node, int fd, FILE *f)
{
	struct b2f_frame *frame = NULL;
	char *names = NULL;
	size_t size = 0;
	int err = fs_disk_frame_open(fs, node, fd, &frame);

	/* A frame that cannot be opened has none. */
	if (err)
		return 0;
	err = fs_facts_list(frame, &names, &size);
	if (!err)
		fwrite(names, size, 1, f);
	free(names);
	b2f_frame_close(frame);
	return err;
}

static int list_names(struct fs *fs, struct fs_node *node, FILE *f)
{
	static const char own[] =
		OWN_ROOT "version\0" OWN_ROOT "pid\0" OWN_ROOT "stats";
	struct fs_pin pin = {0};
	int err;

	if (fs->config.list_xattr && node->is_root)
		fwrite(own, sizeof(own), 1, f);
	if (node->kind == FS_KIND_SINGLE)
		return 0;
	err = pin_base(fs, &node, &pin);
	if (err)
		return err;
	err = list_stored(fs, node, pin.fd, f);
	if (!err && fs->config.list_xattr && node->kind == FS_KIND_FRAME)
		err = list_facts(fs, node, pin.fd, f);
	fs_tree_unpin(fs->tree, &pin);
	return err;
}

void fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct fs *fs = fs_of(req);
	char *names = NULL;
	size_t n = 0;
	FILE *f;
	int err;

	if (fs->config.no_xattr) {
		fs_reply_error(req, -ENOSYS);
		return;
	}
	f = open_memstream(&names, &n);
	if (!f) {
		fs_reply_error(req, -ENOMEM);
		return;
	}
	err = list_names(fs, fs_node_of(fs, ino), f);
	if (fclose(f) && !err)
		err = -ENOMEM;
	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_value(req, names, n, size);
	free(names);
}

/* A change of an index or a file. */
struct change {
	const char *name;
	/* NULL: remove it. */
	const char *value;
	size_t size;
	int flags;
};

static int change_stored(void *arg, int fd)
{
	const struct change *c = arg;
	char path[PATH_SIZE];
	int ret;

	/* /proc leads to this very file, index or other. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (c->value)
		ret = setxattr(path, c->name, c->value, c->size, c->flags);
	else
		ret = removexattr(path, c->name);
	return ret ? -errno : 0;
}

static int set_preset(struct fs *fs, struct fs_node *node,
		      const struct change *c, const struct fs_preset *preset)
{
	/* It has a value already, and always. */
	if (!c->value)
		return -EPERM;
	return c->flags & XATTR_CREATE ? -EEXIST
				       : fs_preset_set(fs, node, preset);
}

/* Is that the value already?  It may be one that cannot be set. */
static bool has_value(struct fs *fs, struct fs_node *node, int fd,
		      const struct change *c)
{
	char *value = NULL;
	size_t n = 0;
	int err = node->kind == FS_KIND_FRAME
			  ? get_fact(fs, node, fd, c->name, &value, &n)
			  : get_stored(node, fd, c->name, &value, &n);
	bool is = !err && c->value && n == c->size &&
		  memcmp(value, c->value, n) == 0;

	free(value);
	return is;
}

/* Changes what new chunks of the frame, or new files in the directory, are. */
static int change_preset(struct fs *fs, struct fs_node *node, struct change *c)
{
	const struct fs_preset preset = {c->name, c->value, c->size};
	struct fs_pin pin = {0};
	int err = pin_base(fs, &node, &pin);

	if (err)
		return err;
	if (node->kind == FS_KIND_FRAME)
		err = set_preset(fs, node, c, &preset);
	else if (node->kind != FS_KIND_DIR)
		err = -EPERM;
	else if (c->value)
		err = fs_preset_check(&preset);
	if (err == -EINVAL && has_value(fs, node, pin.fd, c))
		err = 0;
	if (!err && node->kind == FS_KIND_DIR)
		err = change_stored(c, pin.fd);
	fs_tree_unpin(fs->tree, &pin);
	return err;
}

static int change_node(struct fs *fs, struct fs_node *node, struct change *c)
{
	struct fs_pin pin = {0};
	int err;

	if (fs->config.no_xattr)
		return -ENOSYS;
	if (!fs->read_write)
		return -EROFS;
	if (node->is_root && c->value && strcmp(c->name, OWN_ROOT "sync") == 0)
		return fs_durable_sync_now(fs);
	if (!begins_with(c->name, USER))
		return -EOPNOTSUPP;
	if (node->kind == FS_KIND_SINGLE)
		return -EPERM;
	if (fs_preset_is(c->name))
		return change_preset(fs, node, c);
	if (is_made_up(c->name))
		return -EPERM;
	err = pin_base(fs, &node, &pin);
	if (err)
		return err;
	if (node->kind == FS_KIND_FRAME)
		err = fs_setattr_with_index(fs, node, pin.fd, change_stored, c);
	else
		err = change_stored(c, pin.fd);
	fs_tree_unpin(fs->tree, &pin);
	return err;
}

void fs_op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    const char *value, size_t size, int flags)
{
	struct fs *fs = fs_of(req);
	struct change c = {
		.name = name, .value = value, .size = size, .flags = flags};

	fs_reply_error(req, change_node(fs, fs_node_of(fs, ino), &c));
}

void fs_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct fs *fs = fs_of(req);
	struct change c = {.name = name};

	fs_reply_error(req, change_node(fs, fs_node_of(fs, ino), &c));
}
