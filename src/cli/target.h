/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.h - a frame, or a file, that is made as a whole or not at all
 *
 * It is made under a temporary name in the directory of the result, which takes
 * its place when all is there.  That is a file or a directory, as its maker
 * likes.
 *
 * All of these say on stderr why they failed, and return a negative errno.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_TARGET_H
#define B2F_CLI_TARGET_H

#include <stdbool.h>
#include <sys/stat.h>

#include "b2frame/error.h"
#include "b2frame/frame.h"

/*
 * Is @name what something is called while it is made?  Nothing but a kill
 * leaves one behind.
 */
bool cli_target_is_temp(const char *name);

/* Zero-initialize it. */
struct cli_target {
	/* What messages call it; the caller's. */
	const char *name;
	/* The result, without symbolic links; NULL if it shall get no name. */
	char *path;
	/* What is made: nothing is there before. */
	char *temp;
	/* The same as an open directory, and the name in it. */
	int dirfd;
	const char *base;
	/* Something is at @path that may be replaced. */
	bool exists;
	/* It goes on later with what it has made until now. */
	bool kept;
	/* No: its source, of which it is a version, has changed; the caller sets it. */
	bool outdated;
};

/* What may be at the path of a result. */
enum cli_replace {
	CLI_REPLACE_NOTHING,
	/* Frames and plain files, but none that this run has made. */
	CLI_REPLACE_OTHERS,
	/* What the result is made of. */
	CLI_REPLACE_SOURCE,
};

/* What -f says. */
static inline enum cli_replace cli_replace_if(bool force)
{
	return force ? CLI_REPLACE_OTHERS : CLI_REPLACE_NOTHING;
}

/*
 * Begins the frame @path; *@out is in use until cli_target_close().  Until then
 * the signals of cleanup.h remove what is half done.  An existing @path that
 * @replace does not name is -EEXIST.
 */
B2F_MUST_CHECK
int cli_target_open(struct cli_target *out, const char *path,
		    enum cli_replace replace);

/*
 * The same for a copy of @version that may be broken off, and go on later: its
 * temporary name is by that, and stays, unless it is empty, whatever ends the program.
 * A frame that has that name is a leftover, and goes.  -EBUSY: another program is at
 * it.
 */
B2F_MUST_CHECK
int cli_target_open_kept(struct cli_target *out, const char *path,
			 enum cli_replace replace,
			 const struct b2f_frame_stamp *version);

/*
 * Says why what is there under that name cannot be gone on with, if @err is an error:
 * -EBUSY as above or -EEXIST (it is another user's), and leaves it alone from then on;
 * or another one.  Returns @err.
 */
int cli_target_explain_kept(struct cli_target *target, int err);

/*
 * As cli_target_open() for a frame that is needed for a while only, in the directory of
 * @path or, if that is NULL, where large temporary files belong.
 */
B2F_MUST_CHECK
int cli_target_open_scratch(struct cli_target *out, const char *path);

/* As cli_attributes_set(), for the frame at @target->temp. */
B2F_MUST_CHECK
int cli_target_set_attributes(const struct cli_target *target,
			      const struct stat *like, const char *from);

/*
 * Gives the frame its name, at once, with @durable on the disk too; then what
 * had the name before is removed.
 */
B2F_MUST_CHECK
int cli_target_commit(struct cli_target *target, bool durable);

/* Removes what was not committed, and frees everything. */
void cli_target_close(struct cli_target *target);

#endif
