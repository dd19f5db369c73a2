/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orphans.h - chunks in an object store that no index names
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_ORPHANS_H
#define B2F_CLI_ORPHANS_H

#include <stdbool.h>

#include "b2frame/error.h"

/*
 * Removes those of the frame @url that are as old as @older says ("90m", "1d"; NULL: a
 * day), or tells of them if @dry_run, and how many they are.  Returns 0 or an errno,
 * after saying why.
 */
B2F_MUST_CHECK
int cli_orphans_remove(const char *url, const char *older, bool dry_run);

#endif
