/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write.h - changing the objects of a store
 *
 * A commit consists of these steps, each small enough to say what it leaves
 * behind if it fails, or if the power fails after it.  A read-only store
 * returns -EROFS from all of them.
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
 * of the store.  (For other programs see lock.h.)  Returns 0, -EBUSY (there is
 * another writer), -EROFS, -EACCES, or an errno.
 */
B2F_MUST_CHECK
int b2f_store_lock(struct b2f_store *store, struct b2f_why *why);

/* Ends b2f_store_lock(), if there was one. */
void b2f_store_unlock(struct b2f_store *store);

/*
 * Creates object @id, which must not exist (-EEXIST), for writing and reading;
 * nor, for a pending chunk file, a file with its own name.  In a contiguous
 * store @id comes from b2f_ranges_take() or b2f_ranges_add().
 * B2F_OBJECT_NEW_INDEX replaces the leftover of an earlier try, and only its
 * owner may use it before b2f_object_inherit().  All other objects can be read
 * and written by the users who may read and write the index, whatever the
 * umask; without an index, only its owner.  Close @out with b2f_object_close().
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_object_create(struct b2f_store *store, int64_t id,
		      struct b2f_object *out, struct b2f_why *why);

/*
 * Makes the complete @object, created as @id, visible under its name.
 * (b2f_store_install() does that for a new index.)  Returns 0, -EEXIST (another
 * program has taken the name meanwhile) or an errno.
 */
B2F_MUST_CHECK
int b2f_object_publish(struct b2f_object *object, int64_t id,
		       struct b2f_why *why);

/*
 * Writes all @n bytes at @buf to @off of a created object; does not change
 * @object.  Returns 0 or an errno of pwrite(2).
 */
B2F_MUST_CHECK
int b2f_object_write(const struct b2f_object *object, uint64_t off,
		     const void *buf, size_t n, struct b2f_why *why);

/*
 * Gives the created @object the mode, owner, xattrs and times of the index, if
 * there is one; @mtime, if not NULL, instead of its mtime.  Leaves out
 * attributes that the process may not set (owner) or the filesystem does not
 * have (xattrs).  A contiguous store has them already, but for the mtime.
 * Returns 0 or an errno that is about the disk, not about permissions.
 */
B2F_MUST_CHECK
int b2f_object_inherit(const struct b2f_object *object,
		       const struct timespec *mtime, struct b2f_why *why);

/*
 * Brings the content of @object as far as @how says.
 *
 * B2F_SETTLE_ORDER waits until the data are written to the disk, but does not
 * flush the disk's cache.  A journal then has extents and size of the content
 * before any name that is given from now on: after a loss of power that name
 * leads to all of the content, or does not exist.  This is far cheaper than
 * durable, and promises only the order.  In a contiguous store it concerns the
 * whole file, and does not wait for the first header of a new file.
 *
 * Returns 0 or an errno: then discard the object.  Linux reports a writeback
 * error once, so a second try would succeed without having written anything.
 */
B2F_MUST_CHECK
int b2f_object_settle(const struct b2f_object *object, enum b2f_settle how,
		      struct b2f_why *why);

/* Durable if @durable, otherwise in order. */
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
 * Creates the chunk file @id with the @size bytes at @bytes.  It gets its name
 * when it is settled.  Returns 0, or an errno with nothing left.
 */
B2F_MUST_CHECK
int b2f_store_write_chunk(struct b2f_store *store, int64_t id,
			  const void *bytes, size_t size, bool durable,
			  struct b2f_why *why);

/*
 * Gives the pending chunk file @id its own name, which must be free; with
 * B2F_OBJECT_PENDING in @id, makes the chunk file with the name of @id a
 * pending one.  Returns 0, -EEXIST, -ENOENT or another errno; then nothing has
 * changed.
 */
B2F_MUST_CHECK
int b2f_store_name(struct b2f_store *store, int64_t id, struct b2f_why *why);

