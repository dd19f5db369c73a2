/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_report.c - puts failures into words, with frame, chunk and file */
#include "frame/frame_report.h"

#include <stdio.h>

#include "b2frame/error.h"
#include "base/log_line.h"
#include "frame/frame.h"
#include "index/fingerprint.h"

int b2f_frame_report(const struct b2f_frame *frame, int err,
		     const struct b2f_why *why)
{
	return b2f_log_failure(frame->log, frame->label, err, why);
}

void b2f_frame_report_stale(struct b2f_frame *frame)
{
	const struct b2f_why why = {"another program has changed it meanwhile"};

	if (!atomic_exchange(&frame->told_stale, true))
		b2f_frame_report(frame, -ESTALE, &why);
}

int b2f_frame_judge_header(const struct b2f_object *index, int err,
			   struct b2f_why *why)
{
	uint64_t off = index->size - B2F_FINGERPRINT_TAIL;
	uint8_t type = 0;
	int failure;

	if (err == B2F_ECORRUPT)
		return err;
	failure = b2f_object_read(index, off, &type, 1, why);
	if (failure)
		return failure;
	if (type == 0)
		return err;
	return b2f_why_set(why, B2F_ECORRUPT,
			   "the header of the index is damaged");
}

uint64_t b2f_frame_chunk_off(const struct b2f_frame *frame, uint64_t raw)
{
	struct b2f_range range = {0};

	(void)b2f_ranges_get(frame->store->ranges, raw & B2F_ENTRY_ID, &range);
	return range.off - frame->store->lead;
}

/* Where the chunk is stored, as a person would look for it. */
static void describe_place(const struct b2f_frame *frame, uint64_t raw,
			   char *buf, size_t size)
{
	struct b2f_entry entry = b2f_entry_of(raw);
	char name[B2F_CHUNK_NAME_SIZE];

	if (entry.special) {
		snprintf(buf, size, "in the index");
	} else if (frame->header.sparse) {
		b2f_chunk_name((int64_t)(uint32_t)entry.place, name);
		snprintf(buf, size, "%s", name);
	} else {
		snprintf(buf, size, "at byte %llu",
			 (unsigned long long)b2f_frame_chunk_off(frame, raw));
	}
}

int b2f_frame_report_entry(const struct b2f_frame *frame, uint64_t nchunk,
			   uint64_t raw, int64_t unit, int err,
			   const struct b2f_why *why)
{
	/* A file opens its frame again; others report_stale(). */
	bool is_news = err != -ESTALE;
	char place[48], block[32] = "";

	describe_place(frame, raw, place, sizeof(place));
	if (unit >= 0)
		snprintf(block, sizeof(block), "block %lld: ", (long long)unit);
	b2f_log(frame->log, is_news ? B2F_LOG_ERROR : B2F_LOG_DEBUG,
		"%s: chunk %llu (%s): %s%s", frame->label,
		(unsigned long long)nchunk, place, block,
		b2f_why_text(why, err));
	return err;
}

int b2f_frame_report_chunk(const struct b2f_frame *frame, uint64_t nchunk,
			   int err, const struct b2f_why *why)
{
	return b2f_frame_report_entry(frame, nchunk,
				      b2f_entries_raw(&frame->entries, nchunk),
				      -1, err, why);
}
