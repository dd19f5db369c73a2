/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_frame.c - a sparse frame, chunk by chunk as it is stored
 *
 *   1. The target looks which chunks of this version it has.
 *   2. The chunks that it lacks are read, checked and put there.
 *   3. The frame is read again: is it still that version?
 *   4. The target gets the index, with its own chunk ids.
 *
 *   5. If chunks that were found in 1 have gone by then, all begins again.
 *
 * A copy that ends before 4 leaves orphans.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "file/runtime_state.h"
#include "frame/frame_report.h"
#include "make/pump.h"
#include "make/sink.h"
#include "make/transcode.h"
#include "store/turn.h"

struct copy {
	struct b2f_runtime *runtime;
	struct b2f_frame *frame;
	struct b2f_copy_target *target;
	const struct b2f_copy_options *options;
	struct b2f_copy_list list;
	struct b2f_copied copied;
	uint64_t done;
};

uint64_t b2f_copy_key(const struct b2f_frame_stamp *version, const char *name)
{
	const uint64_t parts[] = {version->dev, version->ino,
				  (uint64_t)version->size,
				  (uint64_t)version->mtime_ns,
				  (uint64_t)version->ctime_ns};

	return XXH3_64bits_withSeed(name, strlen(name),
				    XXH3_64bits(parts, sizeof(parts)));
}

static int report(const struct copy *c, int err, const struct b2f_why *why)
{
	if (err && err != -EEXIST)
		b2f_log_failure(c->target->log, c->target->label, err, why);
	return err;
}

/* Reports progress; a chunk that was there counts with the mean size. */
static void note_stored(void *arg, const struct b2f_piece *piece)
{
	struct copy *c = arg;
	uint64_t total = c->frame->info.cbytes, nbytes = piece->size;

	if (c->list.chunks[piece->nchunk].is_there) {
		c->copied.nkept++;
		nbytes = total / (c->list.n ? c->list.n : 1);
	} else {
		c->copied.nbytes += nbytes;
	}
	c->done += b2f_min_u64(nbytes, total - c->done);
	if (c->options->progress)
		c->options->progress(c->options->arg, c->done, total);
}

/*
 * Moves the stored bytes of @loaded, with its seal, to @piece.  A seal without
 * a tag is bound to the chunk id, and is dropped if the id changes.
 */
static int take(const struct b2f_copy_chunk *chunk, struct b2f_loaded *loaded,
		struct b2f_piece *piece)
{
	size_t nseal = loaded->seal.sums ? b2f_seal_size(&loaded->chunk) : 0;
	size_t size = loaded->chunk.header.cbytes;
	uint8_t *bytes;

	if (loaded->seal.tag == 0 && chunk->from != chunk->to)
		nseal = 0;
	if (nseal) {
		bytes = realloc(loaded->bytes, size + nseal);
		if (!bytes)
			return -ENOMEM;
		memcpy(bytes + size, loaded->tail, nseal);
		loaded->bytes = bytes;
	}
	b2f_transcode_take(loaded, piece);
	piece->size = size + nseal;
	return 0;
}

/* Reads the stored bytes of a chunk, and checks them. */
static int make_chunk(void *arg, struct b2f_piece *piece)
{
	struct copy *c = arg;
	const struct b2f_copy_chunk *chunk = &c->list.chunks[piece->nchunk];
	struct b2f_loaded *loaded = NULL;
	struct b2f_why why = {""};
	int err;

	if (chunk->is_there)
		return 0;
	err = b2f_transcode_load(c->frame, chunk->nchunk, &loaded);
	if (err)
		return err;
	err = b2f_seal_check_all(&loaded->seal, &loaded->chunk, loaded->bytes,
				 &why);
	if (err)
		b2f_frame_report_chunk(c->frame, chunk->nchunk, err, &why);
	else
		err = take(chunk, loaded, piece);
	b2f_loaded_free(loaded);
	return err;
}

static int put_chunk(void *arg, struct b2f_piece *piece)
{
	struct copy *c = arg;
	const struct b2f_copy_chunk *chunk = &c->list.chunks[piece->nchunk];
	struct b2f_why why = {""};
	int err = 0;

	if (piece->bytes)
		err = c->target->ops->put(c->target, chunk, piece->bytes,
					  piece->size, &why);
	return report(c, err, &why);
}

static const struct b2f_pump_steps steps = {
	.make = make_chunk,
	.put = put_chunk,
	.stored = note_stored,
};

/* Has the frame still the version that was opened? */
static int check_source(const struct copy *c)
{
	struct b2f_frame *again = NULL;
	struct b2f_frame_stamp now;
	int err = b2f_frame_reopen(c->frame, B2F_TURN_WAIT_MS, &again);

	if (err)
		return err;
	now = b2f_frame_stamp_get(again);
	b2f_frame_close(again);
	if (b2f_frame_stamp_equal(&now, &c->frame->stamp))
		return 0;
	return b2f_frame_report(
		c->frame, -ESTALE,
		&(const struct b2f_why){
			"another program has changed the frame meanwhile"});
}

/* 1: begin again. */
static int finish(struct copy *c)
{
	struct b2f_why why = {""};
	B2F_OWN uint8_t *index = NULL;
	size_t size = 0;
	int err = check_source(c);

	if (!err)
		err = b2f_copy_index(c->frame, &c->list, &index, &size);
	if (err)
		return err;
	err = c->target->ops->finish(c->target, index, size, &why);
	return err > 0 ? err : report(c, err, &why);
}

static int run_once(struct copy *c)
{
	struct b2f_why why = {""};
	int err;

	c->copied = (struct b2f_copied){.nchunks = c->list.n};
	c->done = 0;
	err = c->target->ops->begin(c->target, &c->list, &why);
	if (err)
		return report(c, err, &why);
	if (c->list.is_done) {
		c->copied.nkept = c->list.n;
		return 0;
	}
	err = b2f_pump_run(c->runtime->pool, &steps, c, c->list.n,
			   b2f_pump_window(c->list.n, 0));
	return err ? err : finish(c);
}

static int run(struct copy *c)
{
	int err;

	if (!c->frame->header.sparse)
		return b2f_frame_report(
			c->frame, -EINVAL,
			&(const struct b2f_why){"it is a contiguous frame, "
						"without chunk files"});
	err = b2f_copy_list_make(c->frame, &c->list);
	if (err)
		return err;
	do
		err = run_once(c);
	while (err > 0);
	return err;
}

int b2f_copy_frame(struct b2f_runtime *runtime, struct b2f_frame *frame,
		   struct b2f_copy_target *target,
		   const struct b2f_copy_options *options,
		   struct b2f_copied *out)
{
	struct copy c = {.runtime = runtime,
			 .frame = frame,
			 .target = target,
			 .options = options};
	int err;

	err = run(&c);
	b2f_copy_list_fini(&c.list);
	if (!err)
		*out = c.copied;
	return err;
}
