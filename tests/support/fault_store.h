/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_store.h - a disk that fails, or loses its power, when a test says so
 *
 * A disk holds one frame in memory, mostly a sparse one.  It has two contents
 * of each file, and of the directory: the one that programs read, and the one
 * that a loss of power would leave.  b2f_object_sync() makes a content durable,
 * b2f_store_sync_names() the directory.
 *
 * Operations have numbers, from 0 on.  A test runs something once to see how
 * many there are, and then again for each number, on a new disk that fails or
 * loses power at that one:
 *
 *	for (uint64_t at = 0; at < nops; at++) {
 *		struct fault_disk *disk = fault_disk_load(template), *after;
 *
 *		fault_disk_lose_power(disk, at);
 *		(void)work(fault_disk_mount(disk));
 *		for (unsigned int variant = 0; variant < 8; variant++) {
 *			after = fault_disk_after_loss(disk, variant);
 *			check(fault_disk_mount(after));
 *			fault_disk_free(after);
 *		}
 *		fault_disk_free(disk);
 *	}
 *
 * A contiguous frame is one file that is written to in place: after a loss of
 * power each of its sectors is its last durable version or its present one.
 * Bytes that were written out reach the disk before later writes.
 *
 * Not modelled: the loss of attributes (mode, times), which always survive, and
 * damage of durable bytes.
 *
 * Threads: everything but fault_disk_free() may be called from any thread.
 * There is no error for lack of memory: it aborts.
 */
#ifndef B2F_TESTS_FAULT_STORE_H
#define B2F_TESTS_FAULT_STORE_H

#include "store/write.h"
#include "tests/support/own.h"

struct fault_disk;

/* Kinds of operations. */
enum fault_kind {
	FAULT_CREATE = 1 << 0,
	FAULT_WRITE = 1 << 1,
	FAULT_INHERIT = 1 << 2,
	FAULT_SYNC = 1 << 3,
	FAULT_INSTALL = 1 << 4,
	FAULT_SYNC_NAMES = 1 << 5,
	FAULT_REMOVE = 1 << 6,
	/* A chunk file gets its name, or loses it. */
	FAULT_NAME = 1 << 12,
	/*
	 * Operations that change the disk; only these have numbers by default.
	 */
	FAULT_CHANGES = ((1 << 7) - 1) | FAULT_NAME,
	FAULT_OPEN = 1 << 7,
	FAULT_READ = 1 << 8,
	FAULT_STAT = 1 << 9,
	FAULT_LIST = 1 << 10,
	FAULT_LOCK = 1 << 11,
	FAULT_WRITE_OUT = 1 << 13,
	FAULT_ALL = (1 << 14) - 1,
	/* Operations that fail on a full disk. */
	FAULT_TAKES_ROOM = FAULT_CREATE | FAULT_WRITE | FAULT_INHERIT,
};

struct fault_plan {
	/* The first operation that may fail. */
	uint64_t at;
	/* The errno (> 0) that it fails with. */
	int err;
	/* Kinds that can fail; 0: all that have numbers. */
	unsigned int kinds;
	/* All such operations from @at on fail, not the first one alone. */
	bool onwards;
};

/* An empty disk: no index, no chunks.  Free it with fault_disk_free(). */
struct fault_disk *fault_disk_new(void);

/*
 * A disk with the @size bytes at @index as the index of a frame without chunk
 * files, or if @single, as a contiguous frame; all of it durable.
 */
struct fault_disk *fault_disk_of_index(const uint8_t *index, size_t size,
				       bool single);

/*
 * A disk with the files of directory @path, or the contiguous frame that the
 * file @path is, all of it durable; NULL if that cannot be read.
 */
struct fault_disk *fault_disk_load(const char *path);

/* Makes the frame of @disk a new one: only the name of its index is durable. */
void fault_disk_just_made(struct fault_disk *disk);

/*
 * Makes a syncfs fail: contents that are not durable now never become durable.
 */
void fault_disk_abandon(struct fault_disk *disk);

/*
 * Writes what programs see of @disk into the new directory @path.  Returns 0 or
 * a negative errno.
 */
B2F_MUST_CHECK
int fault_disk_save(struct fault_disk *disk, const char *path);

/* Frees @disk, of which no store may be in use any more.  NULL does nothing. */
void fault_disk_free(struct fault_disk *disk);

OWNER(fault_disk, fault_disk_free);

/*
 * A store of @disk, for b2f_store_free(), b2f_frame_open_store() and the like.
 * There may be several at once; one of them can have the writer's lock, and
 * only that one can change something (-EPERM).
 */
struct b2f_store *fault_disk_mount(struct fault_disk *disk);

/* Gives numbers to operations of @kinds, from the next one on. */
void fault_disk_count(struct fault_disk *disk, unsigned int kinds);

/* How many operations had a number. */
uint64_t fault_disk_nops(struct fault_disk *disk);

/*
 * Describes operation @op (< nops), such as "install" or "write
 * 00000003.chunk".
 */
void fault_disk_describe(struct fault_disk *disk, uint64_t op, char *buf,
			 size_t size);

/*
 * Plans a failure; NULL for none.  An operation that fails does nothing, but a
 * write has written some first bytes, and after a failed sync the content of
 * that file never gets durable any more, though later syncs succeed: Linux
 * forgets which pages it could not write.
 */
void fault_disk_fail(struct fault_disk *disk, const struct fault_plan *plan);

/*
 * Loses power at operation @at: it (a write may be half done) and all later
 * operations, of any kind, return -EIO.
 */
void fault_disk_lose_power(struct fault_disk *disk, uint64_t at);

/* From now on syncs succeed and do nothing, to prove that a test notices. */
void fault_disk_ignore_sync(struct fault_disk *disk);

/*
 * From now on any of the changed names may survive a loss of power, as on
 * btrfs.  By default all changes up to some moment survive and none after it,
 * as on ext4.
 */
void fault_disk_unordered(struct fault_disk *disk);

/*
 * From now on a content of a sparse frame that is not durable survives as the
 * old one, as the new one, or as zeros of its length, as on real filesystems
 * behind files of one block.
 */
void fault_disk_whole(struct fault_disk *disk);

/*
 * Returns a new disk with the contents that @disk has if power is lost now (or
 * was lost): with @variant 0 only durable contents, with 1 everything, from 2
 * on a mixture, always the same for the same number.  In a mixture a content
 * that is not durable is the old one (of a new file: empty), the new one, the
 * new one up to some byte, zeros of its length, or has zeros in some of its 4
 * KiB pages.
 */
struct fault_disk *fault_disk_after_loss(struct fault_disk *disk,
					 unsigned int variant);

#endif
