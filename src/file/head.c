/* SPDX-License-Identifier: BSD-3-Clause */
/* head.c - the heads of the chunks of a file, and a table of them */
#include <stdlib.h>

#include "base/checked.h"
#include "file/stream.h"
#include "frame/frame_chunk.h"

/* Stored bytes of the heads of one file that are kept. */
#define HEADS_BYTES_MAX (4u << 20)

/* Up to this many bytes of a remote chunk come nearly as soon as a few. */
#define FIRST_MAX (2u << 20)

void b2f_head_ref(struct b2f_head *head)
{
	atomic_fetch_add_explicit(&head->refs, 1, memory_order_relaxed);
}

void b2f_head_put(struct b2f_head *head)
{
	if (!head || atomic_fetch_sub_explicit(&head->refs, 1,
					       memory_order_acq_rel) != 1)
		return;
	b2f_loaded_free(head->loaded);
	b2f_frame_close(head->frame);
	free(head);
}

static size_t head_bytes(const struct b2f_head *head)
{
	return head ? sizeof(*head) + sizeof(*head->loaded) + head->loaded->size
		    : 0;
}

static struct b2f_head **slot_of(struct b2f_file *file, uint64_t nchunk)
{
	return &file->heads[nchunk % file->nheads];
}

/* Pins the head of @src if the table has it. */
static struct b2f_head *find_head(const struct b2f_reading *r,
				  const struct b2f_source *src)
{
	struct b2f_file *file = r->file;
	struct b2f_head *head;

	pthread_mutex_lock(&file->heads_lock);
	head = *slot_of(file, src->span.nchunk);
	if (head && head->frame == r->frame && head->loaded->raw == src->raw &&
	    head->loaded->nchunk == src->span.nchunk &&
	    head->loaded->chunk.header.nbytes == src->nbytes)
		b2f_head_ref(head);
	else
		head = NULL;
	pthread_mutex_unlock(&file->heads_lock);
	return head;
}

/* Puts @head into its slot, unless the table would become too large. */
static void keep_head(struct b2f_file *file, struct b2f_head *head)
{
	struct b2f_head **slot = slot_of(file, head->loaded->nchunk);
	struct b2f_head *old;

	pthread_mutex_lock(&file->heads_lock);
	old = *slot;
	*slot = NULL;
	file->heads_bytes -= head_bytes(old);
	if (file->heads_bytes + head_bytes(head) <= HEADS_BYTES_MAX) {
		b2f_head_ref(head);
		file->heads_bytes += head_bytes(head);
		*slot = head;
	}
	pthread_mutex_unlock(&file->heads_lock);
	b2f_head_put(old);
}

void b2f_head_forget_all(struct b2f_file *file)
{
	b2f_kept_drop(&file->runtime->kept, file);
	for (size_t i = 0; i < file->nheads; i++) {
		struct b2f_head *old;

		pthread_mutex_lock(&file->heads_lock);
		old = file->heads[i];
		file->heads[i] = NULL;
		file->heads_bytes -= head_bytes(old);
		pthread_mutex_unlock(&file->heads_lock);
		b2f_head_put(old);
	}
}

static int load(const struct b2f_reading *r, const struct b2f_source *src,
		struct b2f_object *object, struct b2f_loaded **out)
{
	uint32_t unit = atomic_load(&r->file->last_unit);
	struct b2f_frame_want want = {
		.nchunk = src->span.nchunk,
		.raw = src->raw,
		.nbytes = src->nbytes,
	};
	int err;

	/* Not for a sequential reader, which reads the whole chunk at once. */
	if (!r->in_order && unit > 0 && src->size > 0 &&
	    src->size <= src->nbytes) {
		want.start = (src->nbytes - src->size) / unit * unit;
		want.end = b2f_min_u64(want.start + unit, want.nbytes);
	}
	/* The first read of all, from the begin: more of them are likely. */
	if (unit == 0 && src->size == src->nbytes &&
	    src->nbytes <= FIRST_MAX && b2f_frame_is_far(r->frame))
		want.end = want.nbytes;
	/* All of it, unless that is on its way already. */
	if (r->in_order && src->nbytes <= B2F_STREAM_WHOLE_MAX)
		b2f_frame_prefetch(r->frame, src->raw, src->nbytes);
	err = b2f_frame_load_head(r->frame, &want, object, out);
	if (!err)
		atomic_store(&r->file->last_unit, (*out)->chunk.unit_size);
	return err;
}

static int new_head(const struct b2f_reading *r, const struct b2f_source *src,
		    struct b2f_head **out)
{
	const struct b2f_kept_key key = {r->file, r->cache_id, src->raw};
	struct b2f_kept *kept = &r->file->runtime->kept;
	struct b2f_head *head = calloc(1, sizeof(*head));
	struct b2f_object object;
	int err;

	if (!head)
		return -ENOMEM;
	err = load(r, src, &object, &head->loaded);
	if (b2f_kept_stop(kept, err))
		err = load(r, src, &object, &head->loaded);
	if (err) {
		free(head);
		return err;
	}
	if (object.store)
		b2f_kept_put(kept,
			     b2f_kept_add(kept, &key, r->frame, &object));
	atomic_init(&head->refs, 1);
	head->frame = b2f_frame_ref(r->frame);
	keep_head(r->file, head);
	*out = head;
	return 0;
}

int b2f_head_get(const struct b2f_reading *r, const struct b2f_source *src,
		 struct b2f_head **out)
{
	pthread_mutex_t *lock =
		&r->file->head_loads[src->span.nchunk % B2F_HEAD_LOADS];
	int err = 0;

	*out = find_head(r, src);
	if (*out)
		return 0;
	pthread_mutex_lock(lock);
	*out = find_head(r, src);
	if (!*out)
		err = new_head(r, src, out);
	pthread_mutex_unlock(lock);
	return err;
}

int b2f_head_next(const struct b2f_reading *r, const struct b2f_source *src,
		  struct b2f_head **head)
{
	const struct b2f_loaded *l = *head ? (*head)->loaded : NULL;

	if (l && l->nchunk == src->span.nchunk && l->raw == src->raw &&
	    l->chunk.header.nbytes == src->nbytes)
		return 0;
	b2f_head_put(*head);
	*head = NULL;
	return b2f_head_get(r, src, head);
}
