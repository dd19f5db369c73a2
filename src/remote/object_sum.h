/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object_sum.h - the checksum of an object, as an S3 server keeps it: CRC-32
 *
 * zlib makes this checksum, and the checksums of the parts give that of the
 * whole object.
 *
 * Layer: remote.  May include: base/.
 */
#ifndef B2F_REMOTE_OBJECT_SUM_H
#define B2F_REMOTE_OBJECT_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the text and its 0. */
#define B2F_OBJECT_SUM_TEXT 9

/*
 * Extends @sum, the checksum of the bytes before (0: none), by the @n bytes at
 * @data.
 */
uint32_t b2f_object_sum(uint32_t sum, const void *data, size_t n);

/* Joins the checksum @sum and the checksum @next of @n bytes behind it. */
uint32_t b2f_object_sum_join(uint32_t sum, uint32_t next, uint64_t n);

/* Writes @sum in base64, as in a header. */
void b2f_object_sum_write(uint32_t sum, char out[B2F_OBJECT_SUM_TEXT]);

/* Returns false if @text is not such a checksum. */
bool b2f_object_sum_read(const char *text, uint32_t *out);

#endif
