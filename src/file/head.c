/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head.c - the chunks of a file that were read: their heads, and open files
 *
 * Opening a chunk file takes longer than reading a block of it: the last opened
 * chunk files of the process stay open.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/waiting.h"
#include "file/head.h"
#include "file/stream.h"
#include "frame/frame_unit.h"
#include "programs/io.h"

/* Stored bytes of the heads of one file that are kept. */
#define HEADS_BYTES_MAX (4u << 20)

/* After a lack of descriptors no chunk file is kept open for so long. */
#define STOPPED_NS UINT64_C(1000000000)

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

/*
 * Takes the file of @head if no thread uses it; the caller closes it without
 * the lock.  Locked.
 */
static struct b2f_object take_object(struct b2f_head *head)
{
	struct b2f_object object = {.fd = -1};

	if (head->is_open && !head->is_kept && head->nusers == 0) {
		object = head->object;
		head->is_open = false;
	}
	return object;
}

/* Stops keeping the file of @head (or NULL) open; drops that reference. */
static void drop_open(struct b2f_open_chunks *open, struct b2f_head *head)
{
	struct b2f_object object;

	if (!head)
		return;
	pthread_mutex_lock(&open->lock);
	head->is_kept = false;
	object = take_object(head);
	pthread_mutex_unlock(&open->lock);
	b2f_object_close(&object);
	b2f_head_put(head);
}

void b2f_head_close_all(struct b2f_runtime *runtime,
			const struct b2f_file *file)
{
	struct b2f_open_chunks *open = &runtime->open_chunks;
	struct b2f_head *taken[B2F_OPEN_MAX];
	size_t n = 0;

	pthread_mutex_lock(&open->lock);
	for (size_t i = 0; i < B2F_OPEN_MAX; i++) {
		struct b2f_head *head = open->at[i];

		if (!head || (file && head->file != file))
			continue;
		open->at[i] = NULL;
		taken[n++] = head;
	}
	pthread_mutex_unlock(&open->lock);
	while (n > 0)
		drop_open(open, taken[--n]);
}

/*
 * If opening a chunk file failed for want of descriptors (@err), keeps no chunk
 * files open for a while.  Returns whether another try may help.
 */
static bool stop(struct b2f_runtime *runtime, int err)
{
	struct b2f_open_chunks *open = &runtime->open_chunks;

	if (err != -EMFILE && err != -ENFILE)
		return false;
	pthread_mutex_lock(&open->lock);
	open->stopped_until_ns = b2f_monotonic_ns() + STOPPED_NS;
	pthread_mutex_unlock(&open->lock);
	b2f_head_close_all(runtime, NULL);
	return true;
}

/* Keeps the file of @head open; returns the head it replaces.  Locked. */
static struct b2f_head *put_in(struct b2f_open_chunks *open,
			       struct b2f_head *head)
{
	struct b2f_head **slot = &open->at[open->next], *old = *slot;

	if (b2f_monotonic_ns() < open->stopped_until_ns)
		return NULL;
	b2f_head_ref(head);
	head->is_kept = true;
	*slot = head;
	open->next = (open->next + 1) % B2F_OPEN_MAX;
	return old;
}

/* Gives @head the open @object, which is taken over, and one user of it. */
static void keep_open(struct b2f_open_chunks *open, struct b2f_head *head,
		      struct b2f_object *object)
{
	struct b2f_head *old = NULL;

	pthread_mutex_lock(&open->lock);
	head->nusers++;
	/* If it is open, another thread has opened it meanwhile. */
	if (!head->is_open) {
		head->object = *object;
		head->is_open = true;
		*object = (struct b2f_object){.fd = -1};
		old = put_in(open, head);
	}
	pthread_mutex_unlock(&open->lock);
	b2f_object_close(object);
	drop_open(open, old);
}

