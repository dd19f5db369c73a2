/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trunc.c - the filters that drop bits for good: trunc_prec and int_trunc
 *
 * Decoding has nothing to do, so any meta byte will do as well.
 */
#include "filter/filter.h"

const struct b2f_filter b2f_filter_trunc_prec = {
	.name = "trunc_prec",
	.id = B2F_FILTER_TRUNC_PREC,
	.kind = B2F_FILTER_IDENTITY,
};

const struct b2f_filter b2f_filter_int_trunc = {
	.name = "int_trunc",
	.id = B2F_FILTER_INT_TRUNC,
	.kind = B2F_FILTER_IDENTITY,
};
