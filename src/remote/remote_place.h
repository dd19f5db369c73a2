/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_place.h - where a frame is on a server, and what is known of it
 *
 * All stores of one frame that were cloned from each other share it: what one of them
 * sees of the index, or writes, the others know.
 *
 * Layer: remote.  May include: base/ store/.  Threads: any; fields under @lock.
 */
#ifndef B2F_REMOTE_REMOTE_PLACE_H
#define B2F_REMOTE_REMOTE_PLACE_H

#include <pthread.h>

#include "remote/chunk_versions.h"
#include "remote/gone.h"
#include "remote/note.h"
#include "remote/remote_priv.h"

struct b2f_upload;

/* Objects that are removed at a time. */
#define B2F_REMOVING_MAX 16

struct b2f_remote_place {
	atomic_uint refs;
	/* Constant. */
	struct b2f_remote *remote;
	char *path;
	bool sparse;
	pthread_mutex_t lock;
	/* All below: under lock. */
	pthread_cond_t changed;
	/* There is no index, and its first one is to come from here. */
	bool is_new;
	/* The index: the version last seen, the time, and its note. */
	struct b2f_remote_stat seen;
	uint64_t seen_ns;
	struct b2f_note note;
	/* Chunks that indexes before have named, as far as they are not removed. */
	struct b2f_gone gone;
	/* Chunks that the next index no longer names. */
	struct b2f_ids replaced;
	/* The version that a commit from here has put there last. */
	struct b2f_remote_stat own;
	/* The mark of that; before, of the one that was seen first; or 0. */
	uint64_t root;
	struct b2f_chunk_versions *versions;
	/* Chunks that were made here and no index names yet: a uthash. */
	struct b2f_upload *uploads;
	/* Uploads on their way, the oldest first. */
	struct b2f_upload *sent;
	/* The index that is to replace the one that is there; or NULL. */
	struct b2f_upload *new_index;
	/* Removals of objects that are on their way, the first one first. */
	struct b2f_http_request *removing[B2F_REMOVING_MAX];
	unsigned int nremoving;
	/* No chunk has had this id, nor one above, as far as is known. */
	uint64_t next_id;
};

/* Makes the place of the frame @path.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_remote_place_new(struct b2f_remote *remote, const char *path, bool sparse,
		 struct b2f_remote_place **out);
struct b2f_remote_place *b2f_remote_place_ref(struct b2f_remote_place *place);
void b2f_remote_place_unref(struct b2f_remote_place *place);

/* The path of object @id (store/store.h); malloc'ed, or NULL. */
char *b2f_remote_place_path(const struct b2f_remote_place *place, int64_t id);

/*
 * Notes that the index is there in @version, with @note beside it, of which @text is the
 * whole; NULL: no more of it is known.
 */
void b2f_remote_place_see(struct b2f_remote_place *place,
			  const struct b2f_remote_stat *version,
			  const struct b2f_note *note, const char *text);

/*
 * The version of the index that is there: the one last seen, if that was less than
 * @fresh_ms ago.  Returns 0 or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_place_look(struct b2f_remote_place *place, uint64_t fresh_ms,
			  struct b2f_remote_stat *out);

#endif
