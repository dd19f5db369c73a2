/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_xattr.c - extended attributes
 *
 *   user.blosc2.*    of a frame: computed (frame_xattr.h), and settable if
 *                    preset.h knows them, of directories, too.  Only xattr=list
 *                    lists them, because cp -a would copy them
 *   user.bloscfs.*   of the root: version, pid, stats
 *   user.*           in the tree: those of the backing file; of a frame, of its
 *                    index
 *   all others       do not exist, ACLs among them: in this mount the kernel
 *                    checks modes alone
 *
 * With xattr=off the kernel learns that there are none at all; then it does not
 * ask for a capability before the first write to a file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/version.h"
#include "frame_xattr.h"
#include "ops.h"
#include "reply.h"
#include "table_rows.h"
#include "volume.h"

static int get_own(struct fs *fs, const char *name, char **out, size_t *size)
{
	const char *key = name + sizeof(FS_FRAME_XATTR_OWN) - 1;
	char *text = NULL;
	int n = -1;

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
		n = fs_stats_text(fs, FS_STATS_JSON, &text);
	else if (strcmp(key, "prometheus") == 0)
		n = fs_stats_text(fs, FS_STATS_PROMETHEUS, &text);
	else
		return -ENODATA;
	if (n < 0)
		return -ENOMEM;
	*out = text;
	*size = (size_t)n;
	return 0;
}

/* The extended attribute of a frame that was asked for. */
struct fact {
	struct fs_node *node;
	/* Its mount, and the operations of its volume. */
	struct fs *fs;
	const struct fs_xattr_ops *ops;
	/* NULL: list the names. */
	const char *name;
	char *value;
	size_t size;
};

static struct fact fact_of(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct fs_node *node = fs_node_of(fs_of(req), ino);

	return (struct fact){
		node, node->volume->fs, node->volume->ops->xattr, name, NULL,
		0};
}

static int get_rows(struct fact *f, const struct b2f_frame *frame)
{
	uint64_t n = 0;
	int len, err = f->ops->count_rows(f->fs, f->node, frame, &n);

	if (err)
		return err;
	len = asprintf(&f->value, "%" PRIu64, n);
	f->size = (size_t)len;
	return len < 0 ? -ENOMEM : 0;
}

static int get_fact(void *arg, struct b2f_frame *frame)
{
	struct fact *f = arg;

	if (!f->name)
		return fs_frame_xattr_list(frame, &f->value, &f->size);
	if (f->ops->count_rows && strcmp(f->name, FS_TABLE_ROWS_FACT) == 0)
		return get_rows(f, frame);
	return fs_frame_xattr_get(frame, f->name, &f->value, &f->size);
}

static int get_value(struct fact *f)
{
	int err;

	/*
	 * After EOPNOTSUPP, ls asks no further file.  The attribute that the
	 * kernel asks for before the first write gets ENODATA, because getcap
	 * accepts no other error.
	 */
	if (!fs_frame_xattr_begins(f->name, "user."))
		return strcmp(f->name, "security.capability") == 0
			       ? -ENODATA
			       : -EOPNOTSUPP;
	if (fs_frame_xattr_begins(f->name, FS_FRAME_XATTR_OWN))
		return f->node == f->fs->nodes.root
			       ? get_own(f->fs, f->name, &f->value, &f->size)
			       : -ENODATA;
	err = f->ops->get_stored ? f->ops->get_stored(f->fs, f->node, f->name,
						      &f->value, &f->size)
				 : -ENODATA;
	if (err == -ENODATA &&
	    fs_frame_xattr_begins(f->name, FS_FRAME_XATTR_PREFIX))
		err = f->ops->with_frame(f->fs, f->node, get_fact, f);
	return err;
}

void fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    size_t size)
{
	struct fact fact = fact_of(req, ino, name);
	int err = fact.fs->options.view.xattr == FS_VIEW_OFF ? -ENOSYS
							     : get_value(&fact);

	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_value(req, fact.value, fact.size, size);
	free(fact.value);
}

static int list_names(struct fact *f, FILE *out)
{
	static const char own[] =
		FS_FRAME_XATTR_OWN "version\0" FS_FRAME_XATTR_OWN
				   "pid\0" FS_FRAME_XATTR_OWN "stats";
	bool all = f->fs->options.view.xattr == FS_VIEW_LIST;
	int err = 0;

	if (all && f->node == f->fs->nodes.root)
		fwrite(own, sizeof(own), 1, out);
	if (f->ops->list_stored)
		err = f->ops->list_stored(f->fs, f->node, out);
	/* A frame that cannot be opened has no attributes of its own. */
	if (!err && all && f->ops->with_frame(f->fs, f->node, get_fact, f) == 0)
		fwrite(f->value, f->size, 1, out);
	return err;
}

void fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct fact fact = fact_of(req, ino, NULL);
	B2F_OWN char *names = NULL;
	size_t n = 0;
	FILE *out = NULL;
	int err = fact.fs->options.view.xattr == FS_VIEW_OFF ? -ENOSYS : 0;

	if (!err) {
		out = open_memstream(&names, &n);
		err = out ? list_names(&fact, out) : -ENOMEM;
	}
	if (out && fclose(out) && !err)
		err = -ENOMEM;
	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_value(req, names, n, size);
	free(fact.value);
}

static int change(fuse_req_t req, fuse_ino_t ino,
		  const struct fs_xattr_change *c)
{
	struct fs *fs = fs_of(req);
	struct fs_node *node = fs_node_of(fs, ino);
	const struct fs_volume_ops *volume = node->volume->ops;

	if (fs->options.view.xattr == FS_VIEW_OFF)
		return -ENOSYS;
	if (node == fs->nodes.root && c->value &&
	    strcmp(c->name, FS_FRAME_XATTR_OWN "sync") == 0)
		return fs_durable_sync_now(fs);
	if (!fs->read_write || !volume->changes)
		return -EROFS;
	return volume->xattr->set ? volume->xattr->set(fs, node, c)
				  : -EOPNOTSUPP;
}

void fs_op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    const char *value, size_t size, int flags)
{
	const struct fs_xattr_change c = {
		.name = name, .value = value, .size = size, .flags = flags};

	fs_reply_error(req, change(req, ino, &c));
}

void fs_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	const struct fs_xattr_change c = {.name = name};

	fs_reply_error(req, change(req, ino, &c));
}
