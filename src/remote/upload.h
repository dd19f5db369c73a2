/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upload.h - new objects of a frame, on their way to the server
 *
 * A new chunk is put together in memory, and sent under its own name, which no index
 * names yet: under a number that no chunk of the frame has had.  It may be read, from
 * memory, before the server has acknowledged it.
 *
 *   open      bytes are added
 *   sent      on its way
 *   settling  a thread waits for its outcome
 *   done      it is there, and ours; the memory is free
 *   taken     another writer has an object of that name
 *   failed    it is not there, or that is not known
 *
 * A commit claims what its index is to name.  If its outcome is not known, an index may
 * name these, until another one has followed the one that it was to replace.
 *
 * Layer: remote.  May include: base/ store/.  Threads: any.
 */
#ifndef B2F_REMOTE_UPLOAD_H
#define B2F_REMOTE_UPLOAD_H

#include "remote/put.h"
#include "remote/remote_place.h"
#include "store/store.h"

#include <uthash.h>

enum b2f_upload_state {
	B2F_UPLOAD_OPEN,
	B2F_UPLOAD_SENT,
	B2F_UPLOAD_SETTLING,
	B2F_UPLOAD_DONE,
	B2F_UPLOAD_TAKEN,
	B2F_UPLOAD_FAILED,
};

struct b2f_upload {
	/* The key: its number. */
	int64_t id;
	struct b2f_remote_place *place;
	/* All below: under place->lock. */
	unsigned int refs;
	enum b2f_upload_state state;
	/* Bytes to put; NULL once the object is there. */
	uint8_t *bytes;
	size_t size;
	size_t room;
	struct b2f_put put;
	struct b2f_why why;
	int err;
	bool is_listed;
	/* A commit under way is to name it. */
	bool claimed;
	/*
	 * If an index of unknown outcome may name the chunk: its mark, and the
	 * mark before.
	 */
	uint64_t doubted;
	uint64_t doubted_base;
	UT_hash_handle hh;
	/* In place->sent. */
	struct b2f_upload *prev;
	struct b2f_upload *next;
};

/*
 * A new one, with a reference for the caller and one for the list of its place, unless
 * @id is below 0.  Returns 0, -EEXIST (there is one of that id) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_upload_new(struct b2f_remote_place *place, int64_t id,
		   struct b2f_upload **out);

/* The upload that @object, which is of memory, stands for. */
static inline struct b2f_upload *b2f_upload_of(const struct b2f_object *object)
{
	return (struct b2f_upload *)(uintptr_t)object->data;
}

/* The one with @id, with a reference; or NULL. */
struct b2f_upload *b2f_upload_find(struct b2f_remote_place *place, int64_t id);
void b2f_upload_unref(struct b2f_upload *up);

/*
 * Writes to an open one, or reads one whose bytes were here when it was found.
 * Returns 0; -EFBIG, -ENOMEM; B2F_ECORRUPT (it ends before).
 */
B2F_MUST_CHECK
int b2f_upload_write(struct b2f_upload *up, uint64_t off, const void *buf,
		     size_t n);
B2F_MUST_CHECK
int b2f_upload_read(struct b2f_upload *up, uint64_t off, void *buf, size_t n,
		    struct b2f_why *why);

/* Sends it; waits for others first if too much is on its way.  0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_upload_send(struct b2f_upload *up);

/*
 * Waits for its outcome.  Returns 0, -EEXIST (taken) or why it has failed; the
 * version that is there is in @up->put.now.
 */
B2F_MUST_CHECK
int b2f_upload_wait(struct b2f_upload *up, struct b2f_why *why);

/* A commit is to name it, or no longer; returns as b2f_upload_wait(). */
B2F_MUST_CHECK
int b2f_upload_claim(struct b2f_upload *up, struct b2f_why *why);
void b2f_upload_disclaim(struct b2f_upload *up);

/*
 * The commit has happened: they are chunks like others; or, if that is not NULL, the one
 * with the note @in_doubt may have.
 */
void b2f_uploads_end_claims(struct b2f_remote_place *place,
			    const struct b2f_note *in_doubt);

/* Takes it off the list.  Returns whether it is on the server. */
bool b2f_upload_give_up(struct b2f_upload *up);

/* Ends all, when there is no other reference to them. */
void b2f_uploads_fini(struct b2f_remote_place *place);

#endif
