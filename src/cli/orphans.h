/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orphans.h - chunks in an object store that no index names
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_ORPHANS_H
#define B2F_CLI_ORPHANS_H

#include "cli/repair_frame.h"

/*
 * Removes the orphans of the frame @url, or of all frames below it, that are as
 * old as @how says; or lists and counts them.  Returns 0 or an errno, after
 * printing it.
 */
B2F_MUST_CHECK
int cli_orphans_remove(const char *url, const struct cli_repair *how);

#endif
