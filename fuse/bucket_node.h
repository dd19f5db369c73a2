/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_node.h - objects of a bucket or of a web server, as nodes
 *
 * A mount of it has no files below: its nodes are in a table of their own, by
 * paths.  A node is one *version* of a frame or of an object, told by the ETag,
 * and never shows another one: when an index has been replaced, the next lookup of
 * its name finds another node, while handles of the old one go on with what they
 * opened, or get ESTALE.  So the kernel's cache of a node is always right, and no
 * read can be of two versions.  Only a node that is being written to moves on, from
 * commit to commit (bucket_writer.h); and one that is renamed goes to its new path
 * (bucket_make.h).
 *
 * Directories are listings, kept for attr_timeout.  Whether an index has another
 * version is asked after refresh= seconds at the earliest.
 *
 * Layer: fuse.
 *
 * Threads: any.  All nodes are under fs->state_lock ("the lock"), which is never held
 * during a request.
 */
#ifndef B2F_FUSE_BUCKET_NODE_H
#define B2F_FUSE_BUCKET_NODE_H

#include <sys/queue.h>
#include <uthash.h>

#include "fs.h"
#include "bucket_names.h"
#include "frame_sizes.h"
#include "words/aws.h"

struct fs_pack;

enum fs_bucket_kind {
	FS_BUCKET_DIR,
	FS_BUCKET_FRAME,
	/* Plain bytes. */
	FS_BUCKET_FILE,
};

/* How a frame is written to (bucket_writer.h); under the lock of all nodes. */
struct fs_bucket_writing {
	/* It is active (open_file.h); with a reference, and open. */
	bool is_listed;
	/* How many writers there were. */
	uint64_t nbegun;
	/* The kernel has bytes that are not right any more. */
	bool drop;
	/* It is being told to drop them. */
	bool dropping;
	/*
	 * Changes of other clients came in: the next lookup makes another node.
	 */
	bool mixed;
	/* They have, and it has not: that waits for the next change from here. */
	bool outdated;
	/* A program has set @mtime of the node after the last change. */
	bool own_mtime;
	/* Nothing is there yet: the first commit makes the frame. */
	bool is_new;
	/* Chunks of an unlinked frame, deleted at the last close; or NULL. */
	struct b2f_remote_remains *remains;
};

/* A path that a node has, or had. */
struct fs_bucket_path {
	struct fs_bucket_path *before;
	char chars[];
};

struct fs_object {
	struct fs_node head;
	/* The view NAME.npy, if it is an array. */
	struct fs_node as_view;
	/*
	 * Below the place; "" for the place itself.  A rename moves a frame, under the
	 * lock; what was read before stays valid as long as the node.
	 */
	const char *_Atomic path;
	struct fs_bucket_path *paths;
	_Atomic uint64_t ino;
	/* These never change. */
	enum fs_bucket_kind kind;
	/* For FRAME and FILE; each local commit moves them, under the lock. */
	struct b2f_frame_stamp stamp;
	struct fs_frame_sizes sizes;
	/* For FRAME: chunks are objects of their own. */
	bool sparse;
	/* For FILE: the version to read. */
	struct b2f_remote_stat version;
	/* For a DIR that is a pack (packs.h), with a reference; or NULL. */
	struct fs_pack *pack;
	/* Why the frame cannot be opened; 0: it can. */
	int unreadable;

	/* The rest under the lock. */
	UT_hash_handle hh;
	/* It is in the table: what its path is now, as far as we know. */
	bool is_present;
	/* When it was known to be the present version, ms; 0: it is in doubt. */
	uint64_t checked_ms;
	TAILQ_ENTRY(fs_object) all;
	/* For DIR: the last listing, and its time; or NULL. */
	struct fs_bucket_names *names;
	uint64_t listed_ms;
	/* For DIR: number of names that cannot be shown, as logged. */
	size_t nhidden;
	/* For FRAME: open while it is used, and for some seconds. */
	struct fs_file open;
	/* The kernel may have cached the view. */
	atomic_bool has_view;
	/* Shown in the place of the server's time, which does not tell all. */
	bool has_mtime;
	struct timespec mtime;
	/* For FRAME: its state while it is written to. */
	struct fs_bucket_writing writing;
};

/* A node as the kernel knows it. */
struct fs_bucket_entry {
	struct fs_object *node;
	/* It is NAME.npy, beside the array NAME. */
	bool is_view;
};

struct fs_bucket_overlay;
struct fs_bucket_doomed;

