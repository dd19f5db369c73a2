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
 * Returns the bytes of the machine's memory, or the limit of the control groups
 * of this process (v1 or v2) and their parents, if that is less; 0 if unknown.
 * @root: where /proc and /sys are; "" except in tests.  May block on I/O.
 */
uint64_t b2f_memory_limit(const char *root);

#endif
