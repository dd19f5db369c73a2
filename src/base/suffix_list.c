/* SPDX-License-Identifier: BSD-3-Clause */
/* suffix_list.c - the suffixes of frames, which a mount hides */
#include <string.h>

#include "b2frame/names.h"

static const char *const texts[B2F_SUFFIXES] = {
	[B2F_SUFFIX_SPARSE] = ".b2frame", [B2F_SUFFIX_CONTIGUOUS] = ".b2f",
	[B2F_SUFFIX_OLDER] = ".b2",	  [B2F_SUFFIX_ARRAY] = ".b2nd",
	[B2F_SUFFIX_BLOSCPACK] = ".blp",  [B2F_SUFFIX_EXTENDED] = ".b2eframe",
};

const char *b2f_suffix_text(enum b2f_suffix suffix)
{
	return (unsigned int)suffix < B2F_SUFFIXES ? texts[suffix] : NULL;
}

size_t b2f_suffix_stem(const char *name, enum b2f_suffix *suffix)
{
	size_t len = strlen(name);

	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES; i++) {
		size_t n = strlen(texts[i]);

		if (len <= n || name[len - n - 1] == '/' ||
		    strcmp(name + len - n, texts[i]) != 0)
			continue;
		if (suffix)
			*suffix = i;
		return len - n;
	}
	return 0;
}
