/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upload.h - new objects of a frame that are sent to the server
 *
 * A new chunk is assembled in memory, and sent under its own name, with an id
 * that no chunk of the frame has had; no index names it yet.  Until the server
 * has acknowledged it, it can be read from memory.
 *
 *   open      bytes are added
 *   sent      being sent
 *   settling  a thread waits for the outcome
 *   done      the object exists and is ours; the memory is free
 *   failed    the object does not exist, or that is not known: a commit sends
 *             it again; or another writer has an object of that name (-EEXIST)
 *
 * A commit claims the chunks that its index will name.  If the outcome of the
 * commit is not known, an index may name them until another one has followed
 * the index that it was to replace.
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
	B2F_UPLOAD_FAILED,
};

struct b2f_upload {
	/* The key of the hash table: the chunk id. */
	int64_t id;
	struct b2f_remote_place *place;
	/* Everything below: under place->lock. */
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
	/* A commit under way will name it. */
	bool claimed;
	/*
	 * If an index of unknown outcome may name the chunk: its mark, and the
	 * mark before.
	 */
	uint64_t doubted;
	uint64_t doubted_base;
	UT_hash_handle hh;
	/* In the list place->sent. */
	struct b2f_upload *prev;
	struct b2f_upload *next;
};

/*
 * Makes an upload, with a reference for the caller and, unless @id is below 0,
 * one for the list of its place.  Returns 0, -EEXIST (there is one with this
 * id) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_upload_new(struct b2f_remote_place *place, int64_t id,
		   struct b2f_upload **out);

/* Returns the upload behind @object, an object in memory. */
static inline struct b2f_upload *b2f_upload_of(const struct b2f_object *object)
{
	return (struct b2f_upload *)(uintptr_t)object->data;
}

/* Returns the upload with @id and a reference to it; or NULL. */
struct b2f_upload *b2f_upload_find(struct b2f_remote_place *place, int64_t id);
void b2f_upload_unref(struct b2f_upload *up);

/*
 * Writes to an open upload, or reads from one whose bytes were in memory when
 * it was found.  Returns 0; -EFBIG, -ENOMEM; B2F_ECORRUPT (reading beyond its
 * end).
 */
B2F_MUST_CHECK
int b2f_upload_write(struct b2f_upload *up, uint64_t off, const void *buf,
		     size_t n);
B2F_MUST_CHECK
int b2f_upload_read(struct b2f_upload *up, uint64_t off, void *buf, size_t n,
		    struct b2f_why *why);

/* Sends it; waits first if too much is being sent. 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_upload_send(struct b2f_upload *up);

/*
 * Waits for the outcome.  Returns 0, -EEXIST (taken), -EINTR (it may not be
 * known yet) or the error; the current version is in @up->put.now.
 */
B2F_MUST_CHECK
int b2f_upload_wait(struct b2f_upload *up, struct b2f_why *why);

/*
 * Like b2f_upload_wait(), but does not return a failure of an earlier attempt:
 * the server may accept the chunk now.  So one commit finds all that it has to
 * send again.
 */
B2F_MUST_CHECK
int b2f_upload_settle(struct b2f_upload *up, struct b2f_why *why);

/* Claims @up for a commit (as b2f_upload_wait()), or releases it. */
B2F_MUST_CHECK
int b2f_upload_claim(struct b2f_upload *up, bool claims, struct b2f_why *why);

/*
 * Ends the claims of a commit: the chunks are committed; or, if @in_doubt is
 * not NULL, the commit with that note may have happened.
 */
void b2f_uploads_end_claims(struct b2f_remote_place *place,
			    const struct b2f_note *in_doubt);

/* Takes @up off the list.  Returns whether the object is on the server. */
bool b2f_upload_give_up(struct b2f_upload *up);

/* Frees all uploads; there must be no other references. */
void b2f_uploads_fini(struct b2f_remote_place *place);

#endif
