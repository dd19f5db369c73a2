/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_blosclz.c - the blosclz decoder against the slow one */
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "tests/fuzz/blosclz_ref.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NATURAL_MAX 65536

/*
 * The length to ask for: mostly what the stream gives, as a decoder that only
 * ever refuses would not be tested.
 */
static size_t choose_size(uint8_t choice, const uint8_t *src, size_t size)
{
	static uint8_t natural[NATURAL_MAX];
	size_t n = blosclz_ref_run(src, size, natural, sizeof(natural)).out;

	if (choice < 192)
		return n ? n : 1;
	if (choice < 224)
		return n + choice - 191;
	return (size_t)choice * choice;
}

static void *must_have(void *p)
{
	if (!p)
		abort();
	return p;
}

/*
 * A buffer of exactly the right size, for the sanitizer; filled, so that runs
 * are repeatable.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t dst_size;
	uint8_t *want, *got, *src;
	bool ok;
	int err;

	if (size < 2)
		return 0;
	size--;
	src = must_have(malloc(size));
	memcpy(src, data + 1, size);
	dst_size = choose_size(data[0], src, size);
	want = must_have(calloc(1, dst_size));
	got = must_have(calloc(1, dst_size));
	ok = blosclz_ref_decode(src, size, want, dst_size);
	err = b2f_codec_blosclz.decode(NULL, src, size, got, dst_size);
	if (ok != !err || (ok && memcmp(want, got, dst_size) != 0))
		abort();
	free(src);
	free(want);
	free(got);
	return 0;
}
