/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_peek.c - is this name a frame, and how large? */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "blp/blp_store.h"
#include "frame/obstacle.h"
#include "frame/frame.h"
#include "frame/frame_blank.h"
#include "frame/tensor.h"
#include "index/index_write.h"

/* The trailer of a tensor is shorter. */
#define TRAILER_MAX (1u << 20)

/*
 * Is there a vlmetalayer of a tensor?  Its name is in the trailer, which may
 * have that text elsewhere, too: the closer look will tell.
 */
static int find_tensor(const struct b2f_object *object,
		       const struct b2f_frame_header *h, bool *may_be)
{
	uint8_t tail[B2F_FRAME_TAIL];
	B2F_OWN uint8_t *raw = NULL;
	uint32_t len;
	int err;

	*may_be = false;
	err = b2f_object_read(object, h->frame_len - sizeof(tail), tail,
			      sizeof(tail), NULL);
	if (err || b2f_trailer_len_parse(tail, h, &len, NULL) ||
	    len <= B2F_FRAME_TRAILER_PLAIN || len > TRAILER_MAX)
		return err;
	raw = malloc(len);
	if (!raw)
		return -ENOMEM;
	err = b2f_object_read(object, h->frame_len - len, raw, len, NULL);
	if (!err)
		*may_be = memmem(raw, len, B2F_TENSOR_META,
				 strlen(B2F_TENSOR_META)) ||
			  memmem(raw, len, B2F_BLP_META, strlen(B2F_BLP_META));
	return err;
}

/* Many types of items, and malformed types, have no .npy header. */
static int find_header(const struct b2f_frame *frame, bool *has)
{
	B2F_OWN uint8_t *head = NULL;
	size_t len;
	int err = b2f_frame_npy_header(frame, &head, &len);

	*has = !err;
	return err == -ENOMEM ? err : 0;
}

static int open_whole(struct b2f_store *store, struct b2f_reserve *reserve,
		      struct b2f_frame **out)
{
	const struct b2f_frame_options options = {.reserve = reserve};
	struct b2f_store *again = NULL;
	int err = b2f_store_clone(store, &again, NULL);

	return err ? err : b2f_frame_glance(&options, again, out);
}

/*
 * The size of an array depends on all of its index: shape, number of chunks,
 * and the header of a .npy file.
 */
static int peek_array(struct b2f_store *store, struct b2f_reserve *reserve,
		      struct b2f_frame_peek *peek)
{
	struct b2f_frame *frame = NULL;
	int err = open_whole(store, reserve, &frame);

	if (err && !b2f_is_format_error(err))
		return err;
	peek->broken = err || frame->layout.err;
	if (!peek->broken) {
		peek->nbytes = b2f_frame_shown_nbytes(frame);
		peek->is_npy = b2f_frame_is_npy(frame);
		peek->read_only = b2f_obstacle_find(frame, B2F_USE_FILE);
		err = find_header(frame, &peek->has_npy_header);
	}
	b2f_frame_close(frame);
	return peek->broken ? 0 : err;
}

/*
 * A Bloscpack file has its size in the header, but its array in the metadata,
 * and perhaps its chunks one by one: so it is opened.
 */
static int peek_bloscpack(struct b2f_store *store, struct b2f_reserve *reserve,
			  struct b2f_frame_peek *peek)
{
	int err;

	peek->is_frame = peek->bloscpack = true;
	err = peek_array(store, reserve, peek);
	if (!err && !peek->broken)
		peek->cbytes = (uint64_t)peek->index.st_size;
	return err;
}

/* With chunks of different sizes the whole index tells whether to write. */
static int peek_varied(struct b2f_store *store, struct b2f_reserve *reserve,
		       struct b2f_frame_peek *peek)
{
	struct b2f_frame *frame = NULL;
	int err = open_whole(store, reserve, &frame);

	if (!err)
		peek->read_only = b2f_obstacle_find(frame, B2F_USE_FILE);
	b2f_frame_close(frame);
	return b2f_is_format_error(err) ? 0 : err;
}

