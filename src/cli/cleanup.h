/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cleanup.h - what INT, TERM, HUP and QUIT remove before they end the program
 *
 * Workshops (target.h), and what is in them.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_CLEANUP_H
#define B2F_CLI_CLEANUP_H

/*
 * From here on the signals remove @name in @dirfd, which have to stay valid until
 * cli_cleanup_drop().  At most four at a time.
 */
void cli_cleanup_add(int dirfd, const char *name);

/*
 * Ends that.  NULL, or a name that was never added, does nothing.  Between
 * cli_cleanup_lock() and cli_cleanup_unlock() only.
 */
void cli_cleanup_drop(const char *name);

/* Keeps the signals waiting, so that they come before or behind some steps. */
void cli_cleanup_lock(void);
void cli_cleanup_unlock(void);

/*
 * Removes @name in @dirfd, a file or a directory of files and directories of these,
 * into which workers may still write; quietly, as far as that can be done.
 */
void cli_cleanup_remove(int dirfd, const char *name);

/*
 * Once a signal came this does not return.  A job that makes many files calls
 * it before each step: else it could make them as fast as they are removed.
 */
void cli_cleanup_checkpoint(void);

#endif
