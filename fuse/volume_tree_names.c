/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_tree_names.c - requests that add and remove names: create, mkdir,
 * link, unlink ...
 *
 * A new file becomes a frame; other files are made as such on the backing
 * filesystem.  The kernel has checked permissions, and has applied the caller's
 * umask.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "dir.h"
#include "disk_frame.h"
#include "entry.h"
#include "getattr.h"
#include "links.h"
#include "maker.h"
#include "packs.h"
#include "preset.h"
#include "programs/file_form.h"
#include "programs/home.h"
#include "setattr.h"
#include "volume_tree.h"

/* Makes a node for the new name of a file that is no frame. */
static int enter_new(fuse_req_t req, struct fs_node *parent, const char *name,
		     struct fs_entry *entry)
{
	struct fs_place place;
	int err = fs_entry_enter_to_change(fs_of(req), parent, name, entry);

	if (!err)
		err = fs_lookup_check_free(entry);
	if (err)
		return err;
	place = fs_entry_place(entry);
	return fs_backing_name_check(&place, name);
}

/* A new directory inherits the settings for new files from its parent. */
static int inherit(const struct fs_entry *entry,
		   const struct fs_maker_what *what)
{
	if (!S_ISDIR(what->mode) ||
	    entry->fs->options.view.xattr == FS_VIEW_OFF)
		return 0;
	return fs_preset_inherit(entry->pin.fd, entry->name);
}

/* Makes a file that is no frame. */
static int make_other(fuse_req_t req, struct fs_node *parent, const char *name,
		      const struct fs_maker_what *what,
		      struct fuse_entry_param *out)
{
	FS_ENTRY(entry);
	struct stat made;
	int err = enter_new(req, parent, name, &entry);

	if (!err)
		err = fs_maker_make(req, entry.pin.fd, name, what);
	if (!err && fstatat(entry.pin.fd, name, &made, AT_SYMLINK_NOFOLLOW))
		err = -ESTALE;
	else if (!err) {
		err = inherit(&entry, what);
		if (!err)
			err = fs_lookup_answer(&entry, out);
		/* If another program moved the file away, leave it. */
		if (err && fs_dir_has(entry.pin.fd, name, &made))
			unlinkat(entry.pin.fd, name,
				 S_ISDIR(what->mode) ? AT_REMOVEDIR : 0);
	}
	return err;
}

/* Makes @entry a hard link to @node, which is no frame. */
static int link_other(const struct fs_entry *entry, struct fs_backed *node)
{
	struct fs_place place = fs_entry_place(entry);
	struct fs_tree *tree = entry->fs->tree;
	FS_PIN(pin);
	char path[FS_DIR_PATH_SIZE];
	int err = fs_backing_name_check(&place, entry->name);

	if (!err)
		err = fs_tree_pin(tree, node, &pin);
	if (err)
		return err;
	return linkat(tree->proc_fd, fs_dir_number(pin.fd, path), entry->pin.fd,
		      entry->name, AT_SYMLINK_FOLLOW)
		       ? -errno
		       : 0;
}

static int link_frame(const struct fs_entry *entry, struct fs_backed *node)
{
	int lock = fs_links_lock(entry);
	int err = fs_links_add(entry, node);

	fs_links_unlock(entry->fs, lock);
	return err;
}

static int do_link(fuse_req_t req, struct fs_node *inode,
		   struct fs_node *new_parent, const char *new_name,
		   struct fuse_entry_param *out)
{
	struct fs *fs = fs_of(req);
	struct fs_backed *node = fs_backed_of(inode);
	FS_ENTRY(entry);
	int err = fs_entry_enter_to_change(fs, new_parent, new_name, &entry);

	pthread_rwlock_rdlock(&fs->names_lock);
	if (!err)
		err = fs_lookup_check_free(&entry);
	if (!err && node->kind == FS_KIND_VIEW)
		err = -EPERM;
	if (!err)
		err = node->kind == FS_KIND_FRAME ? link_frame(&entry, node)
						  : link_other(&entry, node);
	if (!err)
		err = fs_lookup_answer(&entry, out);
	pthread_rwlock_unlock(&fs->names_lock);
	return err;
}

/*
 * A new frame with all that is known of it: the facts save system calls to a
 * program that makes many small files.
 */