/* An unreadable index: was the frame just made when the power failed? */
static int peek_blank(struct b2f_store *store, const char *name,
		      struct b2f_frame_peek *peek)
{
	bool may_be =
		peek->is_frame ? b2f_store_is_sparse(store)
			       : b2f_frame_is_new_name(name);
	int ret = may_be ? b2f_frame_blank(store) : B2F_BLANK_NOT;

	if (ret < 0)
		return ret;
	peek->blank = ret == B2F_BLANK_NEW;
	peek->broken = !peek->blank;
	peek->is_frame |= ret != B2F_BLANK_NOT;
	return 0;
}

/* Looks at the open index of @store. */
static int peek_index(struct b2f_store *store, const struct b2f_object *index,
		      const char *name, struct b2f_reserve *reserve,
		      struct b2f_frame_peek *peek)
{
	uint8_t fixed[B2F_FRAME_HEADER_FIXED] = {0};
	size_t n = (size_t)b2f_min_u64(sizeof(fixed), index->size);
	int err = b2f_object_read(index, 0, fixed, n, NULL);
	struct b2f_frame_header h;
	bool may_be_array;

	if (err && !b2f_is_format_error(err))
		return err;
	if (!b2f_store_is_sparse(store) && b2f_blp_magic(fixed, n))
		return peek_bloscpack(store, reserve, peek);
	peek->is_frame |= !err && b2f_frame_magic(fixed, n);
	if (err || b2f_frame_header_parse(fixed, n, index->size, &h, NULL) ||
	    h.sparse != b2f_store_is_sparse(store))
		return peek_blank(store, name, peek);
	peek->nbytes = h.nbytes;
	peek->cbytes = h.cbytes;
	peek->read_only = b2f_obstacle_in_header(&h);
	/* Damage may have changed the name of any metalayer. */
	may_be_array = h.header_len > B2F_FRAME_HEADER_PLAIN;
	if (!may_be_array)
		err = find_tensor(index, &h, &may_be_array);
	if (err && !b2f_is_format_error(err))
		return err;
	if (may_be_array)
		return peek_array(store, reserve, peek);
	return !peek->read_only && h.chunksize == 0
		       ? peek_varied(store, reserve, peek)
		       : 0;
}

/* Looks at an open store.  Returns 0, or an errno that is no answer. */
static int peek_store(struct b2f_store *store, const char *name,
		      struct b2f_reserve *reserve, struct b2f_frame_peek *peek)
{
	struct b2f_object index = {.fd = -1};
	int err = b2f_store_stat_index(store, &peek->index);

	if (err)
		return err == -ENOENT ? 0 : err;
	/* A directory with an index is a frame, whatever the index holds. */
	peek->sparse = peek->is_frame = b2f_store_is_sparse(store);
	err = b2f_object_open(store, B2F_OBJECT_INDEX, &index, NULL);
	if (!err)
		err = peek_index(store, &index, name, reserve, peek);
	else if (err == B2F_ECORRUPT)
		peek->broken = true;
	b2f_object_close(&index);
	return err == B2F_ECORRUPT ? 0 : err;
}

_Static_assert(B2F_FRAME_BEGIN_MAX >= B2F_FRAME_HEADER_FIXED,
	       "b2f_frame_begins() needs the whole header");

bool b2f_frame_begins(const void *bytes, size_t n, uint64_t size)
{
	struct b2f_frame_header h;

	return !b2f_frame_header_parse(bytes, n, size, &h, NULL) && !h.sparse;
}

int b2f_frame_peek(int dirfd, const char *name, struct b2f_reserve *reserve,
		   struct b2f_frame_peek *out)
{
	struct b2f_frame_peek peek;
	struct b2f_store *store = NULL;
	int err;

	memset(&peek, 0, sizeof(peek));
	err = b2f_store_open(dirfd, name, false, &store, NULL);
	if (err == B2F_ENOTFRAME || err == -ELOOP || err == -ENXIO) {
		*out = peek;
		return 0;
	}
	if (err)
		return err;
	/* A look is no access, or the time that a user has set would go. */
	b2f_store_be_quiet(store);
	err = peek_store(store, name, reserve, &peek);
	b2f_store_free(store);
	if (!err)
		*out = peek;
	return err;
}
