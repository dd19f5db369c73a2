/* SPDX-License-Identifier: BSD-3-Clause */
/* dtype_put.c - types as text */
#include "array/dtype.h"
#include "b2frame/error.h"

static void put_separator(struct b2f_textbuf *buf, size_t i)
{
	if (i > 0)
		b2f_textbuf_puts(buf, ", ");
}

static void put_quoted(const struct b2f_dtype *t, bool brief,
		       struct b2f_textbuf *buf)
{
	b2f_textbuf_puts(buf, "'");
	b2f_dtype_put_scalar(t, brief, buf);
	b2f_textbuf_puts(buf, "'");
}

/* 'name' or ('title', 'name') */
static void put_label(const struct b2f_dtype_field *f, struct b2f_textbuf *buf)
{
	if (!f->title) {
		b2f_textbuf_put_repr(buf, f->name, f->name_len);
		return;
	}
	b2f_textbuf_puts(buf, "(");
	b2f_textbuf_put_repr(buf, f->title, f->title_len);
	b2f_textbuf_puts(buf, ", ");
	b2f_textbuf_put_repr(buf, f->name, f->name_len);
	b2f_textbuf_puts(buf, ")");
}

static void put_hole(struct b2f_textbuf *buf, size_t i, uint32_t size)
{
	put_separator(buf, i);
	b2f_textbuf_puts(buf, "('', '|V");
	b2f_textbuf_put_u64(buf, size);
	b2f_textbuf_puts(buf, "')");
}

static int put_descr_field(const struct b2f_dtype_field *f, size_t i,
			   struct b2f_textbuf *buf)
{
	bool is_array = f->type.form == B2F_DTYPE_SUBARRAY;
	int err;

	put_separator(buf, i);
	b2f_textbuf_puts(buf, "(");
	put_label(f, buf);
	b2f_textbuf_puts(buf, ", ");
	err = b2f_dtype_put_descr(is_array ? f->type.base : &f->type, buf);
	if (is_array) {
		b2f_textbuf_puts(buf, ", ");
		b2f_textbuf_put_tuple(buf, f->type.dims, f->type.ndims);
	}
	b2f_textbuf_puts(buf, ")");
	return err;
}

int b2f_dtype_put_descr(const struct b2f_dtype *type, struct b2f_textbuf *buf)
{
	uint32_t end = 0;
	size_t n = 0;
	int err = 0;

	if (type->form == B2F_DTYPE_SCALAR) {
		put_quoted(type, false, buf);
		return 0;
	}
	if (type->form == B2F_DTYPE_SUBARRAY)
		return B2F_EUNSUPPORTED;
	b2f_textbuf_puts(buf, "[");
	for (size_t i = 0; i < type->nfields && !err; i++) {
		const struct b2f_dtype_field *f = &type->fields[i];

		if (f->offset < end)
			return B2F_EUNSUPPORTED;
		if (f->offset > end)
			put_hole(buf, n++, f->offset - end);
		err = put_descr_field(f, n++, buf);
		end = f->offset + f->type.size;
	}
	if (type->size > end)
		put_hole(buf, n, type->size - end);
	b2f_textbuf_puts(buf, "]");
	return err;
}

/* Without holes, with all fields in order. */
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

static void put_brief(const struct b2f_dtype *type, struct b2f_textbuf *buf)
{
	if (type->form == B2F_DTYPE_SCALAR)
		put_quoted(type, true, buf);
	else
		b2f_dtype_put_b2nd(type, buf);
}

static void put_list(const struct b2f_dtype *type, struct b2f_textbuf *buf)
{
	b2f_textbuf_puts(buf, "[");
	for (size_t i = 0; i < type->nfields; i++) {
		const struct b2f_dtype_field *f = &type->fields[i];
		bool is_array = f->type.form == B2F_DTYPE_SUBARRAY;

		put_separator(buf, i);
		b2f_textbuf_puts(buf, "(");
		put_label(f, buf);
		b2f_textbuf_puts(buf, ", ");
		put_brief(is_array ? f->type.base : &f->type, buf);
		if (is_array) {
			b2f_textbuf_puts(buf, ", ");
			b2f_textbuf_put_tuple(buf, f->type.dims, f->type.ndims);
		}
		b2f_textbuf_puts(buf, ")");
	}
	b2f_textbuf_puts(buf, "]");
}

static void put_titles(const struct b2f_dtype *type, struct b2f_textbuf *buf)
{
	bool any = false;

	for (size_t i = 0; i < type->nfields; i++)
		any = any || type->fields[i].title;
	if (!any)
		return;
	b2f_textbuf_puts(buf, "], 'titles': [");
	for (size_t i = 0; i < type->nfields; i++) {
		const struct b2f_dtype_field *f = &type->fields[i];

		put_separator(buf, i);
		if (f->title)
			b2f_textbuf_put_repr(buf, f->title, f->title_len);
		else
			b2f_textbuf_puts(buf, "None");
	}
}

static void put_dict(const struct b2f_dtype *type, struct b2f_textbuf *buf)
{
	const struct b2f_dtype_field *f = type->fields;

	b2f_textbuf_puts(buf, "{'names': [");
	for (size_t i = 0; i < type->nfields; i++) {
		put_separator(buf, i);
		b2f_textbuf_put_repr(buf, f[i].name, f[i].name_len);
	}
	b2f_textbuf_puts(buf, "], 'formats': [");
	for (size_t i = 0; i < type->nfields; i++) {
		put_separator(buf, i);
		put_brief(&f[i].type, buf);
	}
	b2f_textbuf_puts(buf, "], 'offsets': [");
	for (size_t i = 0; i < type->nfields; i++) {
		put_separator(buf, i);
		b2f_textbuf_put_u64(buf, f[i].offset);
	}
	put_titles(type, buf);
	b2f_textbuf_puts(buf, "], 'itemsize': ");
	b2f_textbuf_put_u64(buf, type->size);
	b2f_textbuf_puts(buf, "}");
}

void b2f_dtype_put_b2nd(const struct b2f_dtype *type, struct b2f_textbuf *buf)
{
	switch (type->form) {
	case B2F_DTYPE_SCALAR:
		b2f_dtype_put_scalar(type, false, buf);
		break;
	case B2F_DTYPE_STRUCT:
		if (is_packed(type))
			put_list(type, buf);
		else
			put_dict(type, buf);
		break;
	case B2F_DTYPE_SUBARRAY:
		b2f_textbuf_puts(buf, "(");
		put_brief(type->base, buf);
		b2f_textbuf_puts(buf, ", ");
		b2f_textbuf_put_tuple(buf, type->dims, type->ndims);
		b2f_textbuf_puts(buf, ")");
		break;
	}
}
