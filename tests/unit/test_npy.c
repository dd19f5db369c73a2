/* SPDX-License-Identifier: BSD-3-Clause */
/* test_npy.c - headers of .npy files */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/npy.h"
#include "b2frame/error.h"
#include "tests/support/own.h"

/*
 * Headers by np.save() of three float64, of one int8, and of two items with a
 * field whose name is not Latin-1.
 */
#define SPACES_10 "          "

static const char doubles[] =
	"\x93NUMPY\x01\x00\x76\x00"
	"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }" SPACES_10
		SPACES_10 SPACES_10 SPACES_10 SPACES_10 SPACES_10 "\n";
static const char scalar[] =
	"\x93NUMPY\x01\x00\x76\x00"
	"{'descr': '|i1', 'fortran_order': False, 'shape': (), }" SPACES_10
		SPACES_10 SPACES_10 SPACES_10 SPACES_10 SPACES_10 "  \n";
static const char unicode[] =
	"\x93NUMPY\x03\x00\x74\x00\x00\x00"
	"{'descr': [('\u65e5', '<i4')], 'fortran_order': False, 'shape': (2, "
	"1), }" SPACES_10 SPACES_10 SPACES_10 SPACES_10 "     \n";

struct bytes {
	uint8_t *data;
	size_t size;
};

/* A header of @version with @text, in memory of its exact size. */
static struct bytes wrap(const char *text, uint8_t version)
{
	size_t prefix = version == 1 ? 10 : 12, len = strlen(text);
	struct bytes b = {.size = prefix + len};

	b.data = malloc(b.size);
	memcpy(b.data, B2F_NPY_MAGIC, 6);
	b.data[6] = version;
	b.data[7] = 0;
	for (size_t i = 8; i < prefix; i++)
		b.data[i] = (uint8_t)(len >> (8 * (i - 8)));
	memcpy(b.data + prefix, text, len);
	return b;
}

static int parse_text(const char *text, uint8_t version, struct b2f_npy *out)
{
	struct bytes b = wrap(text, version);
	int err = b2f_npy_parse(b.data, b.size, out);

	free(b.data);
	return err;
}

/* Parses a plain header with @descr and @shape. */
static int parse_with(const char *descr, const char *shape, struct b2f_npy *out)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{'descr': %s, 'fortran_order': False, 'shape': %s, }\n",
		 descr, shape);
	return parse_text(text, 1, out);
}

static void refuse(const char *descr, const char *shape, int expected)
{
	struct b2f_npy npy;
	int err = parse_with(descr, shape, &npy);

	cr_assert_eq(err, expected, "%s %s: %d", descr, shape, err);
}

static void refuse_text(const char *text, int expected)
{
	struct b2f_npy npy;

	for (uint8_t version = 1; version <= 3; version++) {
		int err = parse_text(text, version, &npy);

		cr_assert_eq(err, expected, "%s: %d", text, err);
	}
}

Test(npy, a_header_of_numpy_is_read)
{
	struct b2f_npy npy;

	cr_assert_eq(b2f_npy_parse((const uint8_t *)doubles,
				   sizeof(doubles) - 1, &npy),
		     0);
	cr_assert_eq(npy.size, 128);
	cr_assert_eq(npy.ndim, 1);
	cr_assert_eq(npy.shape[0], 3);
	cr_assert_eq(npy.itemsize, 8);
	cr_assert_eq(npy.nbytes, 24);
	cr_assert(!npy.fortran_order);
	cr_assert_str_eq(npy.dtype, "<f8");
	b2f_npy_fini(&npy);
}

Test(npy, version_3_is_utf8)
{
	struct b2f_npy npy;

	cr_assert_eq(b2f_npy_parse((const uint8_t *)unicode,
				   sizeof(unicode) - 1, &npy),
		     0);
	cr_assert_eq(npy.ndim, 2);
	cr_assert_str_eq(npy.dtype, "[('\u65e5', '<i4')]");
	b2f_npy_fini(&npy);
}

