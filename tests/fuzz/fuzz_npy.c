/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_npy.c - any bytes as a .npy header, as a packed one, and as both texts
 * of a type
 *
 * A header that is read is written, and has to be read as the same again.
 */
#include <stdlib.h>
#include <string.h>

#include "array/b2nd.h"
#include "array/npy.h"
#include "b2frame/error.h"
#include "tests/fuzz/fuzz_memory.h"
#include "tests/support/dtype_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

/* Large plans may be refused; a plan that is made has to be sound. */
static void check_plan(const struct b2f_npy *npy, uint8_t seed)
{
	uint64_t chunk_bytes = (uint64_t)1 << seed % 32;
	uint64_t block_bytes = (uint64_t)1 << seed / 8;
	struct b2f_array a, back;
	uint8_t *raw;
	size_t size;
	int err;

	err = b2f_array_plan(npy->ndim, npy->shape, npy->itemsize, chunk_bytes,
			     block_bytes, &a);
	require(!err || err == B2F_ETOOBIG);
	if (err)
		return;
	require(a.nitems * a.itemsize == npy->nbytes);
	a.dtype = npy->dtype;
	require(!b2f_array_write(&a, &raw, &size));
	require(!b2f_array_parse(raw, size, npy->itemsize, &back, NULL));
	require(back.nchunks == a.nchunks && !strcmp(back.dtype, a.dtype));
	b2f_array_fini(&back);
	free(raw);
}

/* Writes @npy anew; a longer name of the same can be too long to be read. */
static void check_written(const struct b2f_npy *npy)
{
	struct b2f_array a = {.ndim = npy->ndim,
			      .itemsize = npy->itemsize,
			      .dtype = npy->dtype};
	struct b2f_npy back;
	uint8_t *header;
	size_t size;
	int err;

	memcpy(a.shape, npy->shape, sizeof(a.shape));
	require(!b2f_npy_write(&a, &header, &size));
	require(size % 64 == 0);
	err = b2f_npy_parse(header, size, &back);
	require(!err || (err == B2F_EUNSUPPORTED && size > 10000));
	if (!err) {
		require(back.size == size && back.ndim == npy->ndim);
		require(back.itemsize == npy->itemsize);
		require(back.nbytes == npy->nbytes && !back.fortran_order);
		require(!memcmp(back.shape, npy->shape, sizeof(back.shape)));
		require(!strcmp(back.dtype, npy->dtype));
		b2f_npy_fini(&back);
	}
	free(header);
}

static void check_header(const uint8_t *raw, size_t size)
{
	struct b2f_npy npy;
	int err = b2f_npy_parse(raw, size, &npy);

	require(err != -EAGAIN || size < B2F_NPY_MAX_SIZE);
	if (err)
		return;
	require(npy.size <= size && npy.itemsize > 0);
	/* Bytes behind the header do not count, missing ones do. */
	require(b2f_npy_parse(raw, npy.size - 1, NULL) == -EAGAIN);
	check_written(&npy);
	check_plan(&npy, raw[size - 1]);
	b2f_npy_fini(&npy);
}

/* Names with escapes may become longer texts, up to the bound. */
static void check_texts(const char *text, size_t len)
{
	char *descr, *b2nd, *again;
	uint32_t size, other;

	if (!dtype_text_to_descr(text, len, &descr, &size)) {
		if (!dtype_text_from_descr(descr, strlen(descr), &b2nd,
					  &other)) {
			require(size == other);
			require(!dtype_text_to_descr(b2nd, strlen(b2nd), &again,
						    &other));
			require(size == other && !strcmp(descr, again));
			free(again);
			free(b2nd);
		} else {
			require(strlen(descr) > B2F_LITERAL_MAX_TEXT);
		}
		free(descr);
	}
	if (!dtype_text_from_descr(text, len, &b2nd, &size))
		free(b2nd);
}

/* The same with a header around it that is right. */
static void check_wrapped(const uint8_t *data, size_t size)
{
	size_t len = size < 65535 ? size : 65535;
	uint8_t *raw = malloc(10 + len);

	memcpy(raw, "\x93NUMPY\x01", 8);
	raw[8] = (uint8_t)len;
	raw[9] = (uint8_t)(len >> 8);
	if (len)
		memcpy(raw + 10, data, len);
	check_header(raw, 10 + len);
	free(raw);
}

static void check_packed(const uint8_t *data, size_t size)
{
	const uint8_t *found;
	uint8_t *packed;
	size_t len, packed_len;

	if (!b2f_npy_unpack(data, size, &found, &len))
		require(found + len == data + size);
	require(!b2f_npy_pack(data, size, &packed, &packed_len));
	require(!b2f_npy_unpack(packed, packed_len, &found, &len));
	require(len == size && (!len || !memcmp(found, data, len)));
	free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *raw = copy_of(data, size);

	check_header(raw, size);
	check_wrapped(raw, size);
	check_texts((const char *)raw, size);
	check_packed(raw, size);
	free(raw);
	return 0;
}
