/* SPDX-License-Identifier: BSD-3-Clause */
/* dtype_read.c - types in brackets: structs and arrays in items */
#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "b2frame/error.h"
#include "base/checked.h"

struct reader {
	/* A descr: no dicts, and fields without a name are holes. */
	bool descr;
	/* Fields stand where C would put them. */
	bool align;
	unsigned int depth;
};

/* The fields of a struct so far; offsets are checked when they are used. */
struct layout {
	/* Behind the last field. */
	uint64_t end;
	uint32_t alignment;
};

static int read_type(struct reader *r, const struct b2f_literal_value *v,
		     struct b2f_dtype *out);

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

static uint64_t round_up(uint64_t n, uint32_t unit)
{
	return b2f_div_up_u64(n, unit) * unit;
}

/* The dimensions @v, and the bytes of an array of them in @out->size. */
static int read_dims(const struct b2f_literal_value *v, uint32_t itemsize,
		     struct b2f_dtype *out)
{
	const struct b2f_literal_value *dim = v->child;
	uint64_t size = itemsize;

	for (; dim; dim = dim->next) {
		if (dim->kind != B2F_LITERAL_INT || dim->number > INT32_MAX ||
		    !b2f_mul_u64(size, (uint64_t)dim->number, &size) ||
		    size > INT32_MAX)
			return B2F_EUNSUPPORTED;
		out->dims[out->ndims++] = dim->number;
	}
	out->size = (uint32_t)size;
	return 0;
}

/* Moves *@base into @out, an array of it with the dimensions @v. */
static int make_subarray(const struct b2f_literal_value *v,
			 struct b2f_dtype *base, struct b2f_dtype *out)
{
	struct b2f_dtype t = {.form = B2F_DTYPE_SUBARRAY,
			      .alignment = base->alignment};
	int err = -ENOMEM;

	if (base->form == B2F_DTYPE_SUBARRAY ||
	    v->nchildren > B2F_DTYPE_MAX_DIM)
		return B2F_EUNSUPPORTED;
	t.dims = calloc(v->nchildren, sizeof(*t.dims));
	t.base = calloc(1, sizeof(*t.base));
	if (!t.dims || !t.base)
		goto out;
	err = read_dims(v, base->size, &t);
	if (err)
		goto out;
	*t.base = *base;
	*base = (struct b2f_dtype){0};
	*out = t;
	t = (struct b2f_dtype){0};
out:
	b2f_dtype_fini(&t);
	return err;
}

/* @type in an array of the dimensions @shape, which may be (). */
static int read_repeated(struct reader *r, const struct b2f_literal_value *type,
			 const struct b2f_literal_value *shape,
			 struct b2f_dtype *out)
{
	struct b2f_dtype base = {0};
	int err;

	if (shape->kind != B2F_LITERAL_TUPLE)
		return B2F_EUNSUPPORTED;
	err = read_type(r, type, &base);
	if (err)
		return err;
	/* Here numpy takes the second item for the size: ('S', 5) is S5. */
	if (base.form == B2F_DTYPE_SCALAR && base.size == 0)
		return B2F_EUNSUPPORTED;
	if (shape->nchildren == 0) {
		*out = base;
		return 0;
	}
	err = make_subarray(shape, &base, out);
	b2f_dtype_fini(&base);
	return err;
}

static int read_tuple(struct reader *r, const struct b2f_literal_value *v,
		      struct b2f_dtype *out)
{
	const struct b2f_literal_value *type = v->child;

	if (v->nchildren != 2)
		return B2F_EUNSUPPORTED;
	return read_repeated(r, type, type->next, out);
}

/* A text that is not empty. */
static int read_text(const struct b2f_literal_value *v, const char **text,
		     size_t *len)
{
	if (v->kind != B2F_LITERAL_STRING || v->len == 0)
		return B2F_EUNSUPPORTED;
	*text = v->text;
	*len = v->len;
	return 0;
}

/* A name, or a tuple of title and name. */
static int read_name(const struct b2f_literal_value *v,
		     struct b2f_dtype_field *field)
{
	int err = 0;

	if (v->kind == B2F_LITERAL_TUPLE && v->nchildren == 2) {
		v = v->child;
		err = read_text(v, &field->title, &field->title_len);
		v = v->next;
	}
	return err ? err : read_text(v, &field->name, &field->name_len);
}

