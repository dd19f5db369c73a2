/* SPDX-License-Identifier: BSD-3-Clause */
/* codec_versions.c - which codec libraries are in use at run time */
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include "b2frame/names.h"

const char *b2f_codec_lz4_version(void)
{
	return LZ4_versionString();
}

const char *b2f_codec_zstd_version(void)
{
	return ZSTD_versionString();
}

const char *b2f_codec_zlib_version(void)
{
	return zlibVersion();
}
