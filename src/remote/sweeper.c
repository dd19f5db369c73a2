/* SPDX-License-Identifier: BSD-3-Clause */
/* sweeper.c - removal of chunks from the server; the list of chunks */
#include "remote/sweeper.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "b2frame/names.h"
#include "b2frame/patience.h"
#include "base/checked.h"
#include "frame/frame.h"
#include "remote/conditions.h"
#include "remote/upload.h"
#include "store/files.h"
#include "store/store.h"
#include "txn/txn_ids.h"

/* The status that confirms a DELETE. */
#define DELETED 204

/* How many replaced chunks to remove at a time, because callers wait. */
#define DUE_MAX 1000

/* Limit for the size of an index. */
#define INDEX_MAX ((size_t)256 << 20)

static int list_ids(const char *path, const void *index, size_t size,
		    struct b2f_ids *out)
{
	const struct b2f_frame_options options = {.log = NULL};
	struct b2f_frame *frame = NULL;
	int err = b2f_frame_of_bytes(&options, path, index, size, true, &frame);

	if (!err)
		err = b2f_txn_frame_ids(frame, out);
	b2f_frame_close(frame);
	return err;
}

static int take_index(const char *path, const struct b2f_http_reply *reply,
		      struct b2f_current *out)
{
	int err = b2f_gone_read(&out->gone, reply->note);

	out->is_there = true;
	out->version = reply->st;
	out->version.size = b2f_max_u64(reply->st.size, reply->size);
	b2f_note_read(reply->note, &out->note);
	if (!err)
		err = reply->err ? reply->err
				 : list_ids(path, reply->body, reply->size,
					    &out->named);
	if (!b2f_is_format_error(err))
		return err;
	out->unreadable = err;
	return 0;
}

int b2f_current_read(struct b2f_remote_place *place, struct b2f_current *out,
		     struct b2f_why *why)
{
	struct b2f_http_spec ask = {.method = B2F_HTTP_GET, .room = INDEX_MAX};
	struct b2f_http_request *request = NULL;
	int err = b2f_remote_ask(place->remote, &ask,
				 b2f_remote_place_url(place, B2F_OBJECT_INDEX),
				 &request, why);

	b2f_current_fini(out);
	/* An object of that size is no index. */
	if (!err || err == B2F_ETOOBIG)
		err = take_index(place->path, b2f_http_wait(request), out);
	b2f_http_drop(request);
	if (err != -ENOENT)
		return err;
	*why = (struct b2f_why){""};
	return 0;
}

void b2f_current_fini(struct b2f_current *current)
{
	b2f_gone_fini(&current->gone);
	b2f_ids_fini(&current->named);
	*current = (struct b2f_current){.is_there = false};
}

/* Sends one DELETE; sets @sent if it may have happened in spite of an error. */
static int ask(struct b2f_remote *remote, const struct b2f_removal *removal,
	       bool *sent, bool *may_pass, struct b2f_why *why)
{
	/* The outcome is found out before the DELETE is repeated. */
	struct b2f_http_spec ask = {.method = B2F_HTTP_DELETE, .once = true};
	struct b2f_http_request *request = NULL;
	const struct b2f_http_reply *reply = NULL;
	int err;

	if (atomic_load(&remote->deletes_match) && *removal->version.etag)
		ask.if_match = removal->version.etag;
	err = b2f_remote_ask(remote, &ask,
			     b2f_url_of(&remote->url, removal->path), &request,
			     why);
	if (request)
		reply = b2f_http_wait(request);
	*sent |= reply && (reply->sent || !err);
	*may_pass = reply && (reply->may_pass || !err);
	/* A proxy may have answered for the server. */
	if (!err && reply->status != DELETED)
		err = b2f_why_set(why, -EIO, "the server answers %ld",
				  reply->status);
	b2f_http_drop(request);
	return err == -ENOENT ? 0 : err;
}

