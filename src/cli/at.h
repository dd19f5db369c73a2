/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * at.h - the kind of an operand or result, decided here alone, and where it
 * lies: a name in a directory
 *
 * Paths that the user names are opened as they are, links included.  Entries
 * below them are found and made in open directories, never through links: other
 * users may rename and replace files meanwhile, but cannot lead a command out
 * of the tree.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_AT_H
#define B2F_CLI_AT_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/error.h"

enum cli_kind {
	/* A file or directory, existing or not. */
	CLI_KIND_PATH,
	/* On a server. */
	CLI_KIND_URL,
	/* A member of a store that is one file (pack_path.h). */
	CLI_KIND_MEMBER,
	/* "-" */
	CLI_KIND_STDIN,
};

/* A path that looks like a URL has to be written as "./NAME". */
enum cli_kind cli_kind_of(const char *operand);

/* Refuses a URL as a place to write to.  Returns 0 or -EROFS. */
B2F_MUST_CHECK
int cli_kind_check_output(const char *output);

struct cli_at {
	/* Path for messages: the operand, and the path below it. */
	const char *path;
	enum cli_kind kind;
	/* The directory, the caller's; AT_FDCWD: the user gave the path. */
	int dir;
	/* The name in @dir; for an operand of the user, @path. */
	const char *name;
	/*
	 * For CLI_KIND_MEMBER below a directory: the key in the store @name.
	 * NULL: the key is in @path.
	 */
	const char *key;
};

/* Returns the place of the operand @operand, which has to stay valid. */
struct cli_at cli_at_named(const char *operand);

/* Like cli_at_named(), but always for a path. */
struct cli_at cli_at_path(const char *path);

/* Like cli_at_named(), for the file or object of a store. */
struct cli_at cli_at_store(const char *file);

static inline bool cli_at_is_named(const struct cli_at *at)
{
	return at->dir == AT_FDCWD;
}

/*
 * Refuses an operand that is no path: only paths can be changed or removed.
 * @advice ends the message, for instance "; -o names a copy".  Returns 0 or
 * -EROFS.
 */
B2F_MUST_CHECK
int cli_at_check_change(const struct cli_at *at, const char *advice);

/* The place of @path, which differs from @at in the last name alone. */
struct cli_at cli_at_beside(const struct cli_at *at, const char *path);

/* Are both the same file? */
static inline bool cli_at_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Closes @fd, unless it is negative. */
static inline void cli_at_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

static inline void cli_at_end(const int *fd)
{
	cli_at_close(*fd);
}

/* Closes the descriptor that a variable has at the end of its block. */
#define CLI_OWN_FD __attribute__((cleanup(cli_at_end)))

/* open(2) with @flags; below a directory, waits for no FIFO.  Or an errno. */
B2F_MUST_CHECK
int cli_at_open(const struct cli_at *at, int flags);

/*
 * Like cli_at_open(), but waits for no FIFO; of a directory opens the index,
 * and *@dir, unless @dir is NULL, is the open directory, otherwise -1.
 */
B2F_MUST_CHECK
int cli_at_open_index(const struct cli_at *at, int flags, int *dir);

B2F_MUST_CHECK
int cli_at_stat(const struct cli_at *at, struct stat *out);

/*
 * Opens the directory that holds the bare @path of the user (cli_text_bare()),
 * with @flags; *@name is the last name of @path.  Returns a descriptor or an
 * errno.
 */
B2F_MUST_CHECK
int cli_at_open_holder(const char *path, int flags, const char **name);

/*
 * Opens the directory @path below the directory @root ("": itself), with O_PATH
 * or what @flags say.  No link is followed, and nothing leads above @root.
 * Returns a descriptor or an errno.
 */
B2F_MUST_CHECK
int cli_at_open_below(int root, const char *path, int flags);

/*
 * Is the entry @name in the directory @dir, or in one of the directories above
 * it, @depth in all?  Stops at the root, and follows no link.
 */
bool cli_at_has_above(int dir, const char *name, size_t depth);

/* Makes the names in the directory @dir durable.  Returns 0 or an errno. */
B2F_MUST_CHECK
int cli_at_sync(int dir);

/* How a missing directory is treated. */
enum cli_make {
	CLI_MAKE_NONE,
	CLI_MAKE,
	/* It is made, and its name survives a loss of power. */
	CLI_MAKE_DURABLE,
};

/* Makes the directory @name.  Returns 0; 1: it exists already; or an errno. */
B2F_MUST_CHECK
int cli_at_make(int dir, const char *name, mode_t mode, enum cli_make make);

/*
 * Opens the parent directory of @path, and makes missing ones as @make says;
 * *@name is the last name.
 */
B2F_MUST_CHECK
int cli_at_open_parent(int root, const char *path, enum cli_make make,
		       const char **name);

#endif
