/* SPDX-License-Identifier: BSD-3-Clause */
/* ids.c - lists of chunk ids */
#include "txn/ids.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"

int b2f_ids_reserve(struct b2f_ids *list, size_t more)
{
	uint64_t *ids;

	if (more > SIZE_MAX - list->n)
		return -ENOMEM;
	ids = b2f_grown(list->ids, &list->cap, list->n + more, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	list->ids = ids;
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
