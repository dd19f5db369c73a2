/* SPDX-License-Identifier: BSD-3-Clause */
/* dtype.c - a type as a whole */
#include "array/dtype.h"

#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"

void b2f_dtype_fini(struct b2f_dtype *type)
{
	for (size_t i = 0; i < type->nfields; i++)
		b2f_dtype_fini(&type->fields[i].type);
	if (type->base)
		b2f_dtype_fini(type->base);
	free(type->fields);
	free(type->base);
	free(type->dims);
	*type = (struct b2f_dtype){0};
}

/* A name or a title; numpy keeps both in one table. */
struct label {
	const char *text;
	size_t len;
};

static int compare_labels(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	size_t len = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->text, y->text, len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

int b2f_dtype_check_names(const struct b2f_dtype *t)
{
	struct label *labels = calloc(2 * t->nfields + 1, sizeof(*labels));
	size_t n = 0;
	int err = 0;

	if (!labels)
		return -ENOMEM;
	for (size_t i = 0; i < t->nfields; i++) {
		const struct b2f_dtype_field *f = &t->fields[i];

		labels[n++] = (struct label){f->name, f->name_len};
		if (f->title)
			labels[n++] = (struct label){f->title, f->title_len};
	}
	qsort(labels, n, sizeof(*labels), compare_labels);
	for (size_t i = 1; i < n && !err; i++)
		if (compare_labels(&labels[i - 1], &labels[i]) == 0)
			err = B2F_ECORRUPT;
	free(labels);
	return err;
}
