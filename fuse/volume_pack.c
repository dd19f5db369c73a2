/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_pack.c - stores that are one file (packs.h), as directories, which are
 * only read
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer.h"
#include "bucket_node.h"
#include "disk_frame.h"
#include "getattr.h"
#include "packs.h"
#include "table_rows.h"
#include "view.h"
#include "volume.h"
#include "wakeup.h"

/* The member at @inode, directly or through its view. */
static struct fs_member *member_of(struct fs_node *inode)
{
	size_t at = inode->is_view ? offsetof(struct fs_member, as_view) : 0;

	return (struct fs_member *)((char *)inode - at);
}

static size_t index_of(const struct fs_member *node)
{
	return (size_t)(node - node->pack->nodes);
}

static const struct b2f_pack_entry *entry_of(const struct fs_member *node)
{
	return b2f_pack_entry(node->pack->open.pack, index_of(node));
}

/* Opens the frame of @node without data, as b2f_pack_open_frame(). */
static int open_frame(struct fs *fs, const struct fs_member *node,
		      struct b2f_frame **out)
{
	const struct fs_pack *pack = node->pack;
	struct b2f_frame_options options = {
		.log = fs_logger_sink(fs->logger),
		.reserve = b2f_runtime_reserve(fs->runtime),
	};
	B2F_OWN char *label =
		b2f_io_text("%s/%s", pack->label, entry_of(node)->path);

	if (!label)
		return -ENOMEM;
	options.label = label;
	return b2f_pack_open_frame(pack->open.pack, index_of(node), &options,
				   out);
}

static int open_file(struct fs *fs, const struct fs_member *node,
		     struct b2f_file **out)
{
	struct b2f_frame *frame = NULL;
	uint64_t n = 0;
	int err = open_frame(fs, node, &frame);

	if (!err && !fs_table_rows_count_in_pack(node->pack->open.pack,
						 index_of(node), frame, &n))
		fs_table_rows_warn(fs, frame, n);
	if (!err)
		err = b2f_file_open(fs->runtime, frame, out);
	if (err)
		b2f_frame_close(frame);
	else if (node->pack->path)
		b2f_file_stay(*out);
	return err;
}

/* Returns the node's open file, made by the first open; or NULL. */
static struct fs_file *file_of(struct fs *fs, struct fs_member *node)
{
	struct fs_file *file;
	B2F_HOLD(&fs->state_lock);

	if (!node->file)
		node->file = calloc(1, sizeof(*node->file));
	file = node->file;
	if (file)
		file->stays_s = node->pack->path ? FS_FILE_STAYS_S : 0;
	return file;
}

/*
 * Opens the data of the frame @node; opens share them.  Give @node->file back
 * with fs_file_close().  Returns as b2f_pack_open_frame(), or -ENOMEM.
 */
static int open_data(struct fs *fs, struct fs_member *node)
{
	struct b2f_file *data = NULL;
	struct fs_file *file = file_of(fs, node);
	int err;

	if (!file)
		return -ENOMEM;
	if (fs_file_share(fs, file))
		return 0;
	err = open_file(fs, node, &data);
	if (!err)
		(void)fs_file_add(fs, file, data);
	return err;
}

/* A program that asks for sizes is about to read: keep it open. */
static int read_open_sizes(struct fs *fs, struct fs_member *node,
			   struct fs_sizes_shown *out)
{
	int err = open_data(fs, node);

	if (err)
		return err;
	err = fs_sizes_read(b2f_file_frame(node->file->data), out);
	fs_file_close(fs, node->file);
	return err;
}

/* Opens the frame for its sizes; a damaged frame shows 0. */
static int read_sizes(struct fs *fs, struct fs_member *node,
		      struct fs_sizes_shown *out)
{
	struct fs_sizes_shown sizes = {.known = true};
	struct b2f_frame *frame = NULL;
	int err = node->pack->path ? read_open_sizes(fs, node, &sizes)
				   : open_frame(fs, node, &frame);

	if (frame)
		err = fs_sizes_read(frame, &sizes);
	else if (b2f_is_format_error(err))
		err = 0;
	b2f_frame_close(frame);
	if (!err)
		*out = sizes;
	return err;
}

