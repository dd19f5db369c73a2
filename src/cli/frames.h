/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.h - opens frames, and examines them
 *
 * All of these print the cause on stderr if they fail.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_FRAMES_H
#define B2F_CLI_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/b2frame.h"
#include "cli/at.h"
#include "cli/progress.h"

/*
 * Opens @at for its index and chunks, with label, offset and join_objects of
 * @how, unless that is NULL; also a frame in a store that is a file
 * (pack_path.h).  Errors: b2f_frame_open()'s.
 */
B2F_MUST_CHECK
int cli_frames_open(const struct b2f_frame_options *how,
		    const struct cli_at *at, struct b2f_frame **out);

static inline void cli_frames_end(struct b2f_frame **frame)
{
	b2f_frame_close(*frame);
}

/* Closes the frame that a variable has at the end of its block. */
#define CLI_OWN_FRAME __attribute__((cleanup(cli_frames_end)))

/* Like cli_frames_open(), for reading the data.  Errors: also -ENOMEM. */
B2F_MUST_CHECK
int cli_frames_open_file(struct b2f_runtime *runtime,
			 const struct b2f_frame_options *how,
			 const struct cli_at *at, struct b2f_file **out);

/* Is the path @at a frame, by its first bytes?  Follows links of operands. */
bool cli_frames_is_frame(const struct cli_at *at);

/* Like b2f_frame_peek(), for a path of the user, with links. */
B2F_MUST_CHECK
int cli_frames_peek(const char *path, struct b2f_frame_peek *out);

/* Stored bytes of the frame @at, as its index tells them; 0: not known. */
uint64_t cli_frames_cbytes(const struct cli_at *at);

/*
 * Prints which frame is behind @at, a file of a mount.  Returns false, and
 * prints nothing, if @at is no such file.
 */
bool cli_frames_tell_mounted(const struct cli_at *at);

/* The findings of a check. */
struct cli_findings {
	struct b2f_check_result check;
	/* enum b2f_check_state of each chunk, malloc'ed; or NULL. */
	uint8_t *states;
	struct cli_progress *progress;
};

/* Checks @frame; with @chunks notes the state of each chunk, too. */
B2F_MUST_CHECK
int cli_frames_check(struct b2f_runtime *runtime, struct b2f_frame *frame,
		     const char *path, bool chunks, struct cli_findings *out);

/* Makes a runtime of @nthreads workers (0: all cores). -ENOMEM, -EAGAIN. */
B2F_MUST_CHECK
int cli_frames_runtime(unsigned int nthreads, struct b2f_runtime **out);

/*
 * Reads the attributes of the index of frame @at (chunks.b2frame in a
 * directory).  Returns 0 or an errno; prints nothing.
 */
B2F_MUST_CHECK
int cli_frames_stat(const struct cli_at *at, struct stat *out);

/*
 * Like cli_frames_stat(), for @frame as it was opened, whatever is at @at now.
 * *@fd is the open index, or the store; -1: there is none.
 */
B2F_MUST_CHECK
int cli_frames_source(const struct cli_at *at, const struct b2f_frame *frame,
		      struct stat *out, int *fd);

/* Is @st the index of the frame @at? */
bool cli_frames_is(const struct cli_at *at, const struct stat *st);

/* Are there bytes behind the contiguous @frame in its file @st? */
bool cli_frames_has_more(const struct b2f_frame *frame, const struct stat *st);

/* Does the directory @at hold chunk files? */
bool cli_frames_has_chunks(const struct cli_at *at);

/*
 * Drops the page cache of frame @at, so that the next read comes from the disk.
 */
void cli_frames_forget_pages(const struct cli_at *at);

/* A metalayer, or a vlmetalayer. */
struct cli_meta {
	bool is_vl;
	struct b2f_meta_info info;
	const uint8_t *content;
	/* The content, if it had to be decoded; malloc'ed. */
	uint8_t *decoded;
};

/* Number of metalayers and vlmetalayers. */
size_t cli_frames_nmetas(const struct b2f_frame *frame);

/*
 * Gets number @i of them, the metalayers first; free its @decoded, after an
 * error, too.  Returns 0 or an error of b2f_frame_vlmeta(), which was logged.
 */
B2F_MUST_CHECK
int cli_frames_meta(const struct b2f_frame *frame, size_t i,
		    struct cli_meta *out);

/* Says that the items of @path have no .npy header; returns @err. */
int cli_frames_refuse_npy(const char *path, int err);

/*
 * Does the directory @name in @dirfd, @label in messages, hold only files of a
 * frame?  Returns 0, -ENOTEMPTY or an errno.
 */
B2F_MUST_CHECK
int cli_frames_check_removable(int dirfd, const char *name, const char *label);

/*
 * Removes the frame @at, open as @frame: the file, or the directory if nothing
 * else is in it.  Holds it (b2f_frame_hold()) so that no writer loses unstored
 * data.  If the frame has several names (programs/home.h), removes @shown or
 * the user's operand, and the frame with its last name.  Refuses (-EBUSY) other
 * symbolic links, frames inside a larger file, and frames that were changed
 * since they were opened.  @dry_run only checks.  Returns 0, -ENOTEMPTY, -EBUSY
 * or an errno.
 */
B2F_MUST_CHECK
int cli_frames_remove(const struct cli_at *at, const char *shown,
		      struct b2f_frame *frame, bool dry_run);

/* Says why opening @path gave -EAGAIN, and returns that. */
int cli_frames_refuse_locked(const char *path);

/* Calls b2f_frame_hold() before a frame is removed or replaced. */
B2F_MUST_CHECK
int cli_frames_hold(const char *path, struct b2f_frame *frame);

/* Like cli_frames_remove(), for the plain file @at, opened as @then. */
B2F_MUST_CHECK
int cli_frames_remove_file(const struct cli_at *at, const struct stat *then,
			   bool dry_run);

/* Removes the file or frame @name in @dirfd, if it exists.  Prints nothing. */
B2F_MUST_CHECK
int cli_frames_remove_any(int dirfd, const char *name);

#endif
