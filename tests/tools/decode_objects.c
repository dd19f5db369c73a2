/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode_objects.c - decodes chunks, frames and arrays for a test to hash
 *
 *   decode_objects            reads lines "KIND\tPATH\tOFFSET\n" from standard
 *                             input; KIND is chunk, cframe, sframe,
 *                             b2nd-cframe or b2nd-sframe
 *   decode_objects stress F   reads F, made by gen_golden's stress mode, and
 *                             compares every chunk in it
 *
 * For each line it writes int64 length or negative error (machine order), and
 * the decoded bytes.  Everything is decoded twice: as a whole, and piece by
 * piece; where the two differ it says so and exits with 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "base/bytes.h"
#include "chunk/chunk.h"

struct bytes {
	uint8_t *data;
	size_t size;
};

static void fail(const char *what, const char *name)
{
	fprintf(stderr, "decode_objects: %s: %s\n", name, what);
	exit(1);
}

static void *need(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		fail("out of memory", "malloc");
	return p;
}

static struct bytes read_file(const char *path)
{
	struct bytes b = {0};
	struct stat st;
	FILE *f = fopen(path, "rb");

	if (!f || fstat(fileno(f), &st))
		fail(strerror(errno), path);
	b.size = (size_t)st.st_size;
	b.data = need(b.size);
	if (fread(b.data, 1, b.size, f) != b.size)
		fail("short read", path);
	fclose(f);
	return b;
}

/* One unit, from a copy of just the stored bytes it is said to need. */
static int decode_unit(const struct b2f_chunk *chunk, struct b2f_decoder *dec,
		       const uint8_t *raw, uint32_t unit, const uint8_t *ref,
		       uint8_t *dst)
{
	uint32_t off = 0, size = 0;
	uint8_t *stored;
	int err;

	err = b2f_chunk_unit_extent(chunk, unit, &off, &size, NULL);
	if (err)
		return err;
	stored = need(size);
	memcpy(stored, raw + off, size);
	err = b2f_chunk_decode_unit(
		chunk, dec,
		&(struct b2f_stored_unit){
			.unit = unit, .data = stored, .size = size, .ref = ref},
		dst, NULL);
	free(stored);
	if (err != B2F_ECORRUPT || chunk->layout != B2F_CHUNK_BLOCKS)
		return err;
	size = b2f_chunk_unit_reach(chunk, unit, off);
	return b2f_chunk_decode_unit(
		chunk, dec,
		&(struct b2f_stored_unit){.unit = unit,
					  .data = raw + off,
					  .size = size,
					  .ref = ref},
		dst, NULL);
}

static void compare_units(const struct b2f_chunk *chunk,
			  struct b2f_decoder *dec, const uint8_t *raw,
			  const uint8_t *whole, const char *name)
{
	for (uint32_t i = chunk->nunits; i-- > 0;) {
		size_t n = b2f_chunk_unit_nbytes(chunk, i);
		const uint8_t *at = whole + (size_t)i * chunk->unit_size;
		uint8_t *buf = need(n);

		if (decode_unit(chunk, dec, raw, i, whole, buf) ||
		    memcmp(buf, at, n))
			fail("a unit differs from the whole", name);
		free(buf);
	}
}

static int decode_chunk(const uint8_t *raw, size_t size, const char *name,
			struct bytes *out)
{
	const struct b2f_chunk_context context = {0};
	struct b2f_decoder *dec = NULL;
	struct b2f_chunk chunk;
	struct b2f_why why = {""};
	int err;

	err = b2f_chunk_open(raw, size, size, &context, &chunk, &why);
	if (err)
		return err;
	if (b2f_decoder_new(&dec))
		fail("out of memory", name);
	out->size = chunk.header.nbytes;
	out->data = need(out->size);
	err = b2f_chunk_decode_all(&chunk, dec, raw, out->data, &why);
	if (!err)
		compare_units(&chunk, dec, raw, out->data, name);
	b2f_decoder_free(dec);
	if (err)
		free(out->data);
	return err;
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Random ranges must agree with the whole. */
static void compare_ranges(struct b2f_file *file, const struct bytes *whole,
			   const char *name)
{
	uint64_t state = whole->size;
	uint8_t *buf = need(whole->size);

	for (int i = 0; i < 20 && whole->size; i++) {
		size_t off = next_random(&state) % whole->size;
		size_t n = next_random(&state) % whole->size + 1;
		ssize_t got = b2f_file_pread(file, NULL, buf, n, off);
		size_t expected = n < whole->size - off ? n : whole->size - off;

		if (got != (ssize_t)expected ||
		    memcmp(buf, whole->data + off, expected))
			fail("a range differs from the whole", name);
	}
	free(buf);
}

static void print_message(void *arg, enum b2f_log_level level,
			  const char *message)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "%s\n", message);
}

