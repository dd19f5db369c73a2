/* SPDX-License-Identifier: BSD-3-Clause */
/* chunk_write.c - data into a new chunk file of a transaction */
#include "txn/chunk_write.h"

#include <string.h>

#include "b2frame/error.h"
#include "base/log_line.h"
#include "chunk/seal.h"
#include "frame/settings.h"
#include "txn/protocol.h"
#include "txn/txn.h"
#include "txn/txn_ids.h"

/*
 * A writer gives up after finding this many ids taken by files that no index
 * names.
 */
#define ID_TRIES   1000000
#define NAME_TRIES 10

/* How long a chunk waits for programs that have locked a contiguous frame. */
#define LOCK_WAIT_MS 3000

/* Copying a chunk of so many bytes is cheaper than a second write. */
#define COPY_MAX (16u << 10)

/* A chunk in memory, in the form of its file. */
struct image {
	const uint8_t *bytes;
	uint32_t cbytes;
	/* Malloc'ed; with the last @copied bytes of the chunk before the seal. */
	uint8_t *seal;
	size_t copied;
	/* 0: there is no seal. */
	size_t seal_size;
	/* In a contiguous frame: bytes it takes with its seal, or more. */
	uint64_t room;
};

static void lock(struct b2f_chunk_writer *cw)
{
	if (cw->txn->guard.owner)
		pthread_mutex_lock(cw->txn->guard.owner);
}

static void unlock(struct b2f_chunk_writer *cw)
{
	if (cw->txn->guard.owner)
		pthread_mutex_unlock(cw->txn->guard.owner);
}

static void get_options(struct b2f_chunk_writer *cw,
			struct b2f_encode_options *out)
{
	if (cw->as) {
		b2f_encode_options_of(cw->as, &cw->as->header, out);
	} else {
		lock(cw);
		b2f_encode_options_of(cw->txn->frame, &cw->txn->header, out);
		unlock(cw);
	}
	if (cw->clevel_max && out->clevel > cw->clevel_max)
		out->clevel = cw->clevel_max;
}

/* Makes the seal of the chunk of @image, for the tag @tag. */
static int add_seal(const struct b2f_txn *txn, struct image *image,
		    uint32_t tag, struct b2f_why *why)
{
	struct b2f_chunk chunk;
	size_t size;
	int err = b2f_chunk_open(image->bytes, image->cbytes, image->cbytes,
				 &txn->frame->context, &chunk, why);

	if (err)
		return err;
	size = b2f_seal_size(&chunk);
	image->copied = image->cbytes <= COPY_MAX ? image->cbytes : 0;
	image->seal = malloc(image->copied + size);
	if (!image->seal)
		return -ENOMEM;
	memcpy(image->seal, image->bytes, image->copied);
	err = b2f_seal_make(&chunk, image->bytes, tag,
			    image->seal + image->copied, why);
	/* A foreign writer's chunk whose blocks are in doubt gets no seal. */
	if (err == B2F_EUNSUPPORTED)
		return 0;
	if (!err)
		image->seal_size = size;
	return err;
}

/* Returns the room that a range for @image needs. */
static int measure(const struct b2f_chunk_writer *cw, struct image *image,
		   struct b2f_why *why)
{
	struct b2f_chunk chunk;
	int err;

	image->room = image->cbytes;
	if (cw->no_seal)
		return 0;
	err = b2f_chunk_open(image->bytes, image->cbytes, image->cbytes,
			     &cw->txn->frame->context, &chunk, why);
	if (!err)
		image->room += b2f_seal_size(&chunk);
	return err;
}

static void note_foreign(struct b2f_chunk_writer *cw, uint64_t raw)
{
	lock(cw);
	b2f_txn_note_foreign(cw->txn, raw);
	unlock(cw);
}

/* Creates a chunk file with an unused id, or takes a range. */
static int create(struct b2f_chunk_writer *cw, const struct image *image,
		  struct b2f_txn_chunk *chunk, struct b2f_object *object,
		  struct b2f_why *why)
{
	int err = -EEXIST;

	for (int i = 0; i < ID_TRIES && err == -EEXIST; i++) {
		lock(cw);
		err = b2f_txn_new_id(cw->txn, image->room, chunk);
		unlock(cw);
		if (!err)
			err = b2f_object_create(cw->txn->store,
						b2f_txn_id(chunk->raw), object,
						why);
		if (err == -EEXIST)
			note_foreign(cw, chunk->raw);
	}
	return err;
}

