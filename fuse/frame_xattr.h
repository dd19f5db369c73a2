/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_xattr.h - facts about a frame as values of extended attributes
 *
 *   user.blosc2.info            JSON, as of bloscctl info --json
 *   user.blosc2.typesize, .codec, .clevel, .filters, .nbytes, .cbytes, .ratio,
 *               .nchunks        words and decimal numbers
 *   user.blosc2.shape, .chunks, .blocks, .dtype
 *                               of an array, as [2, 3]
 *   user.blosc2.vlmeta.NAME     a vlmetalayer: of MessagePack the text or bytes
 *                               that it is, or JSON; of others the bytes
 *   user.blosc2.vlmeta_raw.NAME the bytes of any, as stored; not listed
 *
 * Layer: fuse.  Threads: pure functions.
 */
#ifndef B2F_FUSE_FRAME_XATTR_H
#define B2F_FUSE_FRAME_XATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "b2frame/frame.h"

#define FS_FRAME_XATTR_PREFIX "user.blosc2."

/* Prefix of the attributes of the mount, at its root. */
#define FS_FRAME_XATTR_OWN "user.bloscfs."

static inline bool fs_frame_xattr_begins(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/*
 * Gets the value of the attribute @name, malloc'ed, without a 0 at its end.
 * Returns 0, -ENODATA (no such attribute), -ENOMEM, or as b2f_frame_vlmeta().
 */
B2F_MUST_CHECK
int fs_frame_xattr_get(struct b2f_frame *frame, const char *name, char **out,
		       size_t *size);

/*
 * The names of all these attributes, each with a 0 behind it; malloc'ed.
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_frame_xattr_list(struct b2f_frame *frame, char **out, size_t *size);

#endif
