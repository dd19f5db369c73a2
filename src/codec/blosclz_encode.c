/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blosclz_encode.c - the encoder of blosclz streams (format.md 2.6)
 *
 * Greedy: at each place the encoder looks in a hash table for the last places
 * where the same four bytes stood, and takes the longest match.  Where it finds
 * nothing for a while it takes longer and longer steps.  After a section of the
 * stream that saved little, the next one gets less effort, as data that hardly
 * compress would cost the most time; the encoder still notices when the data
 * get better.  The level sets the threshold.
 *
 * The table holds positions counted from the first byte that this encoder ever
 * saw.  Every stream begins so far behind the one before that no match can
 * reach back, so the table needs no clearing, which would cost more than a
 * short stream does.
 */
#include "codec/codec.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_LOG_MAX 15

/* From this distance on a match needs two more bytes. */
#define FAR_DISTANCE 8192
#define DISTANCE_MAX (FAR_DISTANCE + 0xffff)

/* Shortest match that takes less than its bytes, near and far. */
#define NEAR_MIN 4
#define FAR_MIN	 6

/* A run of literals, and the marker of the first one. */
#define RUN_MAX 32
#define MARK	0x20

/* Shorter data are not worth a stream. */
#define SRC_MIN 16

/* A match of this many bytes is not doubted. */
#define CLEAR_MIN 48

/* Effort is judged after this many bytes. */
#define SECTION 2048

struct level {
	uint8_t hash_log;
	/* The step grows by 1 after 2^patience misses. */
	uint8_t patience;
	/* Places kept for each hash: 1 or 2. */
	uint8_t ways;
	/* A section should save one byte out of so many. */
	uint8_t gain_part;
	/* The longest step, after sections that saved less. */
	uint8_t step_max;
	/* Matches that are less than this far away are doubted. */
	uint32_t doubt;
};

static const struct level levels[B2F_CLEVEL_MAX + 1] = {
	[1] = {12, 4, 1, 6, 64, 256},
	[2] = {12, 4, 1, 6, 64, 256},
	[3] = {13, 5, 1, 6, 32, 256},
	[4] = {13, 5, 1, 6, 32, 256},
	[5] = {14, 5, 1, 7, 32, 256},
	[6] = {14, 5, 1, 7, 32, 256},
	[7] = {14, 6, 1, 8, 32, 256},
	[8] = {14, 6, 2, 8, 16, FAR_DISTANCE},
	[9] = {15, 6, 2, 12, 16, DISTANCE_MAX},
};

struct blosclz_encoder {
	/* Position of the first byte of the stream. */
	uint32_t base;
	/* Position behind the last place of a hash; the older way after it. */
	uint32_t table[2 << HASH_LOG_MAX];
};

/* A stream that is being encoded. */
struct stream {
	const uint8_t *src;
	const uint8_t *src_end;
	/* The first byte that is not in an item yet. */
	const uint8_t *literals;
	uint8_t *out_start;
	uint8_t *out;
	uint8_t *out_end;
};

struct match {
	const uint8_t *at;
	size_t distance;
	size_t size;
};

void *b2f_blosclz_encoder_new(void)
{
	struct blosclz_encoder *enc = calloc(1, sizeof(*enc));

	/* No match can reach back to a zero of the table. */
	if (enc)
		enc->base = DISTANCE_MAX + 1;
	return enc;
}

static inline uint32_t load4(const uint8_t *p)
{
	uint32_t x;

	memcpy(&x, p, 4);
	return x;
}

static inline uint64_t load8(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, 8);
	return le64toh(x);
}

/* The number of equal bytes at @a and @b, before @end, which bounds @b. */
static inline size_t common_size(const uint8_t *a, const uint8_t *b,
				 const uint8_t *end)
{
	const uint8_t *start = b;
	uint64_t x;

	for (; end - b >= 8; a += 8, b += 8) {
		x = load8(a) ^ load8(b);
		if (x)
			return (size_t)(b - start) +
			       (size_t)__builtin_ctzll(x) / 8;
	}
	while (b < end && *a == *b) {
		a++;
		b++;
	}
	return (size_t)(b - start);
}

