/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tensor.h - frames of plain data whose metadata describe an array
 *
 * save_array(), save_tensor() and pack_array2() of python-blosc2 store an array
 * as plain data in C order, with kind, shape and dtype in a vlmetalayer.
 * Bloscpack does the same, in either order, with the metadata of its file.
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.
 * Threads: a frame that is being opened belongs to one thread.
 */
#ifndef B2F_FRAME_TENSOR_H
#define B2F_FRAME_TENSOR_H

#include "frame/frame.h"

/* The vlmetalayer that describes the array; the other one is B2F_BLP_META. */
#define B2F_TENSOR_META "__pack_tensor__"

/*
 * Sets shape, item size and dtype of @f->array, and @f->is_tensor, if metadata
 * describe an array of just as many bytes.  A damaged vlmetalayer is no
 * tensor.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_tensor_set(struct b2f_frame *f);

/*
 * The text of the metadata that came out of a Bloscpack file, in *@out,
 * malloc'ed; NULL if there are none.  Returns 0, or as b2f_frame_vlmeta().
 */
B2F_MUST_CHECK
int b2f_tensor_bloscpack(const struct b2f_frame *f, char **out);

#endif
