/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_bad_frames.c - each check of an index has a crafted frame
 *
 * A row takes a sound contiguous frame, writes a number over it (big endian,
 * as frames have them), and says which error and which cause must come out.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "base/bytes.h"
#include "tests/support/hex.h"
#include "tests/support/vectors.h"

#define GOLDEN B2F_SOURCE_DIR "/tests/data/golden/"

struct patch {
	size_t at;
	unsigned int width;
	uint64_t value;
	int err;
	const char *cause;
};

static char last_message[2048];

static void remember(void *arg, enum b2f_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	snprintf(last_message, sizeof(last_message), "%s", message);
}

static const struct b2f_log to_memory = {.write = remember,
					 .max_level = B2F_LOG_DEBUG};

static struct hex read_golden(const char *name)
{
	char path[1024];
	struct hex h = {0};
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	f = fopen(path, "rb");
	cr_assert_not_null(f, "%s", path);
	cr_assert_eq(fstat(fileno(f), &st), 0);
	h.size = (size_t)st.st_size;
	h.data = malloc(h.size);
	cr_assert_eq(fread(h.data, 1, h.size, f), h.size);
	fclose(f);
	return h;
}

static int open_memory(const struct hex *raw)
{
	const struct b2f_frame_options options = {.log = &to_memory,
						  .label = "frame"};
	struct b2f_frame *frame = NULL;
	int err;

	last_message[0] = '\0';
	err = b2f_frame_open_memory(&options, raw->data, raw->size, &frame);
	b2f_frame_close(frame);
	return err;
}

static void write_at(struct hex *raw, const struct patch *p)
{
	switch (p->width) {
	case 1:
		raw->data[p->at] = (uint8_t)p->value;
		break;
	case 4:
		b2f_store_be32(raw->data + p->at, (uint32_t)p->value);
		break;
	default:
		b2f_store_be64(raw->data + p->at, p->value);
	}
}

static void expect_row(const struct hex *sound, const struct patch *p, size_t i)
{
	struct hex raw = {.size = sound->size};
	int err;

	raw.data = malloc(raw.size);
	memcpy(raw.data, sound->data, raw.size);
	write_at(&raw, p);
	err = open_memory(&raw);
	cr_assert_eq(err, p->err, "row %zu: %d (%s)", i, err, last_message);
	cr_assert_not_null(strstr(last_message, p->cause), "row %zu says: %s",
			   i, last_message);
	hex_free(&raw);
}

static void expect(const char *name, const struct patch *rows, size_t n)
{
	struct hex sound = read_golden(name);

	cr_assert_eq(open_memory(&sound), 0);
	for (size_t i = 0; i < n; i++)
		expect_row(&sound, &rows[i], i);
	hex_free(&sound);
}

#define EXPECT(name, rows) expect(name, rows, sizeof(rows) / sizeof(*(rows)))

Test(bad_frames, lengths_in_the_header)
{
	static const struct patch rows[] = {
		{2, 1, 'B', B2F_ENOTFRAME, "not a Blosc2 frame"},
		{11, 4, 86, B2F_ECORRUPT, "a header of 86"},
		{11, 4, 0x7fffffff, B2F_ECORRUPT, "a header of 2147483647"},
		{11, 4, 0xffffffff, B2F_ECORRUPT, "a header of -1"},
		{16, 8, 111, B2F_ECORRUPT, "says it has 111 bytes"},
		{16, 8, UINT64_MAX, B2F_ECORRUPT, "are there"},
		{16, 8, 1000000, B2F_ECORRUPT, "says it has 1000000"},
		{30, 8, 0, B2F_ECORRUPT, "no data, but bytes before"},
		{30, 8, UINT64_C(1) << 63, B2F_ECORRUPT, "negative"},
		{39, 8, UINT64_C(1) << 63, B2F_ECORRUPT, "negative"},
		{39, 8, 1u << 20, B2F_ECORRUPT, "1048576 bytes of chunks"},
		{48, 4, 0, B2F_ECORRUPT, "type size 0"},
		{48, 4, 0xfffffff0, B2F_ECORRUPT, "type size -16"},
		{58, 4, 0xffffffff, B2F_ECORRUPT, "chunk size -1"},
		{58, 4, 0x7fffffff, B2F_ECORRUPT, "chunk size 2147483647"},
		{70, 1, 7, B2F_ECORRUPT, "7 filter slots"},
	};

	EXPECT("cframes/meta.b2frame", rows);
}