/* Objects with equal bytes have equal ETags: compare the marks, too. */
static bool is_same(const struct b2f_removal *a, const struct b2f_removal *b)
{
	return strcmp(a->version.etag, b->version.etag) == 0 &&
	       a->version.mtime == b->version.mtime &&
	       a->note.nmarks == b->note.nmarks &&
	       (!a->note.nmarks || a->note.marks[0] == b->note.marks[0]);
}

/*
 * Looks at the object after an attempt of unknown outcome, which failed with
 * @err.  Returns as b2f_removal_run(), or -EINPROGRESS: the object is
 * unchanged.
 */
static int settle(struct b2f_remote *remote, const struct b2f_removal *removal,
		  int err, struct b2f_why *why)
{
	struct b2f_removal now = {.path = removal->path};
	struct b2f_why other = {""};
	int looked = b2f_remote_head(remote, now.path, &now.version, &now.note,
				     &other);

	if (looked == -ENOENT)
		return 0;
	/* The first error is more useful. */
	if (looked)
		return err;
	if (is_same(removal, &now))
		return -EINPROGRESS;
	/* The current object follows ours: it was not made after a removal. */
	if (removal->note.nmarks &&
	    b2f_note_has(&now.note, removal->note.marks[0]))
		return -EAGAIN;
	return b2f_why_set(why, -ESTALE,
			   "another program has stored another object there");
}

int b2f_removal_run(struct b2f_remote *remote, const struct b2f_removal *removal,
		    struct b2f_why *why)
{
	struct b2f_http_tries tries = {.n = 0};
	bool sent = false, may_pass;
	int err, now;

	do {
		err = ask(remote, removal, &sent, &may_pass, why);
		if (!err)
			return 0;
		now = sent ? settle(remote, removal, err, why) : -EINPROGRESS;
		if (now != -EINPROGRESS)
			return now;
		/* The server refuses, although this is the current version. */
		if (err == -ESTALE)
			return -EAGAIN;
	} while (may_pass && b2f_http_try_again(remote->http, &tries));
	return err;
}

/* Waits for the oldest removal; unlocks the held lock meanwhile. */
static void wait_first(struct b2f_remote_place *place)
{
	struct b2f_http_request *request = place->removing[0];

	place->nremoving--;
	memmove(place->removing, place->removing + 1,
		place->nremoving * sizeof(place->removing[0]));
	pthread_mutex_unlock(&place->lock);
	(void)b2f_http_wait(request);
	b2f_http_drop(request);
	pthread_mutex_lock(&place->lock);
}

static void begin(struct b2f_remote_place *place, int64_t id)
{
	struct b2f_http_spec ask = {.method = B2F_HTTP_DELETE};
	struct b2f_http_request *request = NULL;

	if (b2f_remote_start(place->remote, &ask,
			     b2f_remote_place_url(place, id), &request))
		return;
	B2F_HOLD(&place->lock);
	while (place->nremoving == B2F_REMOVING_MAX)
		wait_first(place);
	place->removing[place->nremoving++] = request;
}

/* Removes the object of @sent if it is still the same. */
static void remove_same(struct b2f_remote_place *place,
			const struct b2f_upload *sent)
{
	B2F_OWN char *path = b2f_remote_place_path(place, sent->id);
	struct b2f_removal removal = {.path = path};
	struct b2f_why why = {""};

	if (!b2f_remote_head(place->remote, path, &removal.version,
			     &removal.note, &why) &&
	    b2f_note_has(&removal.note, sent->put.spec.note.marks[0]))
		(void)!b2f_removal_run(place->remote, &removal, &why);
}

/*
 * Can a late index still name @sent?  Only by replacing the index that its
 * commit followed: not once another index has replaced that.
 */
static bool may_come(const struct b2f_upload *sent, const struct b2f_note *now)
{
	return sent->doubted && (b2f_note_has(now, sent->doubted) ||
				 !b2f_note_has(now, sent->doubted_base) ||
				 now->marks[0] == sent->doubted_base);
}

