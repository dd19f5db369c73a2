/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.h - frames where operands say
 *
 * All of these say on stderr why they failed.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_FRAMES_H
#define B2F_CLI_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <jansson.h>

#include "b2frame/b2frame.h"
#include "cli/at.h"

/*
 * Opens @at, for what its index and chunks say, as the label, the offset and
 * join_objects of @how tell; what lies in a store that is a file, too
 * (pack_path.h).  Errors: b2f_frame_open()'s.
 */
B2F_MUST_CHECK
int cli_frames_open(const struct b2f_frame_options *how,
		    const struct cli_at *at, struct b2f_frame **out);

/* The same for reading its data.  Errors: also -ENOMEM. */
B2F_MUST_CHECK
int cli_frames_open_file(struct b2f_runtime *runtime,
			 const struct b2f_frame_options *how,
			 const struct cli_at *at, struct b2f_file **out);

/* The same for writing to it as well, as @write tells. */
B2F_MUST_CHECK
int cli_frames_open_writable(struct b2f_runtime *runtime,
			     const struct b2f_frame_options *how,
			     const struct cli_at *at,
			     const struct b2f_write_options *write,
			     struct b2f_file **out);

/*
 * A mount's description of the frame behind its file @at (cli_mounts_frame());
 * free it.  NULL: it is no file of a mount.
 */
json_t *cli_frames_in_mount(const struct cli_at *at);

/* A runtime of @nthreads workers (0: all cores).  Errors: -ENOMEM, -EAGAIN. */
B2F_MUST_CHECK
int cli_frames_runtime(unsigned int nthreads, struct b2f_runtime **out);

/*
 * Attributes of the index of frame @at: of chunks.b2frame if it is a
 * directory.  Returns 0 or an errno, and says nothing.
 */
B2F_MUST_CHECK
int cli_frames_stat(const struct cli_at *at, struct stat *out);

/*
 * The same of @frame, which has been opened there, whatever may be there by now.
 * *@fd is the index, open, for its other attributes; -1: it is no file of its own.
 */
B2F_MUST_CHECK
int cli_frames_source(const struct cli_at *at, const struct b2f_frame *frame,
		      struct stat *out, int *fd);

/* Is @st of the frame @at, as cli_frames_stat() says? */
bool cli_frames_is(const struct cli_at *at, const struct stat *st);

/* Is there something behind the contiguous @frame, whose file is @st? */
bool cli_frames_has_more(const struct b2f_frame *frame, const struct stat *st);

/* Does the directory @at hold chunk files? */
bool cli_frames_has_chunks(const struct cli_at *at);

/*
 * Drops the pages of frame @at from memory, so that the next read comes from
 * the disk.
 */
void cli_frames_forget_pages(const struct cli_at *at);

/*
 * Looks whether the directory @name in @dirfd, called @label, holds a frame's files
 * alone.  Returns 0, -ENOTEMPTY or an errno.
 */
B2F_MUST_CHECK
int cli_frames_check_removable(int dirfd, const char *name, const char *label);

/*
 * Removes frame @at, which has been read as @frame: the file, or the directory
 * if nothing else is in it.  Holds it (b2f_frame_hold()), so that no writer
 * loses unstored data.  If the frame has several names (programs/home.h),
 * removes @shown, or the name that the user gave, and the frame with its last
 * name.  Refuses (-EBUSY) other symbolic links, frames inside a larger file,
 * and frames that were changed since they were opened.  Returns 0, -ENOTEMPTY,
 * -EBUSY or an errno.
 */
B2F_MUST_CHECK
int cli_frames_remove(const struct cli_at *at, const char *shown,
		      struct b2f_frame *frame);

/* Calls b2f_frame_hold() before a frame is removed or replaced. */
B2F_MUST_CHECK
int cli_frames_hold(const char *path, struct b2f_frame *frame);

/* The same for the plain file @at that was @then when it was opened. */
B2F_MUST_CHECK
int cli_frames_remove_file(const struct cli_at *at, const struct stat *then);

/* Removes the file or frame @name in @dirfd; there may be none.  Says nothing. */
B2F_MUST_CHECK
int cli_frames_remove_any(int dirfd, const char *name);

#endif
