/* SPDX-License-Identifier: BSD-3-Clause */
/* encode_plan.c - the form of a new chunk: blocks, splitting, header */
#include "chunk/encode_plan.h"

#include "base/bytes.h"
#include "base/checked.h"

enum {
	VERSION = 5,
	VERSION_BLOSC1 = 2,
	VERSION_LZ = 1,

	/* Shorter data are never compressed. */
	NBYTES_MIN = 32,
};

/* docs/format.md 2.5, sizes in bytes. */
#define SPLIT_TYPESIZE_MAX  16
#define SPLIT_STREAM_MIN    32
#define SPLIT_ZSTD_LEVELS   5
#define BLOCKSIZE_SMALL	    (32u << 10)
#define BLOCKSIZE_SPLIT_MAX (4u << 20)

static int check_options(const struct b2f_encode_options *options,
			 uint32_t nbytes, struct b2f_why *why)
{
	if (nbytes > B2F_CHUNK_NBYTES_MAX)
		return b2f_why_set(why, B2F_ETOOBIG, "a chunk of %u bytes",
				   nbytes);
	if (!options->typesize || options->typesize > B2F_BLOCKSIZE_MAX)
		return b2f_why_set(why, -EINVAL, "type size %u",
				   options->typesize);
	if (options->clevel > B2F_CLEVEL_MAX)
		return b2f_why_set(why, -EINVAL, "compression level %u",
				   options->clevel);
	if ((unsigned int)options->split > B2F_SPLIT_FORWARD)
		return b2f_why_set(why, -EINVAL, "split mode %u",
				   (unsigned int)options->split);
	return 0;
}

static bool has_filter(const struct b2f_pipeline *pipeline, unsigned int id)
{
	for (unsigned int slot = 0; slot < B2F_FILTER_SLOTS; slot++) {
		if (pipeline->filter[slot] == id)
			return true;
	}
	return false;
}

static bool is_empty(const struct b2f_pipeline *pipeline)
{
	static const struct b2f_pipeline empty = {{0}, {0}};

	return !memcmp(pipeline->filter, empty.filter, sizeof(empty.filter));
}

/* Chooses codec and filters, or the nearest ones that lose nothing. */
static void choose_codec(const struct b2f_encode_options *options,
			 struct b2f_encode_plan *plan)
{
	plan->code = options->codec;
	plan->codec = b2f_codec_by_code(options->codec);
	plan->codec_meta = options->codec_meta;
	if (!plan->codec) {
		plan->code = B2F_CODEC_ZSTD;
		plan->codec = b2f_codec_by_code(B2F_CODEC_ZSTD);
		plan->codec_meta = 0;
		plan->substituted = true;
	}
	if (!b2f_pipeline_encodable(&options->pipeline, plan->typesize,
				    options->typesize, options->allow_lossy,
				    &plan->pipeline))
		plan->substituted = true;
	/* The old filter worked on items; so should its replacement. */
	if (plan->substituted && is_empty(&plan->pipeline) &&
	    plan->typesize > 1)
		plan->pipeline.filter[B2F_FILTER_SLOTS - 1] =
			B2F_FILTER_SHUFFLE;
}

static bool split_pays(const struct b2f_encode_plan *plan, uint32_t blocksize)
{
	bool fast = plan->code == B2F_CODEC_BLOSCLZ ||
		    plan->code == B2F_CODEC_LZ4 ||
		    (plan->code == B2F_CODEC_ZSTD &&
		     plan->clevel <= SPLIT_ZSTD_LEVELS);

	return fast && has_filter(&plan->pipeline, B2F_FILTER_SHUFFLE) &&
	       plan->typesize <= SPLIT_TYPESIZE_MAX &&
	       blocksize / plan->typesize >= SPLIT_STREAM_MIN;
}

static bool choose_split(const struct b2f_encode_plan *plan,
			 enum b2f_split mode, uint32_t blocksize)
{
	switch (mode) {
	case B2F_SPLIT_ALWAYS:
		return true;
	case B2F_SPLIT_NEVER:
		return false;
	case B2F_SPLIT_DEFAULT:
	case B2F_SPLIT_AUTO:
	case B2F_SPLIT_FORWARD:
		break;
	}
	return split_pays(plan, blocksize);
}

/* Block size if blocks are split, where the size of the streams counts. */
static uint32_t split_blocksize(const struct b2f_encode_plan *plan)
{
	static const uint16_t stream_kib[B2F_CLEVEL_MAX + 1] = {
		32, 32, 32, 32, 64, 64, 64, 128, 256, 512};
	uint32_t size = (uint32_t)stream_kib[plan->clevel] << 10;

	size = (uint32_t)b2f_min_u64((uint64_t)size * plan->typesize,
				     BLOCKSIZE_SPLIT_MAX);
	return size;
}

static uint32_t automatic_blocksize(const struct b2f_encode_plan *plan,
				    enum b2f_split mode)
{
	/* In quarters of BLOCKSIZE_SMALL. */
	static const uint8_t quarters[B2F_CLEVEL_MAX + 1] = {
		1, 2, 4, 8, 16, 16, 32, 32, 32, 32};
	bool slow = plan->code == B2F_CODEC_LZ4HC ||
		    plan->code == B2F_CODEC_ZLIB ||
		    plan->code == B2F_CODEC_ZSTD;
	uint32_t size = BLOCKSIZE_SMALL / 4 * quarters[plan->clevel];

