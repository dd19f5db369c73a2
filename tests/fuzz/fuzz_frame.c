/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_frame.c - any bytes as a contiguous frame: header, index, metadata, data;
 * or as the index of a sparse one, whose fingerprint is made right
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "frame/frame.h"
#include "index/fingerprint.h"
#include "tests/fuzz/fuzz_runtime.h"

#define NBYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *arg, enum b2f_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	/* Every byte of a message must have been written. */
	if (strlen(message) > 4096)
		abort();
}

/* Reads everything in pieces, then once more as a whole. */
static void read_file(struct b2f_file *file)
{
	size_t size = b2f_file_size(file);
	uint8_t *pieces = malloc(size + 1), *whole = malloc(size + 1);
	size_t at = 0;

	while (at < size) {
		ssize_t n = b2f_file_pread(file, NULL, pieces + at, 777, at);

		if (n == 0)
			abort();
		if (n < 0)
			break;
		at += (size_t)n;
	}
	if (b2f_file_pread(file, NULL, whole, size, 0) >= 0 && at == size &&
	    memcmp(whole, pieces, size))
		abort();
	(void)!b2f_file_seek_data(file, size / 2);
	(void)!b2f_file_seek_hole(file, size / 2);
	free(pieces);
	free(whole);
}

static void look_at(struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);
	const struct b2f_array *array = b2f_frame_array(frame);
	uint8_t *head = NULL;
	char *json = NULL;
	size_t len;

	(void)!b2f_frame_describe(frame, info->nchunks < 1000, &json);
	(void)!b2f_frame_npy_header(frame, &head, &len);
	free(head);
	free(json);
	if (array && array->nitems > 0)
		(void)b2f_array_locate(array, array->nitems - 1);
}

/* No chunk file is there, but what the index tells of them is parsed. */
static void open_sparse(const struct b2f_frame_options *options,
			const uint8_t *data, size_t size)
{
	uint32_t header_len = b2f_load_be32(data + 11);
	uint32_t trailer_len = b2f_load_be32(data + size - 22);
	struct b2f_store *store = NULL;
	struct b2f_frame *frame = NULL;
	uint8_t *index;

	if (header_len < B2F_FRAME_HEADER_FIXED || header_len > size ||
	    trailer_len < B2F_FINGERPRINT_TAIL ||
	    trailer_len > size - header_len)
		return;
	index = malloc(size);
	memcpy(index, data, size);
	b2f_fingerprint_set(index, size, header_len, B2F_FINGERPRINT_TYPE);
	if (b2f_store_new_memory(index, size, &store))
		abort();
	store->kind = B2F_STORE_SPARSE;
	if (!b2f_frame_open_store(options, store, "index", &frame))
		look_at(frame);
	b2f_frame_close(frame);
	free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct b2f_log log = {.write = ignore,
				    .max_level = B2F_LOG_DEBUG};
	const struct b2f_frame_options options = {.log = &log};
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;

	if (size >= B2F_FRAME_MIN && data[26] == 1)
		open_sparse(&options, data, size);
	if (b2f_frame_open_memory(&options, data, size, &frame))
		return 0;
	look_at(frame);
	if (b2f_frame_info_get(frame)->nbytes > NBYTES_MAX ||
	    b2f_frame_shown_error(frame)) {
		b2f_frame_close(frame);
		return 0;
	}
	if (b2f_file_open(fuzz_runtime(), frame, &file))
		abort();
	read_file(file);
	b2f_file_close(file);
	return 0;
}
