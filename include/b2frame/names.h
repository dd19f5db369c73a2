/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.h - numbers of the format into words
 *
 * Layer: public.  Threads: pure functions.
 */
#ifndef B2FRAME_NAMES_H
#define B2FRAME_NAMES_H

#include "b2frame/api.h"

B2F_BEGIN_API

/*
 * The name of codec @code (as in the frame header), of plugins too
 * ("zfp-rate"); "unknown" for a number that is not registered.  Never NULL.
 */
const char *b2f_codec_code_name(unsigned int code);

/* The name of filter @id; "none" for 0, "unknown" for one that is not registered.
 */
const char *b2f_filter_name(unsigned int id);

/* Versions of the library and of the codec libraries in use, one line each. */
const char *b2f_version(void);
const char *b2f_codec_lz4_version(void);
const char *b2f_codec_zstd_version(void);
const char *b2f_codec_zlib_version(void);

B2F_END_API

#endif
