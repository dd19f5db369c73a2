/* SPDX-License-Identifier: BSD-3-Clause */
/* volume_tree.c - reads of the files of a backing filesystem */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "dir.h"
#include "entry.h"
#include "getattr.h"
#include "listing.h"
#include "packs.h"
#include "view.h"
#include "volume_tree.h"

static int do_lookup(struct fs *fs, struct fs_node *dir, const char *name,
		     struct fuse_entry_param *out)
{
	FS_ENTRY(entry);
	int err, is = fs_packs_enter(fs, dir, name, out);

	if (is)
		return is < 0 ? is : 0;
	err = fs_entry_enter(fs, dir, name, &entry);
	pthread_rwlock_rdlock(&fs->names_lock);
	if (!err)
		err = fs_lookup_answer(&entry, out);
	pthread_rwlock_unlock(&fs->names_lock);
	return err;
}

static int do_stat(struct fs *fs, struct fs_node *inode, struct stat *out)
{
	return fs_getattr(fs, fs_backed_of(inode), out);
}

static int do_statfs(struct fs *fs, struct fs_node *inode, struct statvfs *out)
{
	FS_PIN(pin);
	int err = fs_tree_pin(fs->tree, fs_backed_of(inode), &pin);

	if (!err && fstatvfs(pin.fd, out))
		err = -errno;
	/* A new file becomes a frame, whose name has a suffix. */
	if (!err && out->f_namemax > FS_SUFFIX_RESERVED)
		out->f_namemax -= FS_SUFFIX_RESERVED;
	return err;
}

static int do_readlink(struct fs *fs, struct fs_node *inode,
		       char target[PATH_MAX + 1])
{
	FS_PIN(pin);
	int err = fs_tree_pin(fs->tree, fs_backed_of(inode), &pin);
	ssize_t n;

	if (err)
		return err;
	n = readlinkat(pin.fd, "", target, PATH_MAX);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	return 0;
}

static int do_open(struct fs *fs, struct fs_node *inode,
		   const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_backed *node = fs_backed_of(inode);

	return how->flags & O_TRUNC
		       ? fs_volume_tree_open_cut(fs, node, how, out)
		       : fs_tree_handle_open(fs, node, how, out);
}

