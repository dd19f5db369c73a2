/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_writer.h - frames in an object store that this mount writes to
 *
 * A node is one version of a frame until it is opened for writing.  From then
 * on it shows our changes at once, and commits of other clients as soon as the
 * library merges them.  It is in the list of active files until its last writer
 * has left and all is committed; then it is one version again, that of the last
 * commit.  An open file has the states of open_file.h, as in any volume;
 * handles of a GONE file keep its data, because its chunks stay until the last
 * close.  A bucket adds one state, after a commit of another client: the node
 * stays its version, and its name leads to another node.  When this mount
 * writes to the file again, or its changes are merged with that commit,
 *
 *   1. the ticker has the kernel drop its pages (a request must not: the kernel
 *      may hold the pages that it would wait for)
 *   2. reads wait for that
 *   3. when the last writer has left, the next lookup makes another node
 *
 * A node whose changes were refused is REFUSED when its last writer has left:
 * like a GONE file it keeps its data to the last close, as the kernel has pages
 * of them, and no program can open it again.
 *
 * Every commit is durable when it returns: the server has acknowledged the
 * index.
 *
 * Layer: fuse.  Threads: _fini after the ticker and all requests have ended;
 * others from any.  All make requests.
 */
#ifndef B2F_FUSE_BUCKET_WRITER_H
#define B2F_FUSE_BUCKET_WRITER_H

#include "b2frame/write.h"
#include "bucket_node.h"

/*
 * Of files, and of their handles.  A change by a handle takes in the commits of
 * other clients first.
 */
extern const struct fs_file_ops fs_bucket_writer_ops;
extern const struct fs_data_ops fs_bucket_writer_handles;

/*
 * Call this before the first write by a handle of the open @node, whose close
 * ends the writing.  Returns 0, -ESTALE (the name leads to another version now:
 * look it up again), or as b2f_file_allow_write().
 */
B2F_MUST_CHECK
int fs_bucket_writer_begin(struct fs *fs, struct fs_object *node);

/* Commits @node, which is open.  Returns as b2f_file_commit(). */
B2F_MUST_CHECK
int fs_bucket_writer_commit(struct fs *fs, struct fs_object *node);

/*
 * Takes in the commits of other clients to @node, which is open for writing,
 * unless it has uncommitted changes.  Returns whether there were any.
 */
bool fs_bucket_writer_refresh(struct fs *fs, struct fs_object *node);

/* Commits all files.  0 or the first error: data are lost, as logged. */
B2F_MUST_CHECK
int fs_bucket_writer_fini(struct fs *fs);

/*
 * Chunks of removed and replaced files stay while this mount has the file open,
 * and replaced ones for other clients as long as chunks that a commit replaces.
 * A thread deletes them, because a million of them take an hour.
 *
 * _add and _hasten from any thread, _tick from the ticker's, _fini after the
 * ticker and all requests have ended.
 */

/*
 * Takes over @remains (NULL: nothing), and deletes them @keep_s from now, after
 * @node (may be NULL) is closed.  If the mount ends before, they stay.
 */
void fs_bucket_doomed_add(struct fs *fs, struct b2f_remote_remains *remains,
			  struct fs_object *node, unsigned int keep_s);

/*
 * The frame at @path is being removed, and no index will list chunks of files
 * that had its path before.  Returns whether there are any.
 */
bool fs_bucket_doomed_hasten(struct fs *fs, const char *path);

/* Has the chunks deleted that are due.  Returns whether any are left. */
bool fs_bucket_doomed_tick(struct fs *fs);

void fs_bucket_doomed_fini(struct fs *fs);

#endif
