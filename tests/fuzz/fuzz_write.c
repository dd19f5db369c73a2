/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_write.c - any changes of a frame, beside an array of bytes
 *
 * The input chooses a frame (sparse, contiguous or small; plain, or an array
 * that keeps its size; with metalayers of any length), then what is done to it.
 * What is read is what the array has. Each commit is opened by a second reader,
 * which finds the same, and the metalayers as they were. The power may fail at
 * any operation of the disk: then the frame is that of a commit, the last
 * durable one or one that was begun later.
 *
 * The disk is in memory (tests/support/fault_store.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/b2nd.h"
#include "array/npy.h"
#include "b2frame/b2frame.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "frame/frame.h"
#include "index/index_write.h"
#include "programs/durability.h"
#include "programs/file_form.h"
#include "tests/support/fault_store.h"

#define MODEL_MAX 70000
#define CHUNKSIZE 5000
#define STEPS_MAX 40
/* Number of states of the disk after a loss of power that are looked at. */
#define NVARIANTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The frame that a commit made, or was to make. */
struct state {
	uint8_t *data;
	size_t size;
};

struct game {
	struct b2f_cursor cur;
	struct fault_disk *disk;
	/* Its jobs may use the disk until it ends. */
	struct b2f_runtime *rt;
	struct b2f_file *file;
	struct b2f_durability durability;
	uint8_t model[MODEL_MAX];
	size_t size;
	/* A step commits twice at most. */
	struct state states[2 * STEPS_MAX + 2];
	size_t nstates;
	/* The oldest state that a loss of power may leave. */
	size_t oldest;
	/* An array is being written anew. */
	bool anew;
	bool has_metas;
	bool loses_power;
	/* For choices behind the end of the input, and data. */
	uint32_t seed;
};

/* Ends the run, and says where. */
static void fail(int line)
{
	fprintf(stderr, "fuzz_write.c:%d\n", line);
	abort();
}

#define require(ok) ((ok) ? (void)0 : fail(__LINE__))

static void *need(void *p)
{
	require(p != NULL);
	return p;
}

static uint32_t draw(struct game *g)
{
	g->seed = g->seed * 1664525 + 1013904223;
	return g->seed >> 8;
}

/*
 * A number below @n: from the input, and behind its end derived from
 * all choices so far, so that a short input plays a whole game.
 */
static uint32_t choose(struct game *g, uint32_t n)
{
	uint32_t got;

	if (b2f_cursor_left(&g->cur) < 3)
		return n ? draw(g) % n : 0;
	got = b2f_cursor_u8(&g->cur);
	if (n > 256)
		got |= (uint32_t)b2f_cursor_be16(&g->cur) << 8;
	g->seed = g->seed * 31 + got;
	return n ? got % n : 0;
}

/* Mostly few, sometimes many. */
static uint32_t choose_size(struct game *g, uint32_t max)
{
	uint32_t n = choose(g, 8);

	return choose(g, n < 4 ? b2f_min_u64(max, 200) + 1
		       : n < 7 ? b2f_min_u64(max, 12000) + 1
			       : max + 1);
}

static const uint8_t meta_bytes[600] = {[3] = 7, [599] = 1};

/* An array with the metalayer @b2nd, or plain data. */
struct form {
	struct b2f_frame_header header;
	struct b2f_meta_list metas;
	struct b2f_meta_list vlmetas;
	uint64_t nchunks;
	uint8_t *b2nd;
};

static void add_meta(struct b2f_meta_list *list, const char *name,
		     const uint8_t *content, size_t size)
{
	struct b2f_meta *m = &list->items[list->n++];

	m->name_len = strlen(name);
	memcpy(m->name, name, m->name_len + 1);
	m->content = content;
	m->size = size;
}

/* An array of C-Blosc2: it keeps its size. */
static void make_array(struct game *g, struct form *form)
{
	int64_t shape[] = {choose(g, 40), 1 + choose(g, 30)};
	char dtype[] = "<i4";
	struct b2f_array array;
	size_t size;

	require(!b2f_array_plan(1 + choose(g, 2), shape, 4, CHUNKSIZE, 500,
				&array));
	array.dtype = dtype;
	require(!b2f_array_write(&array, &form->b2nd, &size));
	add_meta(&form->metas, "b2nd", form->b2nd, size);
	form->header.typesize = 4;
	form->header.chunksize = (int32_t)(array.chunk_items * 4);
	form->header.blocksize = (uint32_t)(array.block_items * 4);
	form->nchunks = array.nitems ? array.nchunks : 0;
}

static void add_metas(struct game *g, struct form *form, const uint8_t *chunk,
		      size_t size)
{
	size_t room = g->has_metas ? choose(g, sizeof(meta_bytes)) : 0;

	if (!g->has_metas)
		return;
	add_meta(&form->metas, "mine", meta_bytes, room);
	add_meta(&form->vlmetas, "unit", chunk, size);
}

/* The bytes of the whole frame, which has no chunk but zeros. */
static uint8_t *write_frame(struct form *form, bool sealed, bool small,
			    size_t *size)
{
	uint8_t *header, *trailer, *bytes = NULL;
	size_t header_len, trailer_len;
	struct b2f_index_parts parts = {
		.nentries = form->nchunks, .sealed = sealed, .small = small};

	require(form->nchunks < 64);
	require(!b2f_header_with_metas(&form->header, &form->metas, &header,
				       &header_len));
	require(!b2f_trailer_with_metas(&form->vlmetas, &trailer,
					&trailer_len));
	form->header.header_len = (uint32_t)header_len;
	form->header.nbytes =
		form->nchunks * (uint64_t)form->header.chunksize;
	parts.header = form->header;
	parts.header_bytes = header;
	parts.trailer_bytes = trailer;
	parts.trailer_len = (uint32_t)trailer_len;
	require(!b2f_index_write(&parts, &bytes, size, NULL));
	free(header);
	free(trailer);
	return bytes;
}

static void make_disk(struct game *g)
{
	static const uint8_t empty_chunk[32] = {
		5, 1, 5, 1, [8] = 1, [12] = 32};
	struct b2f_meta metas[3], vlmetas[1];
	uint32_t what = choose(g, 256);
	bool small = (what & 3) == 0, single = what & 3 ? what & 1 : true;
	struct form form = {
		.header = {.typesize = what & 4 ? 4 : 1,
			   .chunksize = what & 4 ? CHUNKSIZE : -1,
			   .sparse = !single,
			   .codec = what & 8 ? 1 : 5,
			   .clevel = 1,
			   .splitmode = 4,
			   .pipeline.filter = {[5] = 1}},
		.metas.items = metas,
		.vlmetas.items = vlmetas,
	};
	uint8_t *bytes;
	size_t size;

	g->has_metas = !small && what & 16;
	if (!small && what & 32)
		make_array(g, &form);
	add_metas(g, &form, empty_chunk, sizeof(empty_chunk));
	bytes = write_frame(&form, small || what & 64, small, &size);
	g->disk = fault_disk_of_index(bytes, size, single);
	free(form.b2nd);
	free(bytes);
}

/* Prints the library's messages before the line of a failure. */
static void say(void *arg, enum b2f_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	if (getenv("B2F_FUZZ_LOG"))
		fprintf(stderr, "%s\n", message);
}

static struct b2f_file *open_file(struct game *g, struct fault_disk *disk)
{
	static const struct b2f_log log = {.write = say,
					  .max_level = B2F_LOG_DEBUG};
	const struct b2f_frame_options options = {.log = &log};
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;

	if (b2f_frame_open_store(&options, fault_disk_mount(disk), "disk",
				 &frame))
		return NULL;
	return b2f_file_open(g->rt, frame, &file) ? NULL : file;
}

static void note_state(struct game *g)
{
	struct state *s = &g->states[g->nstates++];

	require(g->nstates <= 2 * STEPS_MAX + 1);
	s->size = g->size;
	s->data = need(malloc(g->size + 1));
	memcpy(s->data, g->model, g->size);
}

static bool holds(struct b2f_file *file, const uint8_t *data, size_t size)
{
	static uint8_t buf[MODEL_MAX + 1];

	return b2f_file_size(file) == size &&
	       b2f_file_pread(file, NULL, buf, sizeof(buf), 0) ==
		       (ssize_t)size &&
	       memcmp(buf, data, size) == 0;
}

/* Reads nothing while an array is written anew, or without power. */
static void check_reading(struct game *g)
{
	if (!g->anew && !g->loses_power)
		require(holds(g->file, g->model, g->size));
}

static void check_metas(const struct game *g, struct b2f_file *file)
{
	struct b2f_frame *frame = b2f_file_frame(file);
	const struct b2f_meta *mine = b2f_meta_find(&frame->meta, "mine");

	if (!g->has_metas)
		return;
	require(mine && !memcmp(mine->content, meta_bytes, mine->size));
	require(b2f_meta_find(&frame->vlmeta, "unit") != NULL);
}

/* The frame on disk is the one committed last, and is sound. */
static void check_disk(struct game *g)
{
	const struct state *last = &g->states[g->nstates - 1];
	const struct b2f_check_options options = {.arg = NULL};
	struct b2f_check_result result;
	struct b2f_file *file = need(open_file(g, g->disk));

	require(holds(file, last->data, last->size));
	check_metas(g, file);
	require(!b2f_check_frame(g->rt, b2f_file_frame(file), &options, &result));
	require(!result.ndamaged && !result.nunsupported && !result.nfailed &&
		!result.nbad_metas && !result.bad_array && !result.tells_less);
	b2f_file_close(file);
}

static void begin(struct game *g)
{
	const struct b2f_write_options options = {
		.chunksize = CHUNKSIZE,
		.npy_arrays = true,
		.guess_typesize = true,
		.durability = &g->durability};

	const struct b2f_runtime_options runtime = {
		.cache_bytes = 1 << 20, .nworkers = 1, .dirty_bytes = 30000};

	require(!b2f_runtime_new(&runtime, &g->rt));
	g->file = need(open_file(g, g->disk));
	if (b2f_file_allow_write(g->file, &options))
		require(g->loses_power);
}

static void end(struct game *g)
{
	b2f_file_close(g->file);
	b2f_runtime_free(g->rt);
}

static void commit(struct game *g, bool durable)
{
	int err;

	if (g->anew && !b2f_file_end_anew(g->file, false))
		g->anew = false;
	if (g->anew) {
		require(b2f_file_commit(g->file, B2F_COMMIT_DURABLE));
		return;
	}
	note_state(g);
	err = b2f_file_commit(g->file, durable ? B2F_COMMIT_DURABLE
					       : B2F_COMMIT_VISIBLE);
	require(!err || g->loses_power);
	if (err)
		return;
	if (b2f_durability_get(&g->durability) == B2F_DISK_DURABLE)
		g->oldest = g->nstates - 1;
	if (!g->loses_power)
		check_disk(g);
}

/* Notes the first @n bytes of @buf, which were written to @off. */
static void note_write(struct game *g, size_t off, const uint8_t *buf, size_t n)
{
	if (n == 0)
		return;
	if (off > g->size)
		memset(g->model + g->size, 0, off - g->size);
	memcpy(g->model + off, buf, n);
	g->size = off + n > g->size ? off + n : g->size;
}

static void put(struct game *g, const uint8_t *buf, size_t n, size_t off)
{
	ssize_t got = b2f_file_pwrite(g->file, buf, n, off);

	require(got == (ssize_t)n || g->loses_power ||
		(got == -EPERM && b2f_file_keeps_size(g->file)));
	note_write(g, off, buf, got > 0 ? (size_t)got : 0);
}

static void fill(struct game *g, uint8_t *buf, size_t n)
{
	uint32_t kind = choose(g, 3);

	for (size_t i = 0; i < n; i++)
		buf[i] = kind == 0   ? (uint8_t)draw(g)
			 : kind == 1 ? (uint8_t)(i / 64)
				     : 0;
}

static void write_some(struct game *g)
{
	static uint8_t buf[MODEL_MAX];
	size_t off = choose_size(g, MODEL_MAX);
	size_t n = choose_size(g, (uint32_t)(MODEL_MAX - off));

	if (choose(g, 3) == 0 && g->size + n <= MODEL_MAX)
		off = g->size;
	fill(g, buf, n);
	put(g, buf, n, off);
}

static void cut(struct game *g, size_t size)
{
	int err = b2f_file_truncate(g->file, size);

	require(!err || g->loses_power || b2f_file_keeps_size(g->file));
	if (err)
		return;
	if (size > g->size)
		memset(g->model + g->size, 0, size - g->size);
	g->size = size;
}

static void zero(struct game *g)
{
	size_t off = choose_size(g, MODEL_MAX);
	size_t n = choose_size(g, MODEL_MAX);
	int err = b2f_file_zero(g->file, off, n);

	require(!err || g->loses_power || g->anew);
	if (err || off >= g->size)
		return;
	memset(g->model + off, 0, n < g->size - off ? n : g->size - off);
}

/* A .npy header of any shape, 0 included; *@nbytes are its items. */
static uint8_t *make_header(struct game *g, size_t *len, size_t *nbytes)
{
#define LONG_DTYPE                                                             \
	"[('one name','|u1'),('another long name','|u1'),"                     \
	"('a third name, longer still','|u1')]"
	static const char *const dtypes[] = {
		"<i4",
		"|u1",
		"<f8",
		"|S7",
		"[('a name that takes room','|u1'),('another name','<i4')]",
		LONG_DTYPE};
	static const uint32_t sizes[] = {4, 1, 8, 7, 5, 3};
	uint32_t kind = choose(g, 6);
	char dtype[160];
	struct b2f_array array = {
		.ndim = choose(g, 9), .itemsize = sizes[kind], .dtype = dtype};
	uint8_t *head = NULL;

	snprintf(dtype, sizeof(dtype), "%s", dtypes[kind]);
	*nbytes = sizes[kind];
	for (unsigned int i = 0; i < array.ndim; i++) {
		array.shape[i] = choose(g, i == 0 ? 60 : 6);
		while (*nbytes * (uint64_t)array.shape[i] > MODEL_MAX / 2)
			array.shape[i] /= 2;
		*nbytes *= (size_t)array.shape[i];
	}
	require(!b2f_npy_write(&array, &head, len));
	return head;
}

/* np.save: all of it, or the begin; in pieces. */
static void write_pieces(struct game *g, size_t off, size_t n)
{
	static uint8_t buf[MODEL_MAX];
	size_t piece = 1 + n / 40 + choose_size(g, MODEL_MAX), more;

	fill(g, buf, n);
	if (choose(g, 8) == 0)
		n = choose(g, (uint32_t)n + 1);
	for (size_t at = 0; at < n; at += more) {
		more = n - at < piece ? n - at : piece;
		put(g, buf + at, more, off + at);
	}
}

static void save(struct game *g)
{
	size_t len, nbytes;
	uint8_t *head = make_header(g, &len, &nbytes);

	if (!b2f_file_keeps_size(g->file)) {
		cut(g, 0);
		put(g, head, len, 0);
		write_pieces(g, len, nbytes);
	}
	free(head);
}

/* The same of an array that keeps its size, of which the items are shown. */
static void save_anew(struct game *g)
{
	size_t len, nbytes;
	uint8_t *head;
	ssize_t n;

	if (!b2f_file_keeps_size(g->file))
		return;
	commit(g, false);
	if (g->anew)
		return;
	head = make_header(g, &len, &nbytes);
	n = b2f_file_begin_anew(g->file, head, len);
	free(head);
	require(n == (ssize_t)len || n == -EPERM || g->loses_power);
	if (n < 0)
		return;
	g->anew = true;
	g->size = nbytes;
	memset(g->model, 0, nbytes);
	write_pieces(g, 0, nbytes);
	if (choose(g, 4) && !b2f_file_end_anew(g->file, true))
		g->anew = false;
}

/* Goes on with what was committed last. */
static void take_last(struct game *g)
{
	const struct state *last = &g->states[g->nstates - 1];

	memcpy(g->model, last->data, last->size);
	g->size = last->size;
	g->anew = false;
}

static void revert(struct game *g)
{
	if (g->loses_power)
		return;
	require(!b2f_file_revert(g->file));
	take_last(g);
}

static void reopen(struct game *g)
{
	if (g->loses_power)
		return;
	end(g);
	take_last(g);
	begin(g);
}

static void set_encoding(struct game *g)
{
	uint8_t filters[B2F_SLOTS] = {[5] = (uint8_t)choose(g, 3)};
	struct b2f_encoding encoding = {.codec = (int)choose(g, 2) * 4 + 1,
					.clevel = (int)choose(g, 9),
					.filters = filters};
	int ret = b2f_file_set_encoding(g->file, &encoding);

	require(ret >= 0 || g->loses_power || (ret == -EBUSY && g->anew));
}

static void step(struct game *g)
{
	uint32_t what = choose(g, 16);

	if (getenv("B2F_FUZZ_LOG"))
		fprintf(stderr, "step %u: %zu bytes\n", what, g->size);
	switch (what) {
	case 0:
	case 1:
	case 2:
		write_some(g);
		break;
	case 3:
		cut(g, choose(g, 4) ? choose_size(g, MODEL_MAX) : 0);
		break;
	case 4:
		zero(g);
		break;
	case 5:
	case 6:
		save(g);
		commit(g, true);
		break;
	case 7:
		save(g);
		break;
	case 8:
		save_anew(g);
		break;
	case 9:
		revert(g);
		break;
	case 10:
		reopen(g);
		break;
	case 11:
		set_encoding(g);
		break;
	case 12:
		b2f_file_tidy(g->file, choose(g, 2), false);
		break;
	default:
		commit(g, choose(g, 2));
		b2f_file_tidy(g->file, true, false);
	}
	check_reading(g);
}

/* Does @disk hold what a commit made, from the oldest one on that may count? */
static bool is_some_state(struct game *g, struct fault_disk *disk)
{
	struct b2f_file *file = open_file(g, disk);
	bool found = false;

	if (!file)
		return false;
	for (size_t i = g->oldest; i < g->nstates && !found; i++)
		found = holds(file, g->states[i].data, g->states[i].size);
	if (found)
		check_metas(g, file);
	b2f_file_close(file);
	return found;
}

static void check_after_loss(struct game *g)
{
	for (unsigned int i = 0; i < NVARIANTS; i++) {
		struct fault_disk *after =
			fault_disk_after_loss(g->disk, i < 2 ? i : choose(g, 99));

		require(is_some_state(g, after));
		fault_disk_free(after);
	}
}

static void play(struct game *g)
{
	uint32_t at = choose(g, 400);

	begin(g);
	g->size = b2f_file_size(g->file);
	note_state(g);
	check_reading(g);
	if (at < 200) {
		g->loses_power = true;
		fault_disk_lose_power(g->disk, at);
	}
	for (uint32_t n = 1 + choose(g, STEPS_MAX); n > 0; n--)
		step(g);
	check_after_loss(g);
	end(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct game *g = need(calloc(1, sizeof(*g)));

	g->cur = b2f_cursor_at(data, size);
	make_disk(g);
	play(g);
	fault_disk_free(g->disk);
	for (size_t i = 0; i < g->nstates; i++)
		free(g->states[i].data);
	free(g);
	return 0;
}
