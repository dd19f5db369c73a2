/* SPDX-License-Identifier: BSD-3-Clause */
/* test_dtype.c - types as b2nd text and as descr */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "tests/support/dtype_text.h"
#include "tests/support/own.h"

/* Types that are the same in both directions. */
struct pair {
	const char *b2nd;
	const char *descr;
	uint32_t size;
};

static const struct pair pairs[] = {
	{"|b1", "'|b1'", 1},
	{"|i1", "'|i1'", 1},
	{"<f8", "'<f8'", 8},
	{">f8", "'>f8'", 8},
	{"<f2", "'<f2'", 2},
	{"<c16", "'<c16'", 16},
	{"|S5", "'|S5'", 5},
	{"<U3", "'<U3'", 12},
	{"|V7", "'|V7'", 7},
	{"<M8", "'<M8'", 8},
	{">M8[25us]", "'>M8[25us]'", 8},
	{"<m8[D]", "'<m8[D]'", 8},
	{"[]", "[]", 0},
	{"[('a', '<i4'), ('b', '<f8', (2, 3))]",
	 "[('a', '<i4'), ('b', '<f8', (2, 3))]", 52},
	{"[('a', 'i1'), ('b', '?', (1,)), ('c', 'S'), ('d', '<U')]",
	 "[('a', '|i1'), ('b', '|b1', (1,)), ('c', '|S0'), ('d', '<U0')]", 2},
	{"[(('T', 'a'), [('x', 'V3')])]", "[(('T', 'a'), [('x', '|V3')])]", 3},
	{"{'names': ['a', 'b'], 'formats': ['i1', ('<i4', (2,))], 'offsets': "
	 "[3, 8], 'titles': ['T', None], 'itemsize': 20}",
	 "[('', '|V3'), (('T', 'a'), '|i1'), ('', '|V4'), ('b', '<i4', (2,)), "
	 "('', '|V4')]",
	 20},
	{"{'names': [], 'formats': [], 'offsets': [], 'itemsize': 8}",
	 "[('', '|V8')]", 8},
};

static const size_t npairs = sizeof(pairs) / sizeof(pairs[0]);

/* A copy of exact size, so that sanitizers notice reads beyond its end. */
static char *exactly(const char *text)
{
	char *copy = malloc(strlen(text) + (strlen(text) == 0));

	memcpy(copy, text, strlen(text));
	return copy;
}

static int to_descr(const char *text, char **out, uint32_t *size)
{
	char *copy = exactly(text);
	int err = dtype_text_to_descr(copy, strlen(text), out, size);

	free(copy);
	return err;
}

static int from_descr(const char *text, char **out, uint32_t *size)
{
	char *copy = exactly(text);
	int err = dtype_text_from_descr(copy, strlen(text), out, size);

	free(copy);
	return err;
}

static void expect_descr(const char *text, const char *descr, uint32_t size)
{
	uint32_t got = 0;
	OWN(free) char *out = NULL;

	cr_assert_eq(to_descr(text, &out, &got), 0, "%s", text);
	cr_assert_str_eq(out, descr);
	cr_assert_eq(got, size, "%s: %u", text, got);
}

static void expect_b2nd(const char *descr, const char *text, uint32_t size)
{
	uint32_t got = 0;
	OWN(free) char *out = NULL;

	cr_assert_eq(from_descr(descr, &out, &got), 0, "%s", descr);
	cr_assert_str_eq(out, text);
	cr_assert_eq(got, size, "%s: %u", descr, got);
}

static void refuse_b2nd(const char *text, int expected)
{
	uint32_t size;
	char *out;
	int err = to_descr(text, &out, &size);

	cr_assert_eq(err, expected, "%s: %d", text, err);
}

static void refuse_descr(const char *text, int expected)
{
	uint32_t size;
	char *out;
	int err = from_descr(text, &out, &size);

	cr_assert_eq(err, expected, "%s: %d", text, err);
}

Test(dtype, a_stored_type_becomes_a_descr)
{
	for (size_t i = 0; i < npairs; i++)
		expect_descr(pairs[i].b2nd, pairs[i].descr, pairs[i].size);
}

Test(dtype, a_descr_becomes_what_is_stored)
{
	for (size_t i = 0; i < npairs; i++)
		expect_b2nd(pairs[i].descr, pairs[i].b2nd, pairs[i].size);
}

Test(dtype, short_and_odd_forms_mean_the_same)
{
	expect_descr("i1", "'|i1'", 1);
	expect_descr(">i1", "'|i1'", 1);
	expect_descr("?", "'|b1'", 1);
	expect_descr("<S5", "'|S5'", 5);
	expect_descr("<M8[1us]", "'<M8[us]'", 8);
	expect_descr("<m8[generic]", "'<m8'", 8);
	expect_descr("[('a', (\"<i4\", (2,)) ) ,\n( 'b','>i2',() ),]",
		     "[('a', '<i4', (2,)), ('b', '>i2')]", 10);
}

