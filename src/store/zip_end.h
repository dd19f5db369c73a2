/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zip_end.h - the end records of a ZIP file, which locate its directory
 *
 * Layer: store.  May include: base/.  Threads: pure functions of an object.
 */
#ifndef B2F_STORE_ZIP_END_H
#define B2F_STORE_ZIP_END_H

#include "base/cursor.h"
#include "store/store.h"

/* Size of a directory entry without name, extra field and comment. */
#define B2F_ZIP_ENTRY_SIZE 46

/* Contents of the end records. */
struct b2f_zip_end {
	/* Offset of the first end record; the directory is before it. */
	uint64_t at;
	uint64_t n;
	uint64_t directory_off;
	uint64_t directory_size;
};

static inline uint16_t b2f_zip_take16(struct b2f_cursor *cur)
{
	unsigned int low = b2f_cursor_u8(cur);

	return (uint16_t)(low | (unsigned int)b2f_cursor_u8(cur) << 8);
}

/* Sets @why, and returns B2F_ECORRUPT. */
int b2f_zip_corrupt(struct b2f_why *why, const char *text);

/* Sets *@is: does @object end like a ZIP file?  Returns as b2f_zip_parse(). */
B2F_MUST_CHECK
int b2f_zip_end_look(const struct b2f_object *object, bool *is);

/*
 * Finds the directory of @object, and checks that it is inside and not too
 * large.  Returns as b2f_zip_parse().
 */
B2F_MUST_CHECK
int b2f_zip_end_find(const struct b2f_object *object, struct b2f_zip_end *out,
		     struct b2f_why *why);

#endif