/* Starts to remove the chunks of @what that the current index does not name. */
static void remove_unnamed(const struct b2f_remote_remains *what,
			   const struct b2f_current *now)
{
	struct b2f_remote_place *place = what->place;
	bool follows = b2f_note_has(&now->note, what->mark);
	size_t n = follows || !what->mark ? what->chunks.n : 0;

	for (size_t i = 0; i < n && !b2f_patience_is_over(); i++)
		if (!b2f_ids_has_sorted(&now->named, what->chunks.ids[i]))
			begin(place, (int64_t)what->chunks.ids[i]);
	for (size_t i = 0; i < what->nsent && !b2f_patience_is_over(); i++) {
		const struct b2f_upload *sent = what->sent[i];

		if (b2f_ids_has_sorted(&now->named, (uint64_t)sent->id) ||
		    may_come(sent, &now->note))
			continue;
		if (follows)
			begin(place, sent->id);
		else
			remove_same(place, sent);
	}
}

bool b2f_sweeper_is_flag(const struct b2f_remote_entry *entry)
{
	return !entry->is_dir && entry->st.size == 1 &&
	       b2f_part_of(entry->name) == B2F_PART_PENDING;
}

/* Puts a flag; *@out is its path. */
static int raise_flag(struct b2f_remote_place *place, char **out,
		      struct b2f_why *why)
{
	int64_t id = (int64_t)(b2f_note_draw() & B2F_ENTRY_ID);
	char name[B2F_CHUNK_NAME_SIZE];
	char *path = b2f_remote_join(
		place->path, b2f_files_name(id | B2F_OBJECT_PENDING, name));
	int err = b2f_put_sign(place->remote, path, why);

	if (err)
		free(path);
	else
		*out = path;
	return err;
}

/* Frees @flag; NULL: there is none. */
static void lower_flag(struct b2f_remote_place *place, char *flag)
{
	if (!flag)
		return;
	b2f_sweeper_fini(place);
	/* Requests that were given up may still arrive. */
	if (!b2f_patience_is_over())
		b2f_remote_tidy(place->remote,
				b2f_url_of(&place->remote->url, flag));
	free(flag);
}

int b2f_sweeper_remove(const struct b2f_remote_remains *what,
		       struct b2f_why *why)
{
	struct b2f_remote_place *place = what->place;
	struct b2f_current now = {.is_there = false};
	struct b2f_why other;
	char *flag = NULL;
	int err = 0;

	if (!what->chunks.n && !what->nsent)
		return 0;
	if (!why)
		why = &other;
	if (what->chunks.n && !what->mark)
		err = raise_flag(place, &flag, why);
	/* Then no copy can put its index either. */
	if (err == -ENOSPC || err == -EDQUOT)
		err = 0;
	if (!err)
		err = b2f_current_read(place, &now, why);
	if (!err)
		err = now.unreadable;
	if (!err)
		remove_unnamed(what, &now);
	lower_flag(place, flag);
	b2f_current_fini(&now);
	return err;
}

/*
 * Chunks that were replaced at this second or before have no readers.  A chunk
 * may have been replaced at the end of its second.
 */
static uint64_t due_s(const struct b2f_remote_place *place)
{
	return (uint64_t)time(NULL) - place->remote->keep_s - 1;
}

/* After the highest id, ids are reused, and no longer identify a chunk. */
static bool tells_ids_apart(const struct b2f_remote_place *place)
{
	return place->next_id <= B2F_ENTRY_ID;
}

bool b2f_sweeper_is_due(struct b2f_remote_place *place)
{
	B2F_HOLD(&place->lock);

	return place->root && tells_ids_apart(place) &&
	       b2f_gone_is_due(&place->gone, due_s(place));
}

static bool is_there(struct b2f_remote_place *place, uint64_t id)
{
	struct b2f_remote_stat now;

	return b2f_remote_place_head(place, (int64_t)id, &now, NULL) != -ENOENT;
}

