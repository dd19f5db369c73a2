/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewrite_index.c - parses an index and writes it anew, for a test
 *
 *   rewrite_index OLD NEW             both are files like chunks.b2frame
 *   rewrite_index OLD NEW CBYTES      with a checksum, the index of a sparse frame
 *                                     tells that its chunks take so many bytes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/index_write.h"

static void fail(const char *what, int err, const struct b2f_why *why)
{
	fprintf(stderr, "rewrite_index: %s: %d %s\n", what, err, why->text);
	exit(1);
}

static uint8_t *read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *raw;

	if (!f || fseek(f, 0, SEEK_END)) {
		perror(path);
		exit(1);
	}
	*size = (size_t)ftell(f);
	rewind(f);
	raw = malloc(*size + 1);
	if (!raw || fread(raw, 1, *size, f) != *size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return raw;
}

/* The raw values again, as the writer wants them. */
static uint64_t *raw_entries(const struct b2f_entries *entries)
{
	uint64_t *raw = calloc(entries->n + 1, sizeof(*raw));

	for (uint64_t i = 0; raw && i < entries->n; i++) {
		struct b2f_entry e = b2f_entries_get(entries, i);

		raw[i] = e.special ? b2f_entry_raw(e.special) : e.place;
	}
	return raw;
}

int main(int argc, char **argv)
{
	struct b2f_index_parts parts = {.nentries = 0};
	struct b2f_frame_header *h = &parts.header;
	struct b2f_entries entries = {.n = 0};
	struct b2f_decoder *dec = NULL;
	struct b2f_why why = {""};
	uint8_t *raw, *made = NULL;
	uint64_t *values;
	size_t size, at;
	FILE *f;
	int err;

	if (argc != 3 && argc != 4)
		return 2;
	raw = read_all(argv[1], &size);
	err = b2f_frame_header_parse(raw, size, size, h, &why);
	if (!err)
		err = b2f_trailer_len_parse(raw + size - B2F_FRAME_TAIL, h,
					    &parts.trailer_len, &why);
	if (!err)
		err = b2f_decoder_new(&dec);
	at = size - parts.trailer_len;
	if (!err && h->nbytes > 0)
		err = b2f_entries_parse(raw + h->header_len, at - h->header_len,
					h, dec, &(struct b2f_reserved){0},
					&entries, &why);
	if (err)
		fail(argv[1], err, &why);
	values = raw_entries(&entries);
	if (argc == 4) {
		h->cbytes = strtoull(argv[3], NULL, 10);
		parts.sealed = true;
	}
	parts.header_bytes = raw;
	parts.entries = values;
	parts.nentries = entries.n;
	parts.trailer_bytes = raw + at;
	err = b2f_index_write(&parts, &made, &size, &why);
	if (err)
		fail(argv[2], err, &why);
	f = fopen(argv[2], "wb");
	if (!f || fwrite(made, 1, size, f) != size || fclose(f))
		fail(argv[2], -1, &why);
	b2f_entries_fini(&entries);
	b2f_decoder_free(dec);
	free(values);
	free(made);
	free(raw);
	return 0;
}
