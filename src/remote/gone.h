/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gone.h - chunks that an index has named, and the one that is there does not
 *
 * Readers of the index before may want them for a while; then any writer
 * removes them.  So each index has a list of them in its note (note.h), as far
 * as there is room: if a program ends earlier, the next one removes them.  Only
 * chunks that an index has named are in the list; so it never has a chunk of
 * another writer that no index names yet.
 *
 * Its text is ";gone=@S,I,I+N,@S,...", in hexadecimal digits: chunk I, and the
 * N chunks behind it, since the second S.  Except for the first I of each
 * second, I counts from the end of the item before.
 *
 * Layer: remote.  May include: base/ frame/.  Threads: a list is for one at a time.
 */
#ifndef B2F_REMOTE_GONE_H
#define B2F_REMOTE_GONE_H

#include <stdbool.h>

#include "frame/ids.h"

/* Room for the text, and its 0: what marks and the rest leave of a note. */
#define B2F_GONE_SIZE 1500

/* Times are told in steps of so many seconds, so that commits in a row share one. */
#define B2F_GONE_STEP_S 2

/* Zero-initialize it.  In the order of ids. */
struct b2f_gone {
	struct b2f_gone_chunk {
		uint64_t id;
		/* Since 1970, by the clock of the writer that replaced it. */
		uint64_t since_s;
	} *chunks;
	size_t n;
	size_t cap;
};

/* Adds @ids, or those of @other, that are not there yet.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_gone_add(struct b2f_gone *gone, const struct b2f_ids *ids,
		 uint64_t since_s);
B2F_MUST_CHECK
int b2f_gone_add_all(struct b2f_gone *gone, const struct b2f_gone *other);

/* Adds what @text, a whole note, says; of nonsense, what comes before.  0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_gone_read(struct b2f_gone *gone, const char *text);

/*
 * Writes the text, and its 0, to @out, of @size bytes; if there is no room for all, of
 * the oldest ones.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_gone_write(const struct b2f_gone *gone, char *out, size_t size);

/* Is there one since @until_s, or before? */
bool b2f_gone_is_due(const struct b2f_gone *gone, uint64_t until_s);

/* Moves these to @out.  Returns 0 or -ENOMEM; then some have stayed. */
B2F_MUST_CHECK
int b2f_gone_take(struct b2f_gone *gone, uint64_t until_s, struct b2f_ids *out);

void b2f_gone_fini(struct b2f_gone *gone);

#endif
