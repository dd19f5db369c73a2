/* SPDX-License-Identifier: BSD-3-Clause */
/* dtype_text.h - converts types from b2nd text to descr, and back */
#ifndef B2F_TESTS_DTYPE_TEXT_H
#define B2F_TESTS_DTYPE_TEXT_H

#include <errno.h>
#include <stdlib.h>

#include "array/dtype.h"
#include "array/repr.h"
#include "b2frame/error.h"

/*
 * For both functions: the caller frees *@out; *@itemsize becomes the bytes of
 * an item.  They return 0, or B2F_ECORRUPT, B2F_EUNSUPPORTED or -ENOMEM, and
 * then touch neither.
 */
static inline int dtype_text_end(const struct b2f_dtype *type, bool descr,
				 char **out, uint32_t *itemsize)
{
	char *text = NULL;
	size_t len;
	FILE *stream = open_memstream(&text, &len);
	int err = 0, end_err;

	if (!stream)
		return -ENOMEM;
	if (descr)
		err = b2f_dtype_put_descr(type, stream);
	else
		b2f_dtype_put_b2nd(type, stream);
	end_err = b2f_repr_end(stream);
	err = err ? err : end_err;
	if (err) {
		free(text);
		return err;
	}
	*out = text;
	*itemsize = type->size;
	return 0;
}

static inline int dtype_text_to_descr(const char *text, size_t len, char **out,
				      uint32_t *itemsize)
{
	struct b2f_literal lit = {0};
	struct b2f_dtype type = {0};
	int err;

	err = b2f_dtype_read_b2nd(text, len, &lit, &type);
	if (!err)
		err = dtype_text_end(&type, true, out, itemsize);
	b2f_dtype_fini(&type);
	b2f_literal_fini(&lit);
	return err;
}

static inline int dtype_text_from_descr(const char *text, size_t len,
					char **out, uint32_t *itemsize)
{
	struct b2f_literal lit = {0};
	struct b2f_dtype type = {0};
	int err;

	err = b2f_literal_parse(text, len, &lit);
	if (err)
		return err == B2F_ETOOBIG ? B2F_EUNSUPPORTED : err;
	err = b2f_dtype_read_descr(lit.values, &type);
	if (!err)
		err = dtype_text_end(&type, false, out, itemsize);
	b2f_dtype_fini(&type);
	b2f_literal_fini(&lit);
	return err;
}

#endif
