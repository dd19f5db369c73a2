/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats.h - statistics of the mount, for the log and for statsfile=
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_STATS_H
#define B2F_FUSE_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "b2frame/error.h"

struct fs;

struct fs_stats {
	_Atomic uint64_t nlookups;
	_Atomic uint64_t nopens;
	/* Opens after which the kernel kept its pages. */
	_Atomic uint64_t nkept;
	/* Opens of files that the kernel reads and writes itself. */
	_Atomic uint64_t npassed;
	_Atomic uint64_t nreads;
	_Atomic uint64_t nread_bytes;
	_Atomic uint64_t nwrites;
	/* How many of @nwrites were answered. */
	_Atomic uint64_t nwrites_done;
	_Atomic uint64_t nwritten_bytes;
	/* Requests for data that were answered with an error. */
	_Atomic uint64_t nerrors;
};

/* Adds @n to a counter; orders no other memory access. */
static inline void fs_stats_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Grows with each use of the mount, and only then. */
static inline uint64_t fs_stats_uses(const struct fs_stats *s)
{
	return s->nlookups + s->nopens + s->nreads + s->nwrites;
}

/* Writes all statistics, and those of the library, to the log. */
void fs_stats_log(struct fs *fs);

enum fs_stats_form {
	/* Makes one object (docs/json.md). */
	FS_STATS_JSON,
	/* Lines for the textfile collector of node_exporter. */
	FS_STATS_PROMETHEUS,
};

/* The same as malloc'ed text.  Returns its length; -1: no memory. */
int fs_stats_text(struct fs *fs, enum fs_stats_form form, char **out);

/*
 * The statistics in a file (statsfile=), written again while the mount is used,
 * and at its end, by a rename, so that a reader always gets a whole file.
 * _tick for the ticker's thread; the others for the main one, before and after
 * that.
 */
struct fs_stats_file {
	/* The directory; -1 without a name. */
	int dir_fd;
	/* NULL: there is no file. */
	char *name;
	/* fs_stats_uses() at the last write. */
	uint64_t nuses;
	/* Ticks since the last write. */
	unsigned int age;
	/* A failure has been logged. */
	bool failed;
};

/* Opens the directory of @path.  Returns 0, -ENOMEM or the errno of open(2). */
B2F_MUST_CHECK
int fs_stats_file_open(struct fs *fs, const char *path);

/*
 * Called every second; writes now and then.  Returns whether it wants to be
 * called again even without requests.
 */
bool fs_stats_file_tick(struct fs *fs);

/* Writes the file a last time, unless the mount has not begun. */
void fs_stats_file_end(struct fs *fs);

#endif
