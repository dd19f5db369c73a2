/* SPDX-License-Identifier: BSD-3-Clause */
/* measure.c - size and speed of some data with some settings */
#include "programs/measure.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/checked.h"
#include "chunk/chunk.h"
#include "chunk/encoder.h"
#include "frame/settings.h"
#include "programs/io.h"

/* Bytes of an index for each chunk. */
#define ENTRY_BYTES 8

struct measure {
	struct b2f_encode_options options;
	const uint8_t *data;
	size_t size;
	uint32_t chunk_size;
	size_t nchunks;
	struct b2f_encoder *enc;
	struct b2f_decoder *dec;
	/* The stored chunks; each has room for the longest. */
	uint8_t *stored;
	size_t room;
	/* Stored size of each chunk, 0 for zeros, which are an entry alone. */
	uint32_t *cbytes;
	/* Buffer for a decoded chunk. */
	uint8_t *decoded;
};

/* Bytes that the program has allocated and not freed. */
static uint64_t bytes_held(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	struct mallinfo2 all = mallinfo2();

	return all.uordblks + all.hblkhd;
#else
	return 0;
#endif
}

static uint32_t chunk_nbytes(const struct measure *m, size_t i)
{
	return (uint32_t)b2f_min_u64(m->chunk_size,
				     m->size - i * m->chunk_size);
}

static int encode_all(struct measure *m)
{
	struct b2f_encoded encoded = {0};
	int err = 0;

	for (size_t i = 0; i < m->nchunks && !err; i++) {
		err = b2f_chunk_encode(
			m->enc, &m->options,
			b2f_bytes_at(m->data + i * m->chunk_size,
				     chunk_nbytes(m, i)),
			b2f_room_at(m->stored + i * m->room, m->room), &encoded,
			NULL);
		m->cbytes[i] = encoded.cbytes;
	}
	return err;
}

static int decode_one(struct measure *m, size_t i)
{
	const struct b2f_chunk_context context = {.typesize =
							  m->options.typesize};
	const uint8_t *raw = m->stored + i * m->room;
	struct b2f_chunk_header header;
	struct b2f_chunk chunk;
	int err;

	if (m->cbytes[i] == 0) {
		memset(m->decoded, 0, chunk_nbytes(m, i));
		return 0;
	}
	err = b2f_chunk_header_parse(raw, m->cbytes[i], &header, NULL);
	if (!err)
		err = b2f_chunk_open(raw,
				     b2f_chunk_head_size(&header, &context),
				     m->cbytes[i], &context, &chunk, NULL);
	if (!err)
		err = b2f_chunk_decode_all(&chunk, m->dec, raw, m->decoded,
					   NULL);
	return err ? -EIO : 0;
}

static int decode_all(struct measure *m)
{
	int err = 0;

	for (size_t i = 0; i < m->nchunks && !err; i++)
		err = decode_one(m, i);
	return err;
}

/* Decodes all chunks and compares: the encoder may not do all settings. */
static int check_all(struct measure *m)
{
	int err = 0;

	for (size_t i = 0; i < m->nchunks && !err; i++) {
		err = decode_one(m, i);
		if (!err && memcmp(m->decoded, m->data + i * m->chunk_size,
				   chunk_nbytes(m, i)) != 0)
			err = -EIO;
	}
	return err;
}

/* CPU time of this thread alone. */
static uint64_t worked_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}

/* The shortest of the times that @run takes. */
static int time_it(struct measure *m, int (*run)(struct measure *m),
		   uint64_t least_ns, uint64_t *out)
{
	uint64_t start = b2f_monotonic_ns(), best = UINT64_MAX, before;
	int err;

	do {
		before = worked_ns();
		err = run(m);
		best = b2f_min_u64(best, worked_ns() - before);
	} while (!err && b2f_monotonic_ns() - start < least_ns);
	*out = b2f_max_u64(best, 1);
	return err;
}

static int reserve(struct measure *m)
{
	m->room = b2f_chunk_encode_bound(m->chunk_size);
	m->stored = malloc(m->nchunks * m->room);
	m->cbytes = calloc(m->nchunks, sizeof(*m->cbytes));
	m->decoded = malloc(m->chunk_size);
	return m->stored && m->cbytes && m->decoded ? 0 : -ENOMEM;
}

static int run_all(struct measure *m, uint64_t least_ns,
		   struct b2f_measured *out)
{
	uint64_t before = bytes_held();
	int err = b2f_encoder_new(&m->enc);

	if (!err)
		err = b2f_decoder_new(&m->dec);
	if (!err)
		err = time_it(m, encode_all, least_ns, &out->encode_ns);
	if (!err)
		err = check_all(m);
	if (!err)
		err = time_it(m, decode_all, least_ns, &out->decode_ns);
	/* Memory that other threads free meanwhile counts as well. */
	if (bytes_held() > before)
		out->memory =
			bytes_held() - before + m->room + m->chunk_size;
	return err;
}

static int choose(struct measure *m, const struct b2f_settings *settings)
{
	struct b2f_frame_header h;
	int err = b2f_settings_header(settings, &h, NULL);

	if (err || h.chunksize <= 0 || m->size == 0)
		return -EINVAL;
	b2f_encode_options_of(NULL, &h, &m->options);
	/* No chunk of a file is larger than the file. */
	m->chunk_size =
		(uint32_t)b2f_min_u64((uint32_t)h.chunksize, m->size);
	m->nchunks = (size_t)b2f_div_up_u64(m->size, m->chunk_size);
	return 0;
}

int b2f_settings_measure(const struct b2f_settings *settings, const void *data,
			 size_t size, uint64_t least_ns,
			 struct b2f_measured *out)
{
	struct b2f_measured measured = {0};
	struct measure m = {.data = data, .size = size};
	int err = choose(&m, settings);

	if (!err)
		err = reserve(&m);
	if (!err)
		err = run_all(&m, least_ns, &measured);
	for (size_t i = 0; i < m.nchunks && !err; i++)
		measured.cbytes += ENTRY_BYTES + (uint64_t)m.cbytes[i];
	b2f_decoder_free(m.dec);
	b2f_encoder_free(m.enc);
	free(m.decoded);
	free(m.cbytes);
	free(m.stored);
	if (!err)
		*out = measured;
	return err;
}