Test(dtype, aligned_fields_stand_where_c_puts_them)
{
	expect_descr("{'names': ['a', 'b'], 'formats': ['i1', '<f8'], "
		     "'offsets': [0, 8], 'itemsize': 16, 'aligned': True}",
		     "[('a', '|i1'), ('', '|V7'), ('b', '<f8')]", 16);
	expect_descr("{'names': ['a', 'b'], 'formats': ['<c16', 'i1'], "
		     "'aligned': True}",
		     "[('a', '<c16'), ('b', '|i1'), ('', '|V7')]", 24);
	expect_descr("{'names': ['a', 'b'], 'formats': ['i1', "
		     "([('x', 'i1'), ('y', '<U1')], (2,))], 'aligned': True}",
		     "[('a', '|i1'), ('', '|V3'), ('b', [('x', '|i1'), "
		     "('', '|V3'), ('y', '<U1')], (2,))]",
		     20);
}

Test(dtype, alignment_ends_with_its_dict)
{
	expect_descr("[('a', {'names': ['x', 'y'], 'formats': ['i1', '<i2'], "
		     "'aligned': True}), ('b', [('x', 'i1'), ('y', '<i2')])]",
		     "[('a', [('x', '|i1'), ('', '|V1'), ('y', '<i2')]), "
		     "('b', [('x', '|i1'), ('y', '<i2')])]",
		     7);
}

Test(dtype, names_are_quoted_as_python_quotes_them)
{
	expect_b2nd("[(\"it's\", 'i1'), ('\"', 'i1'), ('\\'\"', 'i1')]",
		    "[(\"it's\", 'i1'), ('\"', 'i1'), ('\\'\"', 'i1')]", 3);
	expect_b2nd("[('\\x41\\n\\t\\r\\\\', 'i1'), ('\\u65e5\\xe9', 'i1')]",
		    "[('A\\n\\t\\r\\\\', 'i1'), ('\u65e5\u00e9', 'i1')]", 2);
}

Test(dtype, what_cannot_be_seen_is_escaped)
{
	expect_b2nd("[('\u00a0\u00ad\u200b', 'i1'), ('\u2028\ufeff', 'i1'), "
		    "('\U000e0001\U0010ffff', 'i1'), ('\\x00\\x7f', 'i1')]",
		    "[('\\xa0\\xad\\u200b', 'i1'), ('\\u2028\\ufeff', 'i1'), "
		    "('\\U000e0001\\U0010ffff', 'i1'), ('\\x00\\x7f', 'i1')]",
		    4);
}

Test(dtype, fields_that_overlap_have_no_descr)
{
	refuse_b2nd("{'names': ['a', 'b'], 'formats': ['<i4', '<i4'], "
		    "'offsets': [0, 2], 'itemsize': 8}",
		    B2F_EUNSUPPORTED);
	refuse_b2nd("{'names': ['b', 'a'], 'formats': ['<i4', 'i1'], "
		    "'offsets': [4, 0], 'itemsize': 8}",
		    B2F_EUNSUPPORTED);
}

