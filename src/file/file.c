/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c - a frame as a plain file: its life, and the heads of its chunks */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "file/file.h"

/* Chunk heads of one file that are kept, by number and by size. */
#define HEADS_MAX	4096
#define HEADS_BYTES_MAX (4u << 20)

int b2f_file_open(struct b2f_runtime *runtime, struct b2f_frame *frame,
		  struct b2f_file **out)
{
	struct b2f_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->nheads = b2f_min_u64(frame->info.nchunks, HEADS_MAX);
	file->heads = calloc(file->nheads ? file->nheads : 1,
			     sizeof(struct b2f_head *));
	if (!file->heads) {
		free(file);
		return -ENOMEM;
	}
	pthread_mutex_init(&file->heads_lock, NULL);
	atomic_init(&file->refs, 1);
	file->runtime = runtime;
	file->frame = frame;
	file->cache_id = b2f_cache_new_file(runtime->cache);
	*out = file;
	return 0;
}

void b2f_file_ref(struct b2f_file *file)
{
	atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
}

void b2f_file_unref(struct b2f_file *file)
{
	if (atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) !=
	    1)
		return;
	b2f_cache_drop_file(file->runtime->cache, file->cache_id);
	for (size_t i = 0; i < file->nheads; i++)
		b2f_head_put(file->heads[i]);
	free(file->heads);
	pthread_mutex_destroy(&file->heads_lock);
	b2f_frame_close(file->frame);
	free(file);
}

void b2f_file_close(struct b2f_file *file)
{
	if (file)
		b2f_file_unref(file);
}

uint64_t b2f_file_size(const struct b2f_file *file)
{
	return file->frame->info.nbytes;
}

struct b2f_frame *b2f_file_frame(struct b2f_file *file)
{
	return file->frame;
}

int b2f_stream_new(struct b2f_file *file, struct b2f_stream **out)
{
	struct b2f_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	b2f_readahead_init(&stream->readahead, file->runtime->window);
	*out = stream;
	return 0;
}

void b2f_stream_free(struct b2f_stream *stream)
{
	if (!stream)
		return;
	b2f_readahead_fini(&stream->readahead);
	free(stream);
}

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
	free(head);
}

static size_t head_bytes(const struct b2f_head *head)
{
	return head ? sizeof(*head) + sizeof(*head->loaded) + head->loaded->size
		    : 0;
}

/* Pins the head of @nchunk if the table has it. */
static struct b2f_head *find_head(struct b2f_file *file, uint64_t nchunk)
{
	struct b2f_head *head;

	pthread_mutex_lock(&file->heads_lock);
	head = file->heads[nchunk % file->nheads];
	if (head && head->loaded->nchunk == nchunk)
		atomic_fetch_add_explicit(&head->refs, 1, memory_order_relaxed);
	else
		head = NULL;
	pthread_mutex_unlock(&file->heads_lock);
	return head;
}

/* Puts @head into its slot, unless the table would become too large. */
static void keep_head(struct b2f_file *file, struct b2f_head *head)
{
	struct b2f_head **slot =
		&file->heads[head->loaded->nchunk % file->nheads];
	struct b2f_head *old;

	pthread_mutex_lock(&file->heads_lock);
	old = *slot;
	*slot = NULL;
	file->heads_bytes -= head_bytes(old);
	if (file->heads_bytes + head_bytes(head) <= HEADS_BYTES_MAX) {
		atomic_fetch_add_explicit(&head->refs, 1, memory_order_relaxed);
		file->heads_bytes += head_bytes(head);
		*slot = head;
	}
	pthread_mutex_unlock(&file->heads_lock);
	b2f_head_put(old);
}

int b2f_file_head_get(struct b2f_file *file, const struct b2f_frame_span *span,
		      struct b2f_head **out)
{
	struct b2f_head *head = find_head(file, span->nchunk);
	int err;

	if (head) {
		*out = head;
		return 0;
	}
	head = calloc(1, sizeof(*head));
	if (!head)
		return -ENOMEM;
	/* Two threads may both load it: cheaper than to wait for each other. */
	err = b2f_frame_load(file->frame, span->nchunk, span->nbytes,
			     B2F_LOAD_HEAD, &head->loaded);
	if (err) {
		free(head);
		return err;
	}
	atomic_init(&head->refs, 1);
	keep_head(file, head);
	*out = head;
	return 0;
}

struct b2f_cache_key b2f_file_key(const struct b2f_file *file, uint64_t nchunk,
				  uint32_t unit)
{
	return (struct b2f_cache_key){
		.file = file->cache_id, .item = nchunk, .unit = unit};
}

/* What the loader of a unit needs. */
struct fill {
	struct b2f_file *file;
	const struct b2f_loaded *loaded;
};

static int fill_unit(void *arg, const struct b2f_cache_key *key, uint8_t *dst,
		     size_t size)
{
	const struct fill *fill = arg;
	struct b2f_runtime *rt = fill->file->runtime;
	struct b2f_cache_ref ref = {0};
	struct b2f_decoder *dec = NULL;
	int err = 0;

	(void)size;
	/* Unit 0 never needs another one, so this cannot go in circles. */
	if (key->unit > 0 && b2f_chunk_needs_ref(&fill->loaded->chunk))
		err = b2f_file_unit_get(fill->file, fill->loaded, 0, &ref);
	if (!err)
		err = b2f_runtime_decoder_get(rt, &dec);
	if (!err) {
		err = b2f_frame_decode_unit(fill->file->frame, fill->loaded,
					    dec, key->unit, ref.data, dst);
		b2f_runtime_decoder_put(rt, dec);
	}
	b2f_cache_put(rt->cache, &ref);
	return err;
}

int b2f_file_unit_get(struct b2f_file *file, const struct b2f_loaded *loaded,
		      uint32_t unit, struct b2f_cache_ref *out)
{
	struct b2f_cache_key key = b2f_file_key(file, loaded->nchunk, unit);
	struct fill fill = {.file = file, .loaded = loaded};
	struct b2f_why why;
	int err;

	err = b2f_cache_get(file->runtime->cache, &key,
			    b2f_chunk_unit_nbytes(&loaded->chunk, unit),
			    fill_unit, &fill, out);
	if (err == -ESTALE) {
		/* Stock Blosc2 rewrites chunks in place, with other blocks. */
		b2f_why_set(&why, err,
			    "rewritten by another program while "
			    "the file is open");
		b2f_frame_report_chunk(file->frame, loaded->nchunk, -1, err,
				       &why);
	}
	return err;
}
