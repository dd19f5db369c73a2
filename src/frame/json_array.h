/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_array.h - the array that the metadata of a Bloscpack file describe
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
 * Sets only shape, order and dtype of @out from the @len bytes of JSON at
 * @text, if these describe a NumPy array (*@good).  Free it with
 * b2f_array_fini() in any case.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_json_array_parse(const char *text, size_t len, struct b2f_array *out,
			 bool *good);

/*
 * Puts the JSON that describes @array into *@out, malloc'ed; NULL if its dtype
 * is not one of NumPy.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_json_array_write(const struct b2f_array *array, char **out);

/*
 * Puts the @len bytes of JSON at @text, with the shape of @array instead, into
 * *@out, malloc'ed. b2f_json_array_parse() has found them good.  Returns 0 or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_json_array_reshape(const char *text, size_t len,
			   const struct b2f_array *array, char **out);

#endif
