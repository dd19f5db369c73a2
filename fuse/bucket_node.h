/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_node.h - objects of a bucket or of a web server, as nodes
 *
 * Such a mount has no backing files: a table holds its nodes by path.  A node
 * is one *version* of a frame or of an object, identified by the ETag, and
 * never shows another version: when an index has been replaced, the next lookup
 * of its name finds another node, while handles of the old node keep the
 * version that they opened, or get ESTALE.  So the kernel's cache of a node is
 * always right, and no read mixes two versions.  Only a node that this mount
 * writes to changes its version, with each commit (bucket_writer.h); a rename
 * changes its path (bucket_make.h).
 *
 * A directory is a listing, kept for attr_timeout.  The daemon asks for the
 * version of an index at most once in refresh= seconds.
 *
 * Layer: fuse.
 *
 * Threads: any.  All nodes are under fs->state_lock ("the lock"), which is
 * never held during a request.
 */
#ifndef B2F_FUSE_BUCKET_NODE_H
#define B2F_FUSE_BUCKET_NODE_H

#include <sys/queue.h>
#include <uthash.h>

#include "bucket_names.h"
#include "fs.h"
#include "sizes.h"
#include "words/aws.h"

struct fs_pack;

enum fs_bucket_kind {
	FS_BUCKET_DIR,
	FS_BUCKET_FRAME,
	/* An object that is no frame. */
	FS_BUCKET_FILE,
};

/*
 * A frame that is written to (bucket_writer.h); under the lock, but for
 * atomics.
 */
struct fs_bucket_writing {
	/* In the list of active files (open_file.h), with a reference. */
	atomic_bool is_listed;
	/* How many writers it has had. */
	_Atomic uint64_t nbegun;
	/* The kernel has outdated pages, which the ticker is to drop. */
	bool drop;
	/* The kernel is just being told to drop them. */
	bool dropping;
	/* Merged with changes of others: a lookup makes another node. */
	bool mixed;
	/*
	 * Others have committed, but this node still shows its version until
	 * this mount changes it.
	 */
	atomic_bool outdated;
	/* A program set the mtime after the last change. */
	atomic_bool own_mtime;
	/* No object exists yet: the first commit makes the frame. */
	atomic_bool is_new;
	/*
	 * Its changes were refused: who has it open may read them, and nobody
	 * opens it again.  It is never cleared.
	 */
	atomic_bool refused;
};

/* A path that a node has, or had. */
struct fs_bucket_path {
	struct fs_bucket_path *before;
	char chars[];
};

struct fs_object {
	struct fs_node head;
	/* The view NAME.npy, if the node is an array. */
	struct fs_node as_view;
	/*
	 * The path below the place; "" for the place itself.  A rename changes
	 * it, under the lock; old values stay valid as long as the node.
	 */
	const char *_Atomic path;
	struct fs_bucket_path *paths;
	_Atomic uint64_t ino;
	/* The kind never changes. */
	enum fs_bucket_kind kind;
	/*
	 * For FRAME and FILE: the version; each commit of this mount changes
	 * it, under the lock.
	 */
	struct b2f_frame_stamp stamp;
	struct fs_sizes_shown sizes;
	/* For FRAME: its chunks are objects of their own. */
	bool sparse;
	/* For FILE: the version to read. */
	struct b2f_remote_stat version;
	/* For a DIR that is a pack (packs.h), with a reference; or NULL. */
	struct fs_pack *pack;
	/* Why the frame cannot be opened; 0: it can. */
	int unreadable;

	/* All below is under the lock. */
	UT_hash_handle hh;
	/*
	 * When it was last checked that the path leads to this node, ms; 0: it
	 * is in doubt, so the next lookup checks.  Also set without the lock.
	 */
	_Atomic uint64_t checked_ms;
	TAILQ_ENTRY(fs_object) all;
	/*
	 * For DIR: the last listing, and its time; or NULL.  A listing that
	 * began before @begun_ms is too old.
	 */
	struct fs_bucket_names *names;
	uint64_t listed_ms;
	uint64_t begun_ms;
	/* For DIR: number of names that cannot be shown, as logged. */
	size_t nhidden;
	/*
	 * For FRAME: its data, open while used and some seconds longer.  For
	 * all: @open.stays_s if the node is in the table, because the path
	 * leads to it, as far as we know.
	 */
	struct fs_file open;
	/* @mtime is shown instead of the server's time, which is less exact. */
	bool has_mtime;
	struct timespec mtime;
	/* For FRAME: its state while it is written to. */
	struct fs_bucket_writing writing;
};

struct fs_bucket_overlay;
struct fs_bucket_doomed;

