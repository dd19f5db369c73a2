/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_blp.c - any bytes as a Bloscpack file
 *
 * Whatever a file says, its chunks lie in it and follow each other; and it is
 * read in pieces as it is read at once.
 */
#include <stdlib.h>
#include <string.h>

#include "blp/blp.h"
#include "tests/fuzz/fuzz_memory.h"
#include "tests/fuzz/fuzz_runtime.h"

#define NBYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct b2f_blp *blp, size_t size)
{
	if (blp->size != size || blp->nbytes > INT64_MAX)
		abort();
	for (uint64_t i = 0; i < blp->nchunks; i++) {
		uint64_t end = b2f_blp_chunk_end(blp, i);

		if (end > size || blp->offs[i] > end ||
		    end - blp->offs[i] < B2F_CHUNK_HEADER_MIN)
			abort();
	}
	if (blp->json && blp->json[blp->json_len])
		abort();
}

static void parse(const uint8_t *data, size_t size)
{
	struct b2f_store *store = NULL;
	struct b2f_object object;
	struct b2f_why why = {""};
	struct b2f_blp blp;

	if (b2f_store_new_memory(data, size, &store) ||
	    b2f_object_open(store, B2F_OBJECT_INDEX, &object, &why))
		abort();
	if (!b2f_blp_read(&object, &blp, &why)) {
		check(&blp, size);
		b2f_blp_fini(&blp);
	}
	b2f_object_close(&object);
	b2f_store_free(store);
}

static void read_file(struct b2f_file *file)
{
	size_t size = b2f_file_size(file), at = 0;
	uint8_t *pieces = malloc(size + 1), *whole = malloc(size + 1);
	ssize_t n = 1;

	while (at < size && n > 0) {
		n = b2f_file_pread(file, NULL, pieces + at, 777, at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (b2f_file_pread(file, NULL, whole, size, 0) >= 0 && at == size &&
	    memcmp(whole, pieces, size))
		abort();
	free(pieces);
	free(whole);
}

static void open_frame(const uint8_t *data, size_t size)
{
	const struct b2f_frame_options options = {.label = "x"};
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;
	uint8_t *head = NULL;
	char *json = NULL;
	size_t len;

	if (b2f_frame_open_memory(&options, data, size, &frame))
		return;
	(void)!b2f_frame_npy_header(frame, &head, &len);
	(void)!b2f_frame_describe(frame, true, &json);
	free(head);
	free(json);
	if (b2f_frame_info_get(frame)->nbytes > NBYTES_MAX ||
	    b2f_file_open(fuzz_runtime(), frame, &file)) {
		b2f_frame_close(frame);
		return;
	}
	read_file(file);
	b2f_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *raw = copy_of(data, size);

	parse(raw, size);
	if (b2f_blp_magic(raw, size))
		open_frame(raw, size);
	free(raw);
	return 0;
}
