/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h - the place of a frame's stored bytes
 *
 * A store holds objects: the index, and one object per chunk.  It knows their
 * places and how to read them, but not their contents.  In a sparse frame each
 * object is a file.  In a contiguous one the index object is the whole file,
 * and chunks are ranges of it (ranges.h).
 *
 * Layer: store.  May include: base/.
 *
 * Threads: all functions but b2f_store_free() may be called from any thread;
 * one object belongs to one thread at a time unless said otherwise.
 * b2f_object_read() is safe from any number of threads.
 */
#ifndef B2F_STORE_STORE_H
#define B2F_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/error.h"
#include "b2frame/frame.h"
#include "base/attr.h"
#include "base/why.h"
#include "store/ranges.h"

struct b2f_generation;
struct b2f_store;

/* The id of the object that holds the index; all others are chunk files. */
#define B2F_OBJECT_INDEX (-1)

/* The new index before it is installed; only a writer sees it. */
#define B2F_OBJECT_NEW_INDEX (-2)

/*
 * A bit in the id of a chunk file: the file is *pending*, so it may still have
 * a name that no other program knows or uses. b2f_store_name() gives it its
 * own.  Chunk ids are below this bit, as C-Blosc2 reads them as int32.
 */
#define B2F_OBJECT_PENDING INT64_C(0x80000000)

/* "FFFFFFFF.chunk" and its 0. */
#define B2F_CHUNK_NAME_SIZE 15

/* The kind of chunks of a store, which decides how they are changed. */
enum b2f_store_kind {
	/* Ranges of one file. */
	B2F_STORE_SINGLE,
	/* Files of a directory. */
	B2F_STORE_SPARSE,
	/*
	 * Objects of a bucket, which is shared: writers do not exclude each
	 * other.  So an orphan may be a chunk that another writer is about to
	 * commit; ids are never reused; a chunk is durable and has its final
	 * name as soon as it exists; and only b2f_store_install() finds out
	 * whether the index is unchanged.
	 */
	B2F_STORE_SHARED,
};

/* An open object.  Zero-initialized it may be closed. */
struct b2f_object {
	struct b2f_store *store;
	/* Offset in its file; not 0 for chunks of contiguous frames. */
	uint64_t base;
	/*
	 * Size when it was opened; for a chunk of a contiguous frame, of its
	 * range.
	 */
	uint64_t size;
	/*
	 * Its stamp at the open; zero for a buffer, which is never rewritten.
	 */
	struct b2f_frame_stamp identity;
	/* Private to the store; -1 or NULL if it has none. */
	int fd;
	const uint8_t *data;
	void *private;
	/* Created, and not published yet. */
	bool unnamed;
};

/* Stamps of the index. */
enum b2f_stamp {
	/* See b2f_store_stamp_index(), _begin_index() and _own_stamp(). */
	B2F_STAMP_NOW,
	B2F_STAMP_BEGIN,
	B2F_STAMP_OWN,
};

struct b2f_store_ops {
	/*
	 * Opens the file of object @id for reading into @out; in a contiguous
	 * store always B2F_OBJECT_INDEX.  Must not block on FIFOs nor follow
	 * links out of the store.
	 */
	int (*open)(struct b2f_store *store, int64_t id, struct b2f_object *out,
		    struct b2f_why *why);
	/* See b2f_object_read(). */
	int (*read)(const struct b2f_object *object, uint64_t off, void *buf,
		    size_t n, struct b2f_why *why);
	/* NULL: nothing is to be done. */
	void (*close)(struct b2f_object *object);
	/* See b2f_object_expect(); NULL: there is nothing to gain. */
	void (*expect)(const struct b2f_object *object, uint64_t off,
		       uint64_t n);
	/*
	 * See b2f_store_prefetch(); NULL: there is nothing to gain, as objects
	 * are near.
	 */
	void (*prefetch)(struct b2f_store *store, int64_t id, uint64_t n);
	/* See b2f_store_distrust(); NULL: there are no cached copies. */
	bool (*distrust)(struct b2f_store *store, int64_t id);
	/* See b2f_object_was_written(); NULL: it was. */
	bool (*was_written)(const struct b2f_object *object);
	/* See b2f_object_look(); NULL: objects should not stay open. */
	int (*look)(const struct b2f_object *object,
		    struct b2f_frame_stamp *out);
	/*
	 * fstat(2) of object @id; in a contiguous store of its file.  Finds a
	 * pending object as open() does.
	 */
	int (*stat)(struct b2f_store *store, int64_t id, struct stat *out);
	/* See enum b2f_stamp; NULL: stat() has all of them. */
	int (*stamp)(struct b2f_store *store, enum b2f_stamp what,
		     struct b2f_frame_stamp *out);
	/* NULL: it is memory alone. */
	void (*free)(struct b2f_store *store);
	/* See the functions of the same name. */
	int (*clone)(struct b2f_store *store, struct b2f_store **out,
		     struct b2f_why *why);
	/*
	 * Why it cannot be written, as "it is a ..."; NULL: a part of a file.
	 */
	const char *obstacle;
	/* NULL: the store is read-only. */
	const struct b2f_store_write_ops *write;
};