static int get_sizes(struct fs *fs, struct fs_member *node,
		     struct fs_sizes_shown *out)
{
	struct fs_sizes_shown sizes;
	int err = 0;

	pthread_mutex_lock(&fs->state_lock);
	sizes = node->sizes;
	pthread_mutex_unlock(&fs->state_lock);
	if (!sizes.known)
		err = read_sizes(fs, node, &sizes);
	if (err)
		return err;
	B2F_HOLD(&fs->state_lock);
	*out = node->sizes = sizes;
	return 0;
}

/* A user who may read the file may enter the directory. */
static mode_t mode_of(const struct fs *fs, mode_t file_mode, bool is_dir)
{
	mode_t mode = file_mode & 0444;

	return is_dir ? S_IFDIR | ((mode | mode >> 2) & ~fs->config.dir_mask)
		      : S_IFREG | mode;
}

/* Attributes of @inode.  Returns 0 or an errno. */
static int get_attributes(struct fs *fs, struct fs_node *inode,
			  struct stat *out)
{
	struct fs_member *node = member_of(inode);
	const struct b2f_pack_entry *e = entry_of(node);
	struct fs_sizes_shown sizes = {.nbytes = e->size, .cbytes = e->size};
	int err = 0;

	if (e->kind == B2F_PACK_FRAME)
		err = get_sizes(fs, node, &sizes);
	if (err)
		return err;
	pthread_mutex_lock(&fs->state_lock);
	*out = node->pack->st;
	pthread_mutex_unlock(&fs->state_lock);
	out->st_mode = mode_of(fs, out->st_mode, e->kind == B2F_PACK_DIR);
	out->st_ino = inode->is_view ? fs_view_ino(node->ino) : node->ino;
	/* Its subdirectories are not counted. */
	out->st_nlink = 1;
	fs_sizes_show(&sizes, inode->is_view, out);
	return 0;
}

static void free_pack(struct fs *fs, struct fs_pack *pack)
{
	if (!pack)
		return;
	fs_tree_forget(pack->dir);
	for (size_t i = 0; pack->nodes && i < pack->nentries; i++) {
		if (pack->nodes[i].file)
			fs_file_fini(fs, pack->nodes[i].file);
		free(pack->nodes[i].file);
	}
	fs_file_fini(fs, &pack->open);
	free(pack->path);
	free(pack->nodes);
	free(pack->label);
	free(pack->name);
	free(pack);
}

void fs_packs_fini(struct fs *fs)
{
	struct fs_pack *pack;

	while ((pack = TAILQ_FIRST(&fs->packs.all))) {
		TAILQ_REMOVE(&fs->packs.all, pack, all);
		free_pack(fs, pack);
	}
}

/* Frees @root, the first node of a pack (volume.h). */
static struct fs_node *do_release(struct fs_node *root)
{
	struct fs_pack *pack = member_of(root)->pack;
	struct fs *fs = pack->fs;

	pthread_mutex_lock(&fs->state_lock);
	TAILQ_REMOVE(&fs->packs.all, pack, all);
	pthread_mutex_unlock(&fs->state_lock);
	free_pack(fs, pack);
	return NULL;
}

/*
 * Takes a reference, if @pack has this path and stamp.  The path counts,
 * because in a bucket objects with the same content have the same stamp.
 */
static bool take_if(const struct fs_pack *pack, const char *path,
		    const struct b2f_frame_stamp *stamp)
{
	return b2f_frame_stamp_equal(&pack->stamp, stamp) &&
	       strcmp(pack->path ? pack->path : "", path ? path : "") == 0 &&
	       fs_node_try_ref(&pack->nodes[0].head);
}

/* fs_packs_known(), locked. */
static struct fs_pack *find_pack(struct fs *fs, const char *path,
				 const struct b2f_frame_stamp *stamp)
{
	struct fs_pack *pack;

	TAILQ_FOREACH (pack, &fs->packs.all, all)
		if (take_if(pack, path, stamp))
			break;
	return pack;
}

