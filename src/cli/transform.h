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
#include "cli/operands.h"

enum cli_storage {
	/* Keep the kind of storage. */
	CLI_STORAGE_SAME,
	/* Contiguous if it is sparse, and the other way round. */
	CLI_STORAGE_OTHER,
	CLI_STORAGE_SPARSE,
	CLI_STORAGE_CONTIGUOUS,
	/* No frame: a Bloscpack file. */
	CLI_STORAGE_BLOSCPACK,
	/* A b2nd array, sparse. */
	CLI_STORAGE_ARRAY,
};

struct cli_transform {
	struct cli_common common;
	enum cli_storage storage;
	/* For Bloscpack files; see b2f_convert_options. */
	const char *checksum;
	/* The value of -o: a name, a directory, or NULL. */
	const char *output;
	/* Encode it anew, so; without, chunks are copied as they are. */
	bool encode;
	struct cli_encoding encoding;
	/* Remove the old frame once the new one is safe. */
	bool remove;
	/* Copy chunks without decoding them. */
	bool no_verify;
};

/*
 * Makes other frames of those at @paths, as @how says.  A frame without a name
 * of its own replaces the old one with CLI_STORAGE_SAME, once it has been read
 * back; otherwise it gets the old name with the usual suffix.  Returns the exit
 * status.
 */
B2F_MUST_CHECK
int cli_transform_run(const struct cli_command *self,
		      const struct cli_transform *how, char **paths);

#endif
