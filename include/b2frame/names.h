/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.h - names of codecs and filters, versions, and names of frames
 *
 * Layer: public.  Threads: pure functions.
 */
#ifndef B2FRAME_NAMES_H
#define B2FRAME_NAMES_H

#include <stddef.h>

#include "b2frame/api.h"

B2F_BEGIN_API

/*
 * The name of codec @code (as in the frame header), of plugins too
 * ("zfp-rate"); "unknown" for a number that is not registered.  Never NULL.
 */
const char *b2f_codec_code_name(unsigned int code);

/* The name of filter @id; "none" for 0, "unknown" if it is not registered. */
const char *b2f_filter_name(unsigned int id);

/* Versions of the library and of the codec libraries in use, one line each. */
const char *b2f_version(void);
const char *b2f_codec_lz4_version(void);
const char *b2f_codec_zstd_version(void);
const char *b2f_codec_zlib_version(void);

/* Kinds of files in the directory of a sparse frame, by their names. */
enum b2f_part {
	/* No file of a frame. */
	B2F_PART_NONE,
	B2F_PART_INDEX,
	B2F_PART_CHUNK,
	/* A chunk or an index that is not committed. */
	B2F_PART_PENDING,
	/* The lock file of C-Blosc2. */
	B2F_PART_LOCK,
	/* A symbolic link to a name of the frame (create.h). */
	B2F_PART_SLOT,
};

enum b2f_part b2f_part_of(const char *name);

/*
 * The codecs that can encode, with blanks between them; and the features the
 * library was built with, or without: "+http +s3 -crypto".  Never NULL.
 */
const char *b2f_codecs(void);
const char *b2f_features(void);

/*
 * Suffixes of frames, which a mount leaves out.  No suffix is the end of
 * another one, so a name has one stem at most.
 */
enum b2f_suffix {
	/* ".b2frame", of a sparse frame, and of any new one. */
	B2F_SUFFIX_SPARSE,
	/* ".b2f" */
	B2F_SUFFIX_CONTIGUOUS,
	/* ".b2" */
	B2F_SUFFIX_OLDER,
	/* ".b2nd" */
	B2F_SUFFIX_ARRAY,
	/* ".blp" */
	B2F_SUFFIX_BLOSCPACK,
	/* ".b2eframe" */
	B2F_SUFFIX_EXTENDED,
	/* How many there are. */
	B2F_SUFFIXES,
};

/* The text of @suffix, with the dot; NULL if there is no such suffix. */
const char *b2f_suffix_text(enum b2f_suffix suffix);

/*
 * Bytes of @name, a name or a path, before its suffix, which is put into
 * *@suffix unless that is NULL; 0 if it has none, or nothing before it.
 */
size_t b2f_suffix_stem(const char *name, enum b2f_suffix *suffix);

B2F_END_API

#endif