/* The offset that numpy chooses for @field. */
static int place(const struct reader *r, struct b2f_dtype_field *field,
		 struct layout *at)
{
	if (r->align) {
		uint32_t unit = field->type.alignment;

		at->end = round_up(at->end, unit);
		if (unit > at->alignment)
			at->alignment = unit;
	}
	if (at->end + field->type.size > INT32_MAX)
		return B2F_EUNSUPPORTED;
	field->offset = (uint32_t)at->end;
	at->end += field->type.size;
	return 0;
}

/* Types without a name that numpy takes for a hole; others are fields. */
static bool is_hole(const struct b2f_dtype *type)
{
	return type->form == B2F_DTYPE_SUBARRAY ||
	       (type->form == B2F_DTYPE_SCALAR && type->kind == 'V');
}

/* ('a', '<i4') or ('a', '<i4', (2,)); false in *@is_field for a hole. */
static int read_field(struct reader *r, const struct b2f_literal_value *v,
		      struct b2f_dtype_field *field, bool *is_field)
{
	const struct b2f_literal_value *name, *type;
	int err;

	if (v->kind != B2F_LITERAL_TUPLE || v->nchildren < 2 ||
	    v->nchildren > 3)
		return B2F_EUNSUPPORTED;
	name = v->child;
	type = name->next;
	if (v->nchildren == 3)
		err = read_repeated(r, type, type->next, &field->type);
	else
		err = read_type(r, type, &field->type);
	if (err)
		return err;
	*is_field = !(r->descr && b2f_literal_is(name, "") &&
		      is_hole(&field->type));
	return *is_field ? read_name(name, field) : 0;
}

static int read_list(struct reader *r, const struct b2f_literal_value *v,
		     struct b2f_dtype *t, struct layout *at)
{
	const struct b2f_literal_value *item = v->child;

	t->fields = calloc(v->nchildren + 1, sizeof(*t->fields));
	if (!t->fields)
		return -ENOMEM;
	for (; item; item = item->next) {
		struct b2f_dtype_field *field = &t->fields[t->nfields];
		bool is_field = false;
		int err;

		err = read_field(r, item, field, &is_field);
		if (!err)
			err = place(r, field, at);
		if (!err && is_field) {
			t->nfields++;
			continue;
		}
		b2f_dtype_fini(&field->type);
		*field = (struct b2f_dtype_field){0};
		if (err)
			return err;
	}
	return 0;
}

/* The values of a dict, in this order; all but the first two may be NULL. */
enum { NAMES, FORMATS, OFFSETS, TITLES, ITEMSIZE, ALIGNED, NCOLUMNS };

static const char *const column_names[NCOLUMNS] = {
	"names", "formats", "offsets", "titles", "itemsize", "aligned"};

static bool is_list(const struct b2f_literal_value *v, size_t n)
{
	return v && v->kind == B2F_LITERAL_LIST && v->nchildren == n;
}

static int read_columns(const struct b2f_literal_value *v,
			const struct b2f_literal_value **c)
{
	size_t n;

	if (!b2f_literal_columns(v, column_names, NCOLUMNS, c))
		return B2F_EUNSUPPORTED;
	n = c[NAMES] ? c[NAMES]->nchildren : 0;
	if (!is_list(c[NAMES], n) || !is_list(c[FORMATS], n) ||
	    (c[OFFSETS] && !is_list(c[OFFSETS], n)) ||
	    (c[TITLES] && !is_list(c[TITLES], n)) ||
	    (c[ITEMSIZE] && c[ITEMSIZE]->kind != B2F_LITERAL_INT) ||
	    (c[ALIGNED] && c[ALIGNED]->kind != B2F_LITERAL_BOOL))
		return B2F_ECORRUPT;
	return 0;
}

/* Puts @field at the offset in the dict. */
static int place_at(const struct reader *r, const struct b2f_literal_value *v,
		    struct b2f_dtype_field *field, struct layout *at)
{
	uint64_t off = (uint64_t)v->number, behind = at->end;
	int err;

	if (v->kind != B2F_LITERAL_INT)
		return B2F_ECORRUPT;
	if (off > INT32_MAX)
		return B2F_EUNSUPPORTED;
	at->end = off;
	err = place(r, field, at);
	if (!err && field->offset != off)
		err = B2F_ECORRUPT; /* not aligned */
	at->end = b2f_max_u64(at->end, behind);
	return err;
}

static int read_column_fields(struct reader *r,
			      const struct b2f_literal_value *const *c,
			      struct b2f_dtype *t, struct layout *at)
{
	const struct b2f_literal_value *name, *format, *off, *title;
	int err = 0;

