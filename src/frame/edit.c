/* SPDX-License-Identifier: BSD-3-Clause */
/* edit.c - the life of an edit, and its two states */
#include <string.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "frame/edit_count.h"
#include "frame/edit_disk.h"
#include "frame/edit_ids.h"
#include "frame/edit_layout.h"
#include "frame/edit_priv.h"
#include "frame/edit_remove.h"
#include "frame/frame_report.h"
#include "frame/settings.h"
#include "index/tags.h"

static bool is_empty_array(const struct b2f_frame *frame)
{
	return frame->form.is_array && !frame->form.err &&
	       frame->header.nbytes == 0;
}

/* A frame behind something else, or in a store that is one file. */
static bool is_part(const struct b2f_frame *frame)
{
	return frame->offset || !frame->store->ops->write;
}

static const char *part_of(const struct b2f_frame *frame)
{
	const char *obstacle = frame->store->ops->obstacle;

	return obstacle ? obstacle : "it is a part of another file";
}

static const char vlblocks[] = "its chunks have blocks of different lengths";

const char *b2f_edit_header_obstacle(const struct b2f_frame_header *h)
{
	if (b2f_frame_header_has_vlblocks(h) ||
	    (h->version > 2 && h->chunksize != 0))
		return vlblocks;
	return NULL;
}

/*
 * Can every chunk be found?  In a frame of chunks of different sizes it takes the
 * heads of all to know, so only those are asked that have special chunks: these
 * tell no length.
 */
static bool fits_together(struct b2f_frame *frame)
{
	uint64_t n = frame->entries.n;
	bool all = frame->header.chunksize == 0 && frame->entries.nspecial;
	struct b2f_frame_span span;

	if (n && b2f_frame_span_get(frame, all ? n - 1 : 0, &span))
		return false;
	return !all || b2f_frame_map_nknown(&frame->map) == n;
}

/* An index of chunks of different sizes need not tell of their blocks. */
static bool has_vlblocks(struct b2f_frame *frame)
{
	struct b2f_chunk_info info;

	if (b2f_frame_header_has_vlblocks(&frame->header))
		return true;
	return frame->header.chunksize == 0 && frame->entries.n &&
	       !b2f_frame_chunk_info(frame, 0, &info) &&
	       info.kind == B2F_CHUNK_VLBLOCKS;
}

const char *b2f_edit_obstacle(struct b2f_frame *frame, enum b2f_edit_what what)
{
	const struct b2f_frame_header *h = &frame->header;

	if (is_part(frame))
		return part_of(frame);
	/* It has no chunks, and never gets any. */
	if (what == B2F_EDIT_FILE && is_empty_array(frame))
		return NULL;
	if (b2f_edit_header_obstacle(h))
		return b2f_edit_header_obstacle(h);
	if (what == B2F_EDIT_CHUNKS && h->chunksize == 0)
		return "its chunks have different sizes";
	if (frame->form.is_array && what == B2F_EDIT_CHUNKS)
		return "it is an array";
	if (frame->form.carrier[0])
		return "its data are elsewhere";
	if (frame->form.objects)
		return "it holds serialized objects";
	if (frame->form.err)
		return "its chunks are not those of its array";
	if (!fits_together(frame))
		return "its chunks do not fit together";
	if (frame->map.starts && h->chunksize != 0)
		return "its short chunk is not the last one";
	return has_vlblocks(frame) ? vlblocks : NULL;
}

/* What makes a frame of the same data that can be written to; or "". */
static const char *way_out(struct b2f_frame *frame)
{
	const struct b2f_form *form = &frame->form;

	if (is_part(frame))
		return "; bloscctl convert makes a copy that can be";
	if (form->err || form->objects || form->is_array || frame->map.err)
		return "";
	if (has_vlblocks(frame))
		return "; bloscctl decompress and compress make a frame that "
		       "can be";
	return "; bloscctl recompress gives it chunks of one size";
}

static int check_writable(struct b2f_frame *frame, enum b2f_edit_what what)
{
	const char *text;

	if (what == B2F_EDIT_ANY)
		text = is_part(frame) ? part_of(frame) : NULL;
	else
		text = b2f_edit_obstacle(frame, what);
	if (!text)
		return 0;
	b2f_log(frame->log, B2F_LOG_WARNING,
		"%s: cannot be written to, as %s%s", frame->label, text,
		way_out(frame));
	return -EROFS;
}

static int open_states(struct b2f_edit *edit, enum b2f_edit_what what,
		       struct b2f_why *why)
{
	bool varied = what == B2F_EDIT_FILE && edit->header.chunksize == 0;
	struct b2f_ids used = {0};
	int err;