struct fs_pack *fs_packs_known(struct fs *fs, const char *path,
			       const struct b2f_frame_stamp *stamp)
{
	B2F_HOLD(&fs->state_lock);

	return find_pack(fs, path, stamp);
}

/* Opens the file @name, which has to be the version of @pack. */
static int open_version(struct fs *fs, const struct fs_pack *pack, int dirfd,
			const char *name, struct b2f_pack **out)
{
	const struct b2f_frame_options options = {
		.log = fs_logger_sink(fs->logger),
		.label = pack->label,
		.nofollow = true,
		.reserve = b2f_runtime_reserve(fs->runtime),
	};
	struct b2f_frame_stamp stamp;
	struct b2f_pack *opened = NULL;
	int err = b2f_pack_open(&options, dirfd, name, &opened);

	if (err)
		return err == -ENOENT ? -ESTALE : err;
	stamp = b2f_pack_stamp(opened);
	if (!b2f_frame_stamp_same_data(&stamp, &pack->stamp, false)) {
		b2f_pack_close(opened);
		return -ESTALE;
	}
	*out = opened;
	return 0;
}

/* Opens the file again by the name under which it was found. */
static int open_again(struct fs *fs, const struct fs_pack *pack,
		      struct b2f_pack **out)
{
	FS_PIN(pin);
	int err = fs_tree_pin(fs->tree, pack->dir, &pin);

	return err ? err : open_version(fs, pack, pin.fd, pack->name, out);
}

static void unuse(struct fs *fs, struct fs_pack *pack)
{
	fs_file_close(fs, &pack->open);
}

/*
 * Opens @pack->open until unuse(); the caller has a reference.  Returns 0,
 * -ESTALE (the name leads to another file or version) or an errno.
 */
static int use(struct fs *fs, struct fs_pack *pack)
{
	struct b2f_pack *opened = NULL;
	int err;

	if (fs_file_share(fs, &pack->open)) {
		err = pack->path ? 0 : b2f_pack_check(pack->open.pack);
		if (err)
			unuse(fs, pack);
		return err;
	}
	err = open_again(fs, pack, &opened);
	if (!err)
		(void)fs_file_add(fs, &pack->open, opened);
	return err;
}

/* Attributes of a file: the stored ones, and the ones shown. */
struct look {
	struct stat st;
	struct stat shown;
};

/* Looks at @name.  -ENOENT: it is not a plain file. */
static int look_at(struct fs *fs, int dirfd, const char *name, struct look *out)
{
	struct fs_probe probe = {.kind = FS_KIND_OTHER};
	int err = fs_tree_look_at(fs->tree, dirfd, name, &probe.fd, &probe.st,
				  &probe.born_ns);

	if (err)
		return err;
	out->st = probe.st;
	fs_getattr_of_probe(fs, &probe, &out->shown);
	close(probe.fd);
	return S_ISREG(probe.st.st_mode) ? 0 : -ENOENT;
}

/* How long a file of the tree stays open without a user, s. */
#define STAYS_S 1

/* Makes a pack that is not open yet; NULL: no memory. */
static struct fs_pack *new_pack(struct fs *fs, struct fs_backed *dir,
				const char *name, const struct look *look)
{
	struct fs_pack *pack = calloc(1, sizeof(*pack));

	if (!pack)
		return NULL;
	pack->fs = fs;
	pack->open = (struct fs_file){
		.is_pack = true, .nrefs = 1, .stays_s = STAYS_S};
	pack->st = look->shown;
	pack->stamp = b2f_frame_stamp_of(&look->st);
	if (dir) {
		fs_node_ref(&dir->head);
		pack->dir = dir;
	}
	pack->name = strdup(name);
	if (pack->name && dir)
		(void)!fs_disk_frame_label(fs, dir, name, &pack->label);
	else if (pack->name)
		pack->label = strdup(fs->source.path);
	if (pack->label)
		return pack;
	free_pack(fs, pack);
	return NULL;
}

