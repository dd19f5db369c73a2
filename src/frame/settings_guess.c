/* SPDX-License-Identifier: BSD-3-Clause */
/* settings_guess.c - the item size that suits some data */
#include "array/npy.h"
#include "b2frame/create.h"
#include "chunk/encoder.h"

/* Wider items hardly resemble each other. */
#define NPY_ITEM_MAX 65536

/* The item size in the header of a .npy file; 0 without a header. */
static uint32_t npy_itemsize(const uint8_t *data, size_t size)
{
	struct b2f_npy npy;
	uint32_t itemsize;

	if (b2f_npy_parse(data, size, &npy))
		return 0;
	itemsize = npy.itemsize;
	b2f_npy_fini(&npy);
	return itemsize <= NPY_ITEM_MAX ? itemsize : 0;
}

int b2f_settings_guess(struct b2f_settings *settings, const void *data,
		       size_t size)
{
	uint32_t typesize = npy_itemsize(data, size);
	struct b2f_encoder *enc = NULL;
	int err = 0;

	if (typesize == 0) {
		err = b2f_encoder_new(&enc);
		if (!err)
			err = b2f_encode_guess_typesize(enc, data, size,
							&typesize);
		b2f_encoder_free(enc);
	}
	if (err)
		return err;
	settings->typesize = typesize;
	if (settings->chunksize > (int32_t)typesize)
		settings->chunksize -= settings->chunksize % (int32_t)typesize;
	return 0;
}