static int note(struct b2f_chunk_writer *cw, const struct b2f_txn_chunk *chunk)
{
	int err;

	lock(cw);
	err = b2f_txn_note_file(cw->txn, chunk);
	unlock(cw);
	return err;
}

/*
 * While a large file is written, the disk need not wait for the commit.  A
 * small file may well be deleted before it.
 */
static void write_soon(struct b2f_chunk_writer *cw,
		       const struct b2f_object *object)
{
	bool soon;

	lock(cw);
	soon = b2f_txn_has_backlog(cw->txn);
	unlock(cw);
	if (soon)
		(void)!b2f_object_settle(object, B2F_SETTLE_SOON, NULL);
}

/* Writes chunk and seal. */
static int write_bytes(const struct image *image,
		       const struct b2f_object *object, struct b2f_why *why)
{
	uint32_t own = image->cbytes;
	int err = 0;

	if (image->seal_size)
		own -= (uint32_t)image->copied;
	if (own)
		err = b2f_object_write(object, 0, image->bytes, own, why);
	if (!err && image->seal_size)
		err = b2f_object_write(object, own, image->seal,
				       image->copied + image->seal_size, why);
	return err;
}

/*
 * Writes the created @object, which is pending then; marks *@raw as sealed if
 * the chunk gets a seal.
 */
static int fill_file(struct b2f_chunk_writer *cw, struct image *image,
		     uint64_t *raw, struct b2f_object *object,
		     struct b2f_why *why)
{
	uint64_t sealed = *raw | B2F_ENTRY_SEALED;
	int err = 0;

	if (!cw->no_seal)
		err = add_seal(cw->txn, image, b2f_entry_tag(sealed), why);
	/* At the last moment: a program without locks may be writing. */
	if (!err && cw->txn->protocol->claim)
		err = cw->txn->protocol->claim(cw->txn, why);
	if (!err)
		err = write_bytes(image, object, why);
	if (!err)
		err = b2f_object_publish(object, b2f_txn_id(*raw), why);
	if (image->seal_size)
		*raw = sealed;
	free(image->seal);
	image->seal = NULL;
	image->seal_size = 0;
	return err;
}

static int try_file(struct b2f_chunk_writer *cw, struct image *image,
		    struct b2f_txn_chunk *out, struct b2f_why *why)
{
	struct b2f_txn_chunk chunk = {.cbytes = image->cbytes};
	struct b2f_object object = {.fd = -1};
	bool named;
	int err = create(cw, image, &chunk, &object, why);

	if (err)
		return err;
	err = fill_file(cw, image, &chunk.raw, &object, why);
	named = !object.unnamed;
	if (!err)
		err = note(cw, &chunk);
	if (!err)
		write_soon(cw, &object);
	b2f_object_close(&object);
	/*
	 * If the removal fails, the next writer finds the file.  A range may
	 * have bytes of another program by now.
	 */
	if (err && named && err != -ESTALE)
		(void)!b2f_store_remove(cw->txn->store,
					b2f_txn_id(chunk.raw), NULL);
	if (!err)
		*out = chunk;
	return err;
}

/*
 * The same in a contiguous frame, where another program may write behind the
 * end of the frame: locks it out, or leaves its bytes alone.
 */
static int try_range(struct b2f_chunk_writer *cw, struct image *image,
		     struct b2f_txn_chunk *out, struct b2f_why *why)
{
	int err = measure(cw, image, why);

	if (!err)
		err = b2f_txn_lock_out(cw->txn, LOCK_WAIT_MS, why);
	if (err)
		return err;
	err = try_file(cw, image, out, why);
	b2f_txn_let_in(cw->txn);
	return err;
}

static int write_file(struct b2f_chunk_writer *cw, struct image *image,
		      struct b2f_txn_chunk *out, struct b2f_why *why)
{
	int err = -EEXIST;

	if (cw->txn->protocol->claim)
		return try_range(cw, image, out, why);
	/* Another program may take the id while we write. */
	for (int i = 0; i < NAME_TRIES && err == -EEXIST; i++)
		err = try_file(cw, image, out, why);
	return err;
}

static int encode(struct b2f_chunk_writer *cw, const uint8_t *data,
		  uint32_t nbytes, struct image *image, bool *zeros,
		  struct b2f_why *why)
{
	size_t room = b2f_chunk_encode_bound(nbytes);
	struct b2f_scratch *dst = &cw->encoder->chunk;
	const struct b2f_frame_header *h =
		cw->as ? &cw->as->header : &cw->txn->header;
	struct b2f_encode_options options;
	struct b2f_encoded encoded;
	int err;

