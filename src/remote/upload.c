/* SPDX-License-Identifier: BSD-3-Clause */
/* upload.c - new objects of a frame that are sent to the server */
#include "remote/upload.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/waiting.h"

/* Limit of bytes being sent per remote, unless one object is larger. */
#define SENDING_MAX (UINT64_C(64) << 20)

/* Least size of a buffer, bytes. */
#define ROOM_MIN 4096

int b2f_upload_new(struct b2f_remote_place *place, int64_t id,
		   struct b2f_upload **out)
{
	struct b2f_upload *up = calloc(1, sizeof(*up)), *other = NULL;

	if (!up)
		return -ENOMEM;
	*up = (struct b2f_upload){.id = id, .place = place, .refs = 1};
	pthread_mutex_lock(&place->lock);
	if (id >= 0)
		HASH_FIND(hh, place->uploads, &id, sizeof(id), other);
	if (id >= 0 && !other) {
		up->refs++;
		up->is_listed = true;
		HASH_ADD(hh, place->uploads, id, sizeof(up->id), up);
		place->next_id = b2f_max_u64(place->next_id, (uint64_t)id + 1);
	}
	pthread_mutex_unlock(&place->lock);
	if (other) {
		free(up);
		return -EEXIST;
	}
	*out = up;
	return 0;
}

struct b2f_upload *b2f_upload_find(struct b2f_remote_place *place, int64_t id)
{
	struct b2f_upload *up;
	B2F_HOLD(&place->lock);

	HASH_FIND(hh, place->uploads, &id, sizeof(id), up);
	if (up)
		up->refs++;
	return up;
}

static void free_bytes(struct b2f_upload *up)
{
	free(up->bytes);
	up->bytes = NULL;
	up->room = 0;
}

/* Drops a reference; the lock is held.  True: the caller ends @up. */
static bool drop_ref(struct b2f_upload *up)
{
	up->refs--;
	/* Only the list is left, which does not need the bytes. */
	if (up->refs == 1 && up->is_listed && up->state == B2F_UPLOAD_DONE)
		free_bytes(up);
	return up->refs == 0;
}

static void end(struct b2f_upload *up)
{
	if (up->state == B2F_UPLOAD_SENT) {
		atomic_fetch_sub(&up->place->remote->sending, up->size);
		DL_DELETE(up->place->sent, up);
	}
	b2f_put_fini(&up->put);
	free_bytes(up);
	free(up);
}

void b2f_upload_unref(struct b2f_upload *up)
{
	bool last;

	if (!up)
		return;
	pthread_mutex_lock(&up->place->lock);
	last = drop_ref(up);
	pthread_mutex_unlock(&up->place->lock);
	if (last)
		end(up);
}

/* Takes @up off the list; the lock is held. */
static bool unlist(struct b2f_upload *up)
{
	HASH_DEL(up->place->uploads, up);
	up->is_listed = false;
	return drop_ref(up);
}

void b2f_uploads_fini(struct b2f_remote_place *place)
{
	struct b2f_upload *up, *next;

	HASH_ITER(hh, place->uploads, up, next)
	{
		HASH_DEL(place->uploads, up);
		end(up);
	}
}

int b2f_upload_write(struct b2f_upload *up, uint64_t off, const void *buf,
		     size_t n)
{
	uint64_t room = b2f_max_u64(up->room, ROOM_MIN), size = off + n;
	uint8_t *bytes;

	if (size < off || size > INT64_MAX)
		return -EFBIG;
	while (room < size)
		room *= 2;
	if (room > up->room) {
		bytes = realloc(up->bytes, room);
		if (!bytes)
			return -ENOMEM;
		up->bytes = bytes;
		up->room = room;
	}
	if (off > up->size)
		memset(up->bytes + up->size, 0, off - up->size);
	memcpy(up->bytes + off, buf, n);
	up->size = b2f_max_u64(up->size, size);
	return 0;
}

int b2f_upload_read(struct b2f_upload *up, uint64_t off, void *buf, size_t n,
		    struct b2f_why *why)
{
	if (off > up->size || n > up->size - off)
		return b2f_why_set(why, B2F_ECORRUPT, "the object is shorter");
	memcpy(buf, up->bytes + off, n);
	return 0;
}

/* An attempt that failed may have made the object: keep its mark. */
static int start(struct b2f_upload *up)
{
	struct b2f_remote_place *place = up->place;
	B2F_OWN char *path = b2f_remote_place_path(place, up->id);
	struct b2f_put_spec spec = {.path = path,
				    .data = up->bytes,
				    .size = up->size,
				    .note = up->put.spec.note};

	if (!spec.note.nmarks)
		spec.note.marks[spec.note.nmarks++] = b2f_note_draw();
	b2f_put_fini(&up->put);
	return b2f_put_start(place->remote, &spec, &up->put);
}

/* Returns the oldest upload under way, with a reference; or NULL. */
static struct b2f_upload *find_sent(struct b2f_remote_place *place)
{
	B2F_HOLD(&place->lock);
	struct b2f_upload *up = place->sent;

