/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c - an open file: its life and its version of the frame */
#include <stdlib.h>

#include "base/checked.h"
#include "file/reading.h"
#include "file/writer.h"

/* Chunk heads kept per file, at most. */
#define HEADS_MAX 4096

int b2f_file_open(struct b2f_runtime *runtime, struct b2f_frame *frame,
		  struct b2f_file **out)
{
	struct b2f_file *file;

	/* The cause was logged when the frame was opened. */
	if (frame->layout.err)
		return frame->layout.err;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->nheads = b2f_min_u64(frame->info.nchunks + 1, HEADS_MAX);
	file->heads = calloc(file->nheads, sizeof(struct b2f_head *));
	if (!file->heads) {
		free(file);
		return -ENOMEM;
	}
	pthread_mutex_init(&file->commit_lock, NULL);
	pthread_mutex_init(&file->lock, NULL);
	pthread_cond_init(&file->gate.left, NULL);
	atomic_init(&file->refs, 1);
	file->runtime = runtime;
	file->frame = frame;
	file->cache_id = b2f_cache_new_file(runtime->cache);
	*out = file;
	return 0;
}

void b2f_file_unref(struct b2f_file *file)
{
	if (atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) !=
	    1)
		return;
	if (file->writer)
		b2f_holes_close(file->writer);
	b2f_writer_free(file->writer);
	b2f_cache_drop_file(file->runtime->cache, file->cache_id);
	b2f_head_forget_all(file);
	free(file->heads);
	pthread_cond_destroy(&file->gate.left);
	pthread_mutex_destroy(&file->lock);
	pthread_mutex_destroy(&file->commit_lock);
	b2f_frame_close(file->frame);
	free(file);
}

void b2f_file_close(struct b2f_file *file)
{
	if (!file)
		return;
	b2f_writer_end(file);
	b2f_file_unref(file);
}

uint64_t b2f_file_size_locked(const struct b2f_file *file)
{
	const struct b2f_writer *w = file->writer;

	if (!w || !w->txn)
		return b2f_frame_shown_nbytes(file->frame);
	return file->frame->layout.is_array ? w->array_nbytes
					  : w->txn->working.nbytes;
}

uint64_t b2f_file_size(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);

	return b2f_file_size_locked(file);
}

struct b2f_frame *b2f_file_frame_ref(struct b2f_file *file)
{
	B2F_HOLD(&file->lock);

	return b2f_frame_ref(file->frame);
}

void b2f_file_set_frame(struct b2f_file *file, struct b2f_frame *frame)
{
	if (file->frame == frame) {
		b2f_frame_close(frame);
		return;
	}
	b2f_frame_close(file->frame);
	file->frame = frame;
	file->version++;
	b2f_cache_drop_file(file->runtime->cache, file->cache_id);
	file->cache_id = b2f_cache_new_file(file->runtime->cache);
}

int b2f_file_npy_header(struct b2f_file *file, uint8_t **out, size_t *len)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	int err = b2f_frame_npy_header(frame, out, len);

	b2f_frame_close(frame);
	return err;
}

bool b2f_file_is_npy(struct b2f_file *file)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	bool is_npy = b2f_frame_is_npy(frame);

	b2f_frame_close(frame);
	return is_npy;
}

struct b2f_frame *b2f_file_frame(struct b2f_file *file)
{
	return file->frame;
}
