/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_place.h - a frame on a server: its path and known state
 *
 * All stores of one frame that were cloned from each other share it: an index
 * that one has seen or written is known to all.
 *
 * Layer: remote.  May include: base/ store/.  Threads: any; fields under @lock.
 */
#ifndef B2F_REMOTE_REMOTE_PLACE_H
#define B2F_REMOTE_REMOTE_PLACE_H

#include <pthread.h>

#include "remote/gone.h"
#include "remote/note.h"
#include "remote/remote_priv.h"

struct b2f_known;
struct b2f_upload;

/* Limit of simultaneous removals. */
#define B2F_REMOVING_MAX 16

struct b2f_remote_place {
	atomic_uint refs;
	/* Constant. */
	struct b2f_remote *remote;
	bool sparse;
	pthread_mutex_t lock;
	/* Everything below: under lock. */
	pthread_cond_t changed;
	/* The frame has no index; the first commit from here makes it. */
	bool is_new;
	/* The last commit from here may have happened, or not. */
	bool in_doubt;
	/* The index: the version last seen, when, and its note. */
	struct b2f_remote_stat seen;
	uint64_t seen_ns;
	struct b2f_note note;
	/* Chunks that earlier indexes named, unless they are removed. */
	struct b2f_gone gone;
	/* Chunks that the next index will no longer name. */
	struct b2f_ids replaced;
	/* The version written by the last commit from here. */
	struct b2f_remote_stat own;
	/* The mark of @own, or before a commit the mark first seen; or 0. */
	uint64_t root;
	/* Versions of chunks that were seen: a uthash. */
	struct b2f_known *versions;
	/* Chunks written here that no index names yet: a uthash. */
	struct b2f_upload *uploads;
	/* Uploads under way, the oldest first. */
	struct b2f_upload *sent;
	/* The index of the next commit; or NULL. */
	struct b2f_upload *new_index;
	/* Removals under way, the oldest first. */
	struct b2f_http_request *removing[B2F_REMOVING_MAX];
	unsigned int nremoving;
	/* No chunk has had this id or a higher one, as far as is known. */
	uint64_t next_id;
	/* Constant. */
	char path[];
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
 * May the new frame @place have objects?  Its writer would only be told when it
 * commits.  Returns 0 or -ENAMETOOLONG.
 */
B2F_MUST_CHECK
int b2f_remote_place_fits(const struct b2f_remote_place *place);

/* The URL of object @id; malloc'ed, or NULL. */
char *b2f_remote_place_url(const struct b2f_remote_place *place, int64_t id);

/*
 * Asks for the version of object @id (HEAD), and the text of its note unless
 * @text is NULL; logs nothing.  Returns as b2f_remote_look().
 */
B2F_MUST_CHECK
int b2f_remote_place_head(const struct b2f_remote_place *place, int64_t id,
			  struct b2f_remote_stat *out,
			  char text[B2F_HTTP_NOTE_SIZE]);

/*
 * Notes that the current index is @version with @note, whose whole text is
 * @text (NULL: not known).
 */
void b2f_remote_place_see(struct b2f_remote_place *place,
			  const struct b2f_remote_stat *version,
			  const struct b2f_note *note, const char *text);

/* Asks for the version of the current index.  Returns as _head(). */
B2F_MUST_CHECK
int b2f_remote_place_ask(struct b2f_remote_place *place,
			 struct b2f_remote_stat *out);

/*
 * Returns the version of the current index: the one last seen, if that was less
 * than @fresh_ms ago.  Returns 0 or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_place_look(struct b2f_remote_place *place, uint64_t fresh_ms,
			  struct b2f_remote_stat *out);

/*
 * The versions of chunks that were seen, under the lock: a
 * chunk whose version and head are known is opened again without a request.
 *
 * _put() notes that chunk @id has @version, and forgets the others if there are
 * too many; _get() returns false if the version of @id is not known.
 */
void b2f_chunk_versions_put(struct b2f_remote_place *place, int64_t id,
			    const struct b2f_remote_stat *version);
bool b2f_chunk_versions_get(struct b2f_remote_place *place, int64_t id,
			    struct b2f_remote_stat *out);
void b2f_chunk_versions_forget(struct b2f_remote_place *place);

#endif
