/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h - where the stored bytes of a frame live
 *
 * A store holds objects: the index, and one object per chunk.  It knows where
 * they are and how to read them, nothing of what is in them.  In a sparse frame
 * each object is a file.  In a contiguous one the index object is the whole
 * file, and chunks are ranges of it (ranges.h).
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

/* The index that is to replace it; only a writer sees it. */
#define B2F_OBJECT_NEW_INDEX (-2)

/*
 * In the id of a chunk file, besides the chunk id: the file is *pending*, which
 * means that it may still be under a name that no other program knows or takes.
 * b2f_store_name() gives it its own.  Numbers are below this bit, as C-Blosc2
 * reads them as int32.
 */
#define B2F_OBJECT_PENDING INT64_C(0x80000000)

/* "FFFFFFFF.chunk" and its 0. */
#define B2F_CHUNK_NAME_SIZE 15

/* An open object.  Zero-initialized it may be closed. */
struct b2f_object {
	struct b2f_store *store;
	/* Where it begins in its file; not 0 for contiguous frames' chunks. */
	uint64_t base;
	/*
	 * Bytes it had when it was opened; for a chunk of a contiguous frame, those
	 * that may belong to it.
	 */
	uint64_t size;
	/*
	 * Its stamp at that moment; zero for a buffer, which is never
	 * rewritten.
	 */
	struct b2f_frame_stamp identity;
	/* Private to the store; -1 or NULL if it has none. */
	int fd;
	const uint8_t *data;
	void *private;
	/* Created, and not published yet. */
	bool unnamed;
};

struct b2f_store_ops {
	/*
	 * Opens the file of object @id for reading into @out; that of all objects
	 * of a contiguous store is B2F_OBJECT_INDEX.  Must not block on FIFOs nor
	 * follow links out of the store.
	 */
	int (*open)(struct b2f_store *store, int64_t id, struct b2f_object *out,
		    struct b2f_why *why);
	/* See b2f_object_read(). */
	int (*read)(const struct b2f_object *object, uint64_t off, void *buf,
		    size_t n, struct b2f_why *why);
	void (*close)(struct b2f_object *object);
	/* See b2f_object_expect(); NULL: there is nothing to gain. */
	void (*expect)(const struct b2f_object *object, uint64_t off,
		       uint64_t n);
	/* See b2f_store_prefetch(); NULL: there is nothing to gain. */
	void (*prefetch)(struct b2f_store *store, int64_t id, uint64_t n);
	/* See b2f_store_distrust(); NULL: nothing is kept. */
	bool (*distrust)(struct b2f_store *store, int64_t id);
	/* See b2f_object_was_written(); NULL: it was. */
	bool (*was_written)(const struct b2f_object *object);
	/* See b2f_object_look(); NULL: objects are not to stay open. */
	int (*look)(const struct b2f_object *object,
		    struct b2f_frame_stamp *out);
	/* Does fstat(2) of the index, for attributes and changes. */
	int (*stat_index)(struct b2f_store *store, struct stat *out);
	/* See b2f_store_be_quiet(); NULL: opening an object is always quiet. */
	void (*be_quiet)(struct b2f_store *store);
	/*
	 * See b2f_store_begin_index(); NULL: the same as
	 * b2f_store_stamp_index().
	 */
	int (*begin_index)(struct b2f_store *store,
			   struct b2f_frame_stamp *out);
	/* See b2f_store_stamp_index(); NULL: stat_index() has the stamp. */
	int (*stamp_index)(struct b2f_store *store,
			   struct b2f_frame_stamp *out);
	void (*free)(struct b2f_store *store);
	/* See the functions of the same name. */
	int (*clone)(struct b2f_store *store, struct b2f_store **out,
		     struct b2f_why *why);
	int (*dirfd)(const struct b2f_store *store);
	/* See b2f_store_check_chunk(); NULL: there is nothing to check. */
	int (*check)(const struct b2f_object *chunk, uint32_t cbytes,
		     const uint8_t *stored, struct b2f_why *why);
	/* Why it can never be written to, as "it is a ..."; NULL: as a part. */
	const char *obstacle;
	/* For writing, or NULL for a store that is read-only. */
	const struct b2f_store_write_ops *write;
};