	err = b2f_edit_state_of(edit->frame, &edit->committed);
	edit->nkept = edit->committed.n;
	if (!err && varied && edit->nkept)
		err = b2f_edit_make_starts(edit->frame, &edit->committed);
	if (!err)
		b2f_edit_count(edit, edit->frame, &edit->committed);
	if (!err)
		err = b2f_edit_state_copy(&edit->committed, &edit->working);
	if (!err)
		err = b2f_edit_used_ids(&edit->committed, &used);
	if (err == B2F_EUNSUPPORTED)
		err = b2f_why_set(why, -EROFS,
				  "cannot be written to, as two chunks are in "
				  "one file");
	edit->next_id = edit->above = b2f_edit_above(&edit->committed);
	b2f_ids_fini(&used);
	return err;
}

static int open_lock(struct b2f_edit *edit, enum b2f_edit_locking locking,
		     struct b2f_why *why)
{
	int err;

	if (locking == B2F_EDIT_LOCKING_NEVER)
		return 0;
	err = b2f_lock_open(edit->store, locking == B2F_EDIT_LOCKING_ALWAYS,
			    &edit->lock, why);
	if (err != -ENOENT)
		return err;
	/* That is no cause of what may fail later. */
	*why = (struct b2f_why){""};
	return 0;
}

/* Is what is on disk not the frame that was opened? */
static bool is_newer(const struct b2f_edit *edit)
{
	struct b2f_frame_stamp now;

	return b2f_store_stamp_index(edit->store, &now) ||
	       !b2f_frame_stamp_equal(&now, &edit->stamp);
}

struct b2f_frame_stamp b2f_edit_stamp(const struct b2f_edit *edit)
{
	struct b2f_frame_stamp stamp = edit->stamp;

	/* Of a contiguous frame each chunk that is written changes it. */
	if (!edit->store->sparse && edit->has_lock &&
	    b2f_store_own_stamp(edit->store, &stamp))
		return edit->stamp;
	return stamp;
}

int b2f_edit_new(struct b2f_frame *frame, enum b2f_edit_what what,
		 enum b2f_edit_locking locking,
		 struct b2f_durability *durability, struct b2f_edit **out)
{
	struct b2f_why why = {""};
	struct b2f_edit *edit;
	int err;

	err = check_writable(frame, what);
	if (err)
		return err;
	edit = calloc(1, sizeof(*edit));
	if (!edit)
		return -ENOMEM;
	pthread_mutex_init(&edit->lock_mutex, NULL);
	edit->frame = b2f_frame_ref(frame);
	edit->home = b2f_frame_ref(frame);
	edit->store = frame->store;
	edit->header = frame->header;
	edit->stamp = frame->stamp;
	edit->last_tag = b2f_tag_draw();
	edit->durability = durability;
	err = b2f_store_lock(edit->store, &why);
	edit->has_lock = !err;
	if (!err)
		err = open_lock(edit, locking, &why);
	/* Until now another program could write. */
	if (!err && is_newer(edit))
		err = b2f_why_set(&why, -ESTALE,
				  "changed while it was being opened");
	if (!err)
		err = open_states(edit, what, &why);
	if (!err && !edit->store->sparse)
		err = b2f_edit_disk_begin(edit, &why);
	else if (!err)
		err = b2f_edit_clean(edit);
	if (err) {
		b2f_edit_free(edit);
		return b2f_frame_report(frame, err, &why);
	}
	*out = edit;
	return 0;
}

void b2f_edit_free(struct b2f_edit *edit)
{
	struct b2f_new_chunk *chunk, *next;

	if (!edit)
		return;
	/* Without the writer's lock it has neither written nor committed. */
	if (edit->has_lock && edit->committed.raw)
		b2f_edit_delete_all(edit);
	b2f_edit_disk_fini(edit);
	HASH_ITER(hh, edit->fresh, chunk, next)
	b2f_edit_forget(edit, chunk);
	b2f_lock_close(edit->lock);
	/* Readers of the frame may keep the store for a while. */
	if (edit->has_lock)
		b2f_store_unlock(edit->store);
	b2f_edit_state_fini(&edit->committed);
	b2f_edit_state_fini(&edit->working);
	b2f_ids_fini(&edit->replaced);
	free(edit->retired.files);
	b2f_ids_fini(&edit->dead);
	b2f_ids_fini(&edit->dying);
	b2f_ids_fini(&edit->free);
	b2f_frame_close(edit->frame);
	b2f_frame_close(edit->home);
	pthread_mutex_destroy(&edit->lock_mutex);
	free(edit);
}

