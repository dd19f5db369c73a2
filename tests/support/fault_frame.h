/* SPDX-License-Identifier: BSD-3-Clause */
/* fault_frame.h - disks that fail, with frames to write to */
#ifndef B2F_TESTS_FAULT_FRAME_H
#define B2F_TESTS_FAULT_FRAME_H

#include <stdlib.h>
#include <string.h>

#include "frame/settings.h"
#include "index/index_write.h"
#include "tests/support/fault_store.h"
#include "tests/support/frame_dir.h"

/* Bytes of the chunks of a frame of chunks of different sizes. */
static const uint32_t varied[] = {100, 9000, 37, 5000, 4001, 6000};
#define NVARIED (sizeof(varied) / sizeof(*varied))

/* Makes the chunk files in the new @dir.  Returns their bytes. */
static inline uint64_t make_varied_chunks(const struct frame_dir *dir)
{
	static uint8_t data[10000];
	uint64_t total = 0;

	cr_assert_eq(mkdir(dir->path, 0700), 0);
	for (size_t i = 0; i < NVARIED; i++) {
		for (size_t k = 0; k < varied[i]; k++)
			data[k] = (uint8_t)(k / 9 + i + 1);
		frame_dir_chunk(dir, (uint32_t)i, data, varied[i], 1000);
		total += varied[i];
	}
	return total;
}

/* Makes a contiguous frame @path of the chunk files of @dir. */
static inline void join_chunks(const struct frame_dir *dir, const char *path,
			       uint64_t nbytes)
{
	struct b2f_frame_header header = {.nbytes = nbytes};
	uint64_t entries[NVARIED];
	uint8_t *raw = NULL, *chunks = malloc(nbytes);
	size_t size = 0;
	FILE *f;

	for (size_t i = 0; i < NVARIED; i++) {
		char name[160];

		snprintf(name, sizeof(name), "%s/%08zX.chunk", dir->path, i);
		f = fopen(name, "rb");
		entries[i] = header.cbytes;
		header.cbytes += fread(chunks + header.cbytes, 1, varied[i] + 64, f);
		fclose(f);
	}
	frame_dir_make_index(&header, entries, NVARIED, &raw, &size);
	f = fopen(path, "wb");
	cr_assert_eq(fwrite(raw, 1, B2F_FRAME_HEADER_PLAIN, f),
		     B2F_FRAME_HEADER_PLAIN);
	cr_assert_eq(fwrite(chunks, 1, header.cbytes, f), header.cbytes);
	size -= B2F_FRAME_HEADER_PLAIN;
	cr_assert_eq(fwrite(raw + B2F_FRAME_HEADER_PLAIN, 1, size, f), size);
	fclose(f);
	free(chunks);
	free(raw);
}

/* A disk with a frame of chunks of different sizes. */
static inline struct fault_disk *fault_frame_varied(bool single)
{
	struct frame_dir dir = frame_dir_new(), sparse;
	struct fault_disk *disk;
	char path[128];
	uint64_t nbytes;

	snprintf(sparse.path, sizeof(sparse.path), "%.60s/x", dir.path);
	snprintf(path, sizeof(path), "%s/y", dir.path);
	nbytes = make_varied_chunks(&sparse);
	if (single)
		join_chunks(&sparse, path, nbytes);
	else
		frame_dir_index(&sparse, NVARIED, nbytes, 0);
	disk = fault_disk_load(single ? path : sparse.path);
	cr_assert_not_null(disk);
	frame_dir_remove(&sparse);
	frame_dir_remove(&dir);
	return disk;
}

/* A disk with an empty contiguous frame that was made small. */
static inline struct fault_disk *
fault_frame_small(const struct b2f_settings *settings)
{
	struct fault_disk *disk;
	uint8_t *bytes = NULL;
	size_t size = 0;

	cr_assert_eq(b2f_settings_index(settings, true, &bytes, &size, NULL),
		     0);
	disk = fault_disk_of_index(bytes, size, true);
	free(bytes);
	return disk;
}

/* A disk with an empty frame of @settings, a contiguous one if @single. */
static inline struct fault_disk *
fault_frame_new(const struct b2f_settings *settings, bool single)
{
	struct fault_disk *disk;
	uint8_t *bytes = NULL;
	size_t size = 0;

	cr_assert_eq(b2f_settings_index(settings, single, &bytes, &size, NULL),
		     0);
	/* As C-Blosc2 makes it, without a checksum. */
	if (single)
		memset(bytes + size - 17, 0, 17);
	disk = fault_disk_of_index(bytes, size, single);
	free(bytes);
	return disk;
}

/*
 * A disk with an empty contiguous frame whose metalayers are longer than a
 * sector, with a fingerprint if @sealed.
 */
static inline struct fault_disk *
fault_frame_long(const struct b2f_settings *settings, bool sealed)
{
	static const uint8_t content[B2F_SECTOR];
	struct b2f_meta meta = {.name = "long",
				.name_len = 4,
				.content = content,
				.size = sizeof(content)};
	const struct b2f_meta_list none = {.n = 0},
				   metas = {.items = &meta, .n = 1};
	struct b2f_index_parts parts = {.sealed = sealed};
	uint8_t *header = NULL, *trailer = NULL, *bytes = NULL;
	size_t header_len = 0, trailer_len = 0, size = 0;
	struct fault_disk *disk;

	cr_assert_eq(b2f_settings_header(settings, &parts.header, NULL), 0);
	parts.header.sparse = false;
	cr_assert_eq(b2f_header_with_metas(&parts.header, &metas, &header,
					   &header_len),
		     0);
	cr_assert_eq(b2f_trailer_with_metas(&none, &trailer, &trailer_len), 0);
	parts.header.header_len = (uint32_t)header_len;
	parts.header_bytes = header;
	parts.trailer_bytes = trailer;
	parts.trailer_len = (uint32_t)trailer_len;
	cr_assert_eq(b2f_index_write(&parts, &bytes, &size, NULL), 0);
	disk = fault_disk_of_index(bytes, size, true);
	free(header);
	free(trailer);
	free(bytes);
	return disk;
}

#endif