Test(npy, version_1_is_latin1)
{
	struct b2f_npy npy;

	cr_assert_eq(parse_with("[('\xe9', 'i1')]", "(1,)", &npy), 0);
	cr_assert_str_eq(npy.dtype, "[('\u00e9', 'i1')]");
	b2f_npy_fini(&npy);
	cr_assert_eq(parse_text("{'descr': [('\xe9', 'i1')], 'shape': (), "
				"'fortran_order': False}",
				3, &npy),
		     -EINVAL);
}

Test(npy, keys_come_in_any_order)
{
	struct b2f_npy npy;

	cr_assert_eq(parse_text(" \t{\"shape\":(0,\n7),'fortran_order':True,"
				"'descr':'i1'} \n\n",
				2, &npy),
		     0);
	cr_assert_eq(npy.ndim, 2);
	cr_assert_eq(npy.shape[1], 7);
	cr_assert_eq(npy.nbytes, 0);
	cr_assert(npy.fortran_order);
	cr_assert_str_eq(npy.dtype, "|i1");
	b2f_npy_fini(&npy);
}

Test(npy, every_prefix_may_become_a_header)
{
	struct b2f_npy npy;

	for (size_t n = 0; n < sizeof(doubles) - 1; n++) {
		uint8_t *part = malloc(n + (n == 0));

		memcpy(part, doubles, n);
		cr_assert_eq(b2f_npy_parse(part, n, &npy), -EAGAIN, "%zu", n);
		free(part);
	}
}

Test(npy, other_bytes_never_become_a_header)
{
	struct b2f_npy npy;

	for (size_t i = 0; i < 8; i++) {
		uint8_t raw[8];

		memcpy(raw, doubles, sizeof(raw));
		raw[i] ^= 0x40;
		cr_assert_eq(b2f_npy_parse(raw, i < 6 ? i + 1 : 8, &npy),
			     -EINVAL, "byte %zu", i);
	}
}

Test(npy, a_length_that_numpy_does_not_read_is_refused_at_once)
{
	const uint8_t one[] = "\x93NUMPY\x01\x00\x11\x27";
	const uint8_t two[] = "\x93NUMPY\x02\x00\x11\x27\x00\x00";
	const uint8_t three[] = "\x93NUMPY\x03\x00\x41\x9c\x00\x00";
	struct b2f_npy npy;

	cr_assert_eq(b2f_npy_parse(one, 10, &npy), B2F_EUNSUPPORTED);
	cr_assert_eq(b2f_npy_parse(two, 12, &npy), B2F_EUNSUPPORTED);
	cr_assert_eq(b2f_npy_parse(three, 12, &npy), B2F_EUNSUPPORTED);
}

/* Parses a header of @nchars characters, most of them spaces. */
static int parse_padded(uint8_t version, size_t nchars, struct b2f_npy *out)
{
	static const char start[] = "{'descr': '|i1', 'fortran_order': False, "
				    "'shape': (), }";
	char *text = malloc(nchars + 1);
	int err;

	memset(text, ' ', nchars);
	memcpy(text, start, sizeof(start) - 1);
	text[nchars] = '\0';
	err = parse_text(text, version, out);
	free(text);
	return err;
}

Test(npy, ten_thousand_characters_are_the_most)
{
	struct b2f_npy npy;

	for (uint8_t version = 1; version <= 3; version++) {
		cr_assert_eq(parse_padded(version, 10000, &npy), 0);
		b2f_npy_fini(&npy);
		cr_assert_eq(parse_padded(version, 10001, &npy),
			     B2F_EUNSUPPORTED);
	}
}

Test(npy, a_text_that_numpy_refuses_is_no_header)
{
	const char *const texts[] = {
		"",
		"{}",
		"3",
		"[]",
		"{'descr': '<f8', 'fortran_order': False}",
		"{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': [3]}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (3)}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (3L,)}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': ('3',)}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 1: 2}",
		"{'descr': '<f8', 'descr': '<f8', 'shape': (3,)}",
		"{'descr': None, 'fortran_order': False, 'shape': (3,)}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} x",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}\n ",
		"\n{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refuse_text(texts[i], -EINVAL);
}

