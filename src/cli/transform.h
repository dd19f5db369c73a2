/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transform.h - makes another frame of the same data
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
	/* Contiguous for a sparse frame, and the other way round. */
	CLI_STORAGE_OTHER,
	CLI_STORAGE_SPARSE,
	CLI_STORAGE_CONTIGUOUS,
	/* A Bloscpack file, not a frame. */
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
	/* Encode anew with these settings; otherwise copy chunks as stored. */
	bool encode;
	struct cli_encoding encoding;
	/* Remove the old frame once the new one is safe. */
	bool remove;
	/* Copy chunks without decoding them. */
	bool no_verify;
};

/*
 * Makes new frames of those at @paths, as @how says.  If the user gave no name,
 * the result of CLI_STORAGE_SAME replaces the frame, once it has been read
 * back; other results get the frame's name with the usual suffix.  Returns the
 * exit status.
 */
B2F_MUST_CHECK
int cli_transform_run(const struct cli_command *self,
		      const struct cli_transform *how, char **paths);

#endif
