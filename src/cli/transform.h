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
	/*
	 * The name of the new frame.  NULL: with CLI_STORAGE_SAME it takes the
	 * place of the old one, once it has been read back; with the others its
	 * name is that of the old one with the usual suffix.
	 */
	const char *output;
	/* Encode it anew, so; without, chunks are copied as they are. */
	bool encode;
	struct cli_encoding encoding;
	/* Remove the old frame once the new one is safe. */
	bool remove;
	/* Copy chunks without looking at what is in them. */
	bool no_verify;
};

/*
 * Makes another frame of @path, as the struct cli_transform @how says.  Returns
 * 0 or an errno, after saying why.
 */
B2F_MUST_CHECK
int cli_transform_frame(const void *how, struct b2f_runtime *runtime,
			const char *path);

#endif