/* Writes the literals up to @end: whole runs, then the rest. */
static bool put_literals(struct stream *s, const uint8_t *end)
{
	const uint8_t *from = s->literals;
	size_t n = (size_t)(end - from);
	uint8_t *out = s->out;

	if (n + (n + RUN_MAX - 1) / RUN_MAX > (size_t)(s->out_end - out))
		return false;
	for (; n >= RUN_MAX; n -= RUN_MAX, from += RUN_MAX) {
		*out++ = RUN_MAX - 1;
		memcpy(out, from, RUN_MAX);
		out += RUN_MAX;
	}
	if (n) {
		*out++ = (uint8_t)(n - 1);
		/* A copy of known size is faster, where there is room. */
		if (s->src_end - from >= RUN_MAX && s->out_end - out >= RUN_MAX)
			memcpy(out, from, RUN_MAX);
		else
			memcpy(out, from, n);
		out += n;
	}
	s->out = out;
	s->literals = end;
	return true;
}

static inline bool put_match(struct stream *s, const struct match *match)
{
	size_t field = match->size - 2, back = match->distance - 1;
	bool is_far = match->distance >= FAR_DISTANCE;
	unsigned int high = is_far ? 31 : (unsigned int)(back >> 8);
	uint8_t *out = s->out;

	/* The most that a control byte, a length and a distance take. */
	if ((size_t)(s->out_end - out) < 5 + field / 255)
		return false;
	*out++ = (uint8_t)((field < 7 ? field : 7) << 5 | high);
	if (field >= 7) {
		for (field -= 7; field >= 255; field -= 255)
			*out++ = 255;
		*out++ = (uint8_t)field;
	}
	*out++ = is_far ? 255 : (uint8_t)back;
	if (is_far) {
		back -= FAR_DISTANCE - 1;
		*out++ = (uint8_t)(back >> 8);
		*out++ = (uint8_t)back;
	}
	s->out = out;
	return true;
}

/* The bytes that @match gains over literals, more or less. */
static inline size_t gain(const struct match *match)
{
	return match->size + (match->distance < FAR_DISTANCE ? 2 : 0);
}

static inline bool is_worth_it(const struct match *match)
{
	return match->size >=
	       (match->distance < FAR_DISTANCE ? NEAR_MIN : FAR_MIN);
}

/*
 * Tries the place at @distance before @at; takes it into @best if it is better.
 * The last byte of the stream has to stay a literal.
 */
static inline void try_place(const struct stream *s, const uint8_t *at,
			     uint32_t distance, struct match *best)
{
	struct match match = {.at = at, .distance = distance};

	if (distance - 1 >= DISTANCE_MAX || load4(at - distance) != load4(at))
		return;
	match.size = 4 + common_size(at - distance + 4, at + 4, s->src_end - 1);
	if (is_worth_it(&match) && gain(&match) > gain(best))
		*best = match;
}

/* Moves equal bytes before both places from the literals to the match. */
static inline void grow_back(const struct stream *s, struct match *match)
{
	const uint8_t *from = match->at - match->distance;

	while (match->at > s->literals && from > s->src &&
	       match->at[-1] == from[-1]) {
		match->at--;
		from--;
		match->size++;
	}
}

static inline uint32_t *places_of(struct blosclz_encoder *enc,
				  const struct level *level, const uint8_t *at)
{
	uint32_t hash = load4(at) * UINT32_C(2654435761);

	return enc->table +
	       (size_t)(hash >> (32 - level->hash_log)) * level->ways;
}

static inline void note_place(struct blosclz_encoder *enc,
			      const struct level *level, const struct stream *s,
			      const uint8_t *at)
{
	uint32_t *places = places_of(enc, level, at);

	if (level->ways == 2)
		places[1] = places[0];
	places[0] = enc->base + (uint32_t)(at - s->src);
}

/* Looks for a match at @at, which becomes a place itself. */
static inline bool find_match(struct blosclz_encoder *enc,
			      const struct level *level, const struct stream *s,
			      const uint8_t *at, struct match *out)
{
	uint32_t position = enc->base + (uint32_t)(at - s->src);
	uint32_t *places = places_of(enc, level, at);
	struct match best = {0};

	try_place(s, at, position - places[0], &best);
	if (level->ways == 2) {
		try_place(s, at, position - places[1], &best);
		places[1] = places[0];
	}
	places[0] = position;
	*out = best;
	return best.size > 0;
}

/*
 * The four bytes across the end of a match tell best where in a pattern this
 * is: the next byte breaks the pattern of the match, but not the pattern of a
 * longer match.  If the last place of these four bytes leads to a match that
 * begins no later and ends later, that match is taken instead.
 */