	if (plan->nbytes < BLOCKSIZE_SMALL)
		return plan->nbytes;
	if (slow)
		size *= plan->clevel == B2F_CLEVEL_MAX ? 4 : 2;
	if (plan->clevel > 0 && choose_split(plan, mode, size))
		size = split_blocksize(plan);
	return size;
}

/* The header has the block size that is used, unlike docs/format.md 9.1. */
static uint32_t choose_blocksize(const struct b2f_encode_plan *plan,
				 const struct b2f_encode_options *options)
{
	uint32_t size = options->blocksize, typesize = options->typesize;

	if (!size)
		size = automatic_blocksize(plan, options->split);
	size = (uint32_t)b2f_min_u64(size, plan->nbytes);
	size = (uint32_t)b2f_min_u64(size, B2F_BLOCKSIZE_MAX);
	if (size > typesize)
		size -= size % typesize;
	else if (typesize <= UINT8_MAX && typesize <= plan->nbytes)
		/* A smaller block would have less than one item to split. */
		size = typesize;
	return size ? size : 1;
}

/*
 * Leaves bytedelta out where a block has bytes behind the last channel:
 * C-Blosc2 before 3.3.2 does not decode them (docs/format.md 2.7.4).
 */
static void omit_bytedelta_with_rest(struct b2f_encode_plan *plan)
{
	struct b2f_pipeline *pipeline = &plan->pipeline;
	uint32_t last = plan->nbytes % plan->blocksize;

	for (unsigned int slot = 0; slot < B2F_FILTER_SLOTS; slot++) {
		unsigned int channels = pipeline->meta[slot];

		if (pipeline->filter[slot] != B2F_FILTER_BYTEDELTA ||
		    (plan->blocksize % channels == 0 && last % channels == 0))
			continue;
		pipeline->filter[slot] = B2F_FILTER_NONE;
		pipeline->meta[slot] = 0;
	}
}

int b2f_encode_plan_make(const struct b2f_encode_options *options,
			 uint32_t nbytes, struct b2f_encode_plan *out,
			 struct b2f_why *why)
{
	struct b2f_encode_plan plan = {
		.nbytes = nbytes,
		.clevel = options->clevel,
	};
	int err = check_options(options, nbytes, why);

	if (err)
		return err;
	plan.typesize =
		options->typesize > UINT8_MAX ? 1 : (uint8_t)options->typesize;
	choose_codec(options, &plan);
	plan.blocksize = choose_blocksize(&plan, options);
	omit_bytedelta_with_rest(&plan);
	plan.split = plan.blocksize % plan.typesize == 0 &&
		     choose_split(&plan, options->split, plan.blocksize);
	/* Less than an item:  C-Blosc2 reads such blocks in its own way. */
	plan.as_is = !plan.clevel || nbytes < NBYTES_MIN ||
		     nbytes < options->typesize;
	*out = plan;
	return 0;
}

static uint8_t flags_of(const struct b2f_encode_plan *plan,
			enum b2f_encode_kind kind)
{
	unsigned int flags = B2F_FLAG_EXTENDED;

	if (plan->blosc1)
		flags = (has_filter(&plan->pipeline, B2F_FILTER_SHUFFLE)
				 ? B2F_FLAG_SHUFFLE
				 : 0) |
			(has_filter(&plan->pipeline, B2F_FILTER_BITSHUFFLE)
				 ? B2F_FLAG_BITSHUFFLE
				 : 0);
	if (kind == B2F_ENCODE_AS_IS)
		flags |= B2F_FLAG_MEMCPYED;
	if (kind == B2F_ENCODE_BLOCKS || plan->blosc1)
		flags |= (unsigned int)plan->codec->format << 5 |
			 (plan->split ? 0 : B2F_FLAG_NO_SPLIT);
	return (uint8_t)flags;
}

void b2f_encode_plan_header(const struct b2f_encode_plan *plan,
			    enum b2f_encode_kind kind, uint32_t cbytes,
			    uint8_t *dst)
{
	dst[0] = plan->blosc1 ? VERSION_BLOSC1 : VERSION;
	dst[1] = VERSION_LZ;
	dst[2] = flags_of(plan, kind);
	dst[3] = plan->typesize;
	b2f_store_le32(dst + 4, plan->nbytes);
	b2f_store_le32(dst + 8, plan->blocksize);
	b2f_store_le32(dst + 12, cbytes);
	if (plan->blosc1)
		return;
	memset(dst + 16, 0, B2F_CHUNK_HEADER_MAX - 16);
	if (kind == B2F_ENCODE_VALUE) {
		dst[31] = B2F_SPECIAL_VALUE << 4;
		return;
	}
	memcpy(dst + 16, plan->pipeline.filter, B2F_FILTER_SLOTS);
	dst[22] = (uint8_t)plan->code;
	dst[23] = plan->codec_meta;
	memcpy(dst + 24, plan->pipeline.meta, B2F_FILTER_SLOTS);
}
