/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * note.h - the metadata that a writer keeps with an object
 *
 * The answer to a PUT may get lost.  So each PUT has a *mark*, a random number
 * in the object's metadata, by which a writer recognizes its own object.  An
 * index also has the marks of earlier indexes, for a writer whose index was
 * replaced before it could look; and an id above the ids of all chunks that the
 * frame ever had, as far as its writers know.
 *
 * The text is "next=XXXXXXXX;marks=XXXXXXXXXXXXXXXX,...", the newest mark
 * first; the text of gone.h may follow for an index.
 *
 * Layer: remote.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_REMOTE_NOTE_H
#define B2F_REMOTE_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximal number of marks. */
#define B2F_NOTE_MARKS 24

struct b2f_note {
	uint64_t next_id;
	uint64_t marks[B2F_NOTE_MARKS];
	size_t nmarks;
};

/* Draws a random mark. */
uint64_t b2f_note_draw(void);

/* The note of an object that replaces one with @before; @mark is new. */
void b2f_note_follow(struct b2f_note *out, const struct b2f_note *before,
		     uint64_t mark);

bool b2f_note_has(const struct b2f_note *note, uint64_t mark);

/* Writes the text and its 0 to @out, of @size bytes, which must suffice. */
void b2f_note_write(const struct b2f_note *note, char *out, size_t size);

/* Parses @text; the note is empty if @text is malformed. */
void b2f_note_read(const char *text, struct b2f_note *out);

#endif