struct fresh {
	struct fs_backed *node;
	/* A descriptor of the node. */
	struct fs_pin pin;
	struct fuse_entry_param answer;
	/* Its backing name. */
	char name[FS_NAME_SIZE];
	/* It is being opened for writing. */
	bool writes;
	/* It inherits no attribute of its directory. */
	bool is_plain;
	/* Permissions that finish_frame() takes away again. */
	mode_t lent;
	struct b2f_frame_made made;
};

/*
 * Finds a backing name.  A free one proves that no file is shown as
 * @entry->name; the reason is looked for only if all are taken.
 */
static int find_name(const struct fs_entry *entry, char name[FS_NAME_SIZE])
{
	struct fs_place place = fs_entry_place(entry);
	int err = fs_backing_name_of_frame(
		&place, entry->name,
		fs_suffix_for(entry->name, B2F_SUFFIX_SPARSE), name);
	int taken = err ? fs_lookup_check_free(entry) : 0;

	return taken ? taken : err;
}

/*
 * Opens the directory, or the file of a contiguous frame, by its new name.  The
 * maker's descriptor is older than that name: by inotify(7) other programs
 * would be told of later changes to a file with another one.
 */
static int probe_frame(const struct fs_entry *entry, const struct fresh *fresh,
		       struct fs_probe *out)
{
	struct fs_probe probe = {
		.fd = -1,
		.kind = FS_KIND_FRAME,
		.sparse = S_ISDIR(fresh->made.dir.st_mode),
		.index = fresh->made.index,
	};
	int err = fs_tree_look_at(entry->fs->tree, entry->pin.fd, fresh->name,
				  &probe.fd, &probe.st, &probe.born_ns);

	if (err)
		return err;
	/* Another program has already moved the file away. */
	if (probe.st.st_dev != fresh->made.dir.st_dev ||
	    probe.st.st_ino != fresh->made.dir.st_ino) {
		close(probe.fd);
		return -ESTALE;
	}
	*out = probe;
	return 0;
}

/* Makes the node, with a reference, and pins it. */
static int adopt_frame(const struct fs_entry *entry, struct fresh *fresh)
{
	struct fs *fs = entry->fs;
	struct fs_found found;
	int err = probe_frame(entry, fresh, &found.probe);

	if (err)
		return err;
	memcpy(found.name, fresh->name, sizeof(found.name));
	err = fs_lookup_node(entry, &found, &fresh->answer);
	if (err) {
		fs_probe_close(&found.probe);
		return err;
	}
	fresh->node = fs_backed_of(fs_node_of(fs, fresh->answer.ino));
	fs_tree_pin_opened(fs->tree, fresh->node, found.probe.fd, &fresh->pin);
	fs_cache_state_note_meta(fs, fresh->node, NULL, &found.probe.index);
	err = fs_durable_note_made(fs, fresh->node, entry->pin.fd);
	if (err) {
		fs_tree_unpin(&fresh->pin);
		fs_tree_forget(fresh->node);
	}
	return err;
}

/*
 * Bits besides @mode that a daemon without root's rights needs to open its own
 * file.
 */
static mode_t access_besides(mode_t mode)
{
	return fs_maker_is_root() ? 0 : (S_IRUSR | S_IWUSR) & ~mode;
}

/* Returns the settings of a new file at @entry. */
static struct b2f_settings settings_in(const struct fs_entry *entry,
				       struct fresh *fresh)
{
	struct b2f_settings settings = entry->fs->config.new_files;

	if (entry->fs->options.view.xattr != FS_VIEW_OFF)
		fresh->is_plain = !fs_preset_of_dir(entry->pin.fd, &settings);
	return settings;
}

/* Makes a file that stays locked for a writer; out of a spare one, if any. */
static int make_locked(fuse_req_t req, const struct fs_entry *entry,
		       mode_t mode, const struct b2f_settings *settings,
		       const struct b2f_frame_options *options,
		       struct fresh *fresh)
{
	const struct fs_maker_where where = {.dirfd = entry->pin.fd,
					     .dev = entry->pin.node->dev,
					     .ino = entry->pin.node->ino,
					     .mode = mode};
	int spare = fresh->is_plain ? fs_maker_take_spare(req, &where) : -1;
	bool had_spare = spare >= 0;
	int err = b2f_frame_make_locked(settings, where.dirfd, fresh->name,
					mode, &spare, options, &fresh->made);