struct fs_bucket {
	struct fs_volume volume;
	struct b2f_remote *place;
	/* Operations of files that are written to. */
	const struct fs_file_ops *file_ops;
	/* Where its messages go: the log, and until the mount stands @reason. */
	struct b2f_log messages;
	/* The keys, if SOURCE is in an object store. */
	struct b2f_aws aws;
	struct fs_logger *logger;
	char *reason;
	struct fs_object *root;
	uint64_t refresh_ms;
	uint64_t attr_ms;
	/* When the mount began: the times of directories. */
	time_t start_s;
	/* The kernel's end, or -1; and the mount is to end. */
	atomic_int session_fd;
	atomic_bool ends;
	/* Current nodes by paths, and replaced ones; under the lock. */
	struct fs_object *present;
	TAILQ_HEAD(fs_bucket_all, fs_object) all;
	/* See bucket_overlay.h; under the lock. */
	struct fs_bucket_overlay *changes;
	/* See bucket_writer.h; under the lock. */
	STAILQ_HEAD(fs_bucket_doomed_list, fs_bucket_doomed) doomed;
};

/* The node that @inode is, or is the view of, and back. */
struct fs_bucket_entry fs_bucket_entry_of(struct fs_node *inode);
struct fs_node *fs_bucket_inode_of(const struct fs_bucket_entry *entry);

/*
 * Makes the root: a directory of @bucket->place, or one with @names, which are
 * taken over then.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_bucket_node_make_root(struct fs_bucket *bucket,
			     struct fs_bucket_names *names);

/*
 * Makes a node of what @path is now, with one reference, in no table yet.  NULL: no
 * memory.
 */
struct fs_object *fs_bucket_node_new(struct fs_bucket *bucket,
					  enum fs_bucket_kind kind,
					  const char *path);

/* Frees a node that is in no table; NULL does nothing. */
void fs_bucket_node_free(struct fs_object *node);

/* Frees @inode (volume.h). */
struct fs_node *fs_bucket_node_release(struct fs_node *inode);

/*
 * Returns the node that @path was when it was last looked at, with a reference;
 * or NULL.
 */
struct fs_object *fs_bucket_node_present(struct fs_bucket *bucket,
					      const char *path);

/*
 * Makes the new @node what its path is, or takes the equal one that another thread
 * has made; with a reference.  @node is taken over.
 */
struct fs_object *fs_bucket_node_publish(struct fs_bucket *bucket,
					      struct fs_object *node);

/*
 * Is @node current if its path has the version @stamp?  A node that is written
 * to always is.  Notes a true answer.
 */
bool fs_bucket_node_is_version(struct fs_bucket *bucket,
			       struct fs_object *node,
			       const struct b2f_frame_stamp *stamp);

/* Was it so a moment ago? */
bool fs_bucket_node_is_fresh(struct fs_bucket *bucket,
			     struct fs_object *node);

/* Has the next lookup ask whether @node is still what its path is. */
void fs_bucket_node_doubt(struct fs_bucket *bucket,
			  struct fs_object *node);

/*
 * Makes @node, whose frame is at @path now, in the version @stamp, what that path is;
 * its file is open there.  Returns 0 or -ENOMEM: then it is as before.
 */
B2F_MUST_CHECK
int fs_bucket_node_move(struct fs_bucket *bucket, struct fs_object *node,
			const char *path, const struct b2f_frame_stamp *stamp);

/* The next lookup makes another node. */
void fs_bucket_node_retire(struct fs_bucket *bucket,
			   struct fs_object *node);

/* The reverse: its name leads to @node again, unless it was removed. */
void fs_bucket_node_restore(struct fs_bucket *r, struct fs_object *node);

/*
 * Opens the frame that @path is now.  Close *@out with b2f_file_close().  Returns
 * 0, -ENOMEM, or as b2f_remote_open_frame().
 */
B2F_MUST_CHECK
int fs_bucket_node_open_now(struct fs *fs, const char *path,
			    struct b2f_file **out);

/*
 * Opens the data of the frame @node, or shares them; give *@out back with
 * fs_file_close().  Returns 0, -ESTALE (there is another version), what the
 * node is broken by, -ENOMEM, or as b2f_remote_open_frame().
 */
B2F_MUST_CHECK
int fs_bucket_node_open(struct fs *fs, struct fs_object *node,
			struct b2f_file **out);

/* Frees all of them; no request is running any more. */
void fs_bucket_node_fini(struct fs_bucket *bucket);

/* "@dir/@name", or the one of them that is not empty; malloc'ed. */
char *fs_bucket_node_join(const char *dir, const char *name);

/* Returns the attributes that all nodes have: the owner. */
struct stat fs_bucket_node_owned(const struct fs *fs);

/* Milliseconds on a clock that only goes on. */
uint64_t fs_bucket_node_ms(void);

/* The inode number that is shown for @path. */
uint64_t fs_bucket_node_number(const char *path);

#endif
