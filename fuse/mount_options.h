/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount_options.h - the command line of bloscfs
 *
 * struct fs_options is what was asked for, word by word; struct fs_settings is
 * what follows from it.  Nothing here touches the filesystem.
 *
 * Layer: fuse.  Threads: read-only after parsing.
 */
#ifndef B2F_FUSE_MOUNT_OPTIONS_H
#define B2F_FUSE_MOUNT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "b2frame/file.h"
#include "b2frame/log.h"

/* A numeric option that was not given. */
#define FS_UNSET (-1)

/* Zero or NULL: not given, unless a field says otherwise. */
struct fs_options {
	/* Operands, as given. */
	char *source;
	char *mountpoint;
	bool help;
	bool version;
	bool foreground;
	/* Every message between libfuse and the kernel; implies foreground. */
	bool debug;
	bool single_thread;
	bool verbose;
	bool quiet;
	/* ro and rw: the last of both counts. */
	bool read_write;
	bool allow_other;
	bool allow_root;
	bool auto_unmount;
	bool kernel_cache;
	bool direct_io;
	/* FS_UNSET: as on the backing filesystem. */
	int64_t uid;
	int64_t gid;
	int64_t umask;
	int64_t fmask;
	int64_t dmask;
	/* Bytes; 0 is the library's default. */
	int64_t cachesize;
	/* 0 is one for each core. */
	int64_t workers;
	/* Bytes; 0 is off, FS_UNSET the library's default. */
	int64_t readahead;
	double attr_timeout_s;
	double entry_timeout_s;
	/* Positions in the lists of mount_options.c. */
	int64_t verify;
	int64_t npy;
	int64_t xattr;
	/* enum b2f_log_level, or FS_UNSET. */
	int64_t loglevel;
	char *logfile;
	char *fsname;
	char *subtype;
	/* Options that are the kernel's, with commas between them. */
	char *kernel;
};

struct fs_settings {
	struct b2f_runtime_options runtime;
	enum b2f_log_level log_level;
	/* Permission bits to take away. */
	mode_t file_mask;
	mode_t dir_mask;
	bool background;
};

/*
 * Parses the command line into *@out, which is set in any case and freed with
 * fs_options_fini().  What is wrong is told on stderr, in one line.
 *
 * Returns 0, -EINVAL or -ENOMEM.
 */
__attribute__((warn_unused_result)) int
fs_options_parse(int argc, char **argv, struct fs_options *out);

void fs_options_fini(struct fs_options *options);

/* What follows from @options. */
struct fs_settings fs_options_settings(const struct fs_options *options);

/*
 * Parses a size: digits, and one of k m g t (powers of 1024; also upper case)
 * or nothing.  Returns 0 or -EINVAL (also for one beyond 63 bits).
 */
__attribute__((warn_unused_result)) int fs_options_size(const char *text,
							int64_t *out);

/* Prints the usage to stdout. */
void fs_options_help(void);

/* Prints the versions of bloscfs and of its libraries to stdout. */
void fs_options_version(void);

#endif
