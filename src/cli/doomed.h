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

/*
 * From here on the signals remove @path, which has to stay valid until
 * cli_doomed_drop().  At most four paths at a time.
 */
void cli_doomed_add(const char *path);

/*
 * They do so no more.  NULL, or a path that was never added, does nothing.
 * Between cli_doomed_lock() and cli_doomed_unlock() only.
 */
void cli_doomed_drop(const char *path);

/* Keeps the signals waiting, so that they come before or behind some steps. */
void cli_doomed_lock(void);
void cli_doomed_unlock(void);

#endif
