/* SPDX-License-Identifier: BSD-3-Clause */
/* kept.c - chunk files that stay open for the next block */
#include "file/kept.h"

#include <errno.h>
#include <stdlib.h>

void b2f_kept_init(struct b2f_kept *kept)
{
	pthread_mutex_init(&kept->lock, NULL);
}

static void end(struct b2f_kept_object *k)
{
	if (!k)
		return;
	b2f_object_close(&k->object);
	b2f_frame_close(k->frame);
	free(k);
}

void b2f_kept_fini(struct b2f_kept *kept)
{
	for (size_t i = 0; i < B2F_KEPT_MAX; i++)
		end(kept->table[i]);
	pthread_mutex_destroy(&kept->lock);
}

static bool is_equal(const struct b2f_kept_key *a, const struct b2f_kept_key *b)
{
	return a->raw == b->raw && a->cache_id == b->cache_id &&
	       a->file == b->file;
}

/* Locked. */
static struct b2f_kept_object *find(const struct b2f_kept *kept,
				    const struct b2f_kept_key *key)
{
	for (size_t i = 0; i < B2F_KEPT_MAX; i++)
		if (kept->table[i] && is_equal(&kept->table[i]->key, key))
			return kept->table[i];
	return NULL;
}

struct b2f_kept_object *b2f_kept_get(struct b2f_kept *kept,
				     const struct b2f_kept_key *key)
{
	struct b2f_kept_object *k;

	pthread_mutex_lock(&kept->lock);
	k = find(kept, key);
	if (k)
		k->nusers++;
	pthread_mutex_unlock(&kept->lock);
	return k;
}

/* Empties @slot; returns what is to be ended, without the lock.  Locked. */
static struct b2f_kept_object *detach(struct b2f_kept_object **slot)
{
	struct b2f_kept_object *k = *slot;

	*slot = NULL;
	if (!k)
		return NULL;
	k->detached = true;
	return k->nusers == 0 ? k : NULL;
}

struct b2f_kept_object *b2f_kept_add(struct b2f_kept *kept,
				     const struct b2f_kept_key *key,
				     struct b2f_frame *frame,
				     struct b2f_object *object)
{
	struct b2f_kept_object *k = calloc(1, sizeof(*k)), *old;

	if (!k) {
		b2f_object_close(object);
		return NULL;
	}
	k->key = *key;
	k->object = *object;
	k->frame = b2f_frame_ref(frame);
	k->nusers = 1;
	*object = (struct b2f_object){.fd = -1};
	/* Two of one chunk do no harm. */
	pthread_mutex_lock(&kept->lock);
	old = detach(&kept->table[kept->next]);
	if (kept->stopped)
		k->detached = true;
	else
		kept->table[kept->next] = k;
	kept->next = (kept->next + 1) % B2F_KEPT_MAX;
	pthread_mutex_unlock(&kept->lock);
	end(old);
	return k;
}

void b2f_kept_put(struct b2f_kept *kept, struct b2f_kept_object *k)
{
	bool last;

	if (!k)
		return;
	pthread_mutex_lock(&kept->lock);
	last = --k->nusers == 0 && k->detached;
	pthread_mutex_unlock(&kept->lock);
	if (last)
		end(k);
}

void b2f_kept_drop(struct b2f_kept *kept, const struct b2f_file *file)
{
	for (size_t i = 0; i < B2F_KEPT_MAX; i++) {
		struct b2f_kept_object **slot = &kept->table[i], *old = NULL;

		pthread_mutex_lock(&kept->lock);
		if (*slot && (!file || (*slot)->key.file == file))
			old = detach(slot);
		pthread_mutex_unlock(&kept->lock);
		end(old);
	}
}

bool b2f_kept_stop(struct b2f_kept *kept, int err)
{
	if (err != -EMFILE && err != -ENFILE)
		return false;
	pthread_mutex_lock(&kept->lock);
	kept->stopped = true;
	pthread_mutex_unlock(&kept->lock);
	b2f_kept_drop(kept, NULL);
	return true;
}
