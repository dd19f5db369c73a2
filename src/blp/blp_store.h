/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blp_store.h - a Bloscpack file as the store of a contiguous frame
 *
 * Its chunks are valid chunks of a frame, so a header and an index around the
 * file make it a frame:
 *
 *   header of a frame      made here; store->lead bytes
 *   the Bloscpack file     unchanged; the index has its offsets as positions
 *   index, vlmetalayers    made here
 *
 * So the code that reads frames reads Bloscpack files.  Their metadata are the
 * vlmetalayer B2F_BLP_META.
 *
 * Layer: blp.  May include: base/ chunk/ index/ store/.  Threads: as store.h.
 */
#ifndef B2F_BLP_BLP_STORE_H
#define B2F_BLP_BLP_STORE_H

#include "blp/blp.h"
#include "store/store.h"

/* The vlmetalayer with the metadata: a text, in JSON. */
#define B2F_BLP_META "bloscpack"

/*
 * If *@store is a Bloscpack file, replaces it by a store that shows it as a
 * frame and owns it; b2f_store_free() frees both.
 *
 * Returns 0, B2F_ENOTFRAME (not a Bloscpack file), B2F_ECORRUPT,
 * B2F_EUNSUPPORTED, B2F_ETOOBIG, -ENOMEM or an errno, with the cause in @why;
 * on error *@store is unchanged.
 */
B2F_MUST_CHECK
int b2f_blp_wrap(struct b2f_store **store, struct b2f_why *why);

/*
 * Returns the description of the Bloscpack file in @store, or NULL if @store
 * has none.
 */
const struct b2f_blp *b2f_blp_of(const struct b2f_store *store);

/*
 * Does each chunk of @store have a checksum over all its stored bytes?  Only
 * those of Bloscpack files can.
 */
bool b2f_blp_has_sums(const struct b2f_store *store);

/*
 * Checks the open @chunk, of @cbytes bytes by its header: in a Bloscpack file,
 * that the bytes exist and, if @stored (else NULL) has all of them, their
 * checksum.  Returns 0, B2F_ECORRUPT, B2F_EUNSUPPORTED (a checksum that is not
 * built in) or an errno.
 */
B2F_MUST_CHECK
int b2f_blp_check_chunk(const struct b2f_object *chunk, uint32_t cbytes,
			const uint8_t *stored, struct b2f_why *why);

#endif
