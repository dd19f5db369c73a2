/* SPDX-License-Identifier: BSD-3-Clause */
/* op_dir.c - directories: open, read, close */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/pack.h"
#include "listing.h"
#include "lookup.h"
#include "ops.h"
#include "reply.h"
#include "tree_handle.h"

void fs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_node *node = fs_node_of(fs, ino);
	struct fs_listing *listing = NULL;
	struct fs_handle *handle = NULL;
	int err;

	err = fs_listing_new(fs, node, &listing);
	if (!err)
		err = fs_tree_handle_open_listing(fs, node, listing,
					     fuse_req_ctx(req)->uid, &handle);
	if (err) {
		fs_listing_free(listing);
		fs_reply_error(req, err);
		return;
	}
	fi->fh = (uintptr_t)handle;
	if (fuse_reply_open(req, fi) < 0)
		fs_handle_close(fs, handle);
}

/* An answer that is being filled. */
struct answer {
	fuse_req_t req;
	char *buf;
	size_t size;
	size_t used;
	/* With attributes, for which entries are looked up in @dir. */
	bool plus;
	/* Not pinned if another program has deleted it. */
	struct fs_entry dir;
	/* The nodes in the answer, each with a reference. */
	struct fs_node **nodes;
	size_t nnodes;
};

/* Packs are not looked up here, and dots must not be. */
static bool is_looked_up(const struct answer *a, const struct fs_listed *listed)
{
	return a->dir.pin.node && strcmp(listed->name, ".") != 0 &&
	       strcmp(listed->name, "..") != 0 &&
	       !b2f_pack_is_name(listed->name);
}

/*
 * Looks @listed up; NULL: the kernel has to do so itself, and gets its number
 * and type only.
 */
static struct fs_node *look(struct answer *a, struct fs_listed *listed,
			    struct fuse_entry_param *out)
{
	struct fs_node *node;

	a->dir.name = listed->name;
	if (is_looked_up(a, listed) &&
	    !fs_lookup_listed(&a->dir, &listed->found, out, &node))
		return node;
	*out = (struct fuse_entry_param){
		.attr.st_ino = listed->ino,
		.attr.st_mode = DTTOIF(listed->type),
	};
	return NULL;
}

/* Adds @listed with its attributes.  Returns false if there is no room. */
static bool put_plus(struct answer *a, struct fs_listed *listed)
{
	struct fs *fs = fs_of(a->req);
	size_t room = a->size - a->used, n;
	struct fuse_entry_param param;
	struct fs_node *node;

	/* Do not look up for nothing. */
	if (fuse_add_direntry_plus(a->req, NULL, 0, listed->name, NULL, 0) >
	    room)
		return false;
	node = look(a, listed, &param);
	n = fuse_add_direntry_plus(a->req, a->buf + a->used, room,
				   listed->name, &param, listed->next_pos);
	a->used += n;
	if (node)
		a->nodes[a->nnodes++] = node;
	fs_stats_add(&fs->stats.nlookups, node != NULL);
	return true;
}

/* Adds @listed.  Returns false if there is no room. */
static bool put(struct answer *a, const struct fs_listed *listed)
{
	const struct stat st = {.st_ino = listed->ino,
				.st_mode = DTTOIF(listed->type)};
	size_t room = a->size - a->used, n;

	n = fuse_add_direntry(a->req, a->buf + a->used, room, listed->name, &st,
			      listed->next_pos);
	if (n > room)
		return false;
	a->used += n;
	return true;
}

/* Fills the answer with entries from @pos on.  Returns 0 or an errno. */
static int fill(struct answer *a, struct fs_listing *listing, int64_t pos)
{
	struct fs *fs = fs_of(a->req);
	struct fs_listed entry;
	int result;

	while ((result = fs_listing_get(fs, listing, pos, &entry)) == 1) {
		bool is_put = a->plus ? put_plus(a, &entry) : put(a, &entry);

		if (a->plus && entry.found.probe.was_read)
			fs_listing_look_ahead(fs, listing);
		fs_probe_close(&entry.found.probe);
		if (!is_put)
			break;
		pos = entry.next_pos;
	}
	/* First give out what was found before an error. */
	return result < 0 && a->used == 0 ? result : 0;
}

/* Sends the answer; the kernel does not count nodes of one that is lost. */
static void send(struct answer *a, int err)
{
	struct fs *fs = fs_of(a->req);

	if (err)
		fs_reply_error(a->req, err);
	else if (fuse_reply_buf(a->req, a->buf, a->used) == 0)
		return;
	for (size_t i = 0; i < a->nnodes; i++)
		fs_tree_forget(fs->tree, a->nodes[i], 1);
}

static void read_dir(struct answer *a, struct fs_listing *listing, off_t off)
{
	int err = 0;

	a->buf = malloc(a->size);
	/* An entry has at least the size of its attributes. */
	if (a->plus)
		a->nodes = calloc(a->size / sizeof(struct stat) + 1,
				  sizeof(struct fs_node *));
	if (!a->buf || (a->plus && !a->nodes))
		err = -ENOMEM;
	if (!err) {
		/* Several threads may share one open directory. */
		fs_listing_lock(listing);
		err = fill(a, listing, off);
		fs_listing_unlock(listing);
	}
	send(a, err);
	free(a->nodes);
	free(a->buf);
}

void fs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi)
{
	struct answer a = {.req = req, .size = size};

	(void)ino;
	read_dir(&a, fs_handle_of(fi)->listing, off);
}

void fs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	struct answer a = {.req = req, .size = size, .plus = true};

	(void)!fs_entry_enter(fs_of(req), ino, "", &a.dir);
	read_dir(&a, fs_handle_of(fi)->listing, off);
	fs_entry_leave(&a.dir);
}

void fs_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fs_handle_close(fs_of(req), fs_handle_of(fi));
	fuse_reply_err(req, 0);
}
