/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_namespace.c - names that come and go: create, mkdir, link, unlink ...
 *
 * A new file becomes a sparse frame; all else is as on the backing filesystem.
 * The kernel has checked permissions, and has applied the caller's umask.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attr.h"
#include "attr_set.h"
#include "b2frame/create.h"
#include "home.h"
#include "links.h"
#include "lookup.h"
#include "maker.h"
#include "ops.h"
#include "reply.h"
#include "spot.h"

/* Answers with the new entry @spot. */
static int reply_new(fuse_req_t req, const struct fs_spot *spot)
{
	struct fuse_entry_param entry;
	struct fs_found found;
	struct fs_node *node;
	int err = fs_spot_find(spot, &found);

	if (err)
		return err;
	err = fs_lookup_node(spot->fs, spot->dir, &found, &entry, &node);
	fs_probe_close(&found.probe);
	if (!err)
		fs_reply_entry(req, node, &entry);
	return err;
}

/* Goes to @name, where anything but a frame shall be made. */
static int enter_new(fuse_req_t req, fuse_ino_t parent, const char *name,
		     struct fs_spot *spot)
{
	struct fs_place place;
	int err = fs_spot_enter(fs_of(req), parent, name, spot);

	if (!err)
		err = fs_spot_check_free(spot);
	if (err)
		return err;
	place = fs_spot_place(spot);
	return fs_place_other(&place, name);
}

void fs_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		 mode_t mode)
{
	struct fs_spot spot = {0};
	int err = enter_new(req, parent, name, &spot);

	if (!err)
		err = fs_maker_mkdir(req, spot.pin.fd, name, mode);
	if (!err) {
		err = reply_new(req, &spot);
		if (err)
			unlinkat(spot.pin.fd, name, AT_REMOVEDIR);
	}
	fs_spot_leave(&spot);
	if (err)
		fs_reply_error(req, err);
}

void fs_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		   const char *name)
{
	struct fs_spot spot = {0};
	/* It would be taken for a name of a frame. */
	int err = fs_home_is(target) ? -EPERM
				     : enter_new(req, parent, name, &spot);

	if (!err)
		err = fs_maker_symlink(req, target, spot.pin.fd, name);
	if (!err) {
		err = reply_new(req, &spot);
		if (err)
			unlinkat(spot.pin.fd, name, 0);
	}
	fs_spot_leave(&spot);
	if (err)
		fs_reply_error(req, err);
}

/* A FIFO, a socket, a device. */
static void make_special(fuse_req_t req, fuse_ino_t parent, const char *name,
			 mode_t mode, dev_t rdev)
{
	const struct fs_maker_special special = {.mode = mode, .rdev = rdev};
	struct fs_spot spot = {0};
	int err = enter_new(req, parent, name, &spot);

	if (!err)
		err = fs_maker_mknod(req, spot.pin.fd, name, &special);
	if (!err) {
		err = reply_new(req, &spot);
		if (err)
			unlinkat(spot.pin.fd, name, 0);
	}
	fs_spot_leave(&spot);
	if (err)
		fs_reply_error(req, err);
}

/* Makes @spot another name of @node, which is no frame. */
static int link_other(const struct fs_spot *spot, struct fs_node *node)
{
	struct fs_place place = fs_spot_place(spot);
	struct fs_tree *tree = spot->fs->tree;
	struct fs_pin pin = {0};
	char name[16];
	int err = fs_place_other(&place, spot->name);

	if (!err)
		err = fs_tree_pin(tree, node, &pin);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%d", pin.fd);
	if (linkat(tree->proc_fd, name, spot->pin.fd, spot->name,
		   AT_SYMLINK_FOLLOW))
		err = -errno;
	fs_tree_unpin(tree, &pin);
	return err;
}

static int link_frame(fuse_req_t req, const struct fs_spot *spot,
		      struct fs_node *node)
{
	int err;

	fs_links_lock(spot->fs);
	err = fs_links_add(req, spot, node);
	fs_links_unlock(spot->fs);
	return err;
}

void fs_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent,
		const char *new_name)
{
	struct fs *fs = fs_of(req);
	struct fs_node *node = fs_node_of(fs, ino), *linked;
	struct fuse_entry_param entry;
	struct fs_spot spot = {0};
	int err = fs_spot_enter(fs, new_parent, new_name, &spot);

	if (!err)
		err = fs_spot_check_free(&spot);
	if (!err && node->kind == FS_KIND_VIEW)
		err = -EPERM;
	if (!err)
		err = node->kind == FS_KIND_FRAME
			      ? link_frame(req, &spot, node)
			      : link_other(&spot, node);
	if (!err)
		err = fs_lookup_entry(fs, spot.dir, spot.pin.fd, new_name,
				      &entry, &linked);
	fs_spot_leave(&spot);
	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_entry(req, linked, &entry);
}

