/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_ops.h - shared by the stores of a disk that fails
 *
 * Private to tests/support/fault_*.c.
 */
#ifndef B2F_TESTS_FAULT_OPS_H
#define B2F_TESTS_FAULT_OPS_H

#include "tests/support/fault_disk.h"

struct fault_store {
	struct b2f_store base;
	struct fault_disk *disk;
	/*
	 * In a contiguous frame: stamp of the file after the last change by the
	 * store.
	 */
	struct b2f_frame_stamp own;
	struct timespec mtime;
};

extern const struct b2f_store_ops fault_sparse_ops;
extern const struct b2f_store_ops fault_single_ops;

static inline struct fault_disk *fault_disk_of(const struct b2f_store *store)
{
	return ((const struct fault_store *)store)->disk;
}

static inline struct fault_file *fault_file_of(const struct b2f_object *object)
{
	return &fault_disk_of(object->store)->files[object->fd];
}

/* The name of the open file @file, for the record.  The lock is held. */
int64_t fault_id_of(const struct fault_disk *disk, size_t file);

/* Begins an operation, with the lock held.  Returns 0, or the planned error. */
int fault_begin(struct fault_disk *disk, enum fault_kind kind, int64_t id,
		struct b2f_why *why);

/* The same for operations that only the writer may do. */
int fault_begin_change(struct b2f_store *store, enum fault_kind kind,
		       int64_t id, struct b2f_why *why);

/*
 * Notes the stamp of the one file of @store; with @keep_mtime its mtime, too.
 * The lock is held.
 */
void fault_single_note(struct b2f_store *store, bool keep_mtime);

/* Operations of both kinds of store. */
int fault_open(struct b2f_store *store, int64_t id, struct b2f_object *out,
	       struct b2f_why *why);
int fault_read(const struct b2f_object *object, uint64_t off, void *buf,
	       size_t n, struct b2f_why *why);
void fault_close(struct b2f_object *object);
int fault_stat(struct b2f_store *store, int64_t id, struct stat *out);
void fault_free(struct b2f_store *store);
int fault_clone(struct b2f_store *store, struct b2f_store **out,
		struct b2f_why *why);
int fault_lock(struct b2f_store *store, bool on, struct b2f_why *why);
bool fault_was_written(const struct b2f_object *object);
int fault_write(const struct b2f_object *object, uint64_t off, const void *buf,
		size_t n, struct b2f_why *why);

#endif
