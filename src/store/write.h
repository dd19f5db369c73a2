/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write.h - changing what a store holds
 *
 * These are the steps that a commit is made of, each of them small enough to
 * say what it leaves behind if it fails, or if the power fails after it.  A
 * store that has no write ops answers -EROFS to all of them.
 *
 * Layer: store.  May include: base/.
 *
 * Threads: as store.h; b2f_object_create(), _write(), _settle() and
 * b2f_store_remove() from any number of threads, on different ids.
 */
#ifndef B2F_STORE_WRITE_H
#define B2F_STORE_WRITE_H

#include "store/store.h"

/*
 * Makes @store the only writer of bloscfs, until b2f_store_unlock() or the end
 * of the store.
 * (Programs with other ideas of locks are not kept out; see lock.h.)
 * Returns 0, -EBUSY (another one is), -EROFS, -EACCES, or an errno.
 */
B2F_MUST_CHECK
int b2f_store_lock(struct b2f_store *store, struct b2f_why *why);

/* Gives that up; does nothing without. */
void b2f_store_unlock(struct b2f_store *store);

/*
 * Creates object @id, which must not exist (-EEXIST), for writing and reading;
 * of a pending chunk file, nor may there be one that has its own name.  In a
 * contiguous store @id is one of b2f_ranges_take() or b2f_ranges_add().
 * B2F_OBJECT_NEW_INDEX replaces what an earlier try left, and is its owner's
 * alone before b2f_object_inherit().  All other objects can be read and written
 * by the users who may read and write the index, whatever the umask; without an
 * index, only its owner.  Close @out with b2f_object_close().  Returns 0 or an
 * errno.
 */
B2F_MUST_CHECK
int b2f_object_create(struct b2f_store *store, int64_t id,
		      struct b2f_object *out, struct b2f_why *why);

/*
 * Makes @object, which was created as @id and is complete, visible under that
 * name.  (A new index gets its own by b2f_store_install().)  Returns 0, -EEXIST
 * (another program has taken the name meanwhile) or an errno.
 */
B2F_MUST_CHECK
int b2f_object_publish(struct b2f_object *object, int64_t id,
		       struct b2f_why *why);

/*
 * Writes all @n bytes at @buf to @off of an object that was created; sets
 * nothing in @object.  Returns 0 or an errno of pwrite(2).
 */
B2F_MUST_CHECK
int b2f_object_write(const struct b2f_object *object, uint64_t off,
		     const void *buf, size_t n, struct b2f_why *why);

/*
 * Gives the created @object the mode, owner, xattrs and times of the index, if
 * there is one; @mtime, if not NULL, instead of its mtime.  Leaves out
 * attributes that the process may not set (owner) or the filesystem does not
 * have (xattrs).  A contiguous store has them already, but for the mtime.  Returns
 * 0 or an errno that is about the disk, not about permissions.
 */
B2F_MUST_CHECK
int b2f_object_inherit(const struct b2f_object *object,
		       const struct timespec *mtime, struct b2f_why *why);

/*
 * Sees to it that the content of @object gets as far as @how says.
 *
 * In order: waits until the data are written to the disk, but does not flush
 * the disk.  A journal then has the place and the size of the content before
 * any name that is given from now on: after a loss of power that name leads to
 * all of the content, or is not there.  Far cheaper than durable, and
 * promises no more than this order.  In a contiguous store this concerns the
 * whole file, and the first header of a new file is not waited for.
 *
 * Returns 0 or an errno: then the object is of no use any more.  Linux forgets
 * what it could not write, so that a second try would succeed without having done
 * anything.
 */
B2F_MUST_CHECK
int b2f_object_settle(const struct b2f_object *object, enum b2f_settle how,
		      struct b2f_why *why);

/* Durable, or else in order. */
static inline enum b2f_settle b2f_settle_of(bool durable)
{
	return durable ? B2F_SETTLE_DURABLE : B2F_SETTLE_ORDER;
}

B2F_MUST_CHECK
static inline int b2f_object_sync(const struct b2f_object *object,
				  struct b2f_why *why)
{
	return b2f_object_settle(object, B2F_SETTLE_DURABLE, why);
}

/*
 * Creates the chunk file @id with the @size bytes at @bytes, settles and publishes
 * it.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_write_chunk(struct b2f_store *store, int64_t id,
			  const void *bytes, size_t size, bool durable,
			  struct b2f_why *why);

/*
 * Gives the pending chunk file @id its own name, which no file may have yet; with
 * B2F_OBJECT_PENDING in @id, the chunk file that has the name of @id becomes a pending
 * one.  Returns 0, -EEXIST, -ENOENT or another errno; then nothing has changed.
 */
B2F_MUST_CHECK
int b2f_store_name(struct b2f_store *store, int64_t id, struct b2f_why *why);

