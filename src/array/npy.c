/* SPDX-License-Identifier: BSD-3-Clause */
/* npy.c - the header of a .npy file, read; and as a msgpack value */
#include "array/npy.h"

#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "array/repr.h"
#include "b2frame/error.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/unpack.h"
#include "base/utf8.h"

/* np.load() reads no longer text unless its caller trusts the file. */
#define CHARS_MAX ((size_t)10000)

_Static_assert(B2F_UTF8_MAX *CHARS_MAX <= B2F_LITERAL_MAX_TEXT,
	       "every text that numpy reads fits a literal");

/* Where the text of a header is. */
struct place {
	unsigned int version;
	size_t off;
	size_t len;
};

static uint32_t load_le16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static int find_text(const uint8_t *raw, size_t size, struct place *out)
{
	struct place at = {.off = 10};
	size_t n = size < B2F_NPY_MAGIC_SIZE ? size : B2F_NPY_MAGIC_SIZE;

	if (n > 0 && memcmp(raw, B2F_NPY_MAGIC, n) != 0)
		return -EINVAL;
	if (size < 8)
		return -EAGAIN;
	at.version = raw[6];
	if (at.version < 1 || at.version > 3 || raw[7] != 0)
		return -EINVAL;
	if (at.version > 1)
		at.off = 12;
	if (size < at.off)
		return -EAGAIN;
	at.len = at.version > 1 ? b2f_load_le32(raw + 8) : load_le16(raw + 8);
	/* Only version 3 has characters of more than a byte. */
	if (at.len > (at.version == 3 ? B2F_UTF8_MAX * CHARS_MAX : CHARS_MAX))
		return B2F_EUNSUPPORTED;
	if (size - at.off < at.len)
		return -EAGAIN;
	*out = at;
	return 0;
}

/* Latin-1 as UTF-8; @out has room for twice @len. */
static size_t widen(const uint8_t *text, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += b2f_utf8_put(text[i], out + n);
	return n;
}

static int check_utf8(const char *text, size_t len)
{
	size_t nchars = 0;
	uint32_t c;

	for (size_t pos = 0; pos < len; nchars++)
		if (!b2f_utf8_next(text, len, &pos, &c))
			return -EINVAL;
	return nchars > CHARS_MAX ? B2F_EUNSUPPORTED : 0;
}

/* Translates the errors of dtype.h and literal.h. */
static int header_error(int err)
{
	if (err == B2F_ECORRUPT)
		return -EINVAL;
	return err == B2F_ETOOBIG ? B2F_EUNSUPPORTED : err;
}

static int parse_text(const uint8_t *raw, const struct place *at,
		      struct b2f_literal *out)
{
	B2F_OWN char *text = malloc(2 * at->len + 1);
	size_t len = at->len;
	int err = 0;

	if (!text)
		return -ENOMEM;
	if (at->version < 3) {
		len = widen(raw + at->off, at->len, text);
	} else {
		memcpy(text, raw + at->off, at->len);
		err = check_utf8(text, len);
	}
	if (!err)
		err = b2f_literal_parse(text, len, out);
	return header_error(err);
}

/* The values of the dict, in this order. */
enum { DESCR, FORTRAN_ORDER, SHAPE, NENTRIES };

static const char *const entry_names[NENTRIES] = {"descr", "fortran_order",
						  "shape"};

/*
 * Each key has to occur once: numpy refuses other keys, and takes the last of
 * two equal ones.
 */
static int find_entries(const struct b2f_literal_value *dict,
			const struct b2f_literal_value **e)
{
	if (dict->kind != B2F_LITERAL_DICT || dict->nchildren != 2 * NENTRIES ||
	    !b2f_literal_columns(dict, entry_names, NENTRIES, e) ||
	    e[FORTRAN_ORDER]->kind != B2F_LITERAL_BOOL ||
	    e[SHAPE]->kind != B2F_LITERAL_TUPLE)
		return -EINVAL;
	return 0;
}

static int read_shape(const struct b2f_literal_value *shape,
		      struct b2f_npy *npy)
{
	const struct b2f_literal_value *v;

	for (v = shape->child; v; v = v->next)
		if (v->kind != B2F_LITERAL_INT)
			return -EINVAL;
	if (shape->nchildren > B2F_ARRAY_MAX_DIM)
		return B2F_EUNSUPPORTED;
	for (v = shape->child; v; v = v->next)
		npy->shape[npy->ndim++] = v->number;
	return 0;
}

