/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_array.h - what array the metadata of a Bloscpack file tell of
 *
 * Layer: frame.  May include: base/ array/.  Threads: pure functions.
 */
#ifndef B2F_FRAME_JSON_ARRAY_H
#define B2F_FRAME_JSON_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "b2frame/array.h"
#include "b2frame/frame.h"
#include "base/attr.h"

/*
 * Sets shape, order and dtype of @out from the @len bytes of JSON at @text, if
 * they are those of a NumPy array (*@good); nothing else of @out.  Free it with
 * b2f_array_fini() in any case.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_json_array_parse(const char *text, size_t len, struct b2f_array *out,
			 bool *good);

/*
 * The JSON that tells of @array, in *@out, malloc'ed; NULL if none can, as its
 * dtype is not one of NumPy.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_json_array_write(const struct b2f_array *array, char **out);

/*
 * The @len bytes of JSON at @text with the shape of @array, in *@out, malloc'ed;
 * all else in them stays.  b2f_json_array_parse() has found them good.  Returns 0
 * or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_json_array_reshape(const char *text, size_t len,
			   const struct b2f_array *array, char **out);

#endif
