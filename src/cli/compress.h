/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress.h - one plain file becomes a frame
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
	/* A file instead of a directory. */
	bool contiguous;
	/* A Bloscpack file, with checksums as b2f_convert_options has them. */
	bool bloscpack;
	const char *checksum;
	/* Remove the file once its frame is safe. */
	bool remove;
	/* Make no arrays of .npy files. */
	bool plain;
	/*
	 * Make no file, but write the bytes of a contiguous frame, or of the
	 * Bloscpack file, to standard output.
	 */
	bool to_stdout;
};

/*
 * Makes a frame of the file @operand, as the struct cli_compress @how says.  Without a
 * name that the user gave, the frame gets the suffix that suits what the file
 * becomes, unless it goes to standard output.  Returns 0 or an errno, after
 * saying why.
 */
B2F_MUST_CHECK
int cli_compress_file(const void *how, const struct cli_operand *operand);

#endif
