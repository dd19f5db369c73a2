/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * readahead.h - notices sequential readers, and tells how far ahead to load
 *
 * Pure arithmetic over positions: it reads nothing and knows no format.  The
 * caller tells it every read and is told which range to load in advance.
 *
 * The kernel splits one sequential reader into requests that several threads
 * of the daemon answer at once, so requests arrive a little out of order; a
 * read that starts near where the last ones ended is still "in order".
 *
 * States of a stream:
 *
 *   random      no range is wanted.  The second read in a row at or near the
 *               expected position leads to "sequential" (a fresh stream
 *               expects position 0).
 *   sequential  the window opens at four times the size of the read, or at
 *               @first_window if that is larger, and doubles, up to
 *               @max_window, each time the reader comes within half a window
 *               of its end.  A read elsewhere leads back to "random" and
 *               closes the window.
 *
 * Layer: run.  May include: base/.
 *
 * Threads: one at a time.
 */
#ifndef B2F_RUN_READAHEAD_H
#define B2F_RUN_READAHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct b2f_readahead {
	/* Largest window, bytes; 0 switches readahead off.  Const. */
	uint64_t max_window;
	/* Smallest first window, bytes.  Const once used. */
	uint64_t first_window;
	/* Where the next sequential read is expected. */
	uint64_t expected;
	/* Reads in a row at or near @expected, up to two. */
	unsigned int streak;
	/* Bytes to be loaded ahead of the reader; 0 in state "random". */
	uint64_t window;
	/* End of the range handed out for loading. */
	uint64_t ahead_end;
};

void b2f_readahead_init(struct b2f_readahead *ra, uint64_t max_window);

/*
 * Tells that [@off, @off + @size) of a file of @file_size bytes is being read.
 * If something should be loaded ahead, sets [*@start, *@end) to it, cut to the
 * file, and returns true.  Ranges handed out do not overlap as long as the
 * reader stays in order.
 */
bool b2f_readahead_note(struct b2f_readahead *ra, uint64_t off, uint64_t size,
			uint64_t file_size, uint64_t *start, uint64_t *end);

bool b2f_readahead_in_order(const struct b2f_readahead *ra);

#endif