static int put_dtype(const struct b2f_dtype *type, char **text)
{
	size_t len;
	FILE *out = open_memstream(text, &len);

	if (!out)
		return -ENOMEM;
	b2f_dtype_put_b2nd(type, out);
	return b2f_repr_end(out);
}

static int read_dtype(const struct b2f_literal_value *descr,
		      struct b2f_npy *npy)
{
	struct b2f_dtype type = {0};
	int err = b2f_dtype_read_descr(descr, &type);

	if (err)
		return header_error(err);
	npy->itemsize = type.size;
	/* np.load() fails with arrays as items, np.memmap() adds dimensions. */
	if (type.form == B2F_DTYPE_SUBARRAY || type.size == 0 ||
	    type.size > B2F_ARRAY_MAX_ITEMSIZE)
		err = B2F_EUNSUPPORTED;
	else
		err = put_dtype(&type, &npy->dtype);
	b2f_dtype_fini(&type);
	return err;
}

/* numpy refuses shapes that would be too large if no dimension were 0. */
static int count_bytes(struct b2f_npy *npy)
{
	uint64_t bytes = npy->itemsize;
	bool empty = false;

	for (unsigned int i = 0; i < npy->ndim; i++) {
		uint64_t n = (uint64_t)npy->shape[i];

		empty = empty || n == 0;
		if (!b2f_mul_u64(bytes, b2f_max_u64(n, 1), &bytes) ||
		    bytes > INT64_MAX)
			return B2F_EUNSUPPORTED;
	}
	npy->nbytes = empty ? 0 : bytes;
	return 0;
}

int b2f_npy_parse(const uint8_t *raw, size_t size, struct b2f_npy *out)
{
	struct b2f_literal lit = {0};
	const struct b2f_literal_value *e[NENTRIES];
	struct b2f_npy npy = {0};
	struct place at;
	int err = find_text(raw, size, &at);

	if (err)
		return err;
	err = parse_text(raw, &at, &lit);
	if (err)
		return err;
	npy.size = at.off + at.len;
	err = find_entries(lit.values, e);
	if (!err)
		err = read_shape(e[SHAPE], &npy);
	if (!err)
		err = read_dtype(e[DESCR], &npy);
	if (!err)
		err = count_bytes(&npy);
	if (err)
		goto out;
	npy.fortran_order = e[FORTRAN_ORDER]->number != 0;
	*out = npy;
	npy.dtype = NULL; /* now the caller's */
out:
	b2f_npy_fini(&npy);
	b2f_literal_fini(&lit);
	return err;
}

void b2f_npy_fini(struct b2f_npy *npy)
{
	free(npy->dtype);
	*npy = (struct b2f_npy){0};
}

enum { MARK_BIN8 = 0xc4, MARK_BIN16 = 0xc5, MARK_BIN32 = 0xc6 };

/* Writes mark and length; returns how many bytes that are, 5 at most. */
static size_t put_mark(uint8_t *p, uint32_t len)
{
	if (len <= UINT8_MAX) {
		p[0] = MARK_BIN8;
		p[1] = (uint8_t)len;
		return 2;
	}
	if (len <= UINT16_MAX) {
		p[0] = MARK_BIN16;
		b2f_store_be16(p + 1, (uint16_t)len);
		return 3;
	}
	p[0] = MARK_BIN32;
	b2f_store_be32(p + 1, len);
	return 5;
}

int b2f_npy_pack(const uint8_t *bytes, size_t len, uint8_t **packed,
		 size_t *packed_len)
{
	uint8_t *made;
	size_t n;

	if (len > UINT32_MAX)
		return B2F_ETOOBIG;
	made = malloc(len + 5);
	if (!made)
		return -ENOMEM;
	n = put_mark(made, (uint32_t)len);
	if (len > 0)
		memcpy(made + n, bytes, len);
	*packed = made;
	*packed_len = n + len;
	return 0;
}

int b2f_npy_unpack(const uint8_t *packed, size_t packed_len,
		   const uint8_t **bytes, size_t *len)
{
	struct b2f_cursor cur = b2f_cursor_at(packed, packed_len);
	struct b2f_unpacked value;

	if (!b2f_unpack_next(&cur, &value) || value.kind != B2F_UNPACK_BYTES ||
	    b2f_cursor_left(&cur) > 0)
		return B2F_ECORRUPT;
	*bytes = value.bytes;
	*len = value.n;
	return 0;
}
