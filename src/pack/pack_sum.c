/* SPDX-License-Identifier: BSD-3-Clause */
/* pack_sum.c - checks members of a ZIP file by their checksums */
#include "pack/pack_sum.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/checked.h"

#define PIECE ((size_t)1 << 20)

static int compare(const struct b2f_member *member, uLong sum,
		   struct b2f_why *why)
{
	if (sum == member->crc32)
		return 0;
	return b2f_why_set(why, B2F_ECORRUPT,
			   "damaged: its CRC-32 is %08lx, that in the ZIP file "
			   "%08lx",
			   sum, (unsigned long)member->crc32);
}

int b2f_pack_sum_check(const struct b2f_member *member, const void *bytes,
		       struct b2f_why *why)
{
	if (!member->has_crc32)
		return 0;
	return compare(member, crc32_z(0, bytes, (size_t)member->size), why);
}

/* Checks @member, read piece by piece into @buf, which has PIECE bytes. */
static int sum_pieces(const struct b2f_member *member,
		      const struct b2f_object *object, uint8_t *buf,
		      struct b2f_why *why)
{
	uLong sum = crc32(0, NULL, 0);
	uint64_t done = 0;
	int err = 0;

	while (done < member->size && !err) {
		size_t n = (size_t)b2f_min_u64(member->size - done, PIECE);

		err = b2f_object_read(object, member->off + done, buf, n, why);
		sum = err ? sum : crc32_z(sum, buf, n);
		done += n;
	}
	return err ? err : compare(member, sum, why);
}

int b2f_pack_sum_read(const struct b2f_member *member, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	uint8_t *buf;
	int err;

	if (!member->has_crc32)
		return 0;
	buf = malloc(PIECE);
	if (!buf)
		return -ENOMEM;
	err = b2f_object_open(member->source, B2F_OBJECT_INDEX, &object, why);
	if (!err)
		err = sum_pieces(member, &object, buf, why);
	b2f_object_close(&object);
	free(buf);
	return err;
}
