/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zip.h - the members of a ZIP file
 *
 * A .b2z store of python-blosc2 is a ZIP file whose members are stored, not
 * compressed, so that each is a frame at an offset of the file.  This reads the
 * central directory (ZIP64 too) and the local header of each member, and
 * nothing of their bytes.  The ZIP libraries at hand either decompress members
 * but do not say where they lie, or leave it to the caller to find members that
 * overlap; nothing else of them is needed here.
 *
 * Refuses hostile files as a whole: files that two readers could read
 * differently (two directories, differing names, overlapping members), members
 * outside of the file, and names that lead out of the store.  A sound member
 * that has no plain bytes in the file is marked as such.
 *
 * Layer: store.  May include: base/.  Threads: pure functions of an object.
 */
#ifndef B2F_STORE_ZIP_H
#define B2F_STORE_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct b2f_zip_member {
	/* Position of its local header; first, for b2f_compare_u64(). */
	uint64_t header_off;
	/*
	 * A relative path, 0-terminated: no empty part, no "." and "..", each
	 * part at most B2F_ZIP_NAME_MAX bytes.  The name of a directory ends
	 * without a slash.
	 */
	char *name;
	bool is_dir;
	/* Offset and size in the file. */
	uint64_t off;
	uint64_t size;
	/* CRC-32 of its bytes, unless @refused; not compared here. */
	uint32_t crc32;
	/* Why its bytes cannot be read in place, as "it is encrypted". */
	const char *refused;
};

struct b2f_zip {
	/* Sorted by name, as strcmp(3) does. */
	struct b2f_zip_member *members;
	size_t n;
};

/* The limit of file names. */
#define B2F_ZIP_NAME_MAX 255

/*
 * Reads the directory of the ZIP file @object into @out; free it with
 * b2f_zip_fini().  Takes memory in proportion to that directory, and 256 MiB at
 * most.
 *
 * Returns 0, B2F_ENOTFRAME (no ZIP file), B2F_ECORRUPT, B2F_EUNSUPPORTED (in
 * several parts, or its directory is encrypted), B2F_ETOOBIG, -ENOMEM, or an
 * errno of the store; the cause is in @why.
 */
B2F_MUST_CHECK
int b2f_zip_parse(const struct b2f_object *object, struct b2f_zip *out,
		  struct b2f_why *why);

void b2f_zip_fini(struct b2f_zip *zip);

#endif
