/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transform.h - a frame becomes another one with the same data
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_TRANSFORM_H
#define B2F_CLI_TRANSFORM_H

#include "b2frame/b2frame.h"
#include "cli/common.h"
#include "cli/encoding.h"

enum cli_storage {
	/* As it is. */
	CLI_STORAGE_SAME,
	/* Contiguous if it is sparse, and the other way round. */
	CLI_STORAGE_OTHER,
	CLI_STORAGE_SPARSE,
	CLI_STORAGE_CONTIGUOUS,
};

struct cli_transform {
	/* What the report calls it. */
	const char *command;
	struct cli_common common;
	enum cli_storage storage;
	/* How to encode it anew; NULL: chunks are copied as they are. */
	const struct cli_encoding *encoding;
	/* From which byte of a file on. */
	uint64_t frame_offset;
	/* Replace what is there. */
	bool force;
	/* Remove the old frame once the new one is safe. */
	bool remove;
	/* Copy chunks without looking at what is in them. */
	bool no_verify;
};

/*
 * Makes frame @output of frame @path; with @output NULL it takes the place of
 * @path itself once it has been read back.  With @output "" its name is that
 * of @path with the usual suffix.  Returns 0 or an errno, after saying why.
 */
__attribute__((warn_unused_result)) int
cli_transform_frame(const struct cli_transform *how,
		    struct b2f_runtime *runtime, const char *path,
		    const char *output);

#endif
