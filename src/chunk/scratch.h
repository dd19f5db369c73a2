/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scratch.h - a buffer that only grows
 *
 * Layer: chunk.  May include: base/. Threads: that of the owner.
 */
#ifndef B2F_CHUNK_SCRATCH_H
#define B2F_CHUNK_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Zero-initialize it, which is empty; end with b2f_scratch_trim() to 0. */
struct b2f_scratch {
	uint8_t *data;
	size_t size;
};

/*
 * Makes @scratch at least @size bytes; its content is lost.  Returns 0 or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_scratch_reserve(struct b2f_scratch *scratch, size_t size);

/* Empties @scratch, and frees its memory, if it is above @limit bytes. */
void b2f_scratch_trim(struct b2f_scratch *scratch, size_t limit);

#endif
