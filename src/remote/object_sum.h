/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object_sum.h - the checksum of an object, as a server of S3 has it: CRC-32
 *
 * Of the kinds that there are, it is the one that zlib makes, and that tells of a whole
 * object what its parts are.
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

/* That of what has @sum, and of the @n bytes at @data behind it.  0: of nothing. */
uint32_t b2f_object_sum(uint32_t sum, const void *data, size_t n);

/* That of what has @sum, and of @n bytes behind it that have @next. */
uint32_t b2f_object_sum_join(uint32_t sum, uint32_t next, uint64_t n);

/* In base64, as it stands in a header. */
void b2f_object_sum_write(uint32_t sum, char out[B2F_OBJECT_SUM_TEXT]);

/* False: @text is none. */
bool b2f_object_sum_read(const char *text, uint32_t *out);

#endif
