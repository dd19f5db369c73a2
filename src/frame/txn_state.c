/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_state.c - all chunks of a frame at one moment */
#include "frame/txn_state.h"

#include <stdlib.h>
#include <string.h>

void b2f_txn_state_fini(struct b2f_txn_state *state)
{
	free(state->raw);
	free(state->starts);
	*state = (struct b2f_txn_state){0};
}

bool b2f_txn_state_equal(const struct b2f_txn_state *a,
			  const struct b2f_txn_state *b)
{
	return a->nbytes == b->nbytes && a->n == b->n &&
	       (a->n == 0 || !memcmp(a->raw, b->raw, a->n * sizeof(*a->raw)));
}

int b2f_txn_state_copy(const struct b2f_txn_state *from,
			struct b2f_txn_state *to)
{
	uint64_t cap = from->n ? from->n : 1;
	uint64_t *raw = malloc(cap * sizeof(*raw)), *starts = NULL;

	if (from->starts)
		starts = malloc((cap + 1) * sizeof(*starts));
	if (!raw || (from->starts && !starts)) {
		free(raw);
		free(starts);
		return -ENOMEM;
	}
	if (from->n)
		memcpy(raw, from->raw, from->n * sizeof(*raw));
	if (starts)
		memcpy(starts, from->starts, (from->n + 1) * sizeof(*starts));
	*to = *from;
	to->raw = raw;
	to->starts = starts;
	to->cap = cap;
	return 0;
}

int b2f_txn_state_reserve(struct b2f_txn_state *state, uint64_t n)
{
	uint64_t cap = state->cap ? state->cap : 1;
	uint64_t *raw, *starts;

	while (cap < n)
		cap = cap + cap / 2 + 1;
	if (cap == state->cap)
		return 0;
	raw = realloc(state->raw, cap * sizeof(*raw));
	if (!raw)
		return -ENOMEM;
	state->raw = raw;
	if (state->starts) {
		starts = realloc(state->starts, (cap + 1) * sizeof(*starts));
		if (!starts)
			return -ENOMEM;
		state->starts = starts;
	}
	state->cap = cap;
	return 0;
}

int b2f_txn_state_of(const struct b2f_frame *frame, struct b2f_txn_state *out)
{
	const struct b2f_entries *entries = &frame->entries;
	struct b2f_txn_state state = {.n = entries->n,
				       .cap = entries->n ? entries->n : 1,
				       .nbytes = frame->header.nbytes,
				       .cbytes = frame->header.cbytes};

	state.raw = malloc(state.cap * sizeof(*state.raw));
	if (!state.raw)
		return -ENOMEM;
	for (uint64_t i = 0; i < entries->n; i++)
		state.raw[i] = entries->raw ? entries->raw[i] : entries->same;
	*out = state;
	return 0;
}