/*
 * Writes the new index, the @size bytes at @index, with what it inherits from
 * the one before (b2f_object_inherit(), with @mtime), in
 * order (b2f_object_settle()).  Close *@out with b2f_object_close(): its
 * mode may allow nobody to open it for b2f_object_sync().  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_write_index(struct b2f_store *store, const void *index,
			  size_t size, const struct timespec *mtime,
			  struct b2f_object *out, struct b2f_why *why);

/*
 * Puts the new index in the place of the index, at once (rename); @what is not NULL
 * for a shared store.
 * Returns 0 or an errno; then the old one is still there.  -ESTALE: it is not the base.
 * B2F_EINDOUBT, of a shared store: it may have happened.  Not for a contiguous store.
 */
B2F_MUST_CHECK
int b2f_store_install(struct b2f_store *store, const struct b2f_install *what,
		      struct b2f_why *why);

/*
 * For a shared store: raises *@id, which is above those of the index, above all that
 * its chunks ever had, as far as can be told.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_first_id(struct b2f_store *store, uint64_t *id,
		       struct b2f_why *why);

/* Both durably, at once. */
B2F_MUST_CHECK
int b2f_store_replace_index(struct b2f_store *store, const void *index,
			    size_t size, const struct timespec *mtime,
			    struct b2f_why *why);

/*
 * Makes the content of the index durable that is in its place, whatever its
 * mode lets its owner do; in a contiguous store with all of the file, of which
 * often nothing is left but the header.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_sync_index(struct b2f_store *store, struct b2f_why *why);

/*
 * Makes created, installed and removed names durable, where a filesystem has
 * that.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_sync_names(struct b2f_store *store, struct b2f_why *why);

/*
 * Removes object @id, of a pending one only what is under the hidden name.  A
 * missing object is no error.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_remove(struct b2f_store *store, int64_t id, struct b2f_why *why);

/*
 * For a contiguous store: ends the use of the @n ranges @ids, which are punched out
 * where the filesystem can do that, and taken again; of all or, after an error, of
 * none.  Returns 0, -EINVAL (see b2f_ranges_check()) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_store_give_back(struct b2f_store *store, const uint64_t *ids, size_t n,
			struct b2f_why *why);

/* For a shared store: is there a chunk of which it is the time? */
bool b2f_store_is_due(struct b2f_store *store);

/*
 * For a shared store: removes these, and of the @n chunks @ids, which were written here,
 * those that the index does not name that is there now, nor may a b2f_store_install() of
 * unknown outcome.  Returns 0, or why that index cannot be read: then all stay.
 */
B2F_MUST_CHECK
int b2f_store_sweep(struct b2f_store *store, const uint64_t *ids, size_t n,
		    struct b2f_why *why);

/*
 * Reads the stamp of object @id, to see later whether it was rewritten; finds a
 * pending object as b2f_object_open() does.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_identify(struct b2f_store *store, int64_t id,
		       struct b2f_frame_stamp *out);

/*
 * Calls @fn for every name of a chunk file, in any order, and for what writers
 * that crashed left of new indexes (as B2F_OBJECT_NEW_INDEX); other names are
 * passed over.  @fn may remove what it is called for.  Stops when @fn returns
 * other than 0, and returns that; else 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_list(struct b2f_store *store, int (*fn)(void *arg, int64_t id),
		   void *arg);

/*
 * For a contiguous store: puts the @n bytes at @head at the begin of the file,
 * at once if @n is at most B2F_SECTOR, and gives the file the mtime @mtime; NULL:
 * the one it had before the writer wrote chunks to it.  Returns 0 or an errno;
 * then the old bytes are still there.
 */
#define B2F_SECTOR 512
B2F_MUST_CHECK
int b2f_store_put_head(struct b2f_store *store, const void *head, size_t n,
		       const struct timespec *mtime, struct b2f_why *why);

/*
 * For a contiguous store: frees the @size bytes at @off where the filesystem can do
 * that; UINT64_MAX: the file ends at @off.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_cut(struct b2f_store *store, uint64_t off, uint64_t size,
		  struct b2f_why *why);

/*
 * Reads the stamp that the index has unless another program has changed it: in
 * a contiguous store, after the writer's last change; in a shared store, after
 * its last b2f_store_install().  Returns
 * 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_own_stamp(struct b2f_store *store, struct b2f_frame_stamp *out);

/*
 * Has another program written to the file of the contiguous @store since the
 * last change by its writer?  Changes of attributes do not count, and the
 * answer is not known while the writer is writing.  Returns 1, 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_has_changed(struct b2f_store *store);

/*
 * For a contiguous store: what has changed of its file since the last change by
 * its writer were attributes; its mtime too if @sets_mtime, which commits then
 * keep.
 */
void b2f_store_note_attributes(struct b2f_store *store, bool sets_mtime);

#endif