static int make_nodes(struct fs_pack *pack)
{
	struct fs_volume *volume = &pack->fs->packs.volume;

	pack->nentries = b2f_pack_count(pack->open.pack);
	pack->nodes = calloc(pack->nentries, sizeof(*pack->nodes));
	for (size_t i = 0; pack->nodes && i < pack->nentries; i++) {
		struct fs_member *node = &pack->nodes[i];
		struct fs_node *first = &pack->nodes[0].head;

		fs_node_init(&node->head, volume, i ? first : NULL);
		fs_node_init(&node->as_view, volume, first);
		node->as_view.is_view = true;
		node->pack = pack;
		/* The file's own number, then numbers of no filesystem. */
		node->ino = pack->st.st_ino + ((uint64_t)i << 36);
	}
	return pack->nodes ? 0 : -ENOMEM;
}

/*
 * Adds the open @pack to the list, or takes the one that another thread added;
 * it gets a reference and a user.
 */
static struct fs_pack *publish(struct fs *fs, struct fs_pack *pack)
{
	struct fs_pack *known;

	pthread_mutex_lock(&fs->state_lock);
	known = find_pack(fs, pack->path, &pack->stamp);
	if (!known)
		TAILQ_INSERT_TAIL(&fs->packs.all, pack, all);
	pthread_mutex_unlock(&fs->state_lock);
	if (!known)
		return pack;
	(void)fs_file_add(fs, &known->open, pack->open.pack);
	pack->open.pack = NULL;
	free_pack(fs, pack);
	return known;
}

/*
 * Opens @name in @dir, which look_at() has just seen (NULL: as the root of the
 * mount), with a reference and a user.
 */
static int open_pack(struct fs *fs, struct fs_backed *dir, int dirfd,
		     const char *name, const struct look *look,
		     struct fs_pack **out)
{
	struct fs_pack *pack = new_pack(fs, dir, name, look);
	int err = -ENOMEM;

	if (pack)
		err = open_version(fs, pack, dirfd, name, &pack->open.pack);
	if (!err)
		err = make_nodes(pack);
	if (err)
		free_pack(fs, pack);
	else
		*out = publish(fs, pack);
	return err;
}

/* Sets the inode numbers of the members of a pack in a bucket. */
static int number_nodes(struct fs_pack *pack)
{
	for (size_t i = 0; i < pack->nentries; i++) {
		struct fs_member *node = &pack->nodes[i];
		B2F_OWN char *path =
			fs_bucket_node_join(pack->path, entry_of(node)->path);

		if (!path)
			return -ENOMEM;
		node->ino = fs_bucket_node_number(path);
	}
	return 0;
}

int fs_packs_adopt(struct fs *fs, const char *path, struct b2f_pack *opened,
		   const struct stat *st, struct fs_pack **out)
{
	struct fs_pack *pack = calloc(1, sizeof(*pack));
	int err;

	if (!pack) {
		b2f_pack_close(opened);
		return -ENOMEM;
	}
	pack->fs = fs;
	/* This user stays as long as the nodes. */
	pack->open =
		(struct fs_file){.pack = opened, .is_pack = true, .nrefs = 1};
	pack->stamp = b2f_pack_stamp(opened);
	pack->st = *st;
	pack->path = strdup(path);
	pack->label =
		fs_bucket_node_join(b2f_remote_label(fs->bucket->place), path);
	err = pack->path && pack->label ? make_nodes(pack) : -ENOMEM;
	if (!err)
		err = number_nodes(pack);
	if (err) {
		free_pack(fs, pack);
		return err;
	}
	*out = publish(fs, pack);
	return 0;
}

/* Like fs_packs_look(); a pack is in the version @look. */
static int look_for_pack(struct fs *fs, int dirfd, const char *name,
			 struct look *look)
{
	bool is = false;
	int err;

	if (!b2f_pack_is_name(name))
		return 0;
	/* Does not cross a mountpoint of our own; see fs_tree_look_at(). */
	err = look_at(fs, dirfd, name, look);
	if (!err)
		err = b2f_pack_look(dirfd, name, &is);
	return fs_probe_is_failure(err) ? err : !err && is;
}

int fs_packs_look(struct fs *fs, int dirfd, const char *name)
{
	struct look look;

	return look_for_pack(fs, dirfd, name, &look);
}