Test(dtype, what_numpy_refuses_is_corrupt)
{
	const char *const texts[] = {
		"",
		"[",
		"[('a', 'i1')",
		"[('a', 'i1')] x",
		"[('a', 'i1'), ('a', 'i2')]",
		"[(('b', 'a'), 'i1'), ('b', 'i2')]",
		"[(('a', 'a'), 'i1')]",
		"[('a', None)]",
		"[('a', 3)]",
		"(1)",
		"{}",
		"{'names': ['a'], 'formats': []}",
		"{'names': ['a'], 'formats': ['i1'], 'offsets': [0, 1]}",
		"{'names': [3], 'formats': ['i1']}",
		"{'names': ['a'], 'formats': ['<i4'], 'itemsize': 3}",
		"{'names': ['a'], 'formats': ['<i4'], 'itemsize': '4'}",
		"{'names': ['a'], 'formats': ['<i4'], 'aligned': 1}",
		("{'names': ['a'], 'formats': ['<i4'], 'offsets': [2], "
		 "'aligned': True}"),
		("{'names': ['a'], 'formats': ['<i4'], 'itemsize': 6, "
		 "'aligned': True}"),
		"[('\\ud800', 'i1')]",
		"[('\xff', 'i1')]",
		"[('a\nb', 'i1')]",
		"[('a' 'b', 'i1')]",
		"[('''a''', 'i1')]",
		"[(u'a', 'i1')]",
		"[('\\q', 'i1')]",
		"[('a', 'i1', (-1,))]",
		"[('a', 'i1', (99999999999999999999,))]",
		"[('a', 'i1', (0x2,))]",
		"[('a', 'i1', (01,))]",
		"[('a', 'i1', (1_0,))]",
		"[('a', 'i1')] # b",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refuse_b2nd(texts[i], B2F_ECORRUPT);
}

Test(dtype, what_has_no_plain_bytes_is_not_supported)
{
	const char *const texts[] = {
		"|O",
		"T",
		"x",
		"float64",
		"f8,i4",
		"\n[('a', 'i1')]",
		"3f8",
		"<f3",
		"<f8 ",
		"<",
		"i",
		"b2",
		"i16",
		"S-1",
		"S05",
		"S2147483648",
		"U536870912",
		"M4",
		"M8[",
		"M8[]",
		"M8[xx]",
		"M8[0us]",
		"M8[s/10]",
		"M8[2147483648s]",
		"[('a', '|O')]",
		"[('', 'i1')]",
		"[(('', 'a'), 'i1')]",
		"[(1, 'i1')]",
		"['i1']",
		"[('a', 'i1', 2)]",
		"[('a', 'i1', (2147483648,))]",
		"[('a', '<i4', (536870912,))]",
		"[('a', 'S', (2,))]",
		"[('a', ('i1', (2,)), (3,))]",
		"[('a', 'V2147483640'), ('b', 'V100')]",
		"{'names': ['a'], 'formats': ['i1'], 'offsets': [2147483647]}",
		"{'names': ['a'], 'formats': ['i1'], 'itemsize': 2147483648}",
		"{'names': ['a'], 'formats': ['i1'], 'more': 1}",
		("('i1', (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
		 "1, "
		 "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1))"),
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refuse_b2nd(texts[i], B2F_EUNSUPPORTED);
	/*
	 * python-blosc2 stores such a type, but its array has the dimensions
	 * itself.
	 */
	refuse_b2nd("('<i4', (2, 3))", B2F_EUNSUPPORTED);
}

Test(dtype, a_descr_has_no_dicts)
{
	refuse_descr("{'names': ['a'], 'formats': ['i1']}", B2F_ECORRUPT);
	refuse_descr("<f8", B2F_ECORRUPT);
	refuse_descr("'|O'", B2F_EUNSUPPORTED);
	expect_b2nd("('<f8', (2,))", "('<f8', (2,))", 16);
}

Test(dtype, fields_without_a_name_are_holes_if_they_are_void)
{
	expect_b2nd("[('', 'V4'), ('a', 'i1'), ('', '<i2', (3,))]",
		    "{'names': ['a'], 'formats': ['i1'], 'offsets': [4], "
		    "'itemsize': 11}",
		    11);
	refuse_descr("[('', '<i4')]", B2F_EUNSUPPORTED);
	refuse_descr("[('', [('x', 'i1')])]", B2F_EUNSUPPORTED);
	refuse_descr("[(('t', ''), 'V4')]", B2F_EUNSUPPORTED);
}

/* @depth nested lists. */
static char *nested(unsigned int depth)
{
	char *text = calloc(1, 32 * (size_t)depth + 8);

	for (unsigned int i = 0; i < depth; i++)
		strcat(text, "[('a', ");
	strcat(text, "'i1'");
	for (unsigned int i = 0; i < depth; i++)
		strcat(text, ")]");
	return text;
}

Test(dtype, depth_is_bounded)
{
	OWN(free) char *fits = nested(15), *deep = nested(16);
	OWN(free) char *far = nested(2000);
	uint32_t size;
	char *out;

	cr_assert_eq(to_descr(fits, &out, &size), 0);
	free(out);
	refuse_b2nd(deep, B2F_EUNSUPPORTED);
	refuse_b2nd(far, B2F_EUNSUPPORTED);
}

Test(dtype, length_is_bounded)
{
	OWN(free) char *text = malloc(B2F_LITERAL_MAX_TEXT + 2);

	memset(text, '[', B2F_LITERAL_MAX_TEXT + 1);
	text[B2F_LITERAL_MAX_TEXT + 1] = '\0';
	refuse_b2nd(text, B2F_EUNSUPPORTED);
}

Test(dtype, every_prefix_is_refused)
{
	for (size_t i = 0; i < npairs; i++) {
		const char *text = pairs[i].b2nd;
		char part[256];

		if (text[0] != '[' && text[0] != '{')
			continue;
		for (size_t n = 0; n < strlen(text); n++) {
			memcpy(part, text, n);
			part[n] = '\0';
			refuse_b2nd(part, B2F_ECORRUPT);
		}
	}
}
