/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patience.h - ends a thread's requests to servers early
 *
 * Layer: public (made by base/).  Threads: each has its own.
 */
#ifndef B2FRAME_PATIENCE_H
#define B2FRAME_PATIENCE_H

#include <stdbool.h>

#include "b2frame/api.h"

B2F_BEGIN_API

/*
 * Is the result of the work for @arg no longer wanted?  Called several times a
 * second while a thread waits, perhaps with locks of the library held: must
 * neither wait nor call the library.
 */
typedef bool b2f_unwanted_fn(void *arg);

/*
 * From now on what the calling thread asks servers for ends with -EINTR once @fn says
 * so, also where other threads of the library do it: a change may have happened then,
 * as after any other error of requests.  NULL: it waits as long as the remote does.
 */
void b2f_patience_set(b2f_unwanted_fn *fn, void *arg);

/* Does the thread's function return true?  Without one: false. */
bool b2f_patience_is_over(void);

B2F_END_API

#endif