Test(bad_frames, versions_and_types)
{
	static const struct patch rows[] = {
		{25, 1, 0x11, B2F_EUNSUPPORTED, "beta"},
		{25, 1, 0x10, B2F_EUNSUPPORTED, "beta"},
		{25, 1, 0x14, B2F_EUNSUPPORTED, "newer"},
		{26, 1, 2, B2F_ECORRUPT, "frame type 2"},
		{26, 1, 1, B2F_ECORRUPT, "is a directory"},
	};

	EXPECT("cframes/meta.b2frame", rows);
}

Test(bad_frames, counts_of_chunks)
{
	static const struct patch rows[] = {
		/* 3,000 chunks of 40 bytes: one more, one less, far too many */
		{30, 8, 120001, B2F_ECORRUPT, "the index has 3000 chunks"},
		{30, 8, 119960, B2F_ECORRUPT, "the header 2999"},
		{30, 8, UINT64_C(1) << 60, B2F_ECORRUPT, "in chunks of 40"},
		{58, 4, 41, B2F_ECORRUPT, "the index has 3000 chunks"},
	};

	EXPECT("cframes/many.b2frame", rows);
}

Test(bad_frames, metalayers)
{
	static const struct patch rows[] = {
		{91, 1, 0xdd, B2F_ECORRUPT, "no metalayers"},
		{93, 1, 17, B2F_ECORRUPT, "17 metalayers"},
		{92, 1, 0xff, B2F_ECORRUPT, "metalayers"},
		{94, 1, 0xc5, B2F_ECORRUPT, "name of a metalayer"},
		/* Mark, offset, mark and length of the first one's content. */
		{100, 1, 0xd1, B2F_ECORRUPT, "\"first\""},
		{101, 4, 0x7fffffff, B2F_ECORRUPT, "\"first\""},
		{101, 4, 87, B2F_ECORRUPT, "\"first\""},
	};

	EXPECT("cframes/meta.b2frame", rows);
}