	fs_dir_close(spare);
	/* With a new file it may succeed. */
	if (err && err != -EEXIST && had_spare)
		err = b2f_frame_make_locked(settings, where.dirfd, fresh->name,
					    mode, NULL, options, &fresh->made);
	return err;
}

/*
 * Makes the file: as one file, locked for a caller that writes; but as a
 * directory where it could not become one later.
 */
static int make_file(fuse_req_t req, const struct fs_entry *entry, mode_t mode,
		     const struct b2f_settings *settings,
		     const struct b2f_frame_options *options,
		     struct fresh *fresh)
{
	struct fs *fs = entry->fs;
	int dirfd = entry->pin.fd;

	if (!fs->config.small_bytes || atomic_load(&fs->only_sparse))
		return b2f_frame_make(settings, dirfd, fresh->name, mode,
				      options, &fresh->made);
	if (!fresh->writes)
		return b2f_frame_make_small(settings, dirfd, fresh->name, mode,
					    options, &fresh->made);
	return make_locked(req, entry, mode, settings, options, fresh);
}

/* Makes a frame.  Close @fresh->made.frame, and unpin @fresh->pin. */
static int make_frame(fuse_req_t req, const struct fs_entry *entry, mode_t mode,
		      struct fresh *fresh)
{
	struct fs *fs = entry->fs;
	struct b2f_frame_options options = {
		.log = fs_logger_sink(fs->logger),
		.reserve = b2f_runtime_reserve(fs->runtime),
	};
	struct b2f_settings settings = settings_in(entry, fresh);
	B2F_OWN char *label = NULL;
	int err = find_name(entry, fresh->name);

	if (!err)
		err = fs_disk_frame_label(fs, entry->pin.node, fresh->name,
					  &label);
	if (err)
		return err;
	options.label = label;
	fresh->lent = access_besides(mode);
	mode = fs_setattr_new_mode(req, entry->pin.fd, mode) | fresh->lent;
	fs_maker_begin(req);
	err = make_file(req, entry, mode, &settings, &options, fresh);
	fs_maker_end(req);
	if (err)
		return err;
	err = adopt_frame(entry, fresh);
	if (err) {
		b2f_frame_close(fresh->made.frame);
		/* Remove the new file, if it still has its name. */
		if (fs_dir_has(entry->pin.fd, fresh->name, &fresh->made.dir))
			fs_unlinked_delete(fs, entry->pin.fd, fresh->name,
					   &fresh->made.dir);
	}
	return err;
}

/* Takes @fresh->lent away again, and renews the answer's attributes. */
static int finish_frame(struct fs *fs, struct fresh *fresh)
{
	struct fs_setattr meta = fs_setattr_none();
	int err;

	if (!fresh->lent)
		return 0;
	meta.has_mode = true;
	meta.mode = fresh->made.index.st_mode & 07777 & ~fresh->lent;
	err = fs_setattr_frame(fs, fresh->node, fresh->pin.fd, &meta);
	/* Some filesystems do not store modes. */
	if (err == -EPERM || err == -EINVAL || err == -EOPNOTSUPP)
		err = 0;
	if (!err)
		err = fs_getattr(fs, fresh->node, &fresh->answer.attr);
	return err;
}

/* Deletes what make_frame() made. */
static void undo_frame(const struct fs_entry *entry, struct fresh *fresh)
{
	struct fs_found found;

	fs_tree_forget(fresh->node);
	if (fs_lookup_find(entry, &found))
		return;
	if (fs_dir_has(entry->pin.fd, found.name, &fresh->made.dir))
		(void)!fs_entry_delete(entry, &found);
	fs_probe_close(&found.probe);
}

/*
 * Is it known that no program locks the new file?  Its lock file would have
 * been there when its name was chosen, and is looked for on the disk otherwise.
 */
static bool has_no_lock_file(const struct fs_entry *entry,
			     const struct fresh *fresh)
{
	const struct fs_backed *dir = entry->pin.node;
	char lock[FS_NAME_SIZE + sizeof(B2F_LOCK_NAME)];
	struct fs_known_name known;

	snprintf(lock, sizeof(lock), "%s" B2F_LOCK_NAME, fresh->name);
	known = fs_known_look(&entry->fs->known, dir->dev, dir->ino, lock);
	return known.is_known && !known.exists &&
	       !S_ISDIR(fresh->made.dir.st_mode);
}

