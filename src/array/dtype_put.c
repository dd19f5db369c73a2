/* SPDX-License-Identifier: BSD-3-Clause */
/* dtype_put.c - types as text */
#include <inttypes.h>

#include "array/dtype.h"
#include "array/repr.h"
#include "b2frame/error.h"

static void put_separator(FILE *out, size_t i)
{
	if (i > 0)
		fputs(", ", out);
}

static void put_quoted(const struct b2f_dtype *t, bool brief, FILE *out)
{
	fputs("'", out);
	b2f_dtype_put_scalar(t, brief, out);
	fputs("'", out);
}

/* 'name' or ('title', 'name') */
static void put_label(const struct b2f_dtype_field *f, FILE *out)
{
	if (!f->title) {
		b2f_repr_string(out, f->name, f->name_len);
		return;
	}
	fputs("(", out);
	b2f_repr_string(out, f->title, f->title_len);
	fputs(", ", out);
	b2f_repr_string(out, f->name, f->name_len);
	fputs(")", out);
}

static void put_hole(FILE *out, size_t i, uint32_t size)
{
	put_separator(out, i);
	fprintf(out, "('', '|V%" PRIu32 "')", size);
}

/* Inside the brackets of a b2nd text. */
static void put_brief(const struct b2f_dtype *type, FILE *out)
{
	if (type->form == B2F_DTYPE_SCALAR)
		put_quoted(type, true, out);
	else
		b2f_dtype_put_b2nd(type, out);
}

/* ('a', '<i4') or ('a', '<i4', (2,)); only a descr may fail. */
static int put_field(const struct b2f_dtype_field *f, bool descr, FILE *out)
{
	const struct b2f_dtype *base = f->type.base;
	int err = 0;

	fputc('(', out);
	put_label(f, out);
	fputs(", ", out);
	if (descr)
		err = b2f_dtype_put_descr(base ? base : &f->type, out);
	else
		put_brief(base ? base : &f->type, out);
	if (base) {
		fputs(", ", out);
		b2f_repr_tuple(out, f->type.dims, f->type.ndims);
	}
	fputc(')', out);
	return err;
}

/*
 * The fields of a struct; a descr has fields without a name for the holes,
 * which a packed struct does not have.
 */
static int put_fields(const struct b2f_dtype *type, bool descr, FILE *out)
{
	uint32_t end = 0;
	size_t n = 0;
	int err = 0;

	fputs("[", out);
	for (size_t i = 0; i < type->nfields && !err; i++) {
		const struct b2f_dtype_field *f = &type->fields[i];

		if (f->offset < end)
			return B2F_EUNSUPPORTED;
		if (f->offset > end)
			put_hole(out, n++, f->offset - end);
		put_separator(out, n++);
		err = put_field(f, descr, out);
		end = f->offset + f->type.size;
	}
	if (type->size > end)
		put_hole(out, n, type->size - end);
	fputs("]", out);
	return err;
}

int b2f_dtype_put_descr(const struct b2f_dtype *type, FILE *out)
{
	if (type->form == B2F_DTYPE_STRUCT)
		return put_fields(type, true, out);
	if (type->form == B2F_DTYPE_SUBARRAY)
		return B2F_EUNSUPPORTED;
	put_quoted(type, false, out);
	return 0;
}

/* Has the struct no holes, and all fields in order? */
static bool is_packed(const struct b2f_dtype *type)
{
	uint32_t end = 0;

	for (size_t i = 0; i < type->nfields; i++) {
		if (type->fields[i].offset != end)
			return false;
		end += type->fields[i].type.size;
	}
	return end == type->size;
}

static void put_titles(const struct b2f_dtype *type, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < type->nfields; i++)
		any = any || type->fields[i].title;
	if (!any)
		return;
	fputs("], 'titles': [", out);
	for (size_t i = 0; i < type->nfields; i++) {
		const struct b2f_dtype_field *f = &type->fields[i];

		put_separator(out, i);
		if (f->title)
			b2f_repr_string(out, f->title, f->title_len);
		else
			fputs("None", out);
	}
}

static void put_dict(const struct b2f_dtype *type, FILE *out)
{
	const struct b2f_dtype_field *f = type->fields;

	fputs("{'names': [", out);
	for (size_t i = 0; i < type->nfields; i++) {
		put_separator(out, i);
		b2f_repr_string(out, f[i].name, f[i].name_len);
	}
	fputs("], 'formats': [", out);
	for (size_t i = 0; i < type->nfields; i++) {
		put_separator(out, i);
		put_brief(&f[i].type, out);
	}
	fputs("], 'offsets': [", out);
	for (size_t i = 0; i < type->nfields; i++) {
		put_separator(out, i);
		fprintf(out, "%" PRIu32, f[i].offset);
	}
	put_titles(type, out);
	fprintf(out, "], 'itemsize': %" PRIu32 "}", type->size);
}

void b2f_dtype_put_b2nd(const struct b2f_dtype *type, FILE *out)
{
	switch (type->form) {
	case B2F_DTYPE_SCALAR:
		b2f_dtype_put_scalar(type, false, out);
		break;
	case B2F_DTYPE_STRUCT:
		if (is_packed(type))
			(void)put_fields(type, false, out);
		else
			put_dict(type, out);
		break;
	case B2F_DTYPE_SUBARRAY:
		fputs("(", out);
		put_brief(type->base, out);
		fputs(", ", out);
		b2f_repr_tuple(out, type->dims, type->ndims);
		fputs(")", out);
		break;
	}
}