/* The same rows count from the end here. */
Test(bad_frames, trailers)
{
	struct hex sound = read_golden("cframes/meta.b2frame");
	size_t end = sound.size;
	const struct patch rows[] = {
		{end - 23, 1, 0xcd, B2F_ECORRUPT, "no trailer"},
		{end - 22, 4, 24, B2F_ECORRUPT, "a trailer of 24"},
		{end - 22, 4, 0xffffffff, B2F_ECORRUPT, "a trailer of -1"},
		{end - 22, 4, 0x7fffffff, B2F_ECORRUPT, "a trailer of"},
		{end - 22, 4, 35, B2F_ECORRUPT, "does not begin"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect_row(&sound, &rows[i], i);
	hex_free(&sound);
}

static unsigned int nmessages;

static void count_message(void *arg, enum b2f_log_level level,
			  const char *message)
{
	(void)arg;
	(void)level;
	(void)message;
	nmessages++;
}

/* Decodes all of the frame in @raw; returns what was found. */
static struct b2f_check_result check_all(const struct hex *raw)
{
	const struct b2f_log log = {.write = count_message};
	const struct b2f_frame_options options = {.log = &log};
	const struct b2f_runtime_options one = {.nworkers = 1};
	const struct b2f_check_options check = {.arg = NULL};
	struct b2f_check_result result = {0};
	struct b2f_frame *frame = NULL;
	struct b2f_runtime *rt = NULL;

	cr_assert_eq(
		b2f_frame_open_memory(&options, raw->data, raw->size, &frame),
		0);
	cr_assert_eq(b2f_runtime_new(&one, &rt), 0);
	cr_assert_eq(b2f_check_frame(rt, frame, &check, &result), 0);
	b2f_frame_close(frame);
	b2f_runtime_free(rt);
	return result;
}

Test(bad_frames, sizes_that_do_not_add_up_are_found_out_once)
{
	/* Six chunks of different sizes, 4,328 bytes in all. */
	struct hex raw = read_golden("cframes/varchunks.b2frame");

	cr_assert_eq(check_all(&raw).ndamaged, 0);
	b2f_store_be64(raw.data + 30, 4327);
	cr_assert_eq(check_all(&raw).ndamaged, 1);
	cr_assert_eq(nmessages, 1);
	b2f_store_be64(raw.data + 30, 4329);
	cr_assert_eq(check_all(&raw).ndamaged, 1);
	cr_assert_eq(nmessages, 2);
	hex_free(&raw);
}

Test(bad_frames, a_wrong_last_chunk_condemns_no_other)
{
	/* Three chunks of 4,000, 4,000 and 1,500 bytes. */
	struct hex raw = read_golden("cframes/short-last.b2frame");

	b2f_store_be64(raw.data + 30, 9496);
	cr_assert_eq(check_all(&raw).ndamaged, 1);
	hex_free(&raw);
}

Test(bad_frames, every_prefix_is_refused)
{
	struct hex sound = read_golden("cframes/specials.b2frame");

	for (size_t n = 0; n < sound.size; n++) {
		struct hex part = {.size = n};
		int err;

		part.data = malloc(n + 1);
		memcpy(part.data, sound.data, n);
		err = open_memory(&part);
		cr_assert(err == B2F_ECORRUPT || err == B2F_ENOTFRAME,
			  "%zu bytes: %d", n, err);
		cr_assert_neq(last_message[0], '\0');
		hex_free(&part);
	}
	hex_free(&sound);
}

Test(bad_frames, bytes_behind_the_frame_do_not_matter)
{
	struct hex sound = read_golden("cframes/specials.b2frame");

	sound.data = realloc(sound.data, sound.size + 100);
	memset(sound.data + sound.size, 0xff, 100);
	sound.size += 100;
	cr_assert_eq(open_memory(&sound), 0);
	hex_free(&sound);
}

/* A directory with the index @digits, and the frame in it. */
struct folder {
	char path[64];
};

static void put_file(const struct folder *d, const char *name,
		     const char *digits)
{
	struct hex h = hex_new(digits);
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", d->path, name);
	f = fopen(path, "wb");
	cr_assert_not_null(f);
	cr_assert_eq(fwrite(h.data, 1, h.size, f), h.size);
	fclose(f);
	hex_free(&h);
}

static struct folder new_folder(void)
{
	struct folder d = {"/tmp/b2f-test-XXXXXX"};

	cr_assert_not_null(mkdtemp(d.path));
	return d;
}

static void remove_folder(const struct folder *d)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", d->path);
	cr_assert_eq(system(command), 0);
}

static int open_folder(const struct folder *d, struct b2f_frame **frame)
{
	const struct b2f_frame_options options = {.log = &to_memory,
						  .label = "frame"};

	last_message[0] = '\0';
	return b2f_frame_open(&options, AT_FDCWD, d->path, frame);
}

Test(bad_frames, a_folder_without_an_index_is_no_frame)
{
	struct folder d = new_folder();
	struct b2f_frame *frame = NULL;

	cr_assert_eq(open_folder(&d, &frame), B2F_ENOTFRAME);
	cr_assert_not_null(strstr(last_message, "chunks.b2frame"));
	remove_folder(&d);
}

Test(bad_frames, the_index_must_be_a_plain_file)
{
	struct folder d = new_folder();
	struct b2f_frame *frame = NULL;
	char path[128];

	snprintf(path, sizeof(path), "%s/chunks.b2frame", d.path);
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_eq(open_folder(&d, &frame), B2F_ECORRUPT);
	cr_assert_not_null(strstr(last_message, "a directory where"));
	cr_assert_eq(rmdir(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(open_folder(&d, &frame), B2F_ECORRUPT);
	cr_assert_not_null(strstr(last_message, "a FIFO where"));
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink("/etc/passwd", path), 0);
	cr_assert_eq(open_folder(&d, &frame), B2F_ECORRUPT);
	cr_assert_not_null(strstr(last_message, "a symbolic link where"));
	remove_folder(&d);
}

/* Reads the 128 bytes of the frame in @d; chunk 1 of it is zeros. */
static ssize_t read_folder(const struct folder *d, uint64_t off, void *buf,
			   size_t n)
{
	const struct b2f_runtime_options options = {.cache_bytes = 1 << 20,
						    .nworkers = 1};
	struct b2f_frame *frame = NULL;
	struct b2f_runtime *rt = NULL;
	struct b2f_file *file = NULL;
	ssize_t got;

	cr_assert_eq(open_folder(d, &frame), 0, "%s", last_message);
	cr_assert_eq(b2f_runtime_new(&options, &rt), 0);
	cr_assert_eq(b2f_file_open(rt, frame, &file), 0);
	got = b2f_file_pread(file, NULL, buf, n, off);
	b2f_file_close(file);
	b2f_runtime_free(rt);
	return got;
}

static void expect_bad_chunk(const struct folder *d, const char *cause)
{
	uint8_t buf[128];

	cr_assert_eq(read_folder(d, 0, buf, 64), B2F_ECORRUPT);
	cr_assert_not_null(strstr(last_message, "frame: chunk 0"), "says: %s",
			   last_message);
	cr_assert_not_null(strstr(last_message, "00000000.chunk"), "says: %s",
			   last_message);
	cr_assert_not_null(strstr(last_message, cause), "says: %s",
			   last_message);
	/* The other chunk is none the worse for it. */
	cr_assert_eq(read_folder(d, 64, buf, 64), 64);
	cr_assert_eq(buf[0], 0);
}

Test(bad_frames, a_bad_chunk_file_is_named_and_hurts_no_other)
{
	struct folder d = new_folder();
	char path[128];

	put_file(&d, "chunks.b2frame", HEX_SFRAME_INDEX);
	snprintf(path, sizeof(path), "%s/00000000.chunk", d.path);
	expect_bad_chunk(&d, "missing");
	put_file(&d, "00000000.chunk", "");
	expect_bad_chunk(&d, "0 bytes are too few");
	put_file(&d, "00000000.chunk", HEX_MEMCPYED_SHORT);
	expect_bad_chunk(&d, "the chunk has 8 bytes, its frame says 64");
	put_file(&d, "00000000.chunk", HEX_SFRAME_00000000_CHUNK);
	cr_assert_eq(truncate(path, 95), 0);
	expect_bad_chunk(&d, "cut short: 95 of 96");
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkdir(path, 0700), 0);
	expect_bad_chunk(&d, "a directory where");
	cr_assert_eq(rmdir(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	expect_bad_chunk(&d, "a FIFO where");
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink("/dev/zero", path), 0);
	expect_bad_chunk(&d, "a symbolic link where");
	remove_folder(&d);
}

Test(bad_frames, an_index_that_claims_two_gigabytes_is_refused)
{
	/* 0x0ffff800 chunks of one byte in the 32 bytes of a special chunk. */
	struct folder d = new_folder();
	struct b2f_frame *frame = NULL;
	struct hex h = hex_new(HEX_SFRAME_INDEX);
	char path[128];
	FILE *f;

	put_file(&d, "chunks.b2frame", HEX_SFRAME_INDEX);
	b2f_store_be64(h.data + 30, 0x0ffff800);
	b2f_store_be32(h.data + 58, 1);
	/* One block whose only stream is a run of zeros. */
	b2f_store_le32(h.data + 97, 0x08150105);
	b2f_store_le32(h.data + 97 + 4, 0x7fffc000);
	b2f_store_le32(h.data + 97 + 8, 536866816);
	b2f_store_le32(h.data + 97 + 12, 48);
	snprintf(path, sizeof(path), "%s/chunks.b2frame", d.path);
	f = fopen(path, "wb");
	cr_assert_eq(fwrite(h.data, 1, h.size, f), h.size);
	fclose(f);
	cr_assert_eq(open_folder(&d, &frame), B2F_ETOOBIG, "%s", last_message);
	cr_assert_not_null(strstr(last_message, "claims to be"));
	hex_free(&h);
	remove_folder(&d);
}