/* Opens the frame while the daemon may still read it. */
static int open_frame(const struct fs_entry *entry, struct fresh *fresh,
		      const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_open_how new_how = *how;
	struct fs *fs = entry->fs;
	struct fs_handle *handle;
	int err;

	new_how.no_lock_file = has_no_lock_file(entry, fresh);
	err = fs_tree_handle_open_made(fs, fresh->node, fresh->made.frame,
				       &new_how, &handle);
	if (err)
		return err;
	/* Keep the attributes: the file may become unreadable. */
	pthread_mutex_lock(&fs->state_lock);
	handle->frame->attr = fresh->answer.attr;
	pthread_mutex_unlock(&fs->state_lock);
	err = finish_frame(fs, fresh);
	if (err)
		fs_handle_close(fs, handle);
	else
		*out = handle;
	return err;
}

/* @how: how to open the file; NULL: not at all. */
static int do_create(fuse_req_t req, struct fs_node *parent, const char *name,
		     mode_t mode, const struct fs_open_how *how,
		     struct fuse_entry_param *out, struct fs_handle **handle)
{
	struct fs *fs = fs_of(req);
	FS_ENTRY(entry);
	struct fresh fresh = {.writes = how &&
					(how->flags & O_ACCMODE) != O_RDONLY};
	int err = fs_entry_enter_to_change(fs, parent, name, &entry);

	if (!err)
		err = make_frame(req, &entry, mode, &fresh);
	/*
	 * Another program made the file first: on ESTALE the kernel looks it up
	 * and opens it.
	 */
	if (err == -EEXIST && how && !(how->flags & O_EXCL) &&
	    fs_lookup_check_free(&entry) == -EEXIST)
		err = -ESTALE;
	if (!err) {
		if (how) {
			err = open_frame(&entry, &fresh, how, handle);
		} else {
			b2f_frame_close(fresh.made.frame);
			err = finish_frame(fs, &fresh);
		}
		if (err)
			undo_frame(&entry, &fresh);
	}
	fs_tree_unpin(&fresh.pin);
	*out = fresh.answer;
	return err;
}

static int do_make(fuse_req_t req, struct fs_node *parent, const char *name,
		   const struct fs_maker_what *what,
		   struct fuse_entry_param *out)
{
	if (S_ISREG(what->mode))
		return do_create(req, parent, name, what->mode, NULL, out,
				 NULL);
	/* It would be taken for a name of a frame with several names. */
	if (what->target && b2f_home_is_target(what->target))
		return -EPERM;
	return make_other(req, parent, name, what, out);
}

static int delete_found(const struct fs_entry *entry,
			const struct fs_found *found)
{
	int lock, err;

	if (found->probe.kind == FS_KIND_DIR)
		return -EISDIR;
	if (!found->probe.home[0])
		return fs_entry_delete(entry, found);
	lock = fs_links_lock(entry);
	err = fs_entry_delete(entry, found);
	fs_links_unlock(entry->fs, lock);
	return err;
}

static int do_remove(fuse_req_t req, struct fs_node *parent, const char *name,
		     bool is_dir)
{
	struct fs *fs = fs_of(req);
	/*
	 * A pack is a plain file in SOURCE, but a directory here: it has to be
	 * empty to be removed.
	 */
	int is = is_dir ? fs_packs_look_inside(fs, parent, name) : 1, err;
	struct fs_found found;
	FS_ENTRY(entry);

	if (is < 0)
		return is;
	is_dir = !is;
	err = fs_entry_enter_to_change(fs, parent, name, &entry);
	if (!is_dir)
		pthread_rwlock_rdlock(&fs->names_lock);
	if (!err)
		err = fs_lookup_find(&entry, &found);
	if (err == -ENOENT && !is_dir && fs_lookup_has_view(&entry))
		err = -EPERM;
	if (!err) {
		err = is_dir && found.probe.kind != FS_KIND_DIR
			      ? -ENOTDIR
			      : fs_entry_check_sticky(req, &entry, &found);
		if (!err)
			err = is_dir ? fs_entry_delete_dir(&entry, &found)
				     : delete_found(&entry, &found);
		fs_probe_close(&found.probe);
	}
	if (!is_dir)
		pthread_rwlock_unlock(&fs->names_lock);
	return err;
}

const struct fs_change_ops fs_volume_tree_changes = {
	.setattr = fs_volume_tree_setattr,
	.create = do_create,
	.make = do_make,
	.link = do_link,
	.remove = do_remove,
	.rename = fs_volume_tree_rename,
};
