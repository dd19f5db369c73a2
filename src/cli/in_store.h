/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * in_store.h - is a file part of a store of python-blosc2?
 *
 * A store (DictStore, TreeStore, CTable) is a directory, usually NAME.b2d, with
 * a file embed.b2e; each frame below it has the key that its path tells.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_IN_STORE_H
#define B2F_CLI_IN_STORE_H

#include <stdbool.h>

#include "cli/at.h"

/* Is @at, which need not exist, below the directory of a store? */
bool cli_in_store(const struct cli_at *at);

#endif
