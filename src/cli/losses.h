/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * losses.h - what a plain file cannot hold of a frame
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_LOSSES_H
#define B2F_CLI_LOSSES_H

#include <stdbool.h>

#include "b2frame/frame.h"

/*
 * Looks whether @frame, called @path, has metadata that would be lost with it
 * if a plain file is all that is left: metalayers and vlmetalayers of the user,
 * and of an array, if it is written @raw, also its shape and type.
 *
 * Returns 0, or -EINVAL or an errno after saying what and why.
 */
B2F_MUST_CHECK
int cli_losses_check(const char *path, const struct b2f_frame *frame, bool raw);

#endif