/*
 * A frame that was just made.  All that has to be known of it was known when it
 * was made, or is asked for once: a program that makes many small files waits
 * for each system call of ours.
 */
struct fresh {
	struct fs_node *node;
	/* Of the node. */
	struct fs_pin pin;
	struct fuse_entry_param entry;
	/* On the backing filesystem. */
	char name[FS_NAMES_SIZE];
	struct b2f_frame_made made;
};

/*
 * Finds a name for it.  One that can be had shows that nothing is called
 * @spot->name; only if there is none, it matters why.
 */
static int find_name(const struct fs_spot *spot, char name[FS_NAMES_SIZE])
{
	struct fs_place place = fs_spot_place(spot);
	int err = fs_place_frame(&place, spot->name,
				 fs_names_suffix_for(spot->name, FS_NAMES_NEW),
				 name);
	int taken = err ? fs_spot_check_free(spot) : 0;

	return taken ? taken : err;
}

/* Looks at the directory again, which has got its name meanwhile. */
static int probe_frame(const struct fs_spot *spot, const struct fresh *fresh,
		       struct fs_probe *out)
{
	struct fs_probe probe = {
		.fd = -1,
		.kind = FS_KIND_FRAME,
		.sparse = true,
		.index = fresh->made.index,
	};
	int err = fs_tree_open_at(spot->fs->tree, spot->pin.fd, fresh->name,
				  &probe.fd, &probe.st);

	if (err)
		return err;
	/* Somebody has moved it away already. */
	if (probe.st.st_dev != fresh->made.dir.st_dev ||
	    probe.st.st_ino != fresh->made.dir.st_ino) {
		close(probe.fd);
		return -ESTALE;
	}
	*out = probe;
	return 0;
}

/* Makes its node, which has a reference and is pinned. */
static int adopt_frame(const struct fs_spot *spot, struct fresh *fresh)
{
	struct fs *fs = spot->fs;
	struct fs_found found;
	int err = probe_frame(spot, fresh, &found.probe);

	if (err)
		return err;
	memcpy(found.name, fresh->name, sizeof(found.name));
	err = fs_lookup_node(fs, spot->dir, &found, &fresh->entry,
			     &fresh->node);
	if (err) {
		fs_probe_close(&found.probe);
		return err;
	}
	fs_tree_pin_opened(fs->tree, fresh->node, found.probe.fd, &fresh->pin);
	fs_seen_note_meta(fs, fresh->node, NULL, &found.probe.index);
	err = fs_durable_note_made(fs, fresh->node, spot->pin.fd);
	if (err) {
		fs_tree_unpin(fs->tree, &fresh->pin);
		fs_tree_forget(fs->tree, fresh->node, 1);
	}
	return err;
}

/* A daemon of root's can read and write whatever the mode is. */
static mode_t own_access(void)
{
	return geteuid() == 0 ? 0 : S_IRUSR | S_IWUSR;
}

/*
 * Makes a frame that is shown as @spot->name.  Close @fresh->made.frame, and
 * unpin @fresh->pin.
 */
static int make_frame(fuse_req_t req, const struct fs_spot *spot, mode_t mode,
		      struct fresh *fresh)
{
	struct fs *fs = spot->fs;
	struct b2f_frame_options options = {.log = fs_logger_sink(fs->logger)};
	char *label = NULL;
	int err;

	err = find_name(spot, fresh->name);
	if (!err)
		err = fs_frames_label(fs, spot->dir, fresh->name, &label);
	if (err)
		return err;
	options.label = label;
	fs_maker_begin(req);
	err = b2f_frame_make(&fs->settings.new_files, spot->pin.fd, fresh->name,
			     mode | own_access(), &options, &fresh->made);
	fs_maker_end(req);
	free(label);
	if (err)
		return err;
	err = adopt_frame(spot, fresh);
	if (err) {
		b2f_frame_close(fresh->made.frame);
		(void)!b2f_frame_remove(spot->pin.fd, fresh->name);
	}
	return err;
}

/* Takes away what was lent to us, and renews the answer. */
static int finish_frame(const struct fs_spot *spot, mode_t mode,
			struct fresh *fresh)
{
	struct fs *fs = spot->fs;
	struct fs_meta meta = fs_meta_none();
	mode_t lent = own_access() & ~mode;
	int err;

