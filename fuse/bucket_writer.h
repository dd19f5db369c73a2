/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_writer.h - frames in an object store that are written to
 *
 * A node is one version of a frame until it is opened for writing.  From then on it
 * is the frame as it is here: with our changes at once, and with what other clients
 * commit as soon as the library takes that in.  It is in the list of those that are
 * written to until its last writer has gone and all is committed; behind that it is
 * one version again, that of the last commit.  The states of an open file (open_file.h)
 * are those of any volume; handles of one that is GONE go on with what they have, as
 * its chunks stay until the last one is closed.  In a bucket, moreover:
 *
 *   others have committed  the node stays the version that it is, and its name leads
 *                          to another one, until it is written to from here, or its
 *                          changes are merged with theirs: then the ticker has the
 *                          kernel drop what it has cached (a request must not: the
 *                          kernel may hold what it would wait for), and reads wait
 *                          for that; when the last writer has gone, the next lookup
 *                          makes another node
 *
 * Every commit is durable when it returns: the server has acknowledged the index.
 *
 * Layer: fuse.  Threads: _fini when the ticker and all requests have ended; the rest from
 * any.  All but _drop_cached make requests.
 */
#ifndef B2F_FUSE_BUCKET_WRITER_H
#define B2F_FUSE_BUCKET_WRITER_H

#include "b2frame/write.h"
#include "bucket_node.h"

extern const struct fs_file_ops fs_bucket_writer_ops;

/*
 * Call these around all that a handle, or a change by name, may write to @node, which
 * is open.  Returns 0, -ESTALE (the name leads to another version now: look it
 * up again), or as b2f_file_allow_write().
 */
B2F_MUST_CHECK
int fs_bucket_writer_begin(struct fs *fs, struct fs_object *node);
void fs_bucket_writer_end(struct fs *fs, struct fs_object *node);

/* Call this before each change of the data: it is one of what is there by then. */
void fs_bucket_writer_catch_up(struct fs *fs, struct fs_object *node);

/* Call this after each change of the data, before answering it. */
void fs_bucket_writer_note_change(struct fs *fs, struct fs_object *node);

/* Has the kernel drop its pages of @node. */
void fs_bucket_writer_drop_cached(struct fs *fs, struct fs_object *node);

/*
 * Have bytes of @node, which is open, to wait until the kernel has dropped those
 * of a version before?  Waits for that, but not for ever: the kernel may wait for the
 * very answer.
 */
bool fs_bucket_writer_wait_dropped(struct fs *fs, struct fs_object *node);

/* Is what the kernel has cached of @node right? */
bool fs_bucket_writer_may_keep(struct fs *fs, struct fs_object *node);

/* Shows @mtime until the next change. */
void fs_bucket_writer_set_mtime(struct fs *fs, struct fs_object *node,
				const struct timespec *mtime);

/* Commits @node, which is open.  Returns as b2f_file_commit(). */
B2F_MUST_CHECK
int fs_bucket_writer_commit(struct fs *fs, struct fs_object *node);

/*
 * Goes on with what other clients have committed to @node, which is open and
 * written to, unless something is to be committed here.  Returns whether there was
 * anything.
 */
bool fs_bucket_writer_refresh(struct fs *fs, struct fs_object *node);

/* Commits all.  Returns 0 or the first error: something is lost, as is logged. */
B2F_MUST_CHECK
int fs_bucket_writer_fini(struct fs *fs);

/*
 * Chunks that were replaced stay as long as this mount has open what they were, and for
 * other clients as long as what a commit replaces.  _add from any thread, _tick from the
 * ticker's, _fini when that and all requests have ended.
 */

/*
 * Removes @remains, which it takes over and which may be NULL, in a while; not before
 * @node, if that is not NULL, is closed.  If the mount ends before, they are left.
 */
void fs_bucket_doomed_add(struct fs *fs, struct b2f_remote_remains *remains,
			  struct fs_object *node);

/* Removes those whose time has come, if there is a bucket.  Are there more? */
bool fs_bucket_doomed_tick(struct fs *fs);

void fs_bucket_doomed_fini(struct fs *fs);

#endif