/* How far what was written to an object is to get. */
enum b2f_settle {
	/* The disk begins with it; nothing waits, and nothing is promised. */
	B2F_SETTLE_SOON,
	/* It is written, but the disk not flushed (b2f_object_settle()). */
	B2F_SETTLE_ORDER,
	/* It is durable (fsync). */
	B2F_SETTLE_DURABLE,
};

/* What an index takes the place of. */
struct b2f_install {
	/* For a shared store: the version that it has to be; else unused. */
	const struct b2f_frame_stamp *base;
	/*
	 * For a shared store: the chunks that the new index does not name any more.
	 * It is for the store to remember them, and to tell later writers, until
	 * readers of the index before do not come any more.
	 */
	const uint64_t *replaced;
	size_t nreplaced;
};

/* See the functions of store/write.h. */
struct b2f_store_write_ops {
	int (*lock)(struct b2f_store *store, struct b2f_why *why);
	/* NULL: the lock ends with the store. */
	void (*unlock)(struct b2f_store *store);
	int (*create)(struct b2f_store *store, int64_t id,
		      struct b2f_object *out, struct b2f_why *why);
	/* NULL: objects have their names from the beginning. */
	int (*publish)(struct b2f_object *object, int64_t id,
		       struct b2f_why *why);
	int (*write)(const struct b2f_object *object, uint64_t off,
		     const void *buf, size_t n, struct b2f_why *why);
	int (*inherit)(const struct b2f_object *object,
		       const struct timespec *mtime, struct b2f_why *why);
	int (*settle)(const struct b2f_object *object, enum b2f_settle how,
		      struct b2f_why *why);
	int (*name)(struct b2f_store *store, int64_t id, struct b2f_why *why);
	int (*install)(struct b2f_store *store, const struct b2f_install *what,
		       struct b2f_why *why);
	/* See b2f_store_first_id(); NULL: nothing more is known. */
	int (*first_id)(struct b2f_store *store, uint64_t *id,
			struct b2f_why *why);
	/* NULL: the index can always be opened for reading. */
	int (*sync_index)(struct b2f_store *store, struct b2f_why *why);
	int (*sync_names)(struct b2f_store *store, struct b2f_why *why);
	int (*remove)(struct b2f_store *store, int64_t id, struct b2f_why *why);
	/* For shared stores; others have NULL here. */
	bool (*is_due)(struct b2f_store *store);
	int (*sweep)(struct b2f_store *store, const uint64_t *ids, size_t n,
		     struct b2f_why *why);
	int (*identify)(struct b2f_store *store, int64_t id,
			struct b2f_frame_stamp *out);
	int (*list)(struct b2f_store *store, int (*fn)(void *arg, int64_t id),
		    void *arg);
	/*
	 * For contiguous stores; others have NULL here.  A contiguous store has
	 * no publish, name, install, remove, sync_names, list.
	 */
	int (*put_head)(struct b2f_store *store, const void *head, size_t n,
			const struct timespec *mtime, struct b2f_why *why);
	int (*cut)(struct b2f_store *store, uint64_t off, uint64_t size,
		   struct b2f_why *why);
	/* NULL: what b2f_store_stat_index() says. */
	int (*own_stamp)(struct b2f_store *store, struct b2f_frame_stamp *out);
	int (*has_changed)(struct b2f_store *store);
	int (*note_attributes)(struct b2f_store *store, bool sets_mtime);
};

/* The first member of every kind of store. */
struct b2f_store {
	const struct b2f_store_ops *ops;
	/* One file per chunk. */
	bool sparse;
	/* See b2f_store_be_quiet(). */
	_Atomic bool quiet;
	/* Where chunks are, for a contiguous store that has some; or NULL. */
	struct b2f_ranges *ranges;
	/* See turn.h; NULL: this store has no lock file. */
	struct b2f_generation *generation;
	/*
	 * For a file without an index of its own: the bytes of the index object
	 * that the store has made, before the file and behind it.
	 */
	uint64_t lead;
	uint64_t tail;
	/* Chunks have checksums that take all of their stored bytes. */
	bool has_sums;
	/*
	 * Writers do not lock each other out.  So a chunk that no index names
	 * may belong to another writer, whose next index names it; no id is
	 * ever given twice; a chunk has its name, and is durable, as soon as it
	 * is there; and only b2f_store_install() tells whether the index is
	 * still the same.
	 */
	bool shared;
};

