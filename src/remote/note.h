/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * note.h - what a writer puts beside an object
 *
 * The answer to a PUT may get lost.  So each PUT has a *mark*, drawn by chance, which
 * the server keeps beside the object: by that the writer knows its own again.  An
 * index has the marks of the indexes before it, too, for a writer whose index was
 * replaced before it could look; and the id that is above those of all chunks that
 * its frame ever had, as far as its writers know.
 *
 * As text it is "next=XXXXXXXX;marks=XXXXXXXXXXXXXXXX,...", the newest mark first; of an
 * index, what gone.h says may follow.
 *
 * Layer: remote.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_REMOTE_NOTE_H
#define B2F_REMOTE_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many marks fit. */
#define B2F_NOTE_MARKS 24

struct b2f_note {
	uint64_t next_id;
	uint64_t marks[B2F_NOTE_MARKS];
	size_t nmarks;
};

/* A mark that no other PUT has. */
uint64_t b2f_note_draw(void);

/* The note of what replaces an object with @before: @mark is the newest. */
void b2f_note_follow(struct b2f_note *out, const struct b2f_note *before,
		     uint64_t mark);

bool b2f_note_has(const struct b2f_note *note, uint64_t mark);

/* Writes the text and its 0 to @out, which has @size bytes of room: enough for all. */
void b2f_note_write(const struct b2f_note *note, char *out, size_t size);

/* What @text says; an empty note if that is nothing that makes sense. */
void b2f_note_read(const char *text, struct b2f_note *out);

#endif
