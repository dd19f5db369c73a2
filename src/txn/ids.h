/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ids.h - lists of chunk ids
 *
 * Layer: txn.  May include: base/.  Threads: a list is for one at a time.
 */
#ifndef B2F_TXN_IDS_H
#define B2F_TXN_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct b2f_ids {
	uint64_t *ids;
	size_t n;
	size_t cap;
};

/* Adds @id.  Returns 0, or -ENOMEM with @list unchanged. */
B2F_MUST_CHECK
int b2f_ids_add(struct b2f_ids *list, uint64_t id);
/* Makes room for @more ids.  Returns likewise. */
B2F_MUST_CHECK
int b2f_ids_reserve(struct b2f_ids *list, size_t more);
void b2f_ids_fini(struct b2f_ids *list);

#endif
