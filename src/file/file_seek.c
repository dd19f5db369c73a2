/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_seek.c - finds holes and data
 *
 * A wrong answer makes cp and tar write zeros over data, without an error.
 * Only chunks that the index itself calls zeros are holes.  Uninitialised
 * chunks are not: their bytes were never promised to be zeros.
 */
#include <errno.h>

#include "file/reading.h"
#include "file/record.h"

struct seek {
	uint64_t off;
	bool hole;
	/* Size of the file; a result. */
	uint64_t size;
};

/* The first position >= @off in a chunk that is (not) a hole; or the size. */
static int64_t seek_kind(void *arg, struct b2f_reading *r)
{
	struct seek *s = arg;
	uint64_t head = r->frame->layout.head_len, off = s->off;
	bool hole = s->hole;

	s->size = r->size;
	/* The items of a chunk are in many places of the array. */
	if (!r->frame->layout.linear)
		return (int64_t)(hole ? r->size : off);
	if (off < head) {
		if (!hole)
			return (int64_t)off;
		off = head;
	}
	while (off < r->size) {
		struct b2f_source src;
		int err = b2f_reading_find(r, off - head, &src);

		if (err)
			return err;
		b2f_record_unref(src.record);
		if (src.is_hole == hole)
			return (int64_t)off;
		/* The file was cut here since the reading began. */
		if (src.span.nbytes == 0)
			break;
		off = head + src.span.start + src.span.nbytes;
	}
	return (int64_t)r->size;
}

static int64_t seek(struct b2f_file *file, uint64_t off, bool hole)
{
	struct seek s = {.off = off, .hole = hole};
	int64_t pos = b2f_file_retry(file, seek_kind, &s);

	/* If the reading failed, the size may be unknown. */
	if (pos >= 0 && (off >= s.size || (!hole && pos == (int64_t)s.size)))
		return -ENXIO;
	return pos;
}

int64_t b2f_file_seek_data(struct b2f_file *file, uint64_t off)
{
	return seek(file, off, false);
}

int64_t b2f_file_seek_hole(struct b2f_file *file, uint64_t off)
{
	return seek(file, off, true);
}