	if (up)
		up->refs++;
	return up;
}

static void make_room(struct b2f_remote_place *place, size_t size)
{
	atomic_ullong *sending = &place->remote->sending;
	struct b2f_upload *up;

	while (atomic_load(sending) + size > SENDING_MAX) {
		up = find_sent(place);
		if (!up)
			return;
		/* The commit checks the outcome. */
		(void)!b2f_upload_wait(up, NULL);
		b2f_upload_unref(up);
	}
}

int b2f_upload_send(struct b2f_upload *up)
{
	struct b2f_remote_place *place = up->place;
	int err;

	make_room(place, up->size);
	err = start(up);
	if (err)
		return err;
	atomic_fetch_add(&place->remote->sending, up->size);
	B2F_HOLD(&place->lock);
	up->state = B2F_UPLOAD_SENT;
	DL_APPEND(place->sent, up);
	pthread_cond_broadcast(&place->changed);
	return 0;
}

int b2f_upload_wait(struct b2f_upload *up, struct b2f_why *why)
{
	struct b2f_remote_place *place = up->place;
	bool over = false;
	int err;

	pthread_mutex_lock(&place->lock);
	while (up->state == B2F_UPLOAD_SETTLING && !over)
		over = !b2f_waiting_wait(&place->changed, &place->lock);
	/* The other thread settles it all the same. */
	if (up->state == B2F_UPLOAD_SETTLING) {
		pthread_mutex_unlock(&place->lock);
		return -EINTR;
	}
	if (up->state == B2F_UPLOAD_SENT) {
		up->state = B2F_UPLOAD_SETTLING;
		DL_DELETE(place->sent, up);
		pthread_mutex_unlock(&place->lock);
		err = b2f_put_wait(&up->put, &up->why);
		atomic_fetch_sub(&place->remote->sending, up->size);
		pthread_mutex_lock(&place->lock);
		/* No index names it: an unknown outcome is a failure. */
		if (err == B2F_EINDOUBT)
			err = b2f_patience_is_over() ? -EINTR : -EIO;
		up->err = err;
		up->state = err ? B2F_UPLOAD_FAILED : B2F_UPLOAD_DONE;
		if (!err)
			b2f_chunk_versions_put(place, up->id,
					       &up->put.now);
		pthread_cond_broadcast(&place->changed);
	}
	err = up->state == B2F_UPLOAD_OPEN ? -EINVAL : up->err;
	if (err && why)
		*why = up->why;
	pthread_mutex_unlock(&place->lock);
	return err;
}

/*
 * Sends @up again if it has failed, but not if another writer has its name;
 * returns whether it did.
 */
static bool send_again(struct b2f_upload *up)
{
	struct b2f_remote_place *place = up->place;
	bool failed;
	int err;

	pthread_mutex_lock(&place->lock);
	failed = up->state == B2F_UPLOAD_FAILED && up->err != -EEXIST;
	if (failed)
		up->state = B2F_UPLOAD_SETTLING;
	pthread_mutex_unlock(&place->lock);
	err = failed ? b2f_upload_send(up) : 0;
	if (!err)
		return failed;
	pthread_mutex_lock(&place->lock);
	up->state = B2F_UPLOAD_FAILED;
	pthread_cond_broadcast(&place->changed);
	pthread_mutex_unlock(&place->lock);
	return false;
}

int b2f_upload_settle(struct b2f_upload *up, struct b2f_why *why)
{
	bool again = send_again(up);
	int err = b2f_upload_wait(up, why);

	/* The answer may be older than this commit. */
	if (err && err != -EINTR && !again && !up->put.may_pass &&
	    send_again(up))
		err = b2f_upload_wait(up, why);
	return err;
}

int b2f_upload_claim(struct b2f_upload *up, bool claims, struct b2f_why *why)
{
	int err = claims ? b2f_upload_wait(up, why) : 0;

	if (err)
		return err;
	B2F_HOLD(&up->place->lock);
	up->claimed = claims;
	return 0;
}

void b2f_uploads_end_claims(struct b2f_remote_place *place,
			    const struct b2f_note *in_doubt)
{
	struct b2f_upload *up, *next;
	B2F_HOLD(&place->lock);

	HASH_ITER(hh, place->uploads, up, next)
	{
		if (!up->claimed)
			continue;
		up->claimed = false;
		if (in_doubt) {
			up->doubted = in_doubt->marks[0];
			up->doubted_base = in_doubt->nmarks > 1
						   ? in_doubt->marks[1]
						   : 0;
		}
		/* The upload is done: this does not wait. */
		if (!in_doubt && unlist(up))
			end(up);
	}
}

bool b2f_upload_give_up(struct b2f_upload *up)
{
	struct b2f_remote_place *place = up->place;
	bool is_there = b2f_upload_wait(up, NULL) == 0;
	B2F_HOLD(&place->lock);

	/* The caller has another reference. */
	if (up->is_listed)
		(void)unlist(up);
	return is_there;
}
