/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doomed.h - what INT, TERM and HUP remove before they end the program
 *
 * Files that are half made, and directories of plain files.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_DOOMED_H
#define B2F_CLI_DOOMED_H

#include <signal.h>

/*
 * From here on the signals remove @path, which has to stay valid until
 * cli_doomed_drop().  At most four paths at a time.
 */
void cli_doomed_add(const char *path);

/* They do so no more.  NULL, or a path that was never added, does nothing. */
void cli_doomed_drop(const char *path);

/*
 * Keeps the signals waiting, so that they come between two steps, not inside
 * one.  (The workers of the library have them blocked always.)
 */
void cli_doomed_block(sigset_t *old);
void cli_doomed_restore(const sigset_t *old);

#endif
