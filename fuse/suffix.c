/* SPDX-License-Identifier: BSD-3-Clause */
/* suffix.c - takes the suffixes of frames off names, and adds them */
#include <string.h>

#include "suffix.h"

_Static_assert(sizeof(".b2frame") - 1 == FS_SUFFIX_RESERVED,
	       "new frames get .b2frame");

static bool is_dots(const char *name, size_t n)
{
	return (n == 1 && name[0] == '.') ||
	       (n == 2 && name[0] == '.' && name[1] == '.');
}

/* The length of the stem of @name, and its *@suffix; 0: it has none. */
static size_t measure_stem(const char *name, enum b2f_suffix *suffix)
{
	size_t n = b2f_suffix_stem(name, suffix);

	return is_dots(name, n) || n >= FS_NAME_SIZE ? 0 : n;
}

bool fs_suffix_stem(const char *name, char stem[FS_NAME_SIZE])
{
	size_t n = measure_stem(name, NULL);

	if (n == 0)
		return false;
	memcpy(stem, name, n);
	stem[n] = '\0';
	return true;
}

enum b2f_suffix fs_suffix_of(const char *name)
{
	enum b2f_suffix suffix;

	return measure_stem(name, &suffix) > 0 ? suffix : B2F_SUFFIX_SPARSE;
}

enum b2f_suffix fs_suffix_for(const char *name, enum b2f_suffix otherwise)
{
	size_t n = strlen(name), npy = strlen(".npy");

	return n > npy && strcmp(name + n - npy, ".npy") == 0
		       ? B2F_SUFFIX_ARRAY
		       : otherwise;
}

bool fs_suffix_join(const char *stem, enum b2f_suffix suffix,
		    char name[FS_NAME_SIZE])
{
	const char *text = b2f_suffix_text(suffix);
	size_t a = strlen(stem), b = strlen(text);

	if (a + b >= FS_NAME_SIZE)
		return false;
	memcpy(name, stem, a);
	memcpy(name + a, text, b + 1);
	return true;
}