struct fs_bucket {
	struct fs_volume volume;
	struct b2f_remote *place;
	/* Operations of files that are written to. */
	const struct fs_file_ops *file_ops;
	/*
	 * Receives the messages: logs them, and stores them in @reason until
	 * the mount stands.
	 */
	struct b2f_log messages;
	/* The keys, if SOURCE is in an object store. */
	struct b2f_aws aws;
	char *reason;
	struct fs_object *root;
	uint64_t refresh_ms;
	/* When the mount began: the times of directories. */
	time_t start_s;
	/*
	 * The descriptor of the connection to the kernel, or -1; and whether
	 * the mount is to end.
	 */
	atomic_int session_fd;
	atomic_bool ends;
	/* Current nodes by paths, and replaced ones; under the lock. */
	struct fs_object *present;
	TAILQ_HEAD(fs_bucket_all, fs_object) all;
	/* See bucket_overlay.h; under the lock. */
	struct fs_bucket_overlay *changes;
	/* See bucket_writer.h; under the lock. */
	STAILQ_HEAD(fs_bucket_doomed_list, fs_bucket_doomed) doomed;
	/*
	 * The thread that deletes due chunks of @doomed, until it is joined;
	 * for the ticker, and then main.
	 */
	bool has_sweeper;
	pthread_t sweeper;
	/* When deletions end; 0: not known. */
	_Atomic time_t late_s;
};

/* The object at @inode, directly or through its view. */
struct fs_object *fs_object_of(struct fs_node *inode);

/*
 * Makes the root: the directory of @bucket->place, or one with the given
 * @names, which it takes over.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_bucket_node_make_root(struct fs_bucket *bucket,
			     struct fs_bucket_names *names);

/* Makes a node of @path, with one reference.  NULL: no memory. */
struct fs_object *fs_bucket_node_new(struct fs_bucket *bucket,
					  enum fs_bucket_kind kind,
					  const char *path);

/* Frees a node that is in no table; NULL does nothing. */
void fs_bucket_node_free(struct fs_object *node);

/* Frees @inode (volume.h). */
struct fs_node *fs_bucket_node_release(struct fs_node *inode);

/* Returns the node that the table has for @path, with a reference; or NULL. */
struct fs_object *fs_bucket_node_present(struct fs_bucket *bucket,
					      const char *path);

/*
 * Makes the new @node the current one of its path, or returns an equal one that
 * another thread has made; with a reference.  Takes @node over.
 */
struct fs_object *fs_bucket_node_publish(struct fs_bucket *bucket,
					      struct fs_object *node);

/*
 * Is @node current if its path has the version @stamp?  A node that this mount
 * writes to always is.  Notes a true answer.
 */
bool fs_bucket_node_is_version(struct fs_bucket *bucket,
			       struct fs_object *node,
			       const struct b2f_frame_stamp *stamp);

/* Was @node checked less than refresh= seconds ago? */
bool fs_bucket_node_is_fresh(struct fs_bucket *bucket,
			     struct fs_object *node);

/*
 * Makes @node, whose frame was moved to @path in the version @stamp, the
 * current one of that path; its file is open there.  Returns 0, or -ENOMEM and
 * changes nothing.
 */
B2F_MUST_CHECK
int fs_bucket_node_move(struct fs_bucket *bucket, struct fs_object *node,
			const char *path, const struct b2f_frame_stamp *stamp);

/* Takes @node off its path: the next lookup makes another node. */
void fs_bucket_node_retire(struct fs_bucket *bucket,
			   struct fs_object *node);

/* Undoes that, unless the name was removed. */
void fs_bucket_node_restore(struct fs_bucket *r, struct fs_object *node);

/*
 * Opens the current frame of @path.  Close *@out with b2f_file_close().
 * Returns 0, -ENOMEM, or as b2f_remote_open_frame().
 */
B2F_MUST_CHECK
int fs_bucket_node_open_now(struct fs *fs, const char *path,
			    struct b2f_file **out);

/*
 * Opens the data of the frame @node, or shares them; give *@out back with
 * fs_file_close().  Returns 0, -ESTALE (another version is stored now: the node
 * is in doubt), the node's @unreadable, -ENOMEM, or as b2f_remote_open_frame().
 */
B2F_MUST_CHECK
int fs_bucket_node_open(struct fs *fs, struct fs_object *node,
			struct b2f_file **out);

/* Frees all nodes, after the last request. */
void fs_bucket_node_fini(struct fs_bucket *bucket);

/* "@dir/@name", or one of the two if the other is empty; malloc'ed. */
char *fs_bucket_node_join(const char *dir, const char *name);

/* Returns attributes with the owner that all nodes have. */
struct stat fs_bucket_node_owned(const struct fs *fs);

/* The inode number of @path. */
uint64_t fs_bucket_node_number(const char *path);

#endif
