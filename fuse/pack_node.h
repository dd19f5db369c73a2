/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_node.h - one entry of a pack: its frame, its sizes, its attributes
 *
 * The pack has to be in use (packs.h) while any of these runs.
 *
 * Layer: fuse.  Threads: any; all that may return an errno may block on I/O.
 */
#ifndef B2F_FUSE_PACK_NODE_H
#define B2F_FUSE_PACK_NODE_H

#include "b2frame/pack.h"
#include "fs.h"
#include "frame_sizes.h"

struct fs_pack_node {
	struct fs_pack *pack;
	/* The number that is shown, but for a view's bit. */
	uint64_t ino;
	/* The frame, as long as there are handles of it; in a bucket, and a while. */
	struct b2f_file *file;
	size_t nopens;
	/* In a bucket, with a file that is not used: in the list, since when. */
	TAILQ_ENTRY(fs_pack_node) idle;
	time_t idle_s;
	/* Never change once they are known. */
	struct fs_frame_sizes sizes;
};

struct fs_pack {
	/* These never change. */
	struct fs *fs;
	char *label;
	/* Where it was found; NULL for the root of the mount, and in a bucket. */
	struct fs_node *dir;
	char *name;
	/*
	 * Where it is in a bucket, else NULL.  To open it takes requests, so it stays
	 * open; and it is one version whatever is there by now.
	 */
	char *path;
	/* Of the file, as shown if it were a plain one. */
	struct stat st;
	struct b2f_frame_stamp stamp;
	uint64_t generation;
	/* The entries, and then the .npy views of each. */
	struct fs_pack_node *nodes;
	size_t nentries;

	/* The rest under the lock. */
	struct fs_pack *next;
	/* Lookups of its nodes, handles, and requests. */
	uint64_t nrefs;
	/* NULL: not open; else as long as it is used, and a while. */
	struct b2f_pack *pack;
	uint64_t nusers;
	/* When the last user went, on the monotonic clock. */
	time_t idle_s;
};

/* Is @err about the file, so that another look would find it again? */
bool fs_pack_node_is_final(int err);

/* Its entry in the pack, and whether the node is the .npy view of that. */
size_t fs_pack_node_entry(const struct fs_pack_node *node);
bool fs_pack_node_is_view(const struct fs_pack_node *node);

/* Attributes of @node.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_pack_node_getattr(struct fs *fs, struct fs_pack_node *node,
		     struct stat *out);

/* The inode number that is shown for @node. */
uint64_t fs_pack_node_ino(const struct fs_pack_node *node);

/* Has entry @entry of the pack a .npy view?  It may have to be opened. */
bool fs_pack_node_has_view(struct fs *fs, struct fs_pack *pack, size_t entry);

/* The node of @entry, or of the view of it. */
struct fs_pack_node *fs_pack_node_of(struct fs_pack *pack, size_t entry,
				      bool is_view);

/*
 * Opens the frame that @node is, without its data.  Returns as
 * b2f_pack_open_frame().
 */
B2F_MUST_CHECK
int fs_pack_node_open_frame(struct fs *fs, const struct fs_pack_node *node,
			struct b2f_frame **out);

/*
 * Opens the data of the frame that @node is, or a view of, or shares them.  Give *@out back
 * with fs_pack_node_close().  Returns as b2f_pack_open_frame(), or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_pack_node_open(struct fs *fs, struct fs_pack_node *node,
		  struct b2f_file **out);

void fs_pack_node_close(struct fs *fs, struct fs_pack_node *node);

/*
 * Closes the data of members that were not used for some seconds.  Returns whether
 * there is more to come.
 */
bool fs_pack_node_tick(struct fs *fs);

/* Takes @node, which nothing uses, off the list of those.  The packs are locked. */
void fs_pack_node_forget(struct fs *fs, struct fs_pack_node *node);

#endif
