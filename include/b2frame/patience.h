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
 * From now on requests that the calling thread makes to servers end with -EINTR
 * once @fn returns true, also requests that other threads of the library make
 * for it.  After this error, as after any other, the server may have done the
 * change.
 * NULL: requests have the time limits of the remote alone.
 */
void b2f_patience_set(b2f_unwanted_fn *fn, void *arg);

/* Returns the value of the thread's function; false without one. */
bool b2f_patience_is_over(void);

B2F_END_API

#endif
