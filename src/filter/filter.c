/* SPDX-License-Identifier: BSD-3-Clause */
/* filter.c - the const table of filters */
#include "filter/filter.h"

#include "b2frame/names.h"

/* Ordered by use, as a look-up walks it. */
static const struct b2f_filter *const filters[] = {
	&b2f_filter_shuffle,   &b2f_filter_bitshuffle,
	&b2f_filter_delta,     &b2f_filter_trunc_prec,
	&b2f_filter_bytedelta, &b2f_filter_bytedelta_old,
	&b2f_filter_int_trunc, &b2f_filter_ndcell,
	&b2f_filter_ndmean,
};

const struct b2f_filter *b2f_filter_by_id(unsigned int id)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		if (filters[i]->id == id)
			return filters[i];
	}
	return NULL;
}

const char *b2f_filter_name(unsigned int id)
{
	const struct b2f_filter *filter = b2f_filter_by_id(id);

	if (id == B2F_FILTER_NONE)
		return "none";
	return filter ? filter->name : "unknown";
}
