/* SPDX-License-Identifier: BSD-3-Clause */
/* edit_state.c - all chunks of a frame at one moment */
#include "frame/edit_state.h"

#include <stdlib.h>
#include <string.h>

void b2f_edit_state_fini(struct b2f_edit_state *state)
{
	free(state->raw);
	*state = (struct b2f_edit_state){0};
}

bool b2f_edit_state_equal(const struct b2f_edit_state *a,
			  const struct b2f_edit_state *b)
{
	return a->nbytes == b->nbytes && a->n == b->n &&
	       (a->n == 0 || !memcmp(a->raw, b->raw, a->n * sizeof(*a->raw)));
}

int b2f_edit_state_copy(const struct b2f_edit_state *from,
			struct b2f_edit_state *to)
{
	uint64_t *raw = malloc((from->n ? from->n : 1) * sizeof(*raw));

	if (!raw)
		return -ENOMEM;
	if (from->n)
		memcpy(raw, from->raw, from->n * sizeof(*raw));
	*to = *from;
	to->raw = raw;
	to->cap = from->n ? from->n : 1;
	return 0;
}

int b2f_edit_state_of(const struct b2f_frame *frame, struct b2f_edit_state *out)
{
	const struct b2f_entries *entries = &frame->entries;
	struct b2f_edit_state state = {.n = entries->n,
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