/* Did an open of @stamp fail before?  @now: notes that it does. */
static bool has_failed(struct fs *fs, const struct b2f_frame_stamp *stamp,
		       bool now)
{
	B2F_HOLD(&fs->state_lock);
	bool failed = b2f_frame_stamp_equal(&fs->packs.failed, stamp);

	if (now)
		fs->packs.failed = *stamp;
	return failed;
}

/* Gets the pack @name in the pinned @dir with a reference and a user. */
static int get_pack_at(struct fs *fs, const struct fs_pin *dir,
		       const char *name, struct fs_pack **out)
{
	struct b2f_frame_stamp stamp;
	struct fs_pack *pack;
	struct look look;
	int is = look_for_pack(fs, dir->fd, name, &look), err;

	if (is != 1)
		return is;
	stamp = b2f_frame_stamp_of(&look.st);
	pack = fs_packs_known(fs, NULL, &stamp);
	err = pack ? use(fs, pack) : 0;
	if (pack && !err) {
		*out = pack;
		return 1;
	}
	/* Its directory was renamed: by its new path it is another pack. */
	if (pack)
		fs_packs_put(pack);
	if (pack && err != -ESTALE)
		return err;
	if (has_failed(fs, &stamp, false))
		return 0;
	err = open_pack(fs, dir->node, dir->fd, name, &look, out);
	if (!err)
		return 1;
	if (b2f_is_format_error(err))
		has_failed(fs, &stamp, true);
	return b2f_is_format_error(err) ? 0 : err;
}

/* The same in the directory @parent of the tree; not beside a single frame. */
static int get_pack(struct fs *fs, struct fs_node *parent, const char *name,
		    struct fs_pack **out)
{
	struct fs_backed *dir = fs_backed_of(parent);
	FS_PIN(pin);
	int err;

	if (!b2f_pack_is_name(name) || dir->kind == FS_KIND_SINGLE)
		return 0;
	err = fs_tree_pin(fs->tree, dir, &pin);
	return err ? err : get_pack_at(fs, &pin, name, out);
}

int fs_packs_open_root(struct fs *fs)
{
	int dirfd = fs->tree->root->fd;
	struct fs_pack *pack = NULL;
	struct look look;
	size_t entry = 0;
	int err = look_at(fs, dirfd, fs->source.name, &look);

	if (!err)
		err = open_pack(fs, NULL, dirfd, fs->source.name, &look, &pack);
	/* The directory was there when the source was checked. */
	if (!err &&
	    (b2f_pack_find(pack->open.pack, fs->source.inside, &entry) ||
	     b2f_pack_entry(pack->open.pack, entry)->kind != B2F_PACK_DIR))
		err = -ESTALE;
	/* The reference and the user last until the unmount. */
	if (!err)
		fs->nodes.root = &pack->nodes[entry].head;
	return err;
}

int fs_packs_answer(struct fs *fs, struct fs_node *inode,
		    struct fuse_entry_param *answer)
{
	struct stat st;
	int err = get_attributes(fs, inode, &st);

	if (err)
		return err;
	*answer = fs_node_answer(inode);
	answer->attr = st;
	fs_node_ref(inode);
	return 0;
}

int fs_packs_enter(struct fs *fs, struct fs_node *dir, const char *name,
		   struct fuse_entry_param *answer)
{
	struct fs_pack *pack = NULL;
	int is = get_pack(fs, dir, name, &pack), err;

	if (is != 1)
		return is;
	err = fs_packs_answer(fs, &pack->nodes[0].head, answer);
	unuse(fs, pack);
	fs_packs_put(pack);
	return err ? err : 1;
}

int fs_packs_look_inside(struct fs *fs, struct fs_node *dir, const char *name)
{
	struct fs_pack *pack = NULL;
	int is = get_pack(fs, dir, name, &pack);

	if (is != 1)
		return is;
	is = pack->nentries == 1 ? 1 : -ENOTEMPTY;
	unuse(fs, pack);
	fs_packs_put(pack);
	return is;
}