static inline void look_across_end(struct blosclz_encoder *enc,
				   const struct level *level,
				   const struct stream *s, struct match *match)
{
	const uint8_t *end = match->at + match->size, *at = end - 3;
	uint32_t position = enc->base + (uint32_t)(at - s->src);
	uint32_t *places = places_of(enc, level, at);
	uint32_t distance = position - places[0];
	struct match other = {.at = at, .distance = distance};

	/* The match has to be followed by a byte, and a literal after that. */
	if (s->src_end - end < 2)
		return;
	if (level->ways == 2)
		places[1] = places[0];
	places[0] = position;
	if (distance - 1 >= DISTANCE_MAX || load4(at - distance) != load4(at))
		return;
	other.size = 4 + common_size(at - distance + 4, at + 4, s->src_end - 1);
	grow_back(s, &other);
	if (other.at <= match->at && gain(&other) > gain(match))
		*match = other;
}

/*
 * The place about @step behind @off.  Steps are rounded down to a power of 2
 * and places to a multiple of it: rows of shuffled data have such a length, so
 * bytes that are alike in two rows are looked at in both or in none.
 */
static inline size_t next_place(size_t off, size_t step)
{
	size_t mask = ((size_t)1 << (63 - __builtin_clzll(step))) - 1;

	return (off | mask) + 1;
}

/*
 * Writes the items from @at to @end, or a bit further; NULL if they do not fit.
 */
static inline const uint8_t *put_section(struct blosclz_encoder *enc,
					 const struct level *level,
					 struct stream *s, size_t step,
					 const uint8_t *at, const uint8_t *end)
{
	size_t misses = 0;
	struct match match;

	while (at < end) {
		if (!find_match(enc, level, s, at, &match)) {
			at = s->src +
			     next_place((size_t)(at - s->src),
					step + (misses++ >> level->patience));
			continue;
		}
		misses = 0;
		grow_back(s, &match);
		if (match.size < CLEAR_MIN && match.distance < level->doubt)
			look_across_end(enc, level, s, &match);
		if (!put_literals(s, match.at) || !put_match(s, &match))
			return NULL;
		at = match.at + match.size;
		s->literals = at;
		if (at >= end)
			break;
		note_place(enc, level, s, at - 2);
		note_place(enc, level, s, at - 1);
	}
	return at;
}

/* Size of the stream up to @at if the pending bytes stay literal. */
static inline size_t size_at(const struct stream *s, const uint8_t *at)
{
	return (size_t)(s->out - s->out_start) +
	       (at > s->literals ? (size_t)(at - s->literals) : 0);
}

/* Writes all items but the last literals; false if they do not fit. */
static bool put_items(struct blosclz_encoder *enc, const struct level *level,
		      struct stream *s)
{
	/*
	 * A match has to begin before @end: four bytes, and a literal behind.
	 */
	const uint8_t *at = s->src, *end = s->src_end - 4, *start, *stop;
	size_t step = 1, before, size;

	while (at < end) {
		start = at;
		before = size_at(s, at);
		stop = end - at > SECTION ? at + SECTION : end;
		at = put_section(enc, level, s, step, at, stop);
		if (!at)
			return false;
		size = (size_t)(at - start);
		if (size_at(s, at) + size / level->gain_part <= before + size)
			step = 1;
		else if (step < level->step_max)
			step *= 2;
	}
	return true;
}

static void start_stream(struct blosclz_encoder *enc, size_t size)
{
	if (UINT32_MAX - enc->base >= size)
		return;
	memset(enc->table, 0, sizeof(enc->table));
	enc->base = DISTANCE_MAX + 1;
}

static void end_stream(struct blosclz_encoder *enc, size_t size)
{
	uint64_t base = (uint64_t)enc->base + size + DISTANCE_MAX + 1;

	enc->base = base > UINT32_MAX ? UINT32_MAX : (uint32_t)base;
}

int64_t b2f_blosclz_encode(void *encoder, unsigned int level,
			   const uint8_t *src, size_t src_size, uint8_t *dst,
			   size_t room)
{
	struct blosclz_encoder *enc = encoder;
	struct stream s = {
		.src = src,
		.src_end = src + src_size,
		.literals = src,
		.out_start = dst,
		.out = dst,
		.out_end = dst + room,
	};
	bool fits;

	if (src_size < SRC_MIN || src_size > INT32_MAX)
		return 0;
	start_stream(enc, src_size);
	fits = put_items(enc, &levels[level], &s) &&
	       put_literals(&s, s.src_end);
	end_stream(enc, src_size);
	if (!fits)
		return 0;
	dst[0] |= MARK;
	return s.out - dst;
}
