/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.h - shared by the files of store/ that use a filesystem
 *
 * Outside store/ a store is a struct b2f_store; remote/ also uses the names of
 * objects, and the functions for plain files.
 *
 * Layer: store.  May include: base/.  Threads: as store.h.
 */
#ifndef B2F_STORE_FILES_H
#define B2F_STORE_FILES_H

#include <sys/stat.h>
#include <time.h>

#include "store/place.h"
#include "store/store.h"

/* Name of an index until it is installed. */
#define B2F_FILES_NEW_INDEX ".chunks.b2frame.new"

/* A directory, or a single file. */
struct b2f_files {
	struct b2f_store base;
	/*
	 * Descriptor of the directory, or of the one file; it has the flock(2).
	 */
	int fd;
	/* A directory made by this process; no writer has begun yet. */
	bool is_new;
	/* Reads by @fd do not change access times any more. */
	_Atomic bool is_quiet;
	/* For a single file: its place; without a name: not known. */
	struct b2f_place home;
	/* For a single file that is being written to; see files_single.c. */
	struct b2f_files_writer *writer;
};

/* @store must come from b2f_store_open(). */
static inline struct b2f_files *b2f_files_of(struct b2f_store *store)
{
	return (struct b2f_files *)store;
}

/*
 * Makes a store of the directory or file @fd, and takes ownership of @fd.  Free
 * it with b2f_store_free().  NULL: out of memory; @fd stays the caller's.
 */
struct b2f_store *b2f_files_new(int fd, bool is_dir);

/* Is @store a directory? If so b2f_files_of() may be used. */
bool b2f_files_is_dir(const struct b2f_store *store);

/* Is @store a directory or a single file? */
bool b2f_files_is_file(const struct b2f_store *store);

/*
 * Lists the ids under whose names object @id may be found, in the order to try;
 * returns their number.
 */
#define B2F_FILES_TRIES 3
int b2f_files_tries(int64_t id, int64_t out[B2F_FILES_TRIES]);

/* The name of object @id; @buf is the buffer for the name of a chunk file. */
const char *b2f_files_name(int64_t id, char buf[B2F_CHUNK_NAME_SIZE]);

/* Parses @name; false: not a chunk file or a new index. */
bool b2f_files_parse_name(const char *name, int64_t *id);

/* Like b2f_store_list(), for the directory @dirfd. */
B2F_MUST_CHECK
int b2f_files_list(int dirfd, int (*fn)(void *arg, int64_t id), void *arg);

/*
 * Opens the stored file @name below @dirfd with the access mode @flags and
 * O_NOATIME, if @flags has that and this process is allowed to.  Does not wait
 * for a FIFO, nor follow a symbolic link.  Returns a descriptor, or -1 with
 * errno.
 */
int b2f_files_open(int dirfd, const char *name, int flags);

/*
 * Like b2f_files_open(), for a name that may be a symbolic link: an operand, or
 * in /proc.
 */
int b2f_files_open_followed(int dirfd, const char *name, int flags);

/*
 * Gives the file @fd, which has no name yet, the name @name below @dirfd.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_files_name_it(int fd, int dirfd, const char *name, struct b2f_why *why);

/* The read operation of both stores: see b2f_object_read(). */
B2F_MUST_CHECK
int b2f_files_read(const struct b2f_object *object, uint64_t off, void *buf,
		   size_t n, struct b2f_why *why);

/* Writes all @n bytes.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_files_write_fully(int fd, uint64_t off, const void *buf, size_t n,
			  struct b2f_why *why);

/*
 * The same; but a process of root acts as the owner of @fd: a
 * filesystem keeps its last blocks for root, and root's data may go beyond a
 * quota; but data belong to the owner of the file, whoever stores them.  A file
 * with set-id bits is left to root, as other users clear these by writing.
 */
B2F_MUST_CHECK
int b2f_files_write_as_owner(int fd, uint64_t off, const void *buf, size_t n,
			     struct b2f_why *why);

/*
 * Waits until the data of @fd are on the disk.  The kernel reports a failed
 * write once, here or to fsync(2).  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_files_write_out(int fd, struct b2f_why *why);

/* fsync(2) and fdatasync(2), repeated after a signal. */
B2F_MUST_CHECK
int b2f_files_fsync(int fd);
B2F_MUST_CHECK
int b2f_files_fdatasync(int fd);

/*
 * Locks the directory or file @fd for a single writer, where the filesystem has
 * locks.  Returns 0, -EBUSY (another process has the lock) or an errno.
 */
B2F_MUST_CHECK
int b2f_files_lock(int fd, struct b2f_why *why);

/*
 * Does the error @err of an open with O_TMPFILE mean that the filesystem has no
 * such files?  There a file has its name from the beginning.
 */
bool b2f_files_has_no_tmpfile(int err);

/* Write operations of a directory. */
extern const struct b2f_store_write_ops b2f_files_write;

#endif
