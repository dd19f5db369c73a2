/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_place.c - a frame on a server: its path and known state */

/* Without memory an entry is left out, which costs a request later. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((void)(entry))
#include <uthash.h>

#include "remote/sweeper.h"
#include "remote/upload.h"

#include <stdlib.h>
#include <string.h>

#include "b2frame/create.h"
#include "base/checked.h"
#include "programs/io.h"
#include "store/store.h"

/* Limits memory to some 10 MB; then all entries are forgotten. */
#define KNOWN_MAX (64u << 10)

struct b2f_known {
	UT_hash_handle hh;
	int64_t id;
	uint64_t size;
	int64_t mtime;
	char etag[];
};

int b2f_remote_place_new(struct b2f_remote *remote, const char *path,
			 bool sparse, struct b2f_remote_place **out)
{
	struct b2f_remote_place *place =
		calloc(1, sizeof(*place) + strlen(path) + 1);

	if (!place)
		return -ENOMEM;
	strcpy(place->path, path);
	atomic_init(&place->refs, 1);
	place->remote = b2f_remote_ref(remote);
	place->sparse = sparse;
	pthread_mutex_init(&place->lock, NULL);
	pthread_cond_init(&place->changed, NULL);
	*out = place;
	return 0;
}

struct b2f_remote_place *b2f_remote_place_ref(struct b2f_remote_place *place)
{
	atomic_fetch_add_explicit(&place->refs, 1, memory_order_relaxed);
	return place;
}

void b2f_remote_place_unref(struct b2f_remote_place *place)
{
	if (!place || atomic_fetch_sub_explicit(&place->refs, 1,
						memory_order_acq_rel) != 1)
		return;
	/* The index of a commit that failed before its PUT. */
	b2f_upload_unref(place->new_index);
	b2f_uploads_fini(place);
	b2f_sweeper_end(place);
	b2f_sweeper_fini(place);
	b2f_chunk_versions_forget(place);
	b2f_gone_fini(&place->gone);
	b2f_ids_fini(&place->replaced);
	pthread_cond_destroy(&place->changed);
	pthread_mutex_destroy(&place->lock);
	b2f_remote_free(place->remote);
	free(place);
}

char *b2f_remote_place_path(const struct b2f_remote_place *place, int64_t id)
{
	char name[B2F_CHUNK_NAME_SIZE];

	if (!place->sparse)
		return strdup(place->path);
	if (id < 0)
		return b2f_remote_join(place->path, B2F_INDEX_NAME);
	b2f_chunk_name(id, name);
	return b2f_remote_join(place->path, name);
}

int b2f_remote_place_fits(const struct b2f_remote_place *place)
{
	size_t n = strlen(place->remote->url.base) + strlen("/") +
		   strlen(place->path) + strlen("/" B2F_INDEX_NAME);

	return n > B2F_URL_KEY_MAX ? -ENAMETOOLONG : 0;
}

char *b2f_remote_place_url(const struct b2f_remote_place *place, int64_t id)
{
	B2F_OWN char *path = b2f_remote_place_path(place, id);

	return b2f_url_of(&place->remote->url, path);
}

int b2f_remote_place_head(const struct b2f_remote_place *place, int64_t id,
			  struct b2f_remote_stat *out,
			  char text[B2F_HTTP_NOTE_SIZE])
{
	return b2f_remote_head_url(place->remote,
				   b2f_remote_place_url(place, id), out, text,
				   NULL);
}

/*
 * Does the index @version, with @note, not follow the last one seen?  If so,
 * its writer may have used ids of other chunks.  The lock is held.
 */
static bool is_other(const struct b2f_remote_place *place,
		     const struct b2f_remote_stat *version,
		     const struct b2f_note *note)
{
	const struct b2f_note *before = &place->note;

	return strcmp(version->etag, place->seen.etag) != 0 &&
	       !(before->nmarks && b2f_note_has(note, before->marks[0]));
}

void b2f_remote_place_see(struct b2f_remote_place *place,
			  const struct b2f_remote_stat *version,
			  const struct b2f_note *note, const char *text)
{
	B2F_HOLD(&place->lock);
	bool other = is_other(place, version, note);

	if (!place->is_new && other)
		b2f_chunk_versions_forget(place);
	/* Chunks of the version last seen may have been removed since. */
	if (text && strcmp(version->etag, place->seen.etag) != 0) {
		if (other)
			b2f_gone_fini(&place->gone);
		/* Another writer removes chunks that are not noted here. */
		(void)!b2f_gone_read(&place->gone, text);
	}
	place->is_new = false;
	place->seen = *version;
	place->seen_ns = b2f_monotonic_ns();
	place->note = *note;
	if (!place->root && note->nmarks)
		place->root = note->marks[0];
	place->next_id = b2f_max_u64(place->next_id, note->next_id);
}

int b2f_remote_place_ask(struct b2f_remote_place *place,
			 struct b2f_remote_stat *out)
{
	char text[B2F_HTTP_NOTE_SIZE];
	struct b2f_note note;
	int err = b2f_remote_place_head(place, B2F_OBJECT_INDEX, out, text);

	if (err)
		return err;
	b2f_note_read(text, &note);
	b2f_remote_place_see(place, out, &note, text);
	return 0;
}

int b2f_remote_place_look(struct b2f_remote_place *place, uint64_t fresh_ms,
			  struct b2f_remote_stat *out)
{
	bool fresh;

	pthread_mutex_lock(&place->lock);
	*out = place->seen;
	fresh = place->is_new ||
		(place->seen_ns &&
		 b2f_monotonic_ns() - place->seen_ns < fresh_ms * 1000000);
	pthread_mutex_unlock(&place->lock);
	return fresh ? 0 : b2f_remote_place_ask(place, out);
}

void b2f_chunk_versions_forget(struct b2f_remote_place *place)
{
	struct b2f_known *k, *tmp;

	HASH_ITER(hh, place->versions, k, tmp) {
		HASH_DEL(place->versions, k);
		free(k);
	}
}

void b2f_chunk_versions_put(struct b2f_remote_place *place, int64_t id,
			    const struct b2f_remote_stat *version)
{
	size_t n = strlen(version->etag) + 1;
	struct b2f_known *k;

	HASH_FIND(hh, place->versions, &id, sizeof(id), k);
	if (k) {
		HASH_DEL(place->versions, k);
		free(k);
	}
	if (HASH_COUNT(place->versions) >= KNOWN_MAX)
		b2f_chunk_versions_forget(place);
	k = calloc(1, sizeof(*k) + n);
	if (!k)
		return;
	k->id = id;
	k->size = version->size;
	k->mtime = version->mtime;
	memcpy(k->etag, version->etag, n);
	HASH_ADD(hh, place->versions, id, sizeof(id), k);
	if (!k->hh.tbl)
		free(k);
}

bool b2f_chunk_versions_get(struct b2f_remote_place *place, int64_t id,
			    struct b2f_remote_stat *out)
{
	struct b2f_known *k;

	HASH_FIND(hh, place->versions, &id, sizeof(id), k);
	if (!k)
		return false;
	*out = (struct b2f_remote_stat){.size = k->size, .mtime = k->mtime};
	memcpy(out->etag, k->etag, strlen(k->etag) + 1);
	return true;
}