void b2f_edit_set_typesize(struct b2f_edit *edit, uint32_t typesize)
{
	edit->header.typesize = typesize;
	edit->frame->header.typesize = typesize;
	edit->frame->info.typesize = typesize;
	edit->frame->context.typesize = typesize;
}

void b2f_edit_encode_options(const struct b2f_edit *edit,
			     struct b2f_encode_options *out)
{
	b2f_encode_options_of(edit->frame, &edit->header, out);
}

/* Adds and subtracts stored bytes; a lie in an old index is no reason to wrap.
 */
static void count_cbytes(struct b2f_edit_state *state, uint64_t more,
			 uint64_t less)
{
	state->cbytes += more;
	state->cbytes -= b2f_min_u64(state->cbytes, less);
}

int b2f_edit_put(struct b2f_edit *edit, uint64_t nchunk,
		 const struct b2f_edit_chunk *chunk, uint32_t old)
{
	uint64_t before = edit->working.raw[nchunk];
	int err = b2f_edit_drop(edit, before);

	if (err)
		return err;
	edit->working.raw[nchunk] = chunk->raw;
	count_cbytes(&edit->working, chunk->cbytes, old);
	return 0;
}

int b2f_edit_resize(struct b2f_edit *edit, uint64_t n, uint64_t nbytes,
		    uint64_t old)
{
	struct b2f_edit_state *state = &edit->working;
	uint64_t zeros = b2f_entry_raw(B2F_SPECIAL_ZEROS);
	int err;

	if (n > B2F_NCHUNKS_MAX)
		return B2F_ETOOBIG;
	err = b2f_edit_state_reserve(state, n);
	if (!err && n < state->n)
		err = b2f_edit_reserve_drops(edit, state->n - n);
	if (err)
		return err;
	for (uint64_t i = n; i < state->n; i++)
		if (b2f_edit_drop(edit, state->raw[i]))
			break; /* Cannot be: there is room. */
	for (uint64_t i = state->n; i < n; i++)
		state->raw[i] = zeros;
	b2f_edit_lay_out(edit, n, nbytes);
	count_cbytes(state, 0, old);
	return 0;
}

int b2f_edit_reserve_drops(struct b2f_edit *edit, size_t n)
{
	int err = b2f_ids_reserve(&edit->dead, n);

	return err ? err : b2f_ids_reserve(&edit->replaced, n);
}

int b2f_edit_drop(struct b2f_edit *edit, uint64_t raw)
{
	struct b2f_new_chunk *chunk;
	int err;

	if (!b2f_edit_is_stored(raw))
		return 0;
	chunk = b2f_edit_find(edit, raw);
	if (chunk && !chunk->committed && !chunk->frozen) {
		err = b2f_ids_add(&edit->dead, raw);
		if (!err)
			b2f_edit_forget(edit, chunk);
		return err;
	}
	/* One that the commit under way names may stay pending, if it fails. */
	if (!chunk || chunk->committed)
		raw = b2f_edit_number(raw);
	err = b2f_ids_add(&edit->replaced, raw);
	if (err || !chunk)
		return err;
	if (chunk->frozen)
		chunk->dropped = true;
	else
		b2f_edit_forget(edit, chunk);
	return 0;
}

bool b2f_edit_find_bad(const struct b2f_edit *edit, bool all, uint64_t *nchunk)
{
	const struct b2f_edit_state *state = &edit->working;

	for (uint64_t i = *nchunk; i < state->n && (all || edit->nbad); i++) {
		const struct b2f_new_chunk *chunk;

		if (!b2f_edit_is_stored(state->raw[i]))
			continue;
		chunk = b2f_edit_find(edit, state->raw[i]);
		if (chunk ? chunk->bad || (all && chunk->committed) : all) {
			*nchunk = i;
			return true;
		}
	}
	return false;
}

int b2f_edit_reform(struct b2f_edit *edit, struct b2f_frame *frame,
		    struct b2f_edit_state *state)
{
	struct b2f_edit_state old = edit->working;
	uint64_t frame_len = edit->header.frame_len;
	uint64_t cbytes = edit->header.cbytes;
	int err = b2f_edit_reserve_drops(edit, old.n);

	if (err)
		return err;
	for (uint64_t i = 0; i < old.n; i++)
		if (b2f_edit_drop(edit, old.raw[i]))
			break; /* Cannot be: there is room. */
	b2f_edit_state_fini(&old);
	edit->working = *state;
	*state = (struct b2f_edit_state){0};
	b2f_frame_close(edit->frame);
	edit->frame = b2f_frame_ref(frame);
	edit->header = frame->header;
	/* Those of the index on disk, which it still is. */
	edit->header.frame_len = frame_len;
	edit->header.cbytes = cbytes;
	return 0;
}
