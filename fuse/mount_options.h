/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount_options.h - the command line of bloscfs
 *
 * struct fs_options holds the options as given, config.h the values derived
 * from them.  The parser does not touch the filesystem.
 *
 * Layer: fuse.  Threads: read-only after parsing.
 */
#ifndef B2F_FUSE_MOUNT_OPTIONS_H
#define B2F_FUSE_MOUNT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "b2frame/frame.h"
#include "words/aws.h"

/* A numeric option that was not given. */
#define FS_UNSET (-1)

/* Default of small=: the largest new file that stays one file. */
#define FS_SMALL (64 << 10)

/* Zero or NULL: not given, unless a field says otherwise. */
struct fs_options {
	/* Operands, as given. */
	char *source;
	char *mountpoint;
	/* -h, and --help. */
	bool help;
	bool long_help;
	bool version;
	/* Run as mount.TYPE (helper.h); only then the next three are used. */
	bool helper;
	/* Check everything, mount nothing. */
	bool fake;
	/* Unknown options are no error. */
	bool sloppy;
	/* The mount namespace to enter first. */
	char *mount_namespace;
	/* Change a mount that exists. */
	bool remount;
	bool foreground;
	/* Log all that libfuse and the kernel say; implies foreground. */
	bool debug;
	bool single_thread;
	bool verbose;
	bool quiet;
	/* ro and rw: the last of both counts. */
	bool read_only;
	bool auto_unmount;
	/* Every close makes the file durable. */
	bool sync;
	/* The last one counts; none: as the frame says. */
	bool locking;
	bool nolocking;
	/* Seconds between commits; 0 is never. */
	int64_t commit;
	/* 0 is one for each core. */
	int64_t workers;
	/* enum b2f_log_level, or FS_UNSET. */
	int64_t loglevel;
	char *logfile;
	/* The statistics are written to this file. */
	char *statsfile;
	/* Seconds without use until it is unmounted; 0 is never. */
	int64_t timeout_s;
	char *fsname;
	char *subtype;
	/* Permissions and owners; FS_UNSET: as on the backing filesystem. */
	struct {
		bool allow_other;
		bool allow_root;
		int64_t user;
		int64_t group;
		int64_t umask;
		int64_t fmask;
		int64_t dmask;
	} access;
	/* Memory, of the daemon and of the kernel. */
	struct {
		/* Bytes; 0 is the library's default. */
		int64_t cachesize;
		int64_t dirtysize;
		/* Bytes; 0 is off, FS_UNSET is the library's default. */
		int64_t readahead;
		bool direct_io;
		bool writeback_cache;
		/* passthrough and nopassthrough: the last of both counts. */
		bool no_passthrough;
		double attr_timeout_s;
		double entry_timeout_s;
	} cache;
	/* Settings of new files. */
	struct {
		/* Codes of the format; 0 bytes: chosen automatically. */
		int64_t codec;
		/* FS_UNSET: as the writer chooses. */
		int64_t clevel;
		int64_t typesize;
		int64_t chunksize;
		/* Largest new file that stays one file; 0: none does. */
		int64_t small;
		/* FS_UNSET: as b2f_settings_default(). */
		int64_t blocksize;
		/* Filter slots, like those of a frame. */
		uint8_t filters[B2F_SLOTS];
		/* seal and noseal: the last of both counts. */
		bool no_seal;
	} create;
	/* Options for URLs. */
	struct {
		/* NULL: as the environment and ~/.aws say. */
		struct b2f_aws_options given;
		bool pathstyle;
		/* Seconds until the daemon asks for an index again. */
		int64_t refresh_s;
		int64_t retry_s;
		/* Directory for stored bytes, and its size; NULL: none. */
		char *cachedir;
		int64_t cachedirsize;
	} bucket;
	/* Views and attributes: positions in the lists of option_table.c. */
	struct {
		int64_t npy;
		int64_t xattr;
	} view;
	/* Options for the kernel, separated by commas. */
	char *kernel;
	/* Options that a remount cannot change, as given. */
	char *own;
};

/* Positions of hidden, list and off. */
enum fs_view {
	FS_VIEW_HIDDEN,
	FS_VIEW_LIST,
	FS_VIEW_OFF,
};

/*
 * Parses the command line into *@out, which is set in any case and freed with
 * fs_mount_options_fini().  Reports errors on stderr, in one line.
 * Overwrites the query of a URL in @argv (b2f_value_hide_query()).
 *
 * Returns 0, -EINVAL or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_mount_options_parse(int argc, char **argv, struct fs_options *out);

void fs_mount_options_fini(struct fs_options *options);

/*
 * option_table.c: stores the option @name in @o; @value is NULL if none was
 * given.  Reports errors on stderr, in one line.  Returns 0, -EINVAL or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int fs_option_take(struct fs_options *o, const char *name, const char *value);

/* Frees the texts that fs_option_take() has stored. */
void fs_option_fini(struct fs_options *o);

/* Prints the common options with their meaning. */
void fs_option_help(FILE *out);

/* Prints the usage to stdout: on one screen, or with all options. */
void fs_mount_options_usage(bool has_options);

/* Prints the versions of bloscfs and of its libraries to stdout. */
void fs_mount_options_version(void);

#endif
