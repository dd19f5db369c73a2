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
 * Returns the bytes of the machine's memory, or, if lower, the limit of the
 * control groups (v1 or v2) of this process and their parents; 0 if unknown.
 * @root: the directory of /proc and /sys; "" except in tests.  May block on
 * I/O.
 */
uint64_t b2f_memory_limit(const char *root);

#endif
