/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * namespace.h - the mount namespace that -N names
 *
 * Layer: words, below both programs.  Threads: main only.
 */
#ifndef B2F_WORDS_NAMESPACE_H
#define B2F_WORDS_NAMESPACE_H

#define B2F_NAMESPACE_PATH 4096

/*
 * Enters the mount namespace @name, the number of a process or the path of a
 * namespace file; @path becomes the path.  Returns 0 or the errno of open(2) or
 * setns(2).
 */
int b2f_namespace_enter(const char *name, char path[B2F_NAMESPACE_PATH]);

#endif
