/* SPDX-License-Identifier: BSD-3-Clause */
/* held.c - the pinned version of an index */
#include "remote/held.h"

#include <string.h>

#include "remote/ahead.h"
#include "store/store.h"

/* The index of a sparse frame is read as a whole. */
#define INDEX_GUESS (UINT64_C(1) << 20)

/*
 * A foreign program may upload an index before its chunks; until it is done,
 * readers find chunks of the previous frame.  After so many seconds it is
 * assumed to be done.
 */
#define UPLOAD_MAX_S 3600

void b2f_held_fini(struct b2f_held *held)
{
	b2f_fetch_drop(held->start);
	held->start = NULL;
}

int b2f_held_renew(struct b2f_held *held, struct b2f_why *why)
{
	struct b2f_remote_place *place = held->place;
	const struct b2f_ahead_chunk begin = {
		.id = B2F_OBJECT_INDEX,
		.n = place->sparse ? INDEX_GUESS : B2F_REMOTE_FIRST};
	struct b2f_fetched got = {.n = 0};
	struct b2f_fetch *fetch = NULL, *old;
	struct b2f_note note;
	int err = b2f_ahead_fetch(place, &begin, &fetch);

	if (!err)
		err = b2f_fetch_wait(fetch, &got, why);
	if (err) {
		b2f_fetch_drop(fetch);
		return err;
	}
	b2f_note_read(got.note, &note);
	b2f_remote_place_see(place, &got.version, &note, got.note);
	pthread_mutex_lock(&place->lock);
	old = held->start;
	held->start = fetch;
	held->version = got.version;
	/* bloscfs puts the index last, and uses no id twice. */
	held->is_settled = note.nmarks > 0 || got.age_s >= UPLOAD_MAX_S;
	held->state = B2F_HELD;
	pthread_mutex_unlock(&place->lock);
	b2f_fetch_drop(old);
	return 0;
}

/* Is a version pinned?  A frame without an index has none to pin. */
static bool is_held(struct b2f_held *held)
{
	bool is;

	pthread_mutex_lock(&held->place->lock);
	is = held->state == B2F_HELD || held->place->is_new;
	pthread_mutex_unlock(&held->place->lock);
	return is;
}

int b2f_held_look(struct b2f_held *held, struct b2f_remote_stat *now)
{
	int err = is_held(held) ? 0 : b2f_held_renew(held, NULL);

	if (!err)
		err = b2f_remote_place_look(
			held->place, held->place->remote->refresh_ms, now);
	return err;
}

static struct b2f_frame_stamp stamp_of(struct b2f_held *held)
{
	struct b2f_frame_stamp stamp;

	pthread_mutex_lock(&held->place->lock);
	stamp = b2f_remote_stamp(&held->version);
	pthread_mutex_unlock(&held->place->lock);
	return stamp;
}

int b2f_held_begin(struct b2f_held *held, struct b2f_frame_stamp *out)
{
	struct b2f_frame_stamp stamp;
	struct b2f_remote_stat now;
	int err = b2f_held_look(held, &now);

	if (err)
		return err;
	stamp = b2f_remote_stamp(&now);
	*out = stamp_of(held);
	if (b2f_frame_stamp_equal(out, &stamp))
		return 0;
	err = b2f_held_renew(held, NULL);
	*out = stamp_of(held);
	return err;
}

/*
 * Is no version pinned yet, or has another one of a sparse frame been seen?  A
 * contiguous frame is read in the version that was opened.
 */
static bool is_outdated(struct b2f_held *held)
{
	const struct b2f_remote_place *place = held->place;
	bool outdated;

	pthread_mutex_lock(&held->place->lock);
	outdated = held->state == B2F_UNSEEN ||
		   (place->sparse &&
		    strcmp(held->version.etag, place->seen.etag) != 0);
	pthread_mutex_unlock(&held->place->lock);
	return outdated;
}

int b2f_held_open(struct b2f_held *held, struct b2f_remote_stat *version,
		  struct b2f_fetch **start, struct b2f_why *why)
{
	int err = is_outdated(held) ? b2f_held_renew(held, why) : 0;

	if (err)
		return err;
	pthread_mutex_lock(&held->place->lock);
	*version = held->version;
	*start = held->start;
	held->start = NULL;
	pthread_mutex_unlock(&held->place->lock);
	return 0;
}

void b2f_held_lose(struct b2f_held *held, const struct b2f_frame_stamp *stamp)
{
	struct b2f_remote_place *place = held->place;
	struct b2f_frame_stamp mine;

	pthread_mutex_lock(&place->lock);
	mine = b2f_remote_stamp(&held->version);
	if (held->state == B2F_HELD && b2f_frame_stamp_equal(&mine, stamp))
		held->state = B2F_LOST;
	/* The same index may have come with new chunks. */
	b2f_chunk_versions_forget(place);
	pthread_mutex_unlock(&place->lock);
}
