/* SPDX-License-Identifier: BSD-3-Clause */
/* head.c - the heads of chunks, and their units by way of the cache */
#include <stdlib.h>

#include "file/reading.h"

/* Stored bytes of the heads of one file that are kept. */
#define HEADS_BYTES_MAX (4u << 20)

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

void b2f_file_forget_heads(struct b2f_file *file)
{
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

int b2f_reading_head(const struct b2f_reading *r, const struct b2f_source *src,
		     struct b2f_head **out)
{
	struct b2f_head *head = find_head(r, src);
	int err;

	if (head) {
		*out = head;
		return 0;
	}
	head = calloc(1, sizeof(*head));
	if (!head)
		return -ENOMEM;
	/* Two threads may both load it: cheaper than to wait for each other. */
	err = b2f_frame_load_entry(r->frame, src->span.nchunk, src->raw,
				   src->nbytes, B2F_LOAD_HEAD, &head->loaded);
	if (err) {
		free(head);
		return err;
	}
	atomic_init(&head->refs, 1);
	head->frame = b2f_frame_ref(r->frame);
	keep_head(r->file, head);
	*out = head;
	return 0;
}

int b2f_reading_next_head(const struct b2f_reading *r,
			  const struct b2f_source *src, struct b2f_head **head)
{
	const struct b2f_loaded *l = *head ? (*head)->loaded : NULL;

	if (l && l->nchunk == src->span.nchunk && l->raw == src->raw &&
	    l->chunk.header.nbytes == src->nbytes)
		return 0;
	b2f_head_put(*head);
	*head = NULL;
	return b2f_reading_head(r, src, head);
}

struct b2f_cache_key b2f_reading_key(const struct b2f_reading *r,
				     const struct b2f_loaded *loaded,
				     uint32_t unit)
{
	uint64_t item = loaded->raw;

	/* Entries without a file are the same for chunks of any length. */
	if (item >> 63)
		item = UINT64_C(1) << 63 | loaded->nchunk;
	return (struct b2f_cache_key){
		.file = r->cache_id, .item = item, .unit = unit};
}

/* What the loader of a unit needs. */
struct fill {
	const struct b2f_reading *reading;
	const struct b2f_loaded *loaded;
};

static int fill_unit(void *arg, const struct b2f_cache_key *key, uint8_t *dst,
		     size_t size)
{
	const struct fill *fill = arg;
	const struct b2f_reading *r = fill->reading;
	struct b2f_runtime *rt = r->file->runtime;
	struct b2f_cache_ref ref = {0};
	struct b2f_decoder *dec = NULL;
	int err = 0;

	(void)size;
	/* Unit 0 never needs another one, so this cannot go in circles. */
	if (key->unit > 0 && b2f_chunk_needs_ref(&fill->loaded->chunk))
		err = b2f_reading_unit(r, fill->loaded, 0, &ref);
	if (!err)
		err = b2f_idle_get_decoder(&rt->idle, &dec);
	if (!err) {
		err = b2f_frame_decode_unit(r->frame, fill->loaded, dec,
					    key->unit, ref.data, dst);
		b2f_idle_put_decoder(&rt->idle, dec);
	}
	b2f_cache_put(rt->cache, &ref);
	return err;
}

int b2f_reading_unit(const struct b2f_reading *r,
		     const struct b2f_loaded *loaded, uint32_t unit,
		     struct b2f_cache_ref *out)
{
	struct b2f_cache_key key = b2f_reading_key(r, loaded, unit);
	struct fill fill = {.reading = r, .loaded = loaded};
	struct b2f_why why;
	int err;

	err = b2f_cache_get(r->file->runtime->cache, &key,
			    b2f_chunk_unit_nbytes(&loaded->chunk, unit),
			    fill_unit, &fill, out);
	if (err == -ESTALE) {
		/* Stock Blosc2 rewrites chunks in place, with other blocks. */
		b2f_why_set(&why, err,
			    "rewritten by another program while "
			    "the file is open");
		b2f_frame_report_entry(r->frame, loaded->nchunk, loaded->raw,
				       -1, err, &why);
	}
	return err;
}
