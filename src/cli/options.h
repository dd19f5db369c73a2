/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - the values of options
 *
 * Each function says on stderr what is wrong with a value and returns -EINVAL.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_OPTIONS_H
#define B2F_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A number of bytes, at most INT64_MAX: digits, then k, m, g or t (1024 each),
 * with or without "iB".  Returns 0 or -EINVAL.
 */
__attribute__((warn_unused_result)) int
cli_options_size(const char *option, const char *text, uint64_t *out);

/* As cli_options_size(), with a sign: *@from_end is true after a minus. */
__attribute__((warn_unused_result)) int cli_options_position(const char *option,
							     const char *text,
							     uint64_t *out,
							     bool *from_end);

/* A number of threads, 0 to 1024; 0 is all cores.  Returns 0 or -EINVAL. */
__attribute__((warn_unused_result)) int
cli_options_threads(const char *option, const char *text, unsigned int *out);

#endif
