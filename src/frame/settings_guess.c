/* SPDX-License-Identifier: BSD-3-Clause */
/* settings_guess.c - the item size that suits some data */
#include <stdlib.h>
#include <string.h>

#include "b2frame/create.h"
#include "chunk/encode.h"

/* Items of one number are not wider than this; long strings may be. */
#define NPY_ITEM_MAX 65536

/* The header of an .npy file is a Python dict in ASCII, of this many bytes. */
#define NPY_START 10
#define NPY_TEXT  256

/*
 * The item size in an .npy header, for the types that are one number or one
 * string ("'descr': '<f8'"); 0 if there is none.
 */
static uint32_t npy_itemsize(const char *data, size_t size)
{
	static const char key[] = "'descr': '";
	char text[NPY_TEXT + 1] = "";
	const char *at;
	unsigned long width;

	if (size < NPY_START || memcmp(data, "\x93NUMPY", 6) != 0)
		return 0;
	size -= NPY_START;
	memcpy(text, data + NPY_START, size < NPY_TEXT ? size : NPY_TEXT);
	at = strstr(text, key);
	if (!at)
		return 0;
	at += strlen(key);
	/* Byte order, kind, width; strings of Unicode count characters. */
	if (!at[0] || !strchr("<>|=", at[0]) || !at[1] ||
	    !strchr("?bBiufcSUVmM", at[1]))
		return 0;
	width = strtoul(at + 2, NULL, 10);
	if (width == 0 || width > NPY_ITEM_MAX)
		return 0;
	return (uint32_t)(at[1] == 'U' ? 4 * width : width);
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
