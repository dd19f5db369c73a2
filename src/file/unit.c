/* SPDX-License-Identifier: BSD-3-Clause */
/* unit.c - the units of chunks, by way of the cache */
#include "base/checked.h"
#include "file/reading.h"
#include "frame/frame_chunk.h"
#include "frame/frame_report.h"
#include "frame/frame_unit.h"
#include "programs/io.h"

struct b2f_cache_key b2f_unit_key(const struct b2f_reading *r,
				  const struct b2f_loaded *loaded,
				  uint32_t unit)
{
	uint64_t item = loaded->raw;

	/* Entries without a file are the same for chunks of any length. */
	if (item >> 63)
		item = UINT64_C(1) << 63 | loaded->nchunk;
	return (struct b2f_cache_key){
		.file = r->cache_id, .item = item, .unit = unit};
}

/* Units of a chunk that are claimed at once; most chunks have no more. */
#define CLAIMS_MAX 32

/* Decoded bytes of an excerpt, and what its keys have in common. */
#define EXCERPT_SIZE (16u << 10)
#define EXCERPT_KEY  (1u << 31)

/* Arguments of the loader of a unit, or of an excerpt. */
struct fill {
	const struct b2f_reading *reading;
	struct b2f_head *head;
	/* See struct b2f_unit_read. */
	const uint8_t *rest;
	/* Only this is loaded; or NULL. */
	struct b2f_excerpt *excerpt;
	/* The caller has a sufficient loan of the cache. */
	bool has_loan;
};

static int decode_excerpt(const struct fill *fill,
			  const struct b2f_unit_read *read, uint8_t *dst)
{
	atomic_int *nplain = &fill->reading->file->nplain;
	int err = read->object
			  ? b2f_frame_decode_excerpt(read, fill->excerpt, dst)
			  : -EAGAIN;

	if (!err)
		atomic_store(nplain, (int)fill->excerpt->nplain);
	else if (err == -EDOM)
		atomic_store(nplain, -1);
	return err;
}

static int decode(const struct fill *fill, uint32_t unit, const uint8_t *ref,
		  struct b2f_decoder *dec, struct b2f_room dst)
{
	const struct b2f_reading *r = fill->reading;
	const struct b2f_object *object = b2f_head_open(fill->head);
	const struct b2f_unit_read read = {
		.frame = r->frame,
		.loaded = fill->head->loaded,
		.object = object,
		.rest = fill->rest,
		.dec = dec,
		.ref = ref,
		.unit = unit,
	};
	uint64_t start_ns = b2f_monotonic_ns();
	int err = fill->excerpt ? decode_excerpt(fill, &read, dst.data)
				: b2f_frame_decode_unit(&read, dst.data);

	if (!err)
		b2f_tally_decoded(r->file->runtime->tally, fill->head->loaded,
				  dst.size, start_ns);
	b2f_head_close(fill->head, object);
	/* The damaged bytes may be in the cached head. */
	if (err == B2F_ECORRUPT && !fill->excerpt)
		b2f_head_forget_all(r->file);
	return err;
}

static int pin(struct fill *fill, uint32_t unit, struct b2f_cache_ref *out);

static int fill_unit(void *arg, const struct b2f_cache_key *key, uint8_t *dst,
		     size_t size)
{
	const struct fill *fill = arg;
	const struct b2f_reading *r = fill->reading;
	struct b2f_runtime *rt = r->file->runtime;
	struct fill first = {
		.reading = r, .head = fill->head, .has_loan = true};
	struct b2f_cache_ref ref = {0};
	struct b2f_decoder *dec = NULL;
	int err = 0;

	/* Unit 0 never needs another one, so this cannot go in circles. */
	if (key->unit > 0 && b2f_chunk_needs_ref(&fill->head->loaded->chunk))
		err = pin(&first, 0, &ref);
	if (!err)
		err = b2f_idle_get_decoder(&rt->idle, &dec);
	if (!err) {
		err = decode(fill, key->unit, ref.data, dec,
			     b2f_room_at(dst, size));
		b2f_idle_put_decoder(&rt->idle, dec);
	}
	b2f_cache_put(rt->cache, &ref);
	return err;
}

