/* SPDX-License-Identifier: BSD-3-Clause */
/* name_set.c - a set of names */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "name_set.h"

#define SLOTS_MIN 64

/* The mark's bit in the upper half of a hash. */
#define MARK UINT64_C(1)

static struct fs_name_hash hash_bytes(const char *name, size_t n)
{
	XXH128_hash_t hash = XXH3_128bits(name, n);

	return (struct fs_name_hash){
		.low = hash.low64 | !hash.low64,
		.high = hash.high64 & ~MARK};
}

/*
 * Adds @suffix to the hash of a stem.  The lower half, which decides about the
 * slot, stays.
 */
static struct fs_name_hash add_suffix(struct fs_name_hash stem,
				      enum b2f_suffix suffix)
{
	stem.high ^= ((uint64_t)suffix + 1) * (MARK << 1);
	return stem;
}

struct fs_name_hash fs_name_hash(const char *name)
{
	enum b2f_suffix suffix;
	size_t stem = b2f_suffix_stem(name, &suffix);

	return stem ? add_suffix(hash_bytes(name, stem), suffix)
		    : hash_bytes(name, strlen(name));
}

void fs_name_hash_all(const char *stem,
		      struct fs_name_hash out[B2F_SUFFIXES])
{
	struct fs_name_hash hash = hash_bytes(stem, strlen(stem));

	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES; i++)
		out[i] = add_suffix(hash, i);
}

static bool is_free(const struct fs_name_hash *slot)
{
	return (slot->low | slot->high) == 0;
}

/* Returns the slot of @hash, or the free slot where it belongs. */
static size_t find(const struct fs_name_set *set, struct fs_name_hash hash)
{
	size_t i = hash.low & (set->nslots - 1);

	while (!is_free(&set->slots[i]) &&
	       (set->slots[i].low != hash.low ||
		(set->slots[i].high & ~MARK) != (hash.high & ~MARK)))
		i = (i + 1) & (set->nslots - 1);
	return i;
}

/* Doubles a set that is half full. */
static int grow(struct fs_name_set *set)
{
	struct fs_name_set larger = {
		.nslots = set->nslots ? 2 * set->nslots : SLOTS_MIN,
		.nnames = set->nnames};

	if (set->nslots > 2 * set->nnames)
		return 0;
	larger.slots = calloc(larger.nslots, sizeof(larger.slots[0]));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->nslots; i++)
		if (!is_free(&set->slots[i]))
			larger.slots[find(&larger, set->slots[i])] =
				set->slots[i];
	free(set->slots);
	*set = larger;
	return 0;
}

int fs_name_set_add(struct fs_name_set *set, struct fs_name_hash hash)
{
	int err = grow(set);
	size_t i;

	if (err)
		return err;
	i = find(set, hash);
	set->nnames += is_free(&set->slots[i]);
	set->slots[i] = hash;
	return 0;
}

void fs_name_set_remove(struct fs_name_set *set, struct fs_name_hash hash)
{
	size_t mask = set->nslots - 1, gap, i;

	if (!fs_name_set_has(set, hash))
		return;
	gap = find(set, hash);
	/* Close the gap, because a search ends at the first free slot. */
	for (i = (gap + 1) & mask; !is_free(&set->slots[i]);
	     i = (i + 1) & mask) {
		size_t home = set->slots[i].low & mask;

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		set->slots[gap] = set->slots[i];
		gap = i;
	}
	set->slots[gap] = (struct fs_name_hash){0};
	set->nnames--;
}

bool fs_name_set_has(const struct fs_name_set *set, struct fs_name_hash hash)
{
	return set->nslots > 0 && !is_free(&set->slots[find(set, hash)]);
}

void fs_name_set_mark(struct fs_name_set *set, struct fs_name_hash hash,
		      bool mark)
{
	if (fs_name_set_has(set, hash))
		set->slots[find(set, hash)].high = hash.high | (mark ? MARK : 0);
}

bool fs_name_set_is_marked(const struct fs_name_set *set,
			   struct fs_name_hash hash)
{
	/* A free slot has no mark. */
	return set->nslots > 0 &&
	       (set->slots[find(set, hash)].high & MARK);
}

void fs_name_set_fini(struct fs_name_set *set)
{
	free(set->slots);
	*set = (struct fs_name_set){0};
}
