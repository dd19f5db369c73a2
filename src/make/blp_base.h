/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blp_base.h - the Bloscpack file that a longer one begins with
 *
 * Its full chunks stay as they are; the data of a last chunk that is not full
 * go into a new chunk, together with the appended data.
 *
 * Layer: make.  May include: base/ blp/ store/ frame/.  Threads: one at a time,
 * but for b2f_blp_base_read().
 */
#ifndef B2F_MAKE_BLP_BASE_H
#define B2F_MAKE_BLP_BASE_H

#include "b2frame/file.h"
#include "blp/blp.h"

struct b2f_blp_base {
	/* NULL: the new file has no base, and all fields are 0. */
	const struct b2f_blp *blp;
	struct b2f_file *file;
	/* The stored file, behind @lead bytes that the store has added. */
	struct b2f_object object;
	uint64_t lead;
	/* Decoded bytes of a chunk of the longer file. */
	uint32_t chunk_size;
	/* Decoded bytes. */
	uint64_t nbytes;
	/* Chunks that stay, and the first byte of the file behind them. */
	uint64_t nkept;
	uint64_t kept_end;
};

/*
 * Opens @frame, which is shown from a Bloscpack file; a file with at most one
 * chunk gets chunks of at least @least bytes.  End it with b2f_blp_base_close()
 * in any case.
 *
 * Returns 0; B2F_EUNSUPPORTED (no Bloscpack file, or its chunks have no common
 * size), B2F_ECORRUPT, -ENOMEM or an errno, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_blp_base_open(struct b2f_runtime *runtime, struct b2f_frame *frame,
		      uint32_t least, struct b2f_blp_base *base,
		      struct b2f_why *why);

void b2f_blp_base_close(struct b2f_blp_base *base);

/*
 * Reads the decoded bytes of [@off, @off + @n) that the file has, *@got of
 * them.  Returns 0, or as b2f_file_pread().
 */
B2F_MUST_CHECK
int b2f_blp_base_read(const struct b2f_blp_base *base, uint64_t off, void *buf,
		      uint32_t n, uint32_t *got);

/*
 * Copies the stored bytes [@from, @end) to byte @to of @fd.  Returns 0, -ENOMEM or
 * an errno, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_blp_base_copy(const struct b2f_blp_base *base, uint64_t from,
		      uint64_t end, int fd, uint64_t to, struct b2f_why *why);

/*
 * Puts the metadata of @base into *@out, malloc'ed, after @nbytes more of data
 * have made its array, @array, longer along the slowest axis.
 *
 * Returns 0, -EINVAL (no whole number of rows) or -ENOMEM, with the cause in
 * @why.
 */
B2F_MUST_CHECK
int b2f_blp_base_grow(const struct b2f_blp_base *base,
		      const struct b2f_array *array, uint64_t nbytes,
		      char **out, struct b2f_why *why);

#endif
