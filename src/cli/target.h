/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.h - a frame, or a file, that is made as a whole or not at all
 *
 * It is made in a directory of its own beside the result, a *workshop*, and takes its
 * place when all is there.  It is a file or a directory, as its maker likes.
 *
 * No other user may enter the workshop.  So nobody can replace a file in it by
 * a link or another file before it has its owner, permissions and times.
 * Replaced files are removed in the workshop, too, whoever may write to the
 * directory of the result.
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
#include "cli/at.h"

/* Is @name that of a workshop?  Nothing but a kill leaves one behind. */
bool cli_target_is_temp(const char *name);

/* Name of the replaced file in the workshop, until it is removed. */
#define CLI_TARGET_OLD "old"

/* Zero-initialize it, but for descriptors, which are -1. */
struct cli_target {
	/* Name for messages; the caller's memory. */
	const char *name;
	/* The directory of the result, without symbolic links; -1: it gets no name. */
	int parent;
	/* Its name there; in @memory. */
	const char *last;
	char *memory;
	/* The workshop: its name in @parent; NULL: there is none. */
	char *temp;
	/* The same, open, and the future name of the result in it. */
	int dirfd;
	const char *base;
	/* Something has the name that may be replaced. */
	bool exists;
	/* An interrupted copy goes on with this workshop later. */
	bool kept;
	/* No: its source, of which it is a version, has changed; the caller sets it. */
	bool outdated;
};

/* The kind of file that a result may replace. */
enum cli_replace {
	CLI_REPLACE_NOTHING,
	/* Frames and plain files, but none that this run has made. */
	CLI_REPLACE_OTHERS,
	/* The source of the result. */
	CLI_REPLACE_SOURCE,
};

/* The value for -f. */
static inline enum cli_replace cli_replace_if(bool force)
{
	return force ? CLI_REPLACE_OTHERS : CLI_REPLACE_NOTHING;
}

/*
 * Begins the frame @at; *@out is in use until cli_target_close().  Until then
 * the signals of cleanup.h remove an incomplete result.  Returns -EEXIST if
 * something is there that @replace does not name.
 */
B2F_MUST_CHECK
int cli_target_open(struct cli_target *out, const struct cli_at *at,
		    enum cli_replace replace);

/*
 * The same for a copy of @version that may be broken off, and go on later: its
 * workshop is called by that, and stays, unless it is empty, whatever ends the program.
 * A frame that is in there is a leftover, and goes.  -EBUSY: another program is at
 * it.
 */
B2F_MUST_CHECK
int cli_target_open_kept(struct cli_target *out, const struct cli_at *at,
			 enum cli_replace replace,
			 const struct b2f_frame_stamp *version);

/*
 * Says why what is there cannot be gone on with, if @err is an error: -EBUSY as above
 * or -EEXIST (it is another user's), and leaves it alone from then on; or another one.
 * Returns @err.
 */
int cli_target_explain_kept(struct cli_target *target, int err);

/*
 * Like cli_target_open(), for a frame that is needed for a while only, in the
 * directory of @at or, if that is NULL, where large temporary files belong.
 */
B2F_MUST_CHECK
int cli_target_open_scratch(struct cli_target *out, const struct cli_at *at);

/* Where it is being made, for what opens it. */
struct cli_at cli_target_at(const struct cli_target *target);

/* Where it is, once it has its name. */
struct cli_at cli_target_result(const struct cli_target *target);

/* Like cli_attributes_set(), for the new file or frame. */
B2F_MUST_CHECK
int cli_target_set_attributes(const struct cli_target *target,
			      const struct stat *like, int from);

/*
 * Gives the frame its name, at once, with @durable on the disk too; then what
 * had the name before is removed.
 */
B2F_MUST_CHECK
int cli_target_commit(struct cli_target *target, bool durable);

/* Removes the workshop, if there is nothing in it. */
void cli_target_close_workshop(struct cli_target *target);

/* Removes an uncommitted result, and frees everything. */
void cli_target_close(struct cli_target *target);

#endif