Test(npy, what_cannot_be_a_b2nd_array_is_not_supported)
{
	refuse("'|O'", "(3,)", B2F_EUNSUPPORTED);
	refuse("[('a', '|O')]", "(3,)", B2F_EUNSUPPORTED);
	refuse("'|S0'", "(3,)", B2F_EUNSUPPORTED);
	refuse("[]", "(3,)", B2F_EUNSUPPORTED);
	refuse("('<f8', (2,))", "(3,)", B2F_EUNSUPPORTED);
	refuse("'|V536866817'", "()", B2F_EUNSUPPORTED);
	refuse("'|i1'", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)",
	       B2F_EUNSUPPORTED);
	refuse("'<f8'", "(1152921504606846976,)", B2F_EUNSUPPORTED);
	refuse("'<f8'", "(0, 1152921504606846976)", B2F_EUNSUPPORTED);
	refuse("'|i1'", "(4294967296, 4294967296)", B2F_EUNSUPPORTED);
}

Test(npy, the_largest_array_is_read)
{
	struct b2f_npy npy;

	cr_assert_eq(parse_with("'|i1'", "(9223372036854775807,)", &npy), 0);
	cr_assert_eq(npy.nbytes, INT64_MAX);
	b2f_npy_fini(&npy);
	cr_assert_eq(parse_with("'|V536866816'",
				"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)", &npy),
		     0);
	cr_assert_eq(npy.ndim, 16);
	b2f_npy_fini(&npy);
}

static int write_array(const char *dtype, uint32_t itemsize, unsigned int ndim,
		       const int64_t *shape, struct bytes *out)
{
	struct b2f_array a = {.ndim = ndim, .itemsize = itemsize};
	int err;

	for (unsigned int i = 0; i < ndim; i++)
		a.shape[i] = shape[i];
	a.dtype = dtype ? strdup(dtype) : NULL;
	err = b2f_npy_write(&a, &out->data, &out->size);
	free(a.dtype);
	return err;
}

static void expect_header(const char *dtype, uint32_t itemsize,
			  unsigned int ndim, const int64_t *shape,
			  const char *expected, size_t size)
{
	struct bytes b = {.size = 0};

	cr_assert_eq(write_array(dtype, itemsize, ndim, shape, &b), 0);
	cr_assert_eq(b.size, size);
	cr_assert_arr_eq(b.data, expected, size);
	free(b.data);
}

Test(npy, the_header_is_the_one_of_numpy)
{
	expect_header("<f8", 8, 1, (int64_t[]){3}, doubles,
		      sizeof(doubles) - 1);
	expect_header("i1", 1, 0, NULL, scalar, sizeof(scalar) - 1);
	expect_header("[('\u65e5', '<i4')]", 4, 2, (int64_t[]){2, 1}, unicode,
		      sizeof(unicode) - 1);
}

Test(npy, arrays_in_items_become_dimensions)
{
	struct bytes b = {.size = 0};
	struct b2f_npy npy;

	cr_assert_eq(write_array("('<i4', (2, 3))", 24, 1, (int64_t[]){5}, &b),
		     0);
	cr_assert_eq(b2f_npy_parse(b.data, b.size, &npy), 0);
	cr_assert_eq(npy.ndim, 3);
	cr_assert_eq(npy.shape[0], 5);
	cr_assert_eq(npy.shape[2], 3);
	cr_assert_str_eq(npy.dtype, "<i4");
	b2f_npy_fini(&npy);
	free(b.data);
}

Test(npy, no_dtype_means_strings)
{
	struct bytes b = {.size = 0};
	struct b2f_npy npy;

	cr_assert_eq(write_array(NULL, 7, 1, (int64_t[]){5}, &b), 0);
	cr_assert_eq(b2f_npy_parse(b.data, b.size, &npy), 0);
	cr_assert_str_eq(npy.dtype, "|S7");
	b2f_npy_fini(&npy);
	free(b.data);
}

/* A dtype of @n fields with long names, of a byte each. */
static char *many_fields(size_t n)
{
	char *text = malloc(n * 24 + 8), *p = text;

	*p++ = '[';
	for (size_t i = 0; i < n; i++)
		p += sprintf(p, "%s('field%07zu', 'i1')", i ? ", " : "", i);
	strcpy(p, "]");
	return text;
}

