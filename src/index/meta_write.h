/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meta_write.h - headers and trailers with metalayers in them
 *
 * For frames that are made here; those of others are kept byte for byte, see
 * index_write.h.
 *
 * Layer: index.  May include: base/ chunk/.  Threads: pure functions.
 */
#ifndef B2F_INDEX_META_WRITE_H
#define B2F_INDEX_META_WRITE_H

#include "index/index.h"

/*
 * Makes the header of a frame with the settings of @header and the metalayers
 * @metas in *@out, malloc'ed, *@size bytes.
 *
 * Returns 0, -EINVAL (a name that is too long, too many or too large
 * metalayers) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_header_with_metas(const struct b2f_frame_header *header,
			  const struct b2f_meta_list *metas, uint8_t **out,
			  size_t *size);

/* The same of a trailer; the contents of @metas are chunks. */
B2F_MUST_CHECK
int b2f_trailer_with_metas(const struct b2f_meta_list *metas, uint8_t **out,
			   size_t *size);

#endif
