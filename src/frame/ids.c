/* SPDX-License-Identifier: BSD-3-Clause */
/* ids.c - lists of chunk ids */
#include "frame/ids.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAP 16

int b2f_ids_reserve(struct b2f_ids *list, size_t more)
{
	size_t cap = list->cap ? list->cap : FIRST_CAP;
	uint64_t *ids;

	if (more > SIZE_MAX / sizeof(*ids) / 2 - list->n)
		return -ENOMEM;
	while (cap < list->n + more)
		cap *= 2;
	if (cap == list->cap)
		return 0;
	ids = realloc(list->ids, cap * sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	list->ids = ids;
	list->cap = cap;
	return 0;
}

int b2f_ids_add(struct b2f_ids *list, uint64_t id)
{
	int err = b2f_ids_reserve(list, 1);

	if (!err)
		list->ids[list->n++] = id;
	return err;
}

void b2f_ids_fini(struct b2f_ids *list)
{
	free(list->ids);
	*list = (struct b2f_ids){0};
}
