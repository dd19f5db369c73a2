/* SPDX-License-Identifier: BSD-3-Clause */
/* note.c - the metadata that a writer keeps with an object */
#include "remote/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"

#define ID_DIGITS   8
#define MARK_DIGITS 16

uint64_t b2f_note_draw(void)
{
	struct timespec now;
	uint64_t mark = 0;

	if (getrandom(&mark, sizeof(mark), GRND_NONBLOCK) == sizeof(mark) &&
	    mark)
		return mark;
	/* No random numbers early at boot. */
	clock_gettime(CLOCK_REALTIME, &now);
	return ((uint64_t)now.tv_sec << 34 ^ (uint64_t)now.tv_nsec << 4 ^
		(uint64_t)getpid() << 48) | 1;
}

void b2f_note_follow(struct b2f_note *out, const struct b2f_note *before,
		     uint64_t mark)
{
	size_t n = before->nmarks;

	if (n == B2F_NOTE_MARKS)
		n--;
	*out = (struct b2f_note){.next_id = before->next_id, .nmarks = n + 1};
	out->marks[0] = mark;
	memcpy(out->marks + 1, before->marks, n * sizeof(*out->marks));
}

bool b2f_note_has(const struct b2f_note *note, uint64_t mark)
{
	for (size_t i = 0; i < note->nmarks; i++)
		if (note->marks[i] == mark)
			return true;
	return false;
}

void b2f_note_write(const struct b2f_note *note, char *out, size_t size)
{
	int at = snprintf(out, size, "next=%08" PRIX64 ";marks=", note->next_id);

	for (size_t i = 0; i < note->nmarks; i++)
		at += snprintf(out + at, size - (size_t)at, "%s%016" PRIX64,
			       i ? "," : "", note->marks[i]);
}

static bool skip(const char **text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*text, word, n) != 0)
		return false;
	*text += n;
	return true;
}

void b2f_note_read(const char *text, struct b2f_note *out)
{
	struct b2f_note note = {.nmarks = 0};

	*out = note;
	if (!skip(&text, "next=") ||
	    b2f_take_hex(&text, &note.next_id) != ID_DIGITS ||
	    !skip(&text, ";marks="))
		return;
	do {
		if (note.nmarks == B2F_NOTE_MARKS ||
		    b2f_take_hex(&text, &note.marks[note.nmarks]) !=
			    MARK_DIGITS)
			return;
		note.nmarks++;
	} while (skip(&text, ","));
	/* The rest is for gone.h. */
	if (!*text || *text == ';')
		*out = note;
}
