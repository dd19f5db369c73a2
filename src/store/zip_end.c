/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zip_end.c - the end records of a ZIP file, which locate its directory
 *
 *   ZIP64 end record, and its locator             -- only of large files
 *   end record: where the directory is; comment   -- the last of all
 */
#include "store/zip_end.h"

#include <stdlib.h>

#include "base/checked.h"

#define SIGN_END	UINT32_C(0x06054b50)
#define SIGN_END64	UINT32_C(0x06064b50)
#define SIGN_LOCATOR	UINT32_C(0x07064b50)
#define END_SIZE	22
#define END64_SIZE	56
#define LOCATOR_SIZE	20
#define COMMENT_MAX	0xffff
#define DIRECTORY_MAX	(UINT64_C(64) << 20)

int b2f_zip_corrupt(struct b2f_why *why, const char *text)
{
	return b2f_why_set(why, B2F_ECORRUPT, "ZIP file: %s", text);
}

/* Offset of the end record in the last bytes of a file, or -1. */
static int64_t scan_end(const uint8_t *tail, size_t n)
{
	/*
	 * Its comment reaches to the end of the file; so there is at most one.
	 */
	for (size_t at = n < END_SIZE ? 0 : n - END_SIZE + 1; at-- > 0;) {
		struct b2f_cursor cur = b2f_cursor_at(tail + at, n - at);

		if (b2f_cursor_le32(&cur) != SIGN_END)
			continue;
		b2f_cursor_seek(&cur, END_SIZE - 2);
		if (b2f_zip_take16(&cur) == n - at - END_SIZE)
			return (int64_t)at;
	}
	return -1;
}

static int read_tail(const struct b2f_object *object, uint8_t **out, size_t *n,
		     struct b2f_why *why)
{
	size_t size = (size_t)b2f_min_u64(object->size, COMMENT_MAX + END_SIZE);
	uint8_t *tail = malloc(size ? size : 1);
	int err = tail ? b2f_object_read(object, object->size - size, tail,
					 size, why)
		       : -ENOMEM;

	if (err) {
		free(tail);
		return err;
	}
	*out = tail;
	*n = size;
	return 0;
}

int b2f_zip_end_look(const struct b2f_object *object, bool *is)
{
	B2F_OWN uint8_t *tail = NULL;
	size_t n = 0;
	int err = read_tail(object, &tail, &n, NULL);

	if (err)
		return err;
	*is = scan_end(tail, n) >= 0;
	return 0;
}

/* Is the record at @end complete? A file can have exactly 65,535 members. */
static int end_without64(const struct b2f_zip_end *end, struct b2f_why *why)
{
	if (end->directory_size == UINT32_MAX ||
	    end->directory_off == UINT32_MAX)
		return b2f_zip_corrupt(why, "its ZIP64 record is missing");
	return 0;
}

/* Reads the ZIP64 record of a file with large numbers. */
static int read_end64(const struct b2f_object *object, struct b2f_zip_end *end,
		      struct b2f_why *why)
{
	uint8_t raw[END64_SIZE];
	struct b2f_cursor cur = b2f_cursor_at(raw, LOCATOR_SIZE);
	uint64_t at, n_here;
	uint32_t disks;
	int err;

	if (end->at < LOCATOR_SIZE)
		return end_without64(end, why);
	err = b2f_object_read(object, end->at - LOCATOR_SIZE, raw, LOCATOR_SIZE,
			      why);
	if (err)
		return err;
	if (b2f_cursor_le32(&cur) != SIGN_LOCATOR)
		return end_without64(end, why);
	disks = b2f_cursor_le32(&cur);
	at = b2f_cursor_le64(&cur);
	if (disks != 0 || b2f_cursor_le32(&cur) > 1)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "a ZIP file in several parts");
	if (!b2f_range_fits(at, END64_SIZE, end->at - LOCATOR_SIZE))
		return b2f_zip_corrupt(why, "its ZIP64 record is outside of the file");
	err = b2f_object_read(object, at, raw, END64_SIZE, why);
	if (err)
		return err;
	cur = b2f_cursor_at(raw, END64_SIZE);
	if (b2f_cursor_le32(&cur) != SIGN_END64)
		return b2f_zip_corrupt(why, "its ZIP64 record is damaged");
	b2f_cursor_seek(&cur, 24);
	n_here = b2f_cursor_le64(&cur);
	end->n = b2f_cursor_le64(&cur);
	end->directory_size = b2f_cursor_le64(&cur);
	end->directory_off = b2f_cursor_le64(&cur);
	end->at = at;
	return n_here == end->n ? 0
				: b2f_why_set(why, B2F_EUNSUPPORTED,
					      "a ZIP file in several parts");
}

static int parse_end(const struct b2f_object *object, const uint8_t *raw,
		     struct b2f_zip_end *end, struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, END_SIZE);
	uint16_t disk, disk_of_directory, n_here;

	b2f_cursor_skip(&cur, 4);
	disk = b2f_zip_take16(&cur);
	disk_of_directory = b2f_zip_take16(&cur);
	n_here = b2f_zip_take16(&cur);
	end->n = b2f_zip_take16(&cur);
	end->directory_size = b2f_cursor_le32(&cur);
	end->directory_off = b2f_cursor_le32(&cur);
	if (end->n == UINT16_MAX || end->directory_size == UINT32_MAX ||
	    end->directory_off == UINT32_MAX)
		return read_end64(object, end, why);
	if (disk || disk_of_directory || n_here != end->n)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "a ZIP file in several parts");
	return 0;
}

int b2f_zip_end_find(const struct b2f_object *object, struct b2f_zip_end *out,
		     struct b2f_why *why)
{
	B2F_OWN uint8_t *tail = NULL;
	size_t n = 0;
	int64_t at;
	int err = read_tail(object, &tail, &n, why);

	if (err)
		return err;
	at = scan_end(tail, n);
	if (at < 0)
		return b2f_why_set(why, B2F_ENOTFRAME, "it is no ZIP file");
	out->at = object->size - n + (uint64_t)at;
	err = parse_end(object, tail + at, out, why);
	if (err)
		return err;
	if (!b2f_range_fits(out->directory_off, out->directory_size, out->at))
		return b2f_zip_corrupt(why, "its directory is outside of the file");
	if (out->directory_size > DIRECTORY_MAX)
		return b2f_why_set(why, B2F_ETOOBIG,
				   "a ZIP directory of %llu bytes",
				   (unsigned long long)out->directory_size);
	if (out->n > out->directory_size / B2F_ZIP_ENTRY_SIZE)
		return b2f_zip_corrupt(why, "it claims more members than fit");
	return 0;
}