/*
 * From now on reads leave the access times, where this process may ask for that:
 * of its own files, and as root.  A program that opens a file has used it by then;
 * whatever is read later, because a program reads or because it has changed, must
 * not undo a time that a user has set meanwhile.
 */
void b2f_store_be_quiet(struct b2f_store *store);

/*
 * Opens the directory or file @name below @dirfd (AT_FDCWD is allowed).  A
 * directory is a sparse frame's store, a file a contiguous one's; the last
 * component may be a symbolic link if @follow.  Free *@out with
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

/* The directory of a sparse store, which stays its; -1 if there is none. */
int b2f_store_dirfd(const struct b2f_store *store);

/*
 * Tells the contiguous @store under which name its file is: @name below @dirfd,
 * which is duplicated; an empty one is none.  C-Blosc2's lock file is beside that.
 * Returns 0, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_store_set_home(struct b2f_store *store, int dirfd, const char *name);

/* NULL does nothing. */
void b2f_store_free(struct b2f_store *store);

/*
 * Opens object @id; of a pending one the file under its hidden name, or else
 * that under its own.  A chunk file that is missing, a link, a directory or no
 * plain file is B2F_ECORRUPT, but -ESTALE if the index is missing too; a missing
 * index is -ENOENT; every other errno passes.  Close @out with b2f_object_close().
 */
B2F_MUST_CHECK
int b2f_object_open(struct b2f_store *store, int64_t id, struct b2f_object *out,
		    struct b2f_why *why);

void b2f_object_close(struct b2f_object *object);

/*
 * Has any byte of @object ever been written, as far as its filesystem knows?  A loss
 * of power leaves files that were never synced with a length, and no bytes: these
 * are read as zeros, but the filesystem has noted no place for them, or that it has
 * not written there yet.  True if it cannot tell.
 */
bool b2f_object_was_written(const struct b2f_object *object);

/*
 * Reads the current stamp of the open @object; .identity is the stamp at its
 * open.  Returns 0, an errno, or -EOPNOTSUPP: objects of this store do not
 * tell, so that they are not to stay open for long.
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

/*
 * Lets the system begin to read the @n bytes at @off, which are needed soon; a
 * hint, which does not wait.
 */
void b2f_object_expect(const struct b2f_object *object, uint64_t off,
		       uint64_t n);

/*
 * The bytes read from object @id are damaged: drops copies of the object, and
 * logs that.  Returns whether there was a copy, so that a second read asks for
 * the object itself.
 */
bool b2f_store_distrust(struct b2f_store *store, int64_t id);

/*
 * Lets the system begin to read the first @n bytes of object @id, of which there
 * may be fewer: it will be opened soon.  A hint, which does not wait.
 */
void b2f_store_prefetch(struct b2f_store *store, int64_t id, uint64_t n);

/*
 * Checks what this kind of file says of the open @chunk, whose header says that it
 * has @cbytes bytes: that they are there, and if all are at @stored (else NULL)
 * that they have the right checksum.  Returns 0, B2F_ECORRUPT, B2F_EUNSUPPORTED
 * (a checksum that is not built in) or an errno.
 */
B2F_MUST_CHECK
int b2f_store_check_chunk(const struct b2f_object *chunk, uint32_t cbytes,
			  const uint8_t *stored, struct b2f_why *why);

/* Does fstat(2) of the index.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_store_stat_index(struct b2f_store *store, struct stat *out);

/* The same as a stamp. */
B2F_MUST_CHECK
int b2f_store_stamp_index(struct b2f_store *store, struct b2f_frame_stamp *out);

/*
 * The same before all of the frame is read: a store that holds on to one version of
 * the index begins anew, with what is there now.
 */
B2F_MUST_CHECK
int b2f_store_begin_index(struct b2f_store *store, struct b2f_frame_stamp *out);

/* Writes the name of chunk file @id, which a pending one is going to have. */
void b2f_chunk_name(int64_t id, char name[B2F_CHUNK_NAME_SIZE]);

#endif