/* Logs why the cache did not give the unit, unless a loader has logged it. */
static void tell(const struct fill *fill, uint32_t unit, int err)
{
	const struct b2f_reading *r = fill->reading;
	const struct b2f_loaded *l = fill->head->loaded;
	uint64_t nbytes = b2f_chunk_unit_nbytes(&l->chunk, unit);
	struct b2f_why why;

	/* Stock Blosc2 rewrites chunks in place, with other blocks. */
	if (err == -ESTALE)
		b2f_why_set(&why, err,
			    "rewritten by another program while "
			    "the file is open");
	else
		b2f_why_set(&why, err,
			    "%llu bytes of memory are needed at once, and the "
			    "cache has %zu",
			    (unsigned long long)(nbytes +
						 b2f_chunk_unit_beside(
							 &l->chunk, unit)),
			    b2f_cache_loan_max(r->file->runtime->cache));
	b2f_frame_report_entry(r->frame, l->nchunk, l->raw, -1, err, &why);
}

/* Gets the @size bytes of @key, unit @unit or its excerpt, from the cache. */
static int get(struct fill *fill, uint32_t unit,
	       const struct b2f_cache_key *key, size_t size,
	       struct b2f_cache_ref *out)
{
	const struct b2f_reading *r = fill->reading;
	const struct b2f_cache_loader loader = {
		.load = fill_unit,
		.arg = fill,
		.passing = r->in_order,
		.beside =
			b2f_chunk_unit_beside(&fill->head->loaded->chunk, unit),
		.has_loan = fill->has_loan,
	};

	return b2f_cache_get(r->file->runtime->cache, key, size, &loader, out);
}

static int pin(struct fill *fill, uint32_t unit, struct b2f_cache_ref *out)
{
	const struct b2f_loaded *loaded = fill->head->loaded;
	struct b2f_cache_key key = b2f_unit_key(fill->reading, loaded, unit);
	int err = get(fill, unit, &key,
		      b2f_chunk_unit_nbytes(&loaded->chunk, unit), out);

	if (err == -ESTALE || err == B2F_ETOOBIG)
		tell(fill, unit, err);
	return err;
}

int b2f_unit_pin(const struct b2f_reading *r, struct b2f_head *head,
		 uint32_t unit, struct b2f_cache_ref *out)
{
	struct fill fill = {
		.reading = r, .head = head, .has_loan = r->has_loan};

	return pin(&fill, unit, out);
}

/*
 * Was the chunk of @head read so shortly ago that a whole unit would still be
 * in the cache?
 */
static bool is_again(struct b2f_head *head)
{
	struct b2f_runtime *rt = head->file->runtime;
	unsigned int now = atomic_fetch_add(&rt->nexcerpts, 1) + 1;
	unsigned int last = atomic_exchange(&head->excerpt, now);

	return last &&
	       now - last <= rt->cache_bytes / head->loaded->chunk.unit_size;
}

/* Gets @e from the cache, or loads it if that is worth less than its unit. */
static bool get_excerpt(const struct b2f_reading *r, struct b2f_head *head,
			struct b2f_excerpt *e, struct b2f_cache_ref *out)
{
	struct b2f_cache *cache = r->file->runtime->cache;
	const struct b2f_chunk *chunk = &head->loaded->chunk;
	struct fill fill = {.reading = r,
			    .head = head,
			    .excerpt = e,
			    .has_loan = r->has_loan};
	struct b2f_cache_key key = b2f_unit_key(
		r, head->loaded,
		EXCERPT_KEY | (e->unit * (chunk->unit_size / EXCERPT_SIZE) +
			       e->start / EXCERPT_SIZE));

	return b2f_cache_peek(cache, &key, e->size, out) ||
	       (!is_again(head) && !get(&fill, e->unit, &key, e->size, out));
}

bool b2f_unit_pin_excerpt(const struct b2f_reading *r, struct b2f_head *head,
			  uint32_t unit, uint32_t *start, uint32_t size,
			  struct b2f_cache_ref *out)
{
	int nplain = atomic_load(&r->file->nplain);
	uint32_t in = *start % EXCERPT_SIZE;
	struct b2f_excerpt e = {
		.unit = unit,
		.start = *start - in,
		.size = EXCERPT_SIZE,
		.nplain = nplain ? (uint32_t)nplain : B2F_PLANES_MAX,
	};

	if (nplain < 0)
		return false;
	if (r->in_order || !b2f_range_fits(in, size, EXCERPT_SIZE) ||
	    head->loaded->chunk.unit_size % EXCERPT_SIZE ||
	    !b2f_frame_plan_excerpt(r->frame, head->loaded, &e)) {
		atomic_store(&r->file->nplain, 0);
		return false;
	}
	if (!get_excerpt(r, head, &e, out))
		return false;
	*start = in;
	return true;
}

