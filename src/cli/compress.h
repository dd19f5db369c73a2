/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress.h - compresses one plain file into a frame
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_COMPRESS_H
#define B2F_CLI_COMPRESS_H

#include "b2frame/b2frame.h"
#include "cli/common.h"
#include "cli/encoding.h"
#include "cli/operands.h"

struct cli_compress {
	struct cli_common common;
	struct cli_encoding encoding;
	/* Make a contiguous frame. */
	bool contiguous;
	/* Make a Bloscpack file, with the checksum of b2f_convert_options. */
	bool bloscpack;
	const char *checksum;
	/* Remove the input once the frame is safe. */
	bool remove;
	/* Make no arrays of .npy files. */
	bool plain;
	/*
	 * Write the contiguous frame or the Bloscpack file to standard output.
	 */
	bool to_stdout;
};

/*
 * Makes a frame of the file @operand by the struct cli_compress @how.  If the
 * user gave no name, adds the suffix of the result's kind.  Returns 0 or an
 * errno, after printing it.
 */
B2F_MUST_CHECK
int cli_compress_file(const void *how, const struct cli_operand *operand);

#endif
