/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_seek.c - where the holes are
 *
 * A wrong answer makes cp and tar write zeros over data, without an error: so
 * only chunks that the index itself says are zeros are holes.  Uninitialised
 * ones are not, as nobody promised their bytes.
 */
#include <errno.h>

#include "file/file.h"

static bool is_hole(const struct b2f_file *file, uint64_t nchunk)
{
	return b2f_entries_get(&file->frame->entries, nchunk).special ==
	       B2F_SPECIAL_ZEROS;
}

/* The first position >= @off in a chunk that is (not) a hole; or the size. */
static int64_t seek_kind(struct b2f_file *file, uint64_t off, bool hole)
{
	uint64_t n = file->frame->info.nchunks;
	struct b2f_frame_span span;
	int err;

	err = b2f_frame_locate(file->frame, off, &span);
	if (err)
		return err;
	if (is_hole(file, span.nchunk) == hole)
		return (int64_t)off;
	for (uint64_t i = span.nchunk + 1; i < n; i++) {
		if (is_hole(file, i) != hole)
			continue;
		err = b2f_frame_span_get(file->frame, i, &span);
		return err ? err : (int64_t)span.start;
	}
	return (int64_t)b2f_file_size(file);
}

int64_t b2f_file_seek_data(struct b2f_file *file, uint64_t off)
{
	int64_t pos;

	if (off >= b2f_file_size(file))
		return -ENXIO;
	pos = seek_kind(file, off, false);
	return pos == (int64_t)b2f_file_size(file) ? -ENXIO : pos;
}

int64_t b2f_file_seek_hole(struct b2f_file *file, uint64_t off)
{
	if (off >= b2f_file_size(file))
		return -ENXIO;
	return seek_kind(file, off, true);
}
