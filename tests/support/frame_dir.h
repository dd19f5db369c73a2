/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_dir.h - sparse frames made by a test, in a directory of /tmp
 *
 * The test has to call frame_dir_remove() at its end, or declares OWN_DIR.
 */
#ifndef B2F_TESTS_FRAME_DIR_H
#define B2F_TESTS_FRAME_DIR_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "index/index_write.h"
#include "tests/support/own.h"

OWNER(b2f_file, b2f_file_close);
OWNER(b2f_runtime, b2f_runtime_free);

struct frame_dir {
	char path[64];
};

static inline struct frame_dir frame_dir_new(void)
{
	struct frame_dir dir = {"/tmp/b2f-frame-XXXXXX"};

	cr_assert_not_null(mkdtemp(dir.path));
	return dir;
}

static inline void frame_dir_remove(const struct frame_dir *dir)
{
	DIR *d = opendir(dir->path);
	struct dirent *entry;

	cr_assert_not_null(d);
	while ((entry = readdir(d)))
		(void)unlinkat(dirfd(d), entry->d_name, 0);
	closedir(d);
	cr_assert_eq(rmdir(dir->path), 0);
}

#define OWN_DIR __attribute__((cleanup(frame_dir_remove)))

/* Overwrites the file @name in place, without a new inode. */
static inline void frame_dir_write(const struct frame_dir *dir,
				   const char *name, const void *data,
				   size_t size)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	f = fopen(path, "wb");
	cr_assert_not_null(f, "%s", path);
	cr_assert_eq(fwrite(data, 1, size, f), size);
	cr_assert_eq(fclose(f), 0);
}

/* Writes chunk file @id. */
static inline void frame_dir_encode(const struct frame_dir *dir, uint32_t id,
				    const struct b2f_encode_options *options,
				    const uint8_t *data, uint32_t nbytes)
{
	size_t room = b2f_chunk_encode_bound(nbytes);
	struct b2f_encoder *enc = NULL;
	struct b2f_encoded encoded;
	uint8_t *raw = malloc(room);
	char name[32];

	cr_assert_eq(b2f_encoder_new(&enc), 0);
	cr_assert_eq(b2f_chunk_encode(enc, options, b2f_bytes_at(data, nbytes),
				      b2f_room_at(raw, room), &encoded, NULL),
		     0);
	cr_assert_not(encoded.zeros);
	snprintf(name, sizeof(name), "%08X.chunk", id);
	frame_dir_write(dir, name, raw, encoded.cbytes);
	b2f_encoder_free(enc);
	free(raw);
}

/* The same with zstd without filters, as bytes. */
static inline void frame_dir_chunk(const struct frame_dir *dir, uint32_t id,
				   const uint8_t *data, uint32_t nbytes,
				   uint32_t blocksize)
{
	const struct b2f_encode_options options = {
		.typesize = 1,
		.codec = B2F_CODEC_ZSTD,
		.clevel = 1,
		.split = B2F_SPLIT_NEVER,
		.blocksize = blocksize,
	};

	frame_dir_encode(dir, id, &options, data, nbytes);
}

/* Makes in *@raw the index of a frame with @entries, with items of a byte. */
static inline void frame_dir_make_index(const struct b2f_frame_header *header,
					const uint64_t *entries,
					uint64_t nchunks, uint8_t **raw,
					size_t *size)
{
	uint8_t head[B2F_FRAME_HEADER_PLAIN], trailer[B2F_FRAME_TRAILER_PLAIN];
	struct b2f_index_parts parts = {
		.header = *header,
		.header_bytes = head,
		.entries = entries,
		.nentries = nchunks,
		.trailer_bytes = trailer,
		.trailer_len = sizeof(trailer),
	};

	parts.header.header_len = B2F_FRAME_HEADER_PLAIN;
	parts.header.typesize = 1;
	parts.header.version = 2;
	parts.header.codec = B2F_CODEC_ZSTD;
	b2f_frame_header_write(&parts.header, head);
	b2f_trailer_write(trailer);
	cr_assert_eq(b2f_index_write(&parts, raw, size, NULL), 0);
}

/*
 * Writes the index of @nchunks chunk files 0, 1, ... with @nbytes decoded bytes
 * together; @chunksize 0: all sizes differ.
 */
static inline void frame_dir_index(const struct frame_dir *dir,
				   uint64_t nchunks, uint64_t nbytes,
				   int32_t chunksize)
{
	const struct b2f_frame_header header = {.nbytes = nbytes,
						.cbytes = nbytes,
						.chunksize = chunksize,
						.sparse = true};
	uint64_t *entries = malloc(nchunks * sizeof(*entries));
	uint8_t *raw = NULL;
	size_t size = 0;

	for (uint64_t i = 0; i < nchunks; i++)
		entries[i] = i;
	frame_dir_make_index(&header, entries, nchunks, &raw, &size);
	frame_dir_write(dir, "chunks.b2frame", raw, size);
	free(raw);
	free(entries);
}

static inline struct b2f_frame *frame_at(int dirfd, const char *path)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct b2f_frame *frame = NULL;

	cr_assert_eq(b2f_frame_open(&options, dirfd, path, &frame), 0, "%s",
		     path);
	return frame;
}

static inline struct b2f_file *frame_dir_open(const struct frame_dir *dir,
					      struct b2f_runtime *rt)
{
	struct b2f_file *file = NULL;

	cr_assert_eq(b2f_file_open(rt, frame_at(AT_FDCWD, dir->path), &file),
		     0);
	return file;
}

#endif