/* Finds the array whose view would have the name @name.  May open it. */
static int find_view(struct fs *fs, struct fs_pack *pack, size_t dir,
		     const char *name, size_t *out)
{
	struct fs_sizes_shown sizes;
	char stem[FS_NAME_SIZE];
	int err = -ENOENT;

	if (fs_view_stem(fs, name, stem))
		err = b2f_pack_lookup(pack->open.pack, dir, stem, out);
	if (!err && entry_of(&pack->nodes[*out])->kind != B2F_PACK_FRAME)
		err = -ENOENT;
	if (!err)
		err = get_sizes(fs, &pack->nodes[*out], &sizes);
	return !err && sizes.head_len == 0 ? -ENOENT : err;
}

/*
 * Finds @name, which may be a view, in the directory @dir, and answers as
 * above.  From here on the pack must have a user.  Returns 0, -ENOENT, -ENOTDIR
 * or an errno.
 */
static int lookup_in(struct fs *fs, struct fs_member *dir, const char *name,
		     struct fuse_entry_param *answer)
{
	struct fs_pack *pack = dir->pack;
	size_t entry, parent = index_of(dir);
	int err = b2f_pack_lookup(pack->open.pack, parent, name, &entry);

	if (!err)
		return fs_packs_answer(fs, &pack->nodes[entry].head, answer);
	if (err == -ENOENT)
		err = find_view(fs, pack, parent, name, &entry);
	return err ? err
		   : fs_packs_answer(fs, &pack->nodes[entry].as_view, answer);
}

static int do_lookup(struct fs *fs, struct fs_node *inode, const char *name,
		     struct fuse_entry_param *out)
{
	struct fs_member *dir = member_of(inode);
	int err = use(fs, dir->pack);

	if (err)
		return err;
	err = lookup_in(fs, dir, name, out);
	unuse(fs, dir->pack);
	return err;
}

/*
 * Takes over a new owner and new permissions of the file.  If its name leads to
 * another file now, those last seen stay.
 */
static void renew_attributes(struct fs *fs, struct fs_pack *pack)
{
	struct fs_pin pin = {.fd = fs->tree->root->fd};
	struct b2f_frame_stamp stamp;
	struct look look;

	if (pack->dir && fs_tree_pin(fs->tree, pack->dir, &pin))
		return;
	if (look_at(fs, pin.fd, pack->name, &look) == 0) {
		stamp = b2f_frame_stamp_of(&look.st);
		B2F_HOLD(&fs->state_lock);
		if (b2f_frame_stamp_same_data(&stamp, &pack->stamp, false))
			pack->st = look.shown;
	}
	if (pack->dir)
		fs_tree_unpin(&pin);
}

static int do_stat(struct fs *fs, struct fs_node *inode, struct stat *out)
{
	struct fs_pack *pack = member_of(inode)->pack;
	int err = use(fs, pack);

	if (err)
		return err;
	if (!pack->path)
		renew_attributes(fs, pack);
	err = get_attributes(fs, inode, out);
	unuse(fs, pack);
	return err;
}

/* A pack lies on the backing filesystem. */
static int do_statfs(struct fs *fs, struct fs_node *inode, struct statvfs *out)
{
	struct fs_node *below =
		fs->bucket ? &fs->bucket->root->head : &fs->tree->root->head;

	(void)inode;
	return below->volume->ops->statfs(fs, below, out);
}

static ssize_t pread_member(struct fs *fs, const struct fs_handle *handle,
			    void *buf, size_t size, uint64_t off)
{
	const struct fs_member *node = member_of(handle->node);

	(void)fs;
	return b2f_pack_read(node->pack->open.pack, index_of(node), off, buf,
			     size);
}

/*
 * If the file was overwritten in place, the bytes read may be of the new
 * version: check the stamp after the read.
 */
static int check_read(struct fs *fs, const struct fs_handle *handle, ssize_t n)
{
	const struct fs_pack *pack = member_of(handle->node)->pack;
	int err = n < 0 || pack->path ? 0 : b2f_pack_check(pack->open.pack);

	if (err == -ESTALE)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: another program has written to it while "
				"it is open",
				pack->label);
	return err;
}

