/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_limit.h - how much memory this process may have
 *
 * Layer: run.  May include: base/.  Threads: any.
 */
#ifndef B2F_RUN_MEMORY_LIMIT_H
#define B2F_RUN_MEMORY_LIMIT_H

#include <stdint.h>

/*
 * Bytes: the machine's memory, or what the control groups of this process (v1
 * or v2) and those above them allow, if that is less.  @root: where /proc and
 * /sys are; "" but for tests.  0: nothing tells.  May block on I/O.
 */
uint64_t b2f_memory_limit(const char *root);

#endif