	name = c[NAMES]->child;
	format = c[FORMATS]->child;
	off = c[OFFSETS] ? c[OFFSETS]->child : NULL;
	title = c[TITLES] ? c[TITLES]->child : NULL;
	while (name && !err) {
		struct b2f_dtype_field *field = &t->fields[t->nfields++];

		if (name->kind != B2F_LITERAL_STRING)
			return B2F_ECORRUPT;
		err = read_name(name, field);
		if (!err && title && title->kind != B2F_LITERAL_NONE)
			err = read_text(title, &field->title,
					&field->title_len);
		if (!err)
			err = read_type(r, format, &field->type);
		if (!err)
			err = off ? place_at(r, off, field, at)
				  : place(r, field, at);
		name = name->next;
		format = format->next;
		off = off ? off->next : NULL;
		title = title ? title->next : NULL;
	}
	return err;
}

static int read_dict(struct reader *r, const struct b2f_literal_value *v,
		     struct b2f_dtype *t, struct layout *at)
{
	const struct b2f_literal_value *c[NCOLUMNS];
	uint64_t itemsize;
	int err;

	if (r->descr)
		return B2F_ECORRUPT;
	err = read_columns(v, c);
	if (err)
		return err;
	/* In numpy an aligned type has no unaligned types inside. */
	if (c[ALIGNED] && c[ALIGNED]->number)
		r->align = true;
	t->fields = calloc(c[NAMES]->nchildren + 1, sizeof(*t->fields));
	if (!t->fields)
		return -ENOMEM;
	err = read_column_fields(r, c, t, at);
	if (err || !c[ITEMSIZE])
		return err;
	itemsize = (uint64_t)c[ITEMSIZE]->number;
	if (itemsize > INT32_MAX)
		return B2F_EUNSUPPORTED;
	if (itemsize < round_up(at->end, at->alignment) ||
	    itemsize % at->alignment != 0)
		return B2F_ECORRUPT;
	at->end = itemsize;
	return 0;
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

/* Has the struct no name or title twice?  Does not look into fields. */
static int check_names(const struct b2f_dtype *t)
{
	B2F_OWN struct label *labels =
		calloc(2 * t->nfields + 1, sizeof(*labels));
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
	return err;
}

static int read_struct(struct reader *r, const struct b2f_literal_value *v,
		       struct b2f_dtype *out)
{
	struct b2f_dtype t = {.form = B2F_DTYPE_STRUCT};
	struct layout at = {.alignment = 1};
	bool align = r->align;
	int err = v->kind == B2F_LITERAL_DICT ? read_dict(r, v, &t, &at)
					      : read_list(r, v, &t, &at);

	r->align = align;
	at.end = round_up(at.end, at.alignment);
	if (!err && at.end > INT32_MAX)
		err = B2F_EUNSUPPORTED;
	if (!err)
		err = check_names(&t);
	if (err) {
		b2f_dtype_fini(&t);
		return err;
	}
	t.size = (uint32_t)at.end;
	t.alignment = at.alignment;
	*out = t;
	return 0;
}

static int read_type(struct reader *r, const struct b2f_literal_value *v,
		     struct b2f_dtype *out)
{
	int err = B2F_ECORRUPT;

	if (r->depth == B2F_DTYPE_MAX_DEPTH)
		return B2F_EUNSUPPORTED;
	r->depth++;
	switch (v->kind) {
	case B2F_LITERAL_STRING:
		err = b2f_dtype_read_scalar(v->text, v->len, out);
		break;
	case B2F_LITERAL_TUPLE:
		err = read_tuple(r, v, out);
		break;
	case B2F_LITERAL_LIST:
	case B2F_LITERAL_DICT:
		err = read_struct(r, v, out);
		break;
	case B2F_LITERAL_INT:
	case B2F_LITERAL_BOOL:
	case B2F_LITERAL_NONE:
		break;
	}
	r->depth--;
	return err;
}

int b2f_dtype_read_descr(const struct b2f_literal_value *value,
			 struct b2f_dtype *out)
{
	struct reader r = {.descr = true};

	return read_type(&r, value, out);
}

int b2f_dtype_read_b2nd(const char *text, size_t len, struct b2f_literal *lit,
			struct b2f_dtype *out)
{
	struct b2f_literal made = {0};
	struct reader r = {0};
	int err;

	if (len == 0 || !memchr("[{(", text[0], 3)) {
		err = b2f_dtype_read_scalar(text, len, out);
		if (!err)
			*lit = made;
		return err;
	}
	err = b2f_literal_parse(text, len, &made);
	if (err == B2F_ETOOBIG)
		err = B2F_EUNSUPPORTED;
	if (!err)
		err = read_type(&r, made.values, out);
	if (err)
		b2f_literal_fini(&made);
	else
		*lit = made;
	return err;
}