/*
 * Writes the new index, the @size bytes at @index, with the attributes of the
 * one before (b2f_object_inherit(), with @mtime), in order
 * (b2f_object_settle()).  Close *@out with b2f_object_close(): its mode may
 * allow no process to open it for b2f_object_sync().  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_write_index(struct b2f_store *store, const void *index,
			  size_t size, const struct timespec *mtime,
			  struct b2f_object *out, struct b2f_why *why);

/*
 * Replaces the index by the new one, atomically (rename); @what is not NULL for
 * a shared store.  Returns 0 or an errno; then the old one is unchanged.
 * -ESTALE: the index is not the base.  B2F_EINDOUBT, for a shared store: the
 * outcome is unknown.  Do not call it for a contiguous store.
 */
B2F_MUST_CHECK
int b2f_store_install(struct b2f_store *store, const struct b2f_install *what,
		      struct b2f_why *why);

/*
 * For a shared store: raises *@id, which is above the ids of the index, above
 * all ids that the frame ever had, as far as is known.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_first_id(struct b2f_store *store, uint64_t *id,
		       struct b2f_why *why);

/*
 * Writes and installs the index, durably; in a contiguous store the file is
 * nothing but the @index afterwards, a frame of at most B2F_SECTOR bytes.
 */
B2F_MUST_CHECK
int b2f_store_replace_index(struct b2f_store *store, const void *index,
			    size_t size, const struct timespec *mtime,
			    struct b2f_why *why);

/*
 * Makes the content of the installed index durable, even if its mode forbids
 * its owner to open it; in a contiguous store the whole file, of which often
 * only the header is left to write.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_sync_index(struct b2f_store *store, struct b2f_why *why);

/*
 * Makes created, installed and removed names durable, where the filesystem
 * supports that.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_sync_names(struct b2f_store *store, struct b2f_why *why);

/*
 * Removes object @id; of a pending one only the hidden name.  A missing object
 * is no error.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_remove(struct b2f_store *store, int64_t id, struct b2f_why *why);

/*
 * For a contiguous store: returns the @n ranges @ids to the free ones, and
 * punches holes where the filesystem can do that; after an error, none.
 * Returns 0, -EINVAL (see b2f_ranges_check()) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_store_give_back(struct b2f_store *store, const uint64_t *ids, size_t n,
			struct b2f_why *why);

/* For a shared store: are there replaced chunks that are due for removal? */
bool b2f_store_is_due(struct b2f_store *store);

/*
 * For a shared store: removes these, and those of the @n chunks @ids, written
 * here, that neither the current index names nor a b2f_store_install() of
 * unknown outcome may.  Returns 0, or the error of reading that index: then all
 * stay.
 */
B2F_MUST_CHECK
int b2f_store_sweep(struct b2f_store *store, const uint64_t *ids, size_t n);

/*
 * Calls @fn for every name of a chunk file, in any order, and for leftover new
 * indexes of crashed writers (as B2F_OBJECT_NEW_INDEX); skips other names.  @fn
 * may remove the object.  Stops when @fn returns other than 0, and returns
 * that; else 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_list(struct b2f_store *store, int (*fn)(void *arg, int64_t id),
		   void *arg);

/*
 * For a contiguous store: puts the @n bytes at @head at the start of the file,
 * atomically if @n is at most B2F_SECTOR, and sets the mtime @mtime; NULL: the
 * one before the writer's changes.  Returns 0 or an errno; then the old bytes
 * are unchanged.
 */
#define B2F_SECTOR 512
B2F_MUST_CHECK
int b2f_store_put_head(struct b2f_store *store, const void *head, size_t n,
		       const struct timespec *mtime, struct b2f_why *why);

/* For a contiguous store: cuts the file at @off.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_store_cut(struct b2f_store *store, uint64_t off, struct b2f_why *why);

/*
 * Has another program written to the file of the contiguous @store since the
 * last change by its writer?  Changes of attributes do not count; while the
 * writer is writing the answer is 0.  Returns 1, 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_has_changed(struct b2f_store *store);

/*
 * For a contiguous store: only attributes of its file have changed since the
 * writer's last change; the mtime, too, if @mtime is not NULL: it was set to
 * that (or UTIME_NOW), which commits then keep.
 */
void b2f_store_note_attributes(struct b2f_store *store,
			       const struct timespec *mtime);

#endif
