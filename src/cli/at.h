/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * at.h - what an operand, or a result, is: decided here, and nowhere else; and where:
 * a name in a directory
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

#include "b2frame/error.h"

enum cli_kind {
	/* A file or directory, there or not yet. */
	CLI_KIND_PATH,
	/* On a server. */
	CLI_KIND_URL,
	/* A member of a store that is one file (pack_path.h). */
	CLI_KIND_MEMBER,
	/* "-" */
	CLI_KIND_STDIN,
};

/* A file or directory that is called as a URL is has to be written as "./NAME". */
enum cli_kind cli_kind_of(const char *operand);

/*
 * Refuses all but paths, which alone can be changed or removed.  @advice ends
 * the message, for instance "; -o names a copy".  Returns 0 or -EROFS.
 */
B2F_MUST_CHECK
int cli_kind_check_change(const char *operand, enum cli_kind kind,
			  const char *advice);

/* Refuses a URL as a place to write to.  Returns 0 or -EROFS. */
B2F_MUST_CHECK
int cli_kind_check_output(const char *output);

struct cli_at {
	/* Path for messages: the operand, and the path below it. */
	const char *path;
	enum cli_kind kind;
	/* The directory, which stays the caller's; AT_FDCWD: the user named it. */
	int dir;
	/* Its name there; of what the user named, @path. */
	const char *name;
	/*
	 * For CLI_KIND_MEMBER below a directory: the key in the store @name.
	 * NULL: @path has it.
	 */
	const char *key;
};

/*
 * Returns the place of @operand, a path of the user's, which has to stay valid.
 */
struct cli_at cli_at_named(const char *operand);

/* The same for a path, whatever it looks like. */
struct cli_at cli_at_path(const char *path);

/* The same for the file, or object, of a store. */
struct cli_at cli_at_store(const char *file);

static inline bool cli_at_is_named(const struct cli_at *at)
{
	return at->dir == AT_FDCWD;
}

/* @path beside @at: it differs in the last name alone. */
struct cli_at cli_at_beside(const struct cli_at *at, const char *path);

/* open(2) with @flags, which waits for no FIFO below a directory.  Or an errno. */
B2F_MUST_CHECK
int cli_at_open(const struct cli_at *at, int flags);

B2F_MUST_CHECK
int cli_at_stat(const struct cli_at *at, struct stat *out);

/*
 * Opens the directory @path below the directory @root ("": itself), with O_PATH or what
 * @flags say.  No link is followed, and nothing leads above @root.  Returns a descriptor
 * or an errno.
 */
B2F_MUST_CHECK
int cli_at_open_below(int root, const char *path, int flags);

/* The same, and makes missing directories. */
B2F_MUST_CHECK
int cli_at_make_below(int root, const char *path);

/* Both for the directory that @path is in; *@name is the rest of it. */
B2F_MUST_CHECK
int cli_at_open_parent(int root, const char *path, bool make,
		       const char **name);

#endif