	get_options(cw, &options);
	err = b2f_scratch_reserve(dst, room);
	if (!err)
		err = b2f_chunk_encode(
			cw->encoder, &options, b2f_bytes_at(data, nbytes),
			b2f_room_at(dst->data, room), &encoded, why);
	if (err)
		return err;
	image->bytes = dst->data;
	image->cbytes = encoded.cbytes;
	/*
	 * An entry alone has no length: it takes a chunk size and whole items.
	 */
	*zeros = encoded.zeros && h->chunksize != 0 &&
		 nbytes % options.typesize == 0;
	if (encoded.zeros && !*zeros)
		err = b2f_chunk_encode_value(&options, nbytes,
					     b2f_bytes_at(NULL, 0), dst->data,
					     &image->cbytes, why);
	return err;
}

/* Logs that chunk @nchunk is not written, if @err says so. */
static int report(struct b2f_chunk_writer *cw, uint64_t nchunk, int err,
		  const struct b2f_why *why)
{
	const struct b2f_frame *frame = cw->txn->frame;

	if (err)
		b2f_log(frame->log, B2F_LOG_ERROR,
			"%s: chunk %llu is not written: %s", frame->label,
			(unsigned long long)nchunk, b2f_why_text(why, err));
	return err;
}

int b2f_chunk_write(struct b2f_chunk_writer *cw, uint64_t nchunk,
		    const uint8_t *data, uint32_t nbytes,
		    struct b2f_txn_chunk *out)
{
	struct b2f_why why = {""};
	struct image image = {0};
	bool zeros = false;
	int err = encode(cw, data, nbytes, &image, &zeros, &why);

	if (!err && zeros)
		*out = (struct b2f_txn_chunk){
			.raw = b2f_entry_raw(B2F_SPECIAL_ZEROS)};
	else if (!err)
		err = write_file(cw, &image, out, &why);
	return report(cw, nchunk, err, &why);
}

int b2f_chunk_write_encoded(struct b2f_chunk_writer *cw, uint64_t nchunk,
			    const uint8_t *chunk, uint32_t cbytes,
			    struct b2f_txn_chunk *out)
{
	struct image image = {.bytes = chunk};
	struct b2f_chunk_header h;
	struct b2f_why why = {""};
	int err = b2f_chunk_header_parse(chunk, cbytes, &h, &why);

	if (!err && h.cbytes > cbytes)
		err = b2f_why_set(&why, B2F_ECORRUPT, "cut short");
	if (!err) {
		image.cbytes = h.cbytes;
		err = write_file(cw, &image, out, &why);
	}
	return report(cw, nchunk, err, &why);
}

bool b2f_chunk_write_may_patch(struct b2f_chunk_writer *cw,
			       const struct b2f_chunk *chunk, uint32_t nbytes)
{
	struct b2f_encode_options options;

	get_options(cw, &options);
	return b2f_patch_fits(&options, chunk, nbytes);
}

/* Makes the new chunk in @image; its cbytes are 0 if it cannot. */
static int encode_patch(struct b2f_chunk_writer *cw,
			const struct b2f_encode_options *options,
			const struct b2f_patch *patch, struct image *image,
			struct b2f_why *why)
{
	size_t room = b2f_chunk_encode_bound(patch->nbytes);
	struct b2f_scratch *dst = &cw->encoder->chunk;
	int err = b2f_scratch_reserve(dst, room);

	if (!err)
		err = b2f_patch_encode(cw->encoder, options, patch, dst->data,
				       &image->cbytes, why);
	image->bytes = dst->data;
	return err;
}

int b2f_chunk_write_patch(struct b2f_chunk_writer *cw, uint64_t nchunk,
			  const struct b2f_patch *patch, bool *made,
			  struct b2f_txn_chunk *out)
{
	struct b2f_encode_options options;
	struct b2f_why why = {""};
	struct image image = {0};
	int err;

	get_options(cw, &options);
	err = encode_patch(cw, &options, patch, &image, &why);
	*made = !err && image.cbytes;
	if (err == B2F_ECORRUPT || err == B2F_EUNSUPPORTED)
		return 0;
	if (*made)
		err = write_file(cw, &image, out, &why);
	return report(cw, nchunk, err, &why);
}
