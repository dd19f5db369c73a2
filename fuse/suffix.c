/* SPDX-License-Identifier: BSD-3-Clause */
/* suffix.c - the suffixes of frames: off a name, and onto one */
#include <string.h>

#include "suffix.h"

/* No suffix is the end of another, so a name has one stem at most. */
static const char *const suffixes[] = {".b2frame", ".b2f", ".b2", ".b2nd",
				       ".blp", ".b2eframe"};

/* Where ".b2nd" is. */
#define ARRAY_SUFFIX 3

_Static_assert(sizeof(suffixes) / sizeof(suffixes[0]) == FS_SUFFIXES,
	       "one for each number");
_Static_assert(sizeof(".b2frame") - 1 == FS_SUFFIX_RESERVED,
	       "new frames get .b2frame");

static bool is_dots(const char *name, size_t n)
{
	return (n == 1 && name[0] == '.') ||
	       (n == 2 && name[0] == '.' && name[1] == '.');
}

/* The length of the stem of @name, and its *@suffix; 0: it has none. */
static size_t measure_stem(const char *name, size_t *suffix)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < FS_SUFFIXES; i++) {
		size_t n = strlen(suffixes[i]);

		if (len <= n || strcmp(name + len - n, suffixes[i]) != 0)
			continue;
		*suffix = i;
		n = len - n;
		return is_dots(name, n) || n >= FS_NAME_SIZE ? 0 : n;
	}
	return 0;
}

bool fs_suffix_stem(const char *name, char stem[FS_NAME_SIZE])
{
	size_t suffix, n = measure_stem(name, &suffix);

	if (n == 0)
		return false;
	memcpy(stem, name, n);
	stem[n] = '\0';
	return true;
}

size_t fs_suffix_of(const char *name)
{
	size_t suffix = FS_SUFFIX_NEW;

	return measure_stem(name, &suffix) > 0 ? suffix : FS_SUFFIX_NEW;
}

size_t fs_suffix_for(const char *name, size_t otherwise)
{
	size_t n = strlen(name), npy = strlen(".npy");

	return n > npy && strcmp(name + n - npy, ".npy") == 0 ? ARRAY_SUFFIX
							      : otherwise;
}

bool fs_suffix_join(const char *stem, size_t suffix, char name[FS_NAME_SIZE])
{
	size_t a = strlen(stem), b = strlen(suffixes[suffix]);

	if (a + b >= FS_NAME_SIZE)
		return false;
	memcpy(name, stem, a);
	memcpy(name + a, suffixes[suffix], b + 1);
	return true;
}
