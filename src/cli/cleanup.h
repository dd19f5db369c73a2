/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cleanup.h - removes unfinished results on INT, TERM, HUP and QUIT
 *
 * Results are made in workshops (target.h), which are removed with their
 * contents.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_CLEANUP_H
#define B2F_CLI_CLEANUP_H

/*
 * From now on the signals, and exit(3), remove @name in @dirfd; both have to
 * stay valid until cli_cleanup_drop().  At most four at a time.
 */
void cli_cleanup_add(int dirfd, const char *name);

/*
 * Ends cli_cleanup_add().  NULL, or a name that was never added, does nothing.
 * Only between cli_cleanup_lock() and cli_cleanup_unlock().
 */
void cli_cleanup_drop(const char *name);

/* Delays the signals, so that they come before or after some steps. */
void cli_cleanup_lock(void);
void cli_cleanup_unlock(void);

/*
 * Removes @name in @dirfd, a file or a directory with up to two levels, into
 * which workers may still write; prints no errors.
 */
void cli_cleanup_remove(int dirfd, const char *name);

/*
 * Does not return once a signal came.  A job that makes many files calls it
 * before each step, or it could make files as fast as they are removed.
 */
void cli_cleanup_checkpoint(void);

#endif
