/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.h - a frame, or a file, that is made completely or not at all
 *
 * The result is made in a directory of its own beside the final name, a
 * *workshop*, and gets that name when it is complete.  It is a file or a
 * directory.
 *
 * No other user may enter the workshop.  So no other user can replace a file in
 * it by a link or another file before it has its owner, permissions and times.
 * Replaced files are removed in the workshop, too, whoever may write to the
 * directory of the result.
 *
 * All of these print the cause on stderr if they fail, and return a negative
 * errno.
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

/* Is @name the name of a workshop? Only a kill leaves one behind. */
bool cli_target_is_temp(const char *name);

/* The files that a result may replace. */
enum cli_replace {
	CLI_REPLACE_NOTHING,
	/* Frames and plain files, except those made by this run. */
	CLI_REPLACE_OTHERS,
	/* The source of the result. */
	CLI_REPLACE_SOURCE,
};

/* Begin with CLI_TARGET_NONE. */
struct cli_target {
	/*
	 * Where the result is being made, in the open workshop; and its final
	 * place, in an open directory, without links.  The path, of both, is
	 * for messages, and owned by the caller.
	 */
	struct cli_at at;
	struct cli_at to;
	/* The name in @to points into it. */
	char *memory;
	/* Name of the workshop beside @to; NULL: there is none. */
	char *temp;
	/* A file exists, and may be replaced as one of these. */
	enum cli_replace replaces;
	/* The workshop stays for an interrupted copy to go on. */
	bool kept;
	/* Set by the caller: do not keep it, because the source has changed. */
	bool outdated;
};

#define CLI_TARGET_NONE {.at.dir = -1, .to.dir = -1}

/*
 * Notes the existing @at as a file that this run reads or has made, and that
 * CLI_REPLACE_OTHERS protects.  Returns 0, or an errno if it cannot be found.
 */
int cli_target_know(const struct cli_at *at);

/* The value for -f. */
static inline enum cli_replace cli_replace_if(bool force)
{
	return force ? CLI_REPLACE_OTHERS : CLI_REPLACE_NOTHING;
}

/*
 * Begins the frame @at; *@out is in use until cli_target_close().  Until then a
 * signal removes the incomplete result (cleanup.h).  Returns -EEXIST if a file
 * exists that @replace does not allow to replace.
 */
B2F_MUST_CHECK
int cli_target_open(struct cli_target *out, const struct cli_at *at,
		    enum cli_replace replace);

/*
 * Like cli_target_open(), for a copy of @version that can go on after an
 * interruption: its workshop is named by the version, and stays unless it is
 * empty, however the program ends.  A complete frame in it is a leftover, and
 * is removed. -EBUSY: another program uses it.
 */
B2F_MUST_CHECK
int cli_target_open_kept(struct cli_target *out, const struct cli_at *at,
			 enum cli_replace replace,
			 const struct b2f_frame_stamp *version);

/*
 * If @err is an error, prints why the interrupted copy cannot go on; after
 * -EBUSY as above, or -EEXIST (the workshop is another user's), leaves the
 * workshop alone.  Returns @err.
 */
int cli_target_explain_kept(struct cli_target *target, int err);

/*
 * Like cli_target_open(), for a temporary frame in the directory of @at or, if
 * that is NULL, in the directory for large temporary files.
 */
B2F_MUST_CHECK
int cli_target_open_scratch(struct cli_target *out, const struct cli_at *at);

/* Like cli_attributes_set(), for the new file or frame. */
B2F_MUST_CHECK
int cli_target_set_attributes(const struct cli_target *target,
			      const struct stat *like, int from);

/*
 * Gives the frame its name, atomically, with @durable synced; then removes the
 * frame that it replaced.  Holds that until then (b2f_frame_hold()), but not
 * with CLI_REPLACE_SOURCE: the caller holds the source.
 */
B2F_MUST_CHECK
int cli_target_commit(struct cli_target *target, bool durable);

/* Removes an uncommitted result, and frees everything. */
void cli_target_close(struct cli_target *target);

/* Does so for a variable at the end of its block. */
#define CLI_OWN_TARGET __attribute__((cleanup(cli_target_close)))

#endif
