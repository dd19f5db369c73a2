/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.h - frames by the names that the user gives
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

#include "b2frame/b2frame.h"

/*
 * Opens @path, for what its index and chunks say, as the label, the offset and
 * join_objects of @how tell; what lies in a store that is a file, too
 * (pack_path.h).  Errors: b2f_frame_open()'s.
 */
B2F_MUST_CHECK
int cli_frames_open(const struct b2f_frame_options *how, const char *path,
		    struct b2f_frame **out);

/* The same for reading its data.  Errors: also -ENOMEM. */
B2F_MUST_CHECK
int cli_frames_open_file(struct b2f_runtime *runtime,
			 const struct b2f_frame_options *how, const char *path,
			 struct b2f_file **out);

/* The same for writing to it as well, as @write tells. */
B2F_MUST_CHECK
int cli_frames_open_writable(struct b2f_runtime *runtime,
			     const struct b2f_frame_options *how,
			     const char *path,
			     const struct b2f_write_options *write,
			     struct b2f_file **out);

/* A runtime of @nthreads workers (0: all cores).  Errors: -ENOMEM, -EAGAIN. */
B2F_MUST_CHECK
int cli_frames_runtime(unsigned int nthreads, struct b2f_runtime **out);

/*
 * Attributes of the index of frame @path: of chunks.b2frame if it is a
 * directory.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int cli_frames_stat(const char *path, struct stat *out);

/* Is @st of the frame @path, as cli_frames_stat() says? */
bool cli_frames_is(const char *path, const struct stat *st);

/* Is there something behind the contiguous @frame, whose file is @st? */
bool cli_frames_has_more(const struct b2f_frame *frame, const struct stat *st);

/* Does the directory @path hold chunk files? */
bool cli_frames_has_chunks(const char *path);

/* What is in memory of frame @path, which is on disk, says nothing any more. */
void cli_frames_forget_pages(const char *path);

/*
 * Looks whether directory @path holds a frame's files alone.  Returns 0,
 * -ENOTEMPTY or an errno.
 */
B2F_MUST_CHECK
int cli_frames_check_removable(const char *path);

/*
 * Removes frame @path, which has been read as @frame: the file, or the
 * directory if nothing else is in it.  Holds it (b2f_frame_hold()), so that no
 * writer loses what it has not stored yet.  Refuses (-EBUSY) symbolic links, frames
 * inside a larger file, and frames that were changed since they were opened.
 * Returns 0, -ENOTEMPTY, -EBUSY or an errno.
 */
B2F_MUST_CHECK
int cli_frames_remove(const char *path, struct b2f_frame *frame);

/* b2f_frame_hold(), before the work for what is to be removed or replaced begins. */
B2F_MUST_CHECK
int cli_frames_hold(const char *path, struct b2f_frame *frame);

/* The same for the plain file @path that was @then when it was opened. */
B2F_MUST_CHECK
int cli_frames_remove_file(const char *path, const struct stat *then);

#endif
