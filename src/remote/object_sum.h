/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object_sum.h - the checksum of an object, as a server of S3 has it: CRC-32
 *
 * Of the checksums that servers know this is the one that zlib makes, and the
 * one of a whole object follows from those of its parts.
 *
 * Layer: remote.  May include: base/.
 */
#ifndef B2F_REMOTE_OBJECT_SUM_H
#define B2F_REMOTE_OBJECT_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the text of one, and its 0. */
#define B2F_OBJECT_SUM_TEXT 9

/*
 * Extends @sum, the checksum of the bytes before (0: none), by the @n bytes at
 * @data.
 */
uint32_t b2f_object_sum(uint32_t sum, const void *data, size_t n);

/* Joins the checksum @sum and the checksum @next of @n bytes behind it. */
uint32_t b2f_object_sum_join(uint32_t sum, uint32_t next, uint64_t n);

/* In base64, as it stands in a header. */
void b2f_object_sum_write(uint32_t sum, char out[B2F_OBJECT_SUM_TEXT]);

/* False: @text is none. */
bool b2f_object_sum_read(const char *text, uint32_t *out);

#endif