static int decode_frame(struct b2f_runtime *rt, const char *path,
			uint64_t offset, bool array, struct bytes *out)
{
	const struct b2f_log log = {.write = print_message};
	struct b2f_frame_options options = {.offset = offset, .log = &log};
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;
	struct bytes raw = {0};
	int err;

	err = b2f_frame_open(&options, AT_FDCWD, path, &frame);
	if (err)
		return err;
	if (b2f_file_open(rt, frame, &file))
		fail("cannot be shown", path);
	raw.size = b2f_file_size(file);
	raw.data = need(raw.size);
	if (raw.size) {
		ssize_t got = b2f_file_pread(file, NULL, raw.data, raw.size, 0);

		err = got < 0 ? (int)got : 0;
	}
	if (!err)
		compare_ranges(file, &raw, path);
	if (array && !b2f_frame_array(frame))
		fail("no array", path);
	*out = raw;
	b2f_file_close(file);
	return err;
}

static void put(const struct bytes *bytes, int err)
{
	int64_t n = err ? err : (int64_t)bytes->size;

	if (fwrite(&n, sizeof(n), 1, stdout) != 1)
		exit(1);
	if (!err && fwrite(bytes->data, 1, bytes->size, stdout) != bytes->size)
		exit(1);
	fflush(stdout);
}

static int decode_line(struct b2f_runtime *rt, char *line, struct bytes *out)
{
	char *kind = strtok(line, "\t\n");
	char *path = strtok(NULL, "\t\n");
	char *offset = strtok(NULL, "\t\n");
	struct bytes raw;
	int err;

	if (!kind || !path || !offset)
		fail("bad line", line);
	if (strcmp(kind, "chunk"))
		return decode_frame(rt, path, strtoull(offset, NULL, 10),
				    strncmp(kind, "b2nd", 4) == 0, out);
	raw = read_file(path);
	err = decode_chunk(raw.data, raw.size, path, out);
	free(raw.data);
	return err;
}

static int decode_lines(void)
{
	struct b2f_runtime_options options = {.cache_bytes = 64 << 20};
	struct b2f_runtime *rt = NULL;
	char *line = NULL;
	size_t room = 0;

	if (b2f_runtime_new(&options, &rt))
		fail("no runtime", "decode_objects");
	while (getline(&line, &room, stdin) > 0) {
		struct bytes out = {0};
		int err = decode_line(rt, line, &out);

		put(&out, err);
		if (!err)
			free(out.data);
	}
	free(line);
	b2f_runtime_free(rt);
	return 0;
}

static bool read_item(FILE *f, struct bytes *out)
{
	uint8_t raw[4];

	if (fread(raw, 4, 1, f) != 1)
		return false;
	out->size = b2f_load_le32(raw);
	out->data = need(out->size + 1);
	out->data[out->size] = 0;
	return fread(out->data, 1, out->size, f) == out->size;
}

struct tally {
	unsigned int good;
	unsigned int bad;
	/* C-Blosc2 cannot read them; we gave back what was put in, or not. */
	unsigned int recovered;
	unsigned int lost;
};

/* Names of chunks that C-Blosc2 wrote and cannot read begin with these. */
static bool is_unreadable(const struct bytes *name)
{
	return strncmp((char *)name->data, "UNDEC:", 6) == 0 ||
	       strncmp((char *)name->data, "LOSSY:", 6) == 0;
}

static void compare_item(struct tally *t, const struct bytes *name,
			 const struct bytes *chunk, const struct bytes *data)
{
	struct bytes ours = {0};
	int err = decode_chunk(chunk->data, chunk->size, (char *)name->data,
			       &ours);
	bool same = !err && ours.size == data->size &&
		    memcmp(ours.data, data->data, data->size) == 0;

	if (!err)
		free(ours.data);
	if (is_unreadable(name)) {
		t->recovered += same;
		t->lost += !same;
		return;
	}
	t->good += same;
	t->bad += !same;
	if (!same)
		fprintf(stderr, "differs: %s (%d)\n", (char *)name->data, err);
}

static int compare_stress(const char *path)
{
	struct bytes name, chunk, data;
	struct tally t = {0};
	FILE *f = fopen(path, "rb");

	if (!f)
		fail(strerror(errno), path);
	while (read_item(f, &name) && read_item(f, &chunk) &&
	       read_item(f, &data)) {
		compare_item(&t, &name, &chunk, &data);
		free(name.data);
		free(chunk.data);
		free(data.data);
	}
	fclose(f);
	printf("%u chunks agree, %u do not; of those that C-Blosc2 cannot "
	       "read, %u came back and %u did not\n",
	       t.good, t.bad, t.recovered, t.lost);
	return t.bad != 0 || t.good == 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "stress") == 0)
		return compare_stress(argv[2]);
	return decode_lines();
}
