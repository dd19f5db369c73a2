/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c - the store of a contiguous frame that is a buffer */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "store/store.h"

struct memory_store {
	struct b2f_store base;
	const uint8_t *data;
	size_t size;
};

static int memory_open(struct b2f_store *store, int64_t id,
		       struct b2f_object *out, struct b2f_why *why)
{
	struct memory_store *memory = (struct memory_store *)store;

	if (id != B2F_OBJECT_INDEX)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a chunk file of a contiguous frame");
	*out = (struct b2f_object){.store = store,
				   .size = memory->size,
				   .fd = -1,
				   .data = memory->data};
	return 0;
}

static int memory_read(const struct b2f_object *object, uint64_t off, void *buf,
		       size_t n, struct b2f_why *why)
{
	const struct memory_store *memory =
		(const struct memory_store *)object->store;

	if (!b2f_range_fits(off, n, memory->size))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the frame ends at byte %zu", memory->size);
	/* There may be no data. */
	if (n)
		memcpy(buf, object->data + off, n);
	return 0;
}

static int memory_stat(struct b2f_store *store, int64_t id, struct stat *out)
{
	(void)id;
	memset(out, 0, sizeof(*out));
	out->st_mode = S_IFREG | 0400;
	out->st_size = (off_t)((struct memory_store *)store)->size;
	return 0;
}

static int memory_clone(struct b2f_store *store, struct b2f_store **out,
			struct b2f_why *why)
{
	const struct memory_store *memory = (struct memory_store *)store;
	int err = b2f_store_new_memory(memory->data, memory->size, out);

	(void)why;
	if (!err)
		(*out)->kind = store->kind;
	return err;
}

static const struct b2f_store_ops memory_ops = {
	.open = memory_open,
	.read = memory_read,
	.stat = memory_stat,
	.clone = memory_clone,
};

int b2f_store_new_memory(const uint8_t *data, size_t size,
			 struct b2f_store **out)
{
	struct memory_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	store->base.ops = &memory_ops;
	store->data = data;
	store->size = size;
	*out = &store->base;
	return 0;
}