static int do_opendir(struct fs *fs, struct fs_node *inode,
		      const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_backed *node = fs_backed_of(inode);
	struct fs_listing *listing = NULL;
	int err = node->kind == FS_KIND_SINGLE
			  ? 0
			  : fs_listing_new(fs, node, &listing);

	if (!err)
		err = fs_tree_handle_open_listing(fs, node, listing, how->uid,
						  out);
	if (err)
		fs_listing_free(listing);
	return err;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Attributes are looked up for plain names only: a pack is looked up later, and
 * the kernel does not want dots.
 */
static bool is_looked_up(const struct fs_entry *dir,
			 const struct fs_listed *listed)
{
	return dir->pin.node && !is_dots(listed->name) &&
	       !b2f_pack_is_name(listed->name);
}

/* Adds @listed, with attributes if the kernel asks for them. */
static bool put(struct fs *fs, struct fs_entry *dir, struct fs_listed *listed,
		off_t next, struct fs_answer *answer)
{
	struct fuse_entry_param param;

	/* Do not look it up if it does not fit. */
	if (answer->plus && !fs_answer_has_room(answer, listed->name))
		return false;
	dir->name = listed->name;
	if (!answer->plus || !is_looked_up(dir, listed) ||
	    fs_lookup_listed(dir, &listed->frame, &param))
		/* The kernel will look it up itself. */
		return fs_answer_put_name(answer, listed->name, listed->ino,
					  DTTOIF(listed->type), next);
	fs_stats_add(&fs->stats.nlookups, 1);
	return fs_answer_put(answer, listed->name, &param, next);
}

static bool lists_views(const struct fs *fs)
{
	return fs->options.view.npy == FS_VIEW_LIST;
}

/* Adds the view of @listed, if it has one. */
static bool put_view(struct fs *fs, struct fs_entry *dir,
		     const struct fs_listed *listed, off_t next,
		     struct fs_answer *answer)
{
	struct fs_listed view = {.ino = fs_view_ino(listed->ino),
				 .type = DT_REG,
				 .frame.probe.fd = -1};

	if (!dir->pin.node || is_dots(listed->name) ||
	    !fs_view_name(listed->name, view.name))
		return true;
	dir->name = view.name;
	/* A file with this name is listed itself. */
	return !fs_lookup_has_view(dir) || fs_lookup_check_free(dir) ||
	       put(fs, dir, &view, next, answer);
}

/* Each entry has two positions, one for its view. */
static int fill(struct fs *fs, struct fs_entry *dir, struct fs_listing *listing,
		off_t pos, struct fs_answer *answer)
{
	bool is_put = true, is_view, lists = lists_views(fs);
	struct fs_listed entry;
	int result = 1;

	while (is_put && result == 1) {
		/* Keeps the name until its file has a node. */
		pthread_rwlock_rdlock(&fs->names_lock);
		result = fs_listing_get(fs, listing, pos / 2, !answer->plus,
					&entry);
		if (result == 1) {
			/* Behind an entry that has gone there is the next. */
			is_view = pos % 2 && entry.next_pos == pos / 2 + 1;
			pos = 2 * entry.next_pos;
			is_put = (is_view ||
				  put(fs, dir, &entry, pos - lists, answer)) &&
				 (!lists ||
				  put_view(fs, dir, &entry, pos, answer));
		}
		pthread_rwlock_unlock(&fs->names_lock);
		if (result == 1 && entry.frame.probe.was_read)
			fs_listing_look_ahead(fs, listing);
		if (result == 1)
			fs_probe_close(&entry.frame.probe);
	}
	return result < 0 ? result : 0;
}

static struct fs_answer_name single_at(const struct fs_answer_names *names,
				       size_t i)
{
	const struct fs *fs = names->dir->volume->fs;

	(void)i;
	return (struct fs_answer_name){fs->source.shown,
				       *(const uint64_t *)names->of, S_IFREG};
}

/* Lists the directory around a single frame, which may miss for a moment. */
static int list_single(struct fs *fs, struct fs_node *dir, off_t off,
		       struct fs_answer *answer)
{
	uint64_t ino = 0;
	struct fs_answer_names names = {
		.dir = dir, .ino = FUSE_ROOT_ID, .get = single_at, .of = &ino};
	struct fs_backed *root = fs_backed_of(dir);
	int64_t born_ns;
	struct stat st;
	int fd;

	if (!fs_tree_look_at(fs->tree, root->fd, fs->source.name, &fd, &st,
			     &born_ns)) {
		close(fd);
		ino = fs_getattr_ino(fs, st.st_dev, st.st_ino);
		names.n = 1;
	}
	fs_answer_list(answer, &names, off);
	return 0;
}

static int do_list(struct fs *fs, struct fs_node *inode,
		   struct fs_handle *handle, off_t off,
		   struct fs_answer *answer)
{
	/* If another program has deleted the directory, it is not pinned. */
	FS_ENTRY(dir);

	if (!handle->listing)
		return list_single(fs, inode, off, answer);
	if (answer->plus || lists_views(fs))
		(void)!fs_entry_enter(fs, inode, "", &dir);
	/* Several threads may share one open directory. */
	B2F_HOLD(&handle->lock);
	fs_listing_begin(handle->listing);
	return fill(fs, &dir, handle->listing, off, answer);
}

static int do_sync_dir(const struct fs_handle *handle)
{
	return fs_dir_sync_names(handle->pin.fd);
}

const struct fs_volume_ops fs_volume_tree = {
	.lookup = do_lookup,
	.release = fs_tree_release,
	.made_again = fs_lookup_made_again,
	.stat = do_stat,
	.statfs = do_statfs,
	.readlink = do_readlink,
	.open = do_open,
	.opendir = do_opendir,
	.list = do_list,
	.sync_dir = do_sync_dir,
	.xattr = &fs_volume_tree_xattr,
	.changes = &fs_volume_tree_changes,
};