static void close_member(struct fs *fs, struct fs_handle *handle)
{
	struct fs_member *node = member_of(handle->node);

	if (handle->file)
		fs_file_close(fs, node->file);
	unuse(fs, node->pack);
}

static const struct fs_data_ops data_ops = {
	.close = close_member,
	.pread = pread_member,
	.check_read = check_read,
};

static int open_handle_frame(struct fs *fs, struct fs_handle *handle)
{
	struct fs_member *node = member_of(handle->node);
	int err = open_data(fs, node);

	return err ? err : fs_handle_show(handle, node->file);
}

/* Returns why the member cannot be read, if so. */
static int open_handle_plain(struct fs *fs, struct fs_handle *handle)
{
	uint8_t none;

	handle->nbytes = entry_of(member_of(handle->node))->size;
	return (int)pread_member(fs, handle, &none, 0, 0);
}

static int do_open(struct fs *fs, struct fs_node *inode,
		   const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_member *node = member_of(inode);
	struct fs_handle *handle;
	int err;

	if (how->flags & (O_ACCMODE | O_TRUNC))
		return -EROFS;
	err = use(fs, node->pack);
	if (err)
		return err;
	handle = fs_handle_new(fs, &data_ops, inode);
	if (!handle) {
		unuse(fs, node->pack);
		return -ENOMEM;
	}
	/* A node never changes its bytes. */
	handle->keep_cache = true;
	err = entry_of(node)->kind == B2F_PACK_FRAME
		      ? open_handle_frame(fs, handle)
		      : open_handle_plain(fs, handle);
	return fs_handle_give(fs, handle, err, out);
}

static struct fs_answer_name name_at(const struct fs_answer_names *names,
				     size_t i)
{
	const struct fs_member *dir = names->of;
	struct fs_pack *pack = dir->pack;
	const struct fs_member *node =
		&pack->nodes[b2f_pack_child(pack->open.pack, index_of(dir), i)];
	const struct b2f_pack_entry *e = entry_of(node);

	return (struct fs_answer_name){e->shown, node->ino,
				       e->kind == B2F_PACK_DIR ? S_IFDIR
							       : S_IFREG};
}

static int do_list(struct fs *fs, struct fs_node *inode,
		   struct fs_handle *handle, off_t off,
		   struct fs_answer *answer)
{
	struct fs_member *dir = member_of(inode);
	struct fs_answer_names names = {
		.dir = inode, .ino = dir->ino, .get = name_at, .of = dir};
	int err = use(fs, dir->pack);

	(void)handle;
	if (err)
		return err;
	names.n = b2f_pack_nchildren(dir->pack->open.pack, index_of(dir));
	fs_answer_list(answer, &names, off);
	unuse(fs, dir->pack);
	return 0;
}

static int do_with_frame(struct fs *fs, struct fs_node *inode, fs_frame_fn *fn,
			 void *arg)
{
	struct fs_member *node = member_of(inode);
	struct b2f_frame *frame = NULL;
	int err = use(fs, node->pack);

	if (err)
		return err;
	err = entry_of(node)->kind == B2F_PACK_FRAME
		      ? open_frame(fs, node, &frame)
		      : -ENODATA;
	if (!err)
		err = fn(arg, frame);
	b2f_frame_close(frame);
	unuse(fs, node->pack);
	return err;
}

static int do_count_rows(struct fs *fs, struct fs_node *inode,
			 const struct b2f_frame *frame, uint64_t *out)
{
	const struct fs_member *node = member_of(inode);

	(void)fs;
	return fs_table_rows_count_in_pack(node->pack->open.pack,
					   index_of(node), frame, out);
}

static const struct fs_xattr_ops xattr_ops = {
	.with_frame = do_with_frame,
	.count_rows = do_count_rows,
};

const struct fs_volume_ops fs_volume_pack = {
	.lookup = do_lookup,
	.release = do_release,
	.stat = do_stat,
	.statfs = do_statfs,
	.open = do_open,
	.list = do_list,
	.xattr = &xattr_ops,
};
