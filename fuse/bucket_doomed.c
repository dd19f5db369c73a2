/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_doomed.c - chunks of frames that were replaced, until they are removed */
#include "bucket_doomed.h"

#include <stdlib.h>

#include "clock.h"

struct fs_bucket_doomed {
	STAILQ_ENTRY(fs_bucket_doomed) next;
	struct b2f_remote_remains *remains;
	/* With a reference; or NULL. */
	struct fs_object *node;
	/* When no other client reads them any more. */
	time_t due_s;
};

void fs_bucket_doomed_add(struct fs *fs, struct b2f_remote_remains *remains,
			  struct fs_object *node)
{
	struct fs_bucket *r = fs->bucket;
	struct fs_bucket_doomed *d = remains ? malloc(sizeof(*d)) : NULL;

	if (!d) {
		/* Readers of them are told ESTALE. */
		b2f_remote_remains_free(remains);
		return;
	}
	*d = (struct fs_bucket_doomed){
		.remains = remains,
		.node = node,
		.due_s = fs_clock_s() + b2f_remote_keep_s(r->place),
	};
	pthread_mutex_lock(&r->volume.fs->state_lock);
	if (node)
		fs_node_ref(&node->head);
	STAILQ_INSERT_TAIL(&r->doomed, d, next);
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	fs_wakeup_call(&fs->wakeup, false);
}

/* Takes the first one whose time has come off the list; or NULL. */
static struct fs_bucket_doomed *take_due(struct fs_bucket *r)
{
	struct fs_bucket_doomed *d;

	pthread_mutex_lock(&r->volume.fs->state_lock);
	STAILQ_FOREACH (d, &r->doomed, next)
		if (d->due_s <= fs_clock_s() &&
		    (!d->node || d->node->open.nrefs == 0))
			break;
	if (d)
		STAILQ_REMOVE(&r->doomed, d, fs_bucket_doomed, next);
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	return d;
}

bool fs_bucket_doomed_tick(struct fs *fs)
{
	struct fs_bucket *r = fs->bucket;
	struct fs_bucket_doomed *d;
	bool more;

	while ((d = take_due(r))) {
		b2f_remote_remains_free(d->remains);
		if (d->node)
			fs_bucket_node_put(d->node);
		free(d);
	}
	pthread_mutex_lock(&r->volume.fs->state_lock);
	more = !STAILQ_EMPTY(&r->doomed);
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	return more;
}

void fs_bucket_doomed_fini(struct fs *fs)
{
	struct fs_bucket *r = fs->bucket;
	struct fs_bucket_doomed *d;

	while ((d = STAILQ_FIRST(&r->doomed))) {
		STAILQ_REMOVE_HEAD(&r->doomed, next);
		if (d->due_s > fs_clock_s())
			b2f_remote_remains_leave(d->remains);
		else
			b2f_remote_remains_free(d->remains);
		/* Nodes that are left are freed all together. */
		free(d);
	}
}