int b2f_sweeper_remove_due(struct b2f_remote_remains *what, struct b2f_why *why)
{
	struct b2f_remote_place *place = what->place;
	struct b2f_ids *due = &what->chunks;
	int err = 0;

	pthread_mutex_lock(&place->lock);
	what->mark = place->root;
	/* Without the mark of its index, the list is not trusted. */
	if (what->mark && tells_ids_apart(place))
		err = b2f_gone_take(&place->gone, due_s(place), DUE_MAX, due);
	pthread_mutex_unlock(&place->lock);
	/* Chunks are removed in order: if the last one is gone, all are. */
	if (due->n && !is_there(place, due->ids[due->n - 1]))
		due->n = 0;
	if (!err)
		err = b2f_sweeper_remove(what, why);
	pthread_mutex_lock(&place->lock);
	/* Try again next time; without memory, a later writer does. */
	if (err)
		(void)!b2f_gone_add(&place->gone, due, 0);
	pthread_mutex_unlock(&place->lock);
	b2f_ids_fini(due);
	return err;
}

/* Is this index new to the remote, as far as it remembers its last sweeps? */
static bool is_news(struct b2f_remote_place *place)
{
	const char *etag = place->seen.etag;
	uint64_t key = XXH3_64bits(place->path, strlen(place->path));

	key = XXH3_64bits_withSeed(etag, strlen(etag), key);
	return atomic_exchange(&place->remote->swept[key % B2F_REMOTE_SWEPT],
			       key) != key;
}

void b2f_sweeper_end(struct b2f_remote_place *place)
{
	struct b2f_remote_remains due = {.place = place};

	/* A later writer removes chunks that cannot be removed now. */
	if (b2f_sweeper_is_due(place) &&
	    b2f_remote_is_written(place->remote) && is_news(place))
		(void)!b2f_sweeper_remove_due(&due, NULL);
}

void b2f_sweeper_fini(struct b2f_remote_place *place)
{
	pthread_mutex_lock(&place->lock);
	while (place->nremoving)
		wait_first(place);
	pthread_mutex_unlock(&place->lock);
}

bool b2f_remote_parse_chunk(const char *name, int64_t *id)
{
	return b2f_files_parse_name(name, id) && *id >= 0 &&
	       *id < B2F_OBJECT_PENDING;
}

struct visit {
	int (*fn)(void *arg, int64_t id);
	void *arg;
	bool is_swept;
};

static int visit_entry(void *arg, const struct b2f_remote_entry *entry)
{
	struct visit *visit = arg;
	int64_t id;

	visit->is_swept |= b2f_sweeper_is_flag(entry);
	if (entry->is_dir || !b2f_remote_parse_chunk(entry->name, &id))
		return 0;
	return visit->fn(visit->arg, id);
}

int b2f_remote_list_chunks(struct b2f_remote_place *place, uint64_t first,
			   int (*fn)(void *arg, int64_t id), void *arg,
			   bool *is_swept, struct b2f_why *why)
{
	struct visit visit = {fn, arg, false};
	char after[B2F_CHUNK_NAME_SIZE] = "";
	int err;

	/* Names are in the order of their numbers. */
	if (first > 0)
		b2f_chunk_name((int64_t)b2f_min_u64(first - 1, INT32_MAX),
			       after);
	err = b2f_remote_list_after(place->remote, place->path, after,
				    visit_entry, &visit, why);
	if (is_swept)
		*is_swept = visit.is_swept;
	return err;
}

static int raise_id(void *arg, int64_t id)
{
	uint64_t *above = arg;

	*above = b2f_max_u64(*above, (uint64_t)id + 1);
	return 0;
}

int b2f_remote_raise_id(struct b2f_remote_place *place, uint64_t *id,
			struct b2f_why *why)
{
	return b2f_remote_list_chunks(place, *id, raise_id, id, NULL, why);
}