Test(npy, a_long_text_takes_version_2)
{
	OWN(free) char *text = many_fields(2700);
	struct bytes b = {.size = 0};
	struct b2f_npy npy;

	cr_assert_eq(write_array(text, 2700, 0, NULL, &b), 0);
	cr_assert_eq(b.data[6], 2);
	cr_assert_eq(b.size % 64, 0);
	cr_assert_eq(b2f_npy_parse(b.data, b.size, &npy), B2F_EUNSUPPORTED,
		     "np.load does not read it either");
	free(b.data);
}

Test(npy, a_dtype_that_is_not_the_items_is_corrupt)
{
	struct b2f_array a = {.itemsize = 1, .dtype_format = 1};
	struct bytes b;

	cr_assert_eq(write_array("<f8", 4, 0, NULL, &b), B2F_ECORRUPT);
	cr_assert_eq(write_array("[('a'", 4, 0, NULL, &b), B2F_ECORRUPT);
	cr_assert_eq(write_array("|O", 8, 0, NULL, &b), B2F_EUNSUPPORTED);
	cr_assert_eq(b2f_npy_write(&a, &b.data, &b.size), B2F_EUNSUPPORTED);
}

static void pack_and_unpack(size_t len, uint8_t mark, size_t overhead)
{
	OWN(free) uint8_t *data = calloc(1, len + 1), *packed;
	const uint8_t *found;
	size_t size, found_len;

	cr_assert_eq(b2f_npy_pack(data, len, &packed, &size), 0);
	cr_assert_eq(size, len + overhead);
	cr_assert_eq(packed[0], mark);
	cr_assert_eq(b2f_npy_unpack(packed, size, &found, &found_len), 0);
	cr_assert_eq(found_len, len);
	cr_assert_eq(found, packed + overhead);
	cr_assert_eq(b2f_npy_unpack(packed, size - 1, &found, &found_len),
		     B2F_ECORRUPT);
}

Test(npy, packed_bytes_come_back)
{
	pack_and_unpack(0, 0xc4, 2);
	pack_and_unpack(255, 0xc4, 2);
	pack_and_unpack(256, 0xc5, 3);
	pack_and_unpack(65535, 0xc5, 3);
	pack_and_unpack(65536, 0xc6, 5);
}

static int unpack(const char *raw, size_t size, size_t *len)
{
	uint8_t *copy = malloc(size + (size == 0));
	const uint8_t *found;
	int err;

	memcpy(copy, raw, size);
	err = b2f_npy_unpack(copy, size, &found, len);
	free(copy);
	return err;
}

Test(npy, every_form_of_bin_is_unpacked_and_nothing_else)
{
	size_t len;

	cr_assert_eq(unpack("\xc4\x01x", 3, &len), 0);
	cr_assert_eq(unpack("\xc5\x00\x01x", 4, &len), 0);
	cr_assert_eq(unpack("\xc6\x00\x00\x00\x01x", 6, &len), 0);
	cr_assert_eq(len, 1);
	cr_assert_eq(unpack("", 0, &len), B2F_ECORRUPT);
	cr_assert_eq(unpack("\xc4", 1, &len), B2F_ECORRUPT);
	cr_assert_eq(unpack("\xc4\x02x", 3, &len), B2F_ECORRUPT);
	cr_assert_eq(unpack("\xc4\x01xy", 4, &len), B2F_ECORRUPT);
	cr_assert_eq(unpack("\xa1x", 2, &len), B2F_ECORRUPT);
	cr_assert_eq(unpack("\xd9\x01x", 3, &len), B2F_ECORRUPT);
	cr_assert_eq(unpack("\xda\x00\x01x", 4, &len), B2F_ECORRUPT);
	cr_assert_eq(unpack("\xdb\x00\x00\x00\x01x", 6, &len), B2F_ECORRUPT);
	cr_assert_eq(unpack("\xc6\xff\xff\xff\xffx", 6, &len), B2F_ECORRUPT);
}