/* How far written data have to get. */
enum b2f_settle {
	/* Writing to the disk begins; no wait, no promise. */
	B2F_SETTLE_SOON,
	/* Written, but the disk's cache not flushed (b2f_object_settle()). */
	B2F_SETTLE_ORDER,
	/* Durable (fsync). */
	B2F_SETTLE_DURABLE,
	/* The id of no object: the names are durable. */
	B2F_SETTLE_NAMES,
};

/* The index to replace. */
struct b2f_install {
	/* For a shared store: its required version. */
	const struct b2f_frame_stamp *base;
	/*
	 * For a shared store: the chunks that the new index no longer names.
	 * The store keeps a list of them for later writers, until no readers of
	 * the earlier index are left.
	 */
	const uint64_t *replaced;
	size_t nreplaced;
	/* For a contiguous store alone: see b2f_store_put_head(). */
	const void *head;
	size_t nhead;
	const struct timespec *mtime;
};

/* See the functions of store/write.h. */
struct b2f_store_write_ops {
	/* Locks, or unlocks if not @on. */
	int (*lock)(struct b2f_store *store, bool on, struct b2f_why *why);
	int (*create)(struct b2f_store *store, int64_t id,
		      struct b2f_object *out, struct b2f_why *why);
	int (*write)(const struct b2f_object *object, uint64_t off,
		     const void *buf, size_t n, struct b2f_why *why);
	int (*inherit)(const struct b2f_object *object,
		       const struct timespec *mtime, struct b2f_why *why);
	/* @object NULL: the installed index, or with B2F_SETTLE_NAMES none. */
	int (*settle)(struct b2f_store *store, const struct b2f_object *object,
		      enum b2f_settle how, struct b2f_why *why);
	/*
	 * See b2f_store_name(), or for an @object that was created without a
	 * name b2f_object_publish().  NULL: objects have no names of their own.
	 */
	int (*name)(struct b2f_store *store, int64_t id,
		    struct b2f_object *object, struct b2f_why *why);
	int (*install)(struct b2f_store *store, const struct b2f_install *what,
		       struct b2f_why *why);
	/* See b2f_store_first_id(); NULL: nothing more is known. */
	int (*first_id)(struct b2f_store *store, uint64_t *id,
			struct b2f_why *why);
	/*
	 * Removes the @n objects @ids, in a shared store as b2f_store_sweep().
	 * In a contiguous store there are none: frees the bytes @range of its
	 * file, or those from @range->off on if it has the size UINT64_MAX.
	 */
	int (*remove)(struct b2f_store *store, const uint64_t *ids, size_t n,
		      const struct b2f_range *range, struct b2f_why *why);
	/* NULL except for shared stores. */
	bool (*is_due)(struct b2f_store *store);
	int (*list)(struct b2f_store *store, int (*fn)(void *arg, int64_t id),
		    void *arg);
	/* NULL except for contiguous stores, which have no name and list. */
	int (*has_changed)(struct b2f_store *store);
};

/* The first member of every kind of store. */
struct b2f_store {
	const struct b2f_store_ops *ops;
	enum b2f_store_kind kind;
	/* See b2f_store_be_quiet(). */
	_Atomic bool quiet;
	/* Ranges of the chunks in a contiguous store; or NULL. */
	struct b2f_ranges *ranges;
	/* See turn.h; NULL: this store has no lock file. */
	struct b2f_generation *generation;
	/*
	 * For a file without an index of its own: the length of the parts of
	 * the index object that the store has made, before and behind the file.
	 */
	uint64_t lead;
	uint64_t tail;
};

/* Has @store an object per chunk? */
static inline bool b2f_store_is_sparse(const struct b2f_store *store)
{
	return store->kind != B2F_STORE_SINGLE;
}

/*
 * From now on reads do not change access times, where this process is allowed
 * to do so: for its own files, and as root.  The open has counted as use of the
 * frame; later reads must not undo a time that a user has set.
 */
void b2f_store_be_quiet(struct b2f_store *store);

/*
 * Opens the directory or file @name below @dirfd (AT_FDCWD is allowed).  A
 * directory becomes the store of a sparse frame, a file that of a contiguous
 * one; the last component may be a symbolic link if @follow.  Free *@out with
 * b2f_store_free().
 *
 * Returns 0, -ENOMEM, B2F_ENOTFRAME (neither directory nor file), or an errno
 * of openat(2).
 */
