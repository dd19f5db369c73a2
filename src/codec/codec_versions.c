/* SPDX-License-Identifier: BSD-3-Clause */
/* codec_versions.c - versions and features of the library and its codecs */
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

const char *b2f_codecs(void)
{
	return "blosclz lz4 lz4hc zlib zstd";
}

#ifdef B2F_HAVE_REMOTE
#define REMOTE "+http +s3"
#else
#define REMOTE "-http -s3"
#endif

const char *b2f_features(void)
{
	return REMOTE;
}
