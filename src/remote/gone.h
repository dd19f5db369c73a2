/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gone.h - chunks that earlier indexes named and the current one does not
 *
 * Readers of an earlier index may need these chunks for a while; then any
 * writer removes them.  Each index lists them in its note (note.h), as far as
 * there is room, so that the next writer removes them if this program ends.
 * The list has only chunks that an index has named, never an uncommitted chunk
 * of another writer.
 *
 * The text is ";gone=@S,I,I+N,@S,...", in hexadecimal digits: chunk I and the N
 * chunks after it, replaced at second S.  Except for the first I after each S,
 * I counts from the end of the item before.
 *
 * Layer: remote.  May include: base/ frame/.  Threads: a list belongs to one
 * thread at a time.
 */
#ifndef B2F_REMOTE_GONE_H
#define B2F_REMOTE_GONE_H

#include <stdbool.h>

#include "txn/ids.h"

/* Room for the text and its 0: the rest of the note is for marks and ids. */
#define B2F_GONE_SIZE 1500

/* Times are rounded to so many seconds, so that commits in a row share one. */
#define B2F_GONE_STEP_S 2

/*
 * Chunks of a replaced frame that a program still reads count as replaced so
 * much later, s: that program removes them, or is killed.
 */
#define B2F_GONE_LATER_S 2592000

struct b2f_gone_chunk {
	uint64_t id;
	/*
	 * When it was replaced, s since 1970, by that writer's clock; or
	 * B2F_GONE_LATER_S later.
	 */
	uint64_t since_s;
};

/* Zero-initialize it.  Sorted by id. */
struct b2f_gone {
	struct b2f_gone_chunk *chunks;
	size_t n;
	size_t cap;
};

/* Adds the chunks of @ids that are new to it.  0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_gone_add(struct b2f_gone *gone, const struct b2f_ids *ids,
		 uint64_t since_s);

/* Adds the chunks in @text, a note, up to its first error. 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_gone_read(struct b2f_gone *gone, const char *text);

/*
 * Writes the text, with the chunks of @ids, too, and its 0 to @out, of @size
 * bytes; if there is not enough room, the oldest chunks.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_gone_write(const struct b2f_gone *gone, const struct b2f_ids *ids,
		   uint64_t since_s, char *out, size_t size);

/* Was any chunk replaced at @until_s or before? */
bool b2f_gone_is_due(const struct b2f_gone *gone, uint64_t until_s);

/*
 * Moves up to @max chunks replaced by @until_s to @out. 0, or -ENOMEM: some
 * have stayed.
 */
B2F_MUST_CHECK
int b2f_gone_take(struct b2f_gone *gone, uint64_t until_s, size_t max,
		  struct b2f_ids *out);

/* The same for all chunks that no program keeps, whatever the clocks say. */
B2F_MUST_CHECK
int b2f_gone_take_all(struct b2f_gone *gone, struct b2f_ids *out);

void b2f_gone_fini(struct b2f_gone *gone);

#endif