const struct b2f_object *b2f_head_open(struct b2f_head *head)
{
	struct b2f_runtime *runtime = head->file->runtime;
	struct b2f_object object = {.fd = -1};
	bool is_open;
	int err;

	if (b2f_loaded_is_whole(head->loaded))
		return NULL;
	pthread_mutex_lock(&runtime->open_chunks.lock);
	is_open = head->is_open;
	head->nusers += is_open;
	pthread_mutex_unlock(&runtime->open_chunks.lock);
	if (is_open)
		return &head->object;
	err = b2f_frame_open_object(head->frame, head->loaded, &object);
	if (err) {
		(void)stop(runtime, err);
		return NULL;
	}
	keep_open(&runtime->open_chunks, head, &object);
	return &head->object;
}

void b2f_head_close(struct b2f_head *head, const struct b2f_object *object)
{
	struct b2f_open_chunks *open = &head->file->runtime->open_chunks;
	struct b2f_object last;

	if (!object)
		return;
	pthread_mutex_lock(&open->lock);
	head->nusers--;
	last = take_object(head);
	pthread_mutex_unlock(&open->lock);
	b2f_object_close(&last);
}

static size_t head_bytes(const struct b2f_head *head)
{
	return head && head->loaded
		       ? sizeof(*head) + sizeof(*head->loaded) +
				 head->loaded->size
		       : 0;
}

static struct b2f_head **slot_of(struct b2f_file *file, uint64_t nchunk)
{
	return &file->heads[nchunk % file->nheads];
}

/* Is @head (or NULL) the head of @src in @frame? */
static bool is_of(const struct b2f_head *head, const struct b2f_frame *frame,
		  const struct b2f_source *src)
{
	return head && head->frame == frame &&
	       head->nchunk == src->span.nchunk && head->raw == src->raw &&
	       head->nbytes == src->nbytes;
}

/* Empties @slot; the caller drops its reference without the lock.  Locked. */
static struct b2f_head *take_out(struct b2f_file *file, struct b2f_head **slot)
{
	struct b2f_head *old = *slot;

	*slot = NULL;
	file->heads_bytes -= head_bytes(old);
	return old;
}

void b2f_head_forget_all(struct b2f_file *file)
{
	for (size_t i = 0; i < file->nheads; i++) {
		struct b2f_head *old;

		pthread_mutex_lock(&file->runtime->open_chunks.lock);
		old = take_out(file, &file->heads[i]);
		pthread_mutex_unlock(&file->runtime->open_chunks.lock);
		b2f_head_put(old);
	}
	b2f_head_close_all(file->runtime, file);
}

/* Chooses the bytes of @src in @frame that are going to be needed. */
static struct b2f_frame_want want_of(struct b2f_file *file,
				     const struct b2f_frame *frame,
				     const struct b2f_source *src)
{
	uint32_t unit = atomic_load(&file->last_unit);
	struct b2f_frame_want want = {
		.nchunk = src->span.nchunk,
		.raw = src->raw,
		.nbytes = src->nbytes,
	};

	/* A sequential reader needs no range: it reads the whole chunk. */
	if (!src->in_order && unit > 0 && src->size > 0 &&
	    src->size <= src->nbytes) {
		want.start = (src->nbytes - src->size) / unit * unit;
		want.end = b2f_min_u64(want.start + unit, want.nbytes);
		/* Only an excerpt of it is likely to be read. */
		if (atomic_load(&file->nplain) > 0)
			want.start = want.end;
	}
	/* A first read, from a chunk's begin: more are likely. */
	if (unit == 0 && src->size == src->nbytes &&
	    src->nbytes <= FIRST_MAX && b2f_frame_is_far(frame))
		want.end = want.nbytes;
	return want;
}

/*
 * Ends the load of @head: tells the threads that wait for it, and keeps it,
 * unless the load failed or the table would become too large.
 */
static void publish(struct b2f_head *head, struct b2f_loaded *loaded, int err)
{
	struct b2f_file *file = head->file;
	struct b2f_open_chunks *open = &file->runtime->open_chunks;
	struct b2f_head **slot = slot_of(file, head->nchunk), *old = NULL;

	pthread_mutex_lock(&open->lock);
	/* Perhaps it was forgotten, or replaced, meanwhile. */
	if (*slot == head)
		old = take_out(file, slot);
	head->loaded = loaded;
	head->err = err;
	head->is_loading = false;
	if (old && !err &&
	    file->heads_bytes + head_bytes(head) <= HEADS_BYTES_MAX) {
		file->heads_bytes += head_bytes(head);
		*slot = old;
		old = NULL;
	}
	pthread_cond_broadcast(&open->loaded);
	pthread_mutex_unlock(&open->lock);
	b2f_head_put(old);
}

