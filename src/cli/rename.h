/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rename.h - results take their names
 *
 * These say nothing, and return 0 or a negative errno.
 *
 * Layer: cli.  Threads: any.
 */
#ifndef B2F_CLI_RENAME_H
#define B2F_CLI_RENAME_H

/*
 * rename() that replaces nothing (-EEXIST); not every filesystem knows how, so
 * links, and at last a look beforehand, have to do.
 */
__attribute__((warn_unused_result)) int cli_rename_new(const char *from,
						       const char *to);

/* Each gets the name of the other one, at once where the kernel can do that. */
__attribute__((warn_unused_result)) int cli_rename_exchange(const char *from,
							    const char *to);

/* Makes the names in the folder of @path durable. */
__attribute__((warn_unused_result)) int cli_rename_sync(const char *path);

#endif