static bool has_unit(const struct fill *fill, uint32_t unit)
{
	struct b2f_cache_key key =
		b2f_unit_key(fill->reading, fill->head->loaded, unit);

	return b2f_cache_has(fill->reading->file->runtime->cache, &key);
}

/* Loads units from @unit to @last that are not in the cache. */
static void load_units(struct fill *fill, uint32_t unit, uint32_t last)
{
	int err = 0;

	for (; unit <= last && !err; unit++) {
		struct b2f_cache_ref ref = {0};

		if (has_unit(fill, unit))
			continue;
		/* The reader will get the error, and it is logged already. */
		err = pin(fill, unit, &ref);
		b2f_cache_put(fill->reading->file->runtime->cache, &ref);
	}
}

/*
 * Claims units from @unit to @last that are not in the cache, as far as @claims
 * goes.
 */
static void claim_units(const struct fill *fill, uint32_t unit, uint32_t last,
			struct b2f_cache_claim claims[CLAIMS_MAX])
{
	const struct b2f_reading *r = fill->reading;

	for (uint32_t i = 0; i < CLAIMS_MAX && i <= last - unit; i++) {
		struct b2f_cache_key key =
			b2f_unit_key(r, fill->head->loaded, unit + i);

		claims[i] = (struct b2f_cache_claim){.data = NULL};
		if (!b2f_cache_claim(r->file->runtime->cache, &key,
				     b2f_chunk_unit_nbytes(&fill->head->loaded->chunk,
							   unit + i),
				     r->in_order, &claims[i]))
			claims[i].entry = NULL;
	}
}

/* Loads the claimed units, each on its own: one may fail. */
static void load_claimed(struct fill *fill, uint32_t unit, uint32_t last,
			 struct b2f_cache_claim claims[CLAIMS_MAX])
{
	const struct b2f_reading *r = fill->reading;

	for (uint32_t i = 0; i < CLAIMS_MAX && i <= last - unit; i++) {
		struct b2f_cache_key key =
			b2f_unit_key(r, fill->head->loaded, unit + i);

		if (claims[i].entry)
			b2f_cache_settle(r->file->runtime->cache, &claims[i],
					 fill_unit(fill, &key, claims[i].data,
						   claims[i].size));
	}
}

/*
 * Like load_units(), with one read of all stored bytes, into @dec.  The units
 * are claimed before that, so that a reader waits for its unit instead of
 * reading and decoding it, too.
 */
static void load_at_once(struct fill *fill, uint32_t unit, uint32_t last,
			 struct b2f_decoder *dec)
{
	const struct b2f_object *object = b2f_head_open(fill->head);
	struct b2f_cache_claim claims[CLAIMS_MAX];
	const struct b2f_unit_read read = {
		.frame = fill->reading->frame,
		.loaded = fill->head->loaded,
		.object = object,
		.dec = dec,
	};

	claim_units(fill, unit, last, claims);
	/* If this read fails, loading the units fails and reports it. */
	if (object && b2f_frame_read_rest(&read) == 0)
		fill->rest = dec->stored.data;
	load_claimed(fill, unit, last, claims);
	if (last - unit >= CLAIMS_MAX)
		load_units(fill, unit + CLAIMS_MAX, last);
	b2f_head_close(fill->head, object);
}

bool b2f_unit_load(const struct b2f_reading *r, const struct b2f_source *src,
		   uint64_t start, uint64_t end, bool at_once)
{
	struct b2f_idle *idle = &r->file->runtime->idle;
	struct fill fill = {.reading = r};
	const struct b2f_chunk *chunk;
	struct b2f_decoder *dec = NULL;
	uint32_t first, last;

	if (b2f_head_get(r->file, r->frame, src, &fill.head))
		return false;
	chunk = &fill.head->loaded->chunk;
	first = (uint32_t)(start / chunk->unit_size);
	last = (uint32_t)b2f_min_u64((end - 1) / chunk->unit_size,
				     chunk->nunits - 1);
	while (first <= last && has_unit(&fill, first))
		first++;
	if (at_once && first < last && chunk->unit_size <= B2F_CACHE_LARGE &&
	    !b2f_loaded_is_whole(fill.head->loaded) &&
	    !b2f_idle_get_decoder(idle, &dec)) {
		load_at_once(&fill, first, last, dec);
		b2f_idle_put_decoder(idle, dec);
	} else {
		load_units(&fill, first, last);
	}
	b2f_head_put(fill.head);
	return first <= last;
}
