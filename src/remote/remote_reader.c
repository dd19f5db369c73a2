/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_reader.c - an object that is read in order, some parts ahead */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "remote/fetch.h"
#include "remote/object_sum.h"

/* A part takes longer than a round trip; and how many are fetched at a time. */
#define PART_BYTES ((size_t)4 << 20)
#define PARTS_MAX  8

struct b2f_remote_reader {
	struct b2f_remote *remote;
	struct b2f_remote_stat st;
	/* Parts being fetched, in order. */
	struct b2f_fetch *parts[PARTS_MAX];
	unsigned int n;
	/* The offset of the first part, and the end of the last one. */
	uint64_t first;
	uint64_t next;
	/* End of the bytes read in order from 0 on, and their checksum. */
	uint64_t summed;
	uint32_t sum;
	char path[];
};

int b2f_remote_reader_new(struct b2f_remote *remote, const char *path,
			  const struct b2f_remote_stat *st,
			  struct b2f_remote_reader **out)
{
	struct b2f_remote_reader *reader =
		calloc(1, sizeof(*reader) + strlen(path) + 1);

	if (!reader)
		return -ENOMEM;
	strcpy(reader->path, path);
	reader->remote = b2f_remote_ref(remote);
	reader->st = *st;
	*out = reader;
	return 0;
}

static void drop_first(struct b2f_remote_reader *reader)
{
	b2f_fetch_drop(reader->parts[0]);
	reader->n--;
	memmove(reader->parts, reader->parts + 1,
		reader->n * sizeof(reader->parts[0]));
	reader->first = b2f_min_u64(reader->first + PART_BYTES, reader->next);
}

void b2f_remote_reader_free(struct b2f_remote_reader *reader)
{
	if (!reader)
		return;
	while (reader->n)
		drop_first(reader);
	b2f_remote_free(reader->remote);
	free(reader);
}

/* Drops parts before @off; all parts if @off is in none of them. */
static void move_to(struct b2f_remote_reader *reader, uint64_t off)
{
	while (reader->n && (off < reader->first ||
			     off - reader->first >= PART_BYTES))
		drop_first(reader);
	if (reader->n == 0)
		reader->first = reader->next = off;
}

static int fill(struct b2f_remote_reader *reader)
{
	int err = 0;

	while (reader->n < PARTS_MAX && reader->next < reader->st.size &&
	       !err) {
		struct b2f_fetch_spec spec = {
			.path = reader->path,
			.version = &reader->st,
			.off = reader->next,
			.n = (size_t)b2f_min_u64(PART_BYTES, reader->st.size -
								     reader->next),
		};

		err = b2f_fetch_start(reader->remote, &spec,
				      &reader->parts[reader->n]);
		if (!err) {
			reader->n++;
			reader->next += spec.n;
		}
	}
	/* The parts under way suffice. */
	return reader->n ? 0 : err;
}

/* Copies up to @n bytes at @off from the first part; *@got is their number. */
static int take(struct b2f_remote_reader *reader, uint64_t off, void *buf,
		size_t n, size_t *got)
{
	struct b2f_fetched part = {.n = 0};
	struct b2f_why why = {""};
	uint64_t at = off - reader->first;
	int err = b2f_fetch_wait(reader->parts[0], &part, &why);

	if (!err && at >= part.n)
		err = b2f_why_set(&why, -ECONNRESET,
				  "the server sent fewer bytes than announced");
	if (err)
		return b2f_remote_report(reader->remote, reader->path, err,
					 &why);
	*got = b2f_min_u64(n, part.n - at);
	memcpy(buf, part.bytes + at, *got);
	return 0;
}

/* Adds to the checksum; at the end compares it with the one of the server. */
static int add_sum(struct b2f_remote_reader *reader, uint64_t off,
		   const void *buf, size_t n)
{
	const struct b2f_remote_stat *st = &reader->st;
	struct b2f_why why = {""};

	if (!st->has_crc32 || off != reader->summed)
		return 0;
	reader->sum = b2f_object_sum(reader->sum, buf, n);
	reader->summed += n;
	if (reader->summed < st->size || reader->sum == st->crc32)
		return 0;
	(void)b2f_why_set(&why, B2F_ECORRUPT,
			  "the received bytes have another checksum (CRC-32) "
			  "than the server states");
	return b2f_remote_report(reader->remote, reader->path, B2F_ECORRUPT,
				 &why);
}

int b2f_remote_reader_read(struct b2f_remote_reader *reader, uint64_t off,
			   void *buf, size_t n)
{
	uint64_t begin = off;
	uint8_t *to = buf;
	size_t got = 0, all = n;
	int err = 0;

	if (!b2f_range_fits(off, n, reader->st.size))
		return B2F_ECORRUPT;
	for (; n > 0 && !err; off += got, to += got, n -= got) {
		got = 0;
		move_to(reader, off);
		err = fill(reader);
		if (!err)
			err = take(reader, off, to, n, &got);
	}
	return err ? err : add_sum(reader, begin, buf, all);
}