/* Loads the new @head of @src. */
static int load(struct b2f_head *head, const struct b2f_source *src)
{
	struct b2f_file *file = head->file;
	struct b2f_frame_want want = want_of(file, head->frame, src);
	struct b2f_loaded *loaded = NULL;
	struct b2f_object object = {.fd = -1};
	int err;

	/* Fetch the whole chunk, unless that has begun already. */
	if (src->in_order && src->nbytes <= B2F_STREAM_WHOLE_MAX)
		b2f_frame_prefetch(head->frame, src->raw, src->nbytes);
	err = b2f_frame_load_want(head->frame, &want, B2F_LOAD_HEAD, &object,
				  &loaded);
	if (stop(file->runtime, err))
		err = b2f_frame_load_want(head->frame, &want, B2F_LOAD_HEAD,
					  &object, &loaded);
	if (!err)
		atomic_store(&file->last_unit, loaded->chunk.unit_size);
	if (object.store) {
		keep_open(&file->runtime->open_chunks, head, &object);
		b2f_head_close(head, &head->object);
	}
	publish(head, loaded, err);
	return err;
}

/* A head that this thread is about to load, in the table.  Locked. */
static struct b2f_head *new_head(struct b2f_file *file, struct b2f_frame *frame,
				 const struct b2f_source *src)
{
	struct b2f_head *head = calloc(1, sizeof(*head));

	if (!head)
		return NULL;
	/* The table has one reference, and the caller the other. */
	atomic_init(&head->refs, 2);
	head->file = file;
	head->frame = b2f_frame_ref(frame);
	head->nchunk = src->span.nchunk;
	head->raw = src->raw;
	head->nbytes = src->nbytes;
	head->is_loading = true;
	*slot_of(file, head->nchunk) = head;
	return head;
}

/* Waits until another thread has loaded @head.  Locked. */
static int wait_loaded(struct b2f_open_chunks *open, struct b2f_head *head)
{
	while (head->is_loading)
		if (!b2f_waiting_wait(&open->loaded, &open->lock))
			return -EINTR;
	return head->err;
}

/*
 * Pins the head of @src, in the table or, if *@is_new, to be loaded.  After an
 * error of another thread's load *@out is to be given back, too.
 */
static int pin(struct b2f_file *file, struct b2f_frame *frame,
	       const struct b2f_source *src, struct b2f_head **out,
	       bool *is_new)
{
	struct b2f_open_chunks *open = &file->runtime->open_chunks;
	struct b2f_head **slot = slot_of(file, src->span.nchunk), *old = NULL;
	int err = 0;

	pthread_mutex_lock(&open->lock);
	*is_new = !is_of(*slot, frame, src);
	if (*is_new) {
		old = take_out(file, slot);
		*out = new_head(file, frame, src);
		err = *out ? 0 : -ENOMEM;
	} else {
		*out = *slot;
		b2f_head_ref(*out);
		err = wait_loaded(open, *out);
	}
	pthread_mutex_unlock(&open->lock);
	b2f_head_put(old);
	return err;
}

int b2f_head_get(struct b2f_file *file, struct b2f_frame *frame,
		 const struct b2f_source *src, struct b2f_head **head)
{
	struct b2f_head *found;
	bool is_new;
	int err;

	if (is_of(*head, frame, src))
		return 0;
	b2f_head_put(*head);
	*head = NULL;
	do {
		err = pin(file, frame, src, &found, &is_new);
		if (!err && is_new)
			err = load(found, src);
		if (err)
			b2f_head_put(found);
		/* Perhaps only the request of the loading thread is over. */
	} while (err == -EINTR && !is_new && !b2f_patience_is_over());
	if (!err)
		*head = found;
	return err;
}
