/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack_claims.c - does MessagePack have all items that it claims?
 *
 * The library allocates memory for as many items as an array claims, before it
 * reads them: five bytes would make it ask for 128 GiB.  And it reports data
 * that are too deep as a lack of memory.  This walks over the heads of objects,
 * one after the other, and does not know their meaning.
 */
#include <stdint.h>

#include "meta/msgpack_tree.h"

/*
 * The bytes behind the tag of an object: a number, and as many items or bytes
 * as it says.
 */
struct form {
	/* Bytes of the number, then of the fixed part. */
	uint8_t width;
	uint8_t fixed;
	/* Objects per counted item; 0: the number counts bytes. */
	uint8_t objects;
};

/* Tags from 0xc0 on, up to 0xdf. */
static const struct form forms[32] = {
	[0x04] = {1, 0, 0}, [0x05] = {2, 0, 0}, [0x06] = {4, 0, 0},
	[0x07] = {1, 1, 0}, [0x08] = {2, 1, 0}, [0x09] = {4, 1, 0},
	[0x0a] = {0, 4, 0}, [0x0b] = {0, 8, 0}, [0x0c] = {0, 1, 0},
	[0x0d] = {0, 2, 0}, [0x0e] = {0, 4, 0}, [0x0f] = {0, 8, 0},
	[0x10] = {0, 1, 0}, [0x11] = {0, 2, 0}, [0x12] = {0, 4, 0},
	[0x13] = {0, 8, 0}, [0x14] = {0, 2, 0}, [0x15] = {0, 3, 0},
	[0x16] = {0, 5, 0}, [0x17] = {0, 9, 0}, [0x18] = {0, 17, 0},
	[0x19] = {1, 0, 0}, [0x1a] = {2, 0, 0}, [0x1b] = {4, 0, 0},
	[0x1c] = {2, 0, 1}, [0x1d] = {4, 0, 1}, [0x1e] = {2, 0, 2},
	[0x1f] = {4, 0, 2},
};

/* Lists and maps in one another; the library takes no more. */
#define LEVELS_MAX 32

/* The bytes that are not decoded yet. */
struct rest {
	const uint8_t *p;
	size_t left;
	/* Objects that have been announced, in all and at each level. */
	uint64_t due;
	uint64_t due_at[LEVELS_MAX + 1];
	unsigned int level;
};

static bool skip(struct rest *r, uint64_t n)
{
	if (n > r->left)
		return false;
	r->p += n;
	r->left -= n;
	return true;
}

/* Goes down into a list or map, if there is anything in it. */
static bool enter(struct rest *r, uint64_t nobjects)
{
	/* The library asks in this order, too. */
	if (r->level == LEVELS_MAX)
		return false;
	if (nobjects == 0)
		return true;
	r->due_at[++r->level] = nobjects;
	r->due += nobjects;
	return true;
}

static bool skip_long(struct rest *r, const struct form *form)
{
	uint64_t n = 0;

	if (form->width > r->left)
		return false;
	for (unsigned int i = 0; i < form->width; i++)
		n = n << 8 | r->p[i];
	if (form->objects)
		return enter(r, n * form->objects) && skip(r, form->width);
	return skip(r, form->width + form->fixed + n);
}

static bool skip_object(struct rest *r)
{
	uint8_t tag = *r->p;

	if (!skip(r, 1))
		return false;
	while (r->due_at[r->level] == 0)
		r->level--;
	r->due_at[r->level]--;
	r->due--;
	if (tag < 0x80 || tag >= 0xe0)
		return true;
	if (tag >= 0xc0)
		return skip_long(r, &forms[tag - 0xc0]);
	if (tag >= 0xa0)
		return skip(r, tag & 0x1f);
	return enter(r, (uint64_t)(tag & 0x0f) * (tag < 0x90 ? 2 : 1));
}

bool b2f_msgpack_claims_hold(const char *data, size_t size)
{
	struct rest r = {.p = (const uint8_t *)data,
			 .left = size,
			 .due = 1,
			 .due_at = {1}};

	/* Every object has a byte at least. */
	while (r.due > 0)
		if (r.due > r.left || !skip_object(&r))
			return false;
	return r.left == 0;
}