	if (!lent)
		return 0;
	meta.has_mode = true;
	meta.mode = fresh->made.index.st_mode & 07777 & ~lent;
	err = fs_meta_set_frame(fs, fresh->node, fresh->pin.fd, &meta);
	/* Some filesystems have no modes. */
	if (err == -EPERM || err == -EINVAL || err == -EOPNOTSUPP)
		err = 0;
	if (!err)
		err = fs_attr_get(fs, fresh->node, &fresh->entry.attr);
	return err;
}

/* Takes back what make_frame() made. */
static void undo_frame(const struct fs_spot *spot, struct fresh *fresh)
{
	struct fs_found found;

	fs_tree_forget(spot->fs->tree, fresh->node, 1);
	if (fs_spot_find(spot, &found))
		return;
	(void)!fs_spot_delete(spot, &found);
	fs_probe_close(&found.probe);
}

void fs_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		 mode_t mode, dev_t rdev)
{
	struct fs_spot spot = {0};
	struct fresh fresh = {0};
	int err;

	if (!S_ISREG(mode)) {
		make_special(req, parent, name, mode, rdev);
		return;
	}
	err = fs_spot_enter(fs_of(req), parent, name, &spot);
	if (!err)
		err = make_frame(req, &spot, mode, &fresh);
	if (!err) {
		b2f_frame_close(fresh.made.frame);
		err = finish_frame(&spot, mode, &fresh);
		if (err)
			undo_frame(&spot, &fresh);
	}
	fs_tree_unpin(spot.fs->tree, &fresh.pin);
	fs_spot_leave(&spot);
	if (err)
		fs_reply_error(req, err);
	else
		fs_reply_entry(req, fresh.node, &fresh.entry);
}

/* Opens it before it may become unreadable for ourselves. */
static int open_frame(const struct fs_spot *spot, mode_t mode,
		      struct fresh *fresh, struct fuse_file_info *fi,
		      struct fs_opened *opened)
{
	struct fs *fs = spot->fs;
	int err = fs_openfiles_open_made(fs, fresh->node, fresh->made.frame,
					 fi->flags, opened);

	if (err)
		return err;
	/* For the time when the file cannot be looked at any more. */
	pthread_mutex_lock(&fs->files.lock);
	opened->handle->file->attr = fresh->entry.attr;
	pthread_mutex_unlock(&fs->files.lock);
	err = finish_frame(spot, mode, fresh);
	if (err)
		fs_openfiles_close(fs, opened->handle);
	return err;
}

void fs_op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		  mode_t mode, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_spot spot = {0};
	struct fs_opened opened;
	struct fresh fresh = {0};
	int err = fs_spot_enter(fs, parent, name, &spot);

	if (!err)
		err = make_frame(req, &spot, mode, &fresh);
	/* Somebody was faster: the kernel looks again, checks, and opens. */
	if (err == -EEXIST && !(fi->flags & O_EXCL) &&
	    fs_spot_check_free(&spot) == -EEXIST)
		err = -ESTALE;
	if (!err) {
		err = open_frame(&spot, mode, &fresh, fi, &opened);
		if (err)
			undo_frame(&spot, &fresh);
	}
	fs_tree_unpin(fs->tree, &fresh.pin);
	fs_spot_leave(&spot);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fs_reply_opened(fs, &opened, fi);
	if (fuse_reply_create(req, &fresh.entry, fi) < 0) {
		fs_openfiles_close(fs, opened.handle);
		fs_tree_forget(fs->tree, fresh.node, 1);
	}
}

static int delete_found(const struct fs_spot *spot,
			const struct fs_found *found)
{
	int err;

	if (found->probe.kind == FS_KIND_DIR)
		return -EISDIR;
	if (!found->probe.home[0])
		return fs_spot_delete(spot, found);
	fs_links_lock(spot->fs);
	err = fs_spot_delete(spot, found);
	fs_links_unlock(spot->fs);
	return err;
}

void fs_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs_spot spot = {0};
	struct fs_found found;
	int err = fs_spot_enter(fs_of(req), parent, name, &spot);

	if (!err)
		err = fs_spot_find(&spot, &found);
	if (err == -ENOENT && fs_spot_has_view(&spot))
		err = -EPERM;
	if (!err) {
		err = delete_found(&spot, &found);
		fs_probe_close(&found.probe);
	}
	fs_spot_leave(&spot);
	fs_reply_error(req, err);
}

void fs_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs_spot spot = {0};
	struct fs_found found;
	int err = fs_spot_enter(fs_of(req), parent, name, &spot);

	if (!err)
		err = fs_spot_find(&spot, &found);
	if (!err) {
		err = found.probe.kind == FS_KIND_DIR
			      ? fs_spot_delete_folder(&spot, &found)
			      : -ENOTDIR;
		fs_probe_close(&found.probe);
	}
	fs_spot_leave(&spot);
	fs_reply_error(req, err);
}
