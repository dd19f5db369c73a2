/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_state.c - all chunks of a frame at one moment */
#include "frame/txn_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

void b2f_txn_state_fini(struct b2f_txn_state *state)
{
	b2f_pages_fini(&state->pages);
	free(state->starts);
	*state = (struct b2f_txn_state){0};
}

int b2f_txn_set_raw(struct b2f_txn_state *state, uint64_t i, uint64_t raw)
{
	int err = b2f_pages_own(&state->pages, i, 1);

	if (!err)
		b2f_pages_set(&state->pages, i, raw);
	return err;
}

bool b2f_txn_state_equal(const struct b2f_txn_state *a,
			  const struct b2f_txn_state *b)
{
	return a->nbytes == b->nbytes && a->n == b->n &&
	       b2f_pages_equal(&a->pages, &b->pages, a->n);
}

int b2f_txn_state_copy(const struct b2f_txn_state *from,
			struct b2f_txn_state *to)
{
	struct b2f_txn_state copy = *from;

	copy.pages = (struct b2f_pages){0};
	if (from->starts) {
		copy.cap = from->n;
		copy.starts = malloc((copy.cap + 1) * sizeof(*copy.starts));
		if (!copy.starts)
			return -ENOMEM;
		memcpy(copy.starts, from->starts,
		       (from->n + 1) * sizeof(*copy.starts));
	}
	if (b2f_pages_copy(&from->pages, &copy.pages)) {
		free(copy.starts);
		return -ENOMEM;
	}
	*to = copy;
	return 0;
}

static int reserve_starts(struct b2f_txn_state *state, uint64_t n)
{
	uint64_t cap = state->cap;
	uint64_t *starts;

	while (cap < n)
		cap = cap + cap / 2 + 1;
	if (!state->starts || cap == state->cap)
		return 0;
	starts = realloc(state->starts, (cap + 1) * sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	state->starts = starts;
	state->cap = cap;
	return 0;
}

int b2f_txn_state_reserve(struct b2f_txn_state *state, uint64_t n)
{
	int err = b2f_pages_reserve(&state->pages, b2f_max_u64(n, 1));

	if (!err)
		err = reserve_starts(state, n);
	if (!err && n > state->n)
		err = b2f_pages_own(&state->pages, state->n, n - state->n);
	return err;
}

int b2f_txn_state_of(const struct b2f_frame *frame, struct b2f_txn_state *out)
{
	const struct b2f_entries *entries = &frame->entries;
	struct b2f_txn_state state = {.nbytes = frame->header.nbytes,
				       .cbytes = frame->header.cbytes};
	int err = b2f_txn_state_reserve(&state, entries->n);

	if (err) {
		b2f_txn_state_fini(&state);
		return err;
	}
	for (uint64_t i = 0; i < entries->n; i++)
		b2f_pages_set(&state.pages, i, b2f_entries_raw(entries, i));
	state.n = entries->n;
	*out = state;
	return 0;
}