B2F_MUST_CHECK
int b2f_store_open(int dirfd, const char *name, bool follow,
		   struct b2f_store **out, struct b2f_why *why);

/*
 * A contiguous store over the @size bytes at @data, which must outlive it.
 * Free *@out with b2f_store_free().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_store_new_memory(const uint8_t *data, size_t size,
			 struct b2f_store **out);

/*
 * Makes another store of the same place, which shares no lock with @store.
 * Free *@out with b2f_store_free().  Returns 0, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_store_clone(struct b2f_store *store, struct b2f_store **out,
		    struct b2f_why *why);

/* The directory of a sparse store, which owns it; -1 if there is none. */
int b2f_store_dirfd(const struct b2f_store *store);

/*
 * Sets the name of the contiguous @store's file: @name below @dirfd, which is
 * duplicated; "": none.  C-Blosc2's lock file is beside it.  Returns 0, -ENOMEM
 * or an errno.
 */
B2F_MUST_CHECK
int b2f_store_set_home(struct b2f_store *store, int dirfd, const char *name);

/* NULL does nothing. */
void b2f_store_free(struct b2f_store *store);

/*
 * Opens object @id; a pending one under its hidden name, or else under its own.
 * A chunk file that is missing, or is not a plain file, is B2F_ECORRUPT, but
 * -ESTALE if the index is missing too; a missing index is -ENOENT; other errnos
 * pass.  Close @out with b2f_object_close().
 */
B2F_MUST_CHECK
int b2f_object_open(struct b2f_store *store, int64_t id, struct b2f_object *out,
		    struct b2f_why *why);

void b2f_object_close(struct b2f_object *object);

/* Closes an object, which begins as {.fd = -1}, at the end of its block. */
#define B2F_OWN_OBJECT __attribute__((cleanup(b2f_object_close)))

/*
 * Has any byte of @object been written, as far as its filesystem knows?  A loss
 * of power leaves unsynced files with a length but without data: they read as
 * zeros, and have no extents, or unwritten ones.  True if not known.
 */
bool b2f_object_was_written(const struct b2f_object *object);

/*
 * Reads the current stamp of the open @object (.identity is the stamp at the
 * open).  Returns 0, an errno, or -EOPNOTSUPP: this store cannot tell, so its
 * objects should not stay open for long.
 */
B2F_MUST_CHECK
int b2f_object_look(const struct b2f_object *object,
		    struct b2f_frame_stamp *out);

/*
 * Reads the @n bytes at @off into @buf, all of them.
 * Returns 0, B2F_ECORRUPT (the object ends before), or an errno of pread(2).
 */
B2F_MUST_CHECK
int b2f_object_read(const struct b2f_object *object, uint64_t off, void *buf,
		    size_t n, struct b2f_why *why);

/* Hints that the @n bytes at @off are needed soon.  Does not wait. */
void b2f_object_expect(const struct b2f_object *object, uint64_t off,
		       uint64_t n);

/*
 * Reports that the bytes read from object @id are damaged: drops cached copies,
 * and logs that.  Returns whether there was a copy, so that reading again may
 * help.
 */
bool b2f_store_distrust(struct b2f_store *store, int64_t id);

/*
 * Hints that object @id will be opened soon, and its first @n bytes read.  Does
 * not wait.
 */
void b2f_store_prefetch(struct b2f_store *store, int64_t id, uint64_t n);

/* Does fstat(2) of the index.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_store_stat_index(struct b2f_store *store, struct stat *out);

/*
 * Reads the stamp of object @id, to notice later whether it was rewritten;
 * finds a pending object as b2f_object_open() does.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_identify(struct b2f_store *store, int64_t id,
		       struct b2f_frame_stamp *out);

/* Like b2f_store_stat_index(), as a stamp. */
B2F_MUST_CHECK
int b2f_store_stamp_index(struct b2f_store *store, struct b2f_frame_stamp *out);

/*
 * Like b2f_store_stamp_index(), before a frame is read as a whole: a store that
 * pins a version of the index pins the current one.
 */
B2F_MUST_CHECK
int b2f_store_begin_index(struct b2f_store *store, struct b2f_frame_stamp *out);

/*
 * Reads the stamp that the index has unless another program has changed it: in
 * a contiguous store, after the writer's last change; in a shared store, after
 * its last b2f_store_install().  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_store_own_stamp(struct b2f_store *store, struct b2f_frame_stamp *out);

/* Writes the name of chunk file @id; of a pending one, its later name. */
void b2f_chunk_name(int64_t id, char name[B2F_CHUNK_NAME_SIZE]);

#endif
