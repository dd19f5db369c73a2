/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - checks a frame: decodes every chunk */
#include <stdlib.h>

#include "b2frame/check.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "file/runtime_state.h"
#include "frame/frame_chunk.h"
#include "frame/frame_read.h"
#include "frame/frame_unit.h"
#include "txn/txn.h"

struct check {
	struct b2f_runtime *runtime;
	struct b2f_frame *frame;
	const struct b2f_check_options *options;
	pthread_mutex_t lock;
	/* Protected by lock. */
	struct b2f_check_result result;
	/* Decoded bytes of the checked chunks.  Protected by lock. */
	uint64_t done;
	/* Stored bytes of the sound chunks that have a chunk file or range. */
	uint64_t stored;
	/* Another program has changed the frame.  Protected by lock. */
	bool is_stale;
};

/* Facts about a chunk that was decoded. */
struct seen {
	uint64_t cbytes;
	bool sealed;
};

static enum b2f_check_state state_of(const struct seen *seen, bool special,
				     int err)
{
	if (err == B2F_ECORRUPT)
		return B2F_CHECK_DAMAGED;
	if (err == B2F_EUNSUPPORTED)
		return B2F_CHECK_UNSUPPORTED;
	if (err)
		return B2F_CHECK_FAILED;
	if (special)
		return B2F_CHECK_SPECIAL;
	return seen->sealed ? B2F_CHECK_SEALED : B2F_CHECK_UNSEALED;
}

/* Counts one chunk that ended with @err. */
static void count(struct check *c, const struct b2f_frame_span *span,
		  const struct seen *seen, bool special, int err)
{
	struct b2f_check_result *r = &c->result;
	B2F_HOLD(&c->lock);

	if (err == B2F_ECORRUPT)
		r->ndamaged++;
	else if (err == B2F_EUNSUPPORTED)
		r->nunsupported++;
	else if (err)
		r->nfailed++;
	c->is_stale |= err == -ESTALE;
	if (!err) {
		r->nbytes += span->nbytes;
		r->cbytes += seen->cbytes;
		c->stored += special ? 0 : seen->cbytes;
		r->nsealed += seen->sealed;
		r->nspecial += special;
	}
	c->done += span->nbytes;
	if (c->options->progress)
		c->options->progress(c->options->arg, c->done,
				     c->frame->info.nbytes);
	if (c->options->chunk)
		c->options->chunk(c->options->arg, span->nchunk,
				  state_of(seen, special, err));
}

static int check_stored(struct check *c, const struct b2f_frame_span *span,
			struct seen *seen)
{
	struct b2f_loaded *loaded = NULL;
	struct b2f_decoder *dec = NULL;
	int err = b2f_frame_load(c->frame, span->nchunk, span->nbytes,
				 B2F_LOAD_ALL, &loaded);

	if (err)
		return err;
	seen->cbytes = loaded->chunk.header.cbytes;
	seen->sealed = loaded->seal.sums != NULL;
	/* A special chunk has no units: expanding its value proves nothing. */
	if (loaded->chunk.layout != B2F_CHUNK_SPECIAL) {
		err = b2f_idle_get_decoder(&c->runtime->idle, &dec);
		if (!err) {
			err = b2f_frame_decode_whole(c->frame, loaded, dec,
						     NULL);
			b2f_idle_put_decoder(&c->runtime->idle, dec);
		}
	}
	b2f_loaded_free(loaded);
	return err;
}

static int check_chunk(void *arg, size_t i)
{
	struct check *c = arg;
	struct b2f_frame_span span = {.nchunk = i};
	struct seen seen = {0};
	bool special;
	int err;

	special = b2f_entries_get(&c->frame->entries, i).special;
	err = b2f_frame_span_get(c->frame, i, &span);
	if (!err)
		err = check_stored(c, &span, &seen);
	count(c, &span, &seen, special, err);
	/* Go on: one bad chunk says nothing about the others. */
	return 0;
}

static int count_bad_metas(const struct b2f_frame *frame, uint64_t *nbad)
{
	int err = 0;

	for (size_t i = 0; i < frame->info.nvlmeta && err != -ENOMEM; i++) {
		struct b2f_meta_info info;
		B2F_OWN uint8_t *content = NULL;

		err = b2f_frame_vlmeta(frame, i, &info, &content);
		*nbad += err && err != -ENOMEM;
	}
	return err == -ENOMEM ? err : 0;
}

/* A too small count loses nothing here, but other programs believe it. */
static void compare_told(struct check *c)
{
	struct b2f_check_result *r = &c->result;
	const struct b2f_frame *frame = c->frame;

	r->told_cbytes = b2f_txn_told_cbytes(frame);
	r->tells_less = frame->header.sparse && r->told_cbytes < c->stored;
	if (r->tells_less)
		b2f_log(frame->log, B2F_LOG_ERROR,
			"%s: its index counts %llu stored bytes, its chunks "
			"take %llu",
			frame->label, (unsigned long long)r->told_cbytes,
			(unsigned long long)c->stored);
}

int b2f_check_frame(struct b2f_runtime *runtime, struct b2f_frame *frame,
		    const struct b2f_check_options *options,
		    struct b2f_check_result *out)
{
	struct check c = {
		.runtime = runtime, .frame = frame, .options = options};
	int err;

	pthread_mutex_init(&c.lock, NULL);
	c.result.nchunks = frame->info.nchunks;
	c.result.index_sealed = frame->sealed;
	c.result.meta_changed = b2f_frame_meta_has_changed(frame);
	c.result.bad_array = frame->layout.err == B2F_ECORRUPT;
	err = count_bad_metas(frame, &c.result.nbad_metas);
	if (!err)
		err = b2f_pool_for(runtime->pool, B2F_POOL_DEMAND,
				   frame->info.nchunks, check_chunk, &c);
	pthread_mutex_destroy(&c.lock);
	/*
	 * If the frame has changed, only some chunks were counted; is_stale
	 * says so.
	 */
	if (!c.is_stale)
		compare_told(&c);
	if (!err)
		*out = c.result;
	return err;
}
