/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * durability.h - would a frame on disk survive a loss of power?
 *
 * struct b2f_durability says whether the chunk files of a frame, its index, and
 * their names in its directory would survive a loss of power.  It is shared by
 * the file that is written to (write.h), which moves it at each commit, and by
 * its owner, which may let a later sync of the whole filesystem do the rest
 * after the file was closed.
 *
 *   state     the version on disk             a visible     a durable
 *                                             commit        commit also
 *   DURABLE   survives                        syncs, too    -
 *   NEW       may not survive; no older       does not      syncs all
 *             version did                     sync          chunk files
 *   UNSYNCED  may not survive; it replaced    syncs, too    syncs all
 *             a version that did                            chunk files
 *   FAILED    a sync failed: its bytes are    syncs, too    writes all
 *             unknown, and another sync                     chunk files
 *             would succeed                                 again
 *
 *   from            event                                          to
 *   -               made                                           NEW
 *   -               found on disk                                  DURABLE
 *   NEW             commit that is only visible                    NEW
 *   DURABLE         commit; its very last sync failed              UNSYNCED
 *   DURABLE         merged with what another program has written   UNSYNCED
 *   NEW, UNSYNCED   commit that synced                             DURABLE
 *   NEW             all of its files were synced, and no           DURABLE
 *                   transaction was open meanwhile
 *   NEW, UNSYNCED   sync of a file, or of the filesystem, failed   FAILED
 *   FAILED          commit that read and wrote all anew            DURABLE
 *
 * Linux reports a failed write once, and a later sync succeeds without it.  So
 * the state UNSYNCED only ends when a commit has written another index, and the
 * state FAILED when all data have been read, compared with their checksums, and
 * written to new files, too.
 *
 * Layer: for bloscfs and bloscctl alone (made by frame/).  Threads: any.
 */
#ifndef B2F_PROGRAMS_DURABILITY_H
#define B2F_PROGRAMS_DURABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/error.h"

struct b2f_file;

enum b2f_durable_state {
	B2F_DISK_DURABLE,
	B2F_DISK_NEW,
	B2F_DISK_UNSYNCED,
	B2F_DISK_FAILED,
};

/* Zeroed it is DURABLE. */
struct b2f_durability {
	/* Both change at once, in any thread: ask the functions below. */
	enum b2f_durable_state state;
	uint64_t since_ns;
};

enum b2f_durable_state b2f_durability_get(const struct b2f_durability *d);

/* Has a sync failed, so that only a commit makes the frame durable? */
static inline bool b2f_durable_needs_commit(enum b2f_durable_state state)
{
	return state == B2F_DISK_UNSYNCED || state == B2F_DISK_FAILED;
}

/* When the state ceased to be DURABLE, monotonic clock; 0: it is DURABLE. */
uint64_t b2f_durability_since_ns(const struct b2f_durability *d);

/*
 * Moves @d from state @from to @to.  Returns false, and does nothing, if @d has
 * left @from.
 */
bool b2f_durability_move(struct b2f_durability *d, enum b2f_durable_state from,
			 enum b2f_durable_state to);

/* Notes that a later sync, on which the frame relied, has failed. */
void b2f_durability_fail(struct b2f_durability *d);

/*
 * Makes the files at @fd DURABLE by @sync, while no transaction is open.
 * Returns 0, -EIO (a sync has failed before, or fails meanwhile: it takes a
 * commit), or the error of @sync.
 */
B2F_MUST_CHECK
int b2f_durability_sync(struct b2f_durability *d, int (*sync)(int fd), int fd);

/*
 * Makes the stored version of @file durable, whose state is @d, where
 * b2f_file_commit() had no transaction to do so: calls @sync, which syncs all
 * files of the frame at @fd, and moves @d.  No transaction begins meanwhile.
 *
 * Returns 0; 1 (a transaction is open by now: commit it); -EAGAIN (@waits is
 * false, and another thread commits); -EIO (a sync has failed before:
 * b2f_file_allow_write(), then a durable commit); or the error of @sync.
 */
B2F_MUST_CHECK
int b2f_file_sync_stored(struct b2f_file *file, struct b2f_durability *d,
			 bool waits, int (*sync)(int fd), int fd);

#endif
