/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_open.c - opens a frame: one whole version of it */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log_line.h"
#include "b2frame/error.h"
#include "blp/blp_store.h"
#include "frame/frame_blank.h"
#include "frame/frame_hold.h"
#include "frame/frame_read.h"
#include "frame/frame_report.h"
#include "frame/frame_still.h"
#include "store/turn.h"

/*
 * A program without locks rewrites an index in place: look again, this often,
 * and this soon if no tick of the clock has to pass.
 */
#define TRIES  50
#define TRY_NS 1000000

/* An array whose metalayer makes no sense is still a readable row of chunks. */
static int read_array(struct b2f_frame *f)
{
	const struct b2f_meta *m = b2f_frame_array_meta(f);
	struct b2f_why why = {""};
	int err;

	if (!m)
		return 0;
	err = b2f_array_parse(m->content, m->size, f->header.typesize,
			      &f->array, &why);
	f->is_array = !err;
	if (err)
		b2f_log(f->log, B2F_LOG_WARNING, "%s: metalayer %s: %s",
			f->label, m->name, why.text);
	return err == -ENOMEM ? err : 0;
}

static void set_context(struct b2f_frame *f)
{
	f->context.typesize = f->header.typesize;
	f->context.whole = b2f_blp_has_sums(f->store);
	if (!f->is_array || f->array.ndim == 0 ||
	    f->array.ndim > B2F_GRID_MAX_DIM)
		return;
	f->grid.ndim = f->array.ndim;
	for (unsigned int i = 0; i < f->array.ndim; i++) {
		if (f->array.blockshape[i] <= 0)
			return;
		f->grid.blockshape[i] = f->array.blockshape[i];
	}
	f->context.grid = &f->grid;
}

/* Derives the other fields from the parts of the index. */
static int finish(struct b2f_frame *f)
{
	int err = read_array(f);

	if (err)
		return err;
	set_context(f);
	b2f_frame_info_set(f);
	return b2f_layout_set(f);
}

static int try_once(struct b2f_frame *f, struct b2f_why *why)
{
	struct b2f_frame_source src = {.offset = f->offset};
	int err = b2f_object_open(f->store, B2F_OBJECT_INDEX, &src.object, why);

	if (err == -ENOENT)
		return b2f_why_set(why, B2F_ENOTFRAME,
				   "a directory without chunks.b2frame");
	if (err)
		return err;
	if (src.offset > src.object.size)
		err = b2f_why_set(why, B2F_ENOTFRAME,
				  "the file ends before byte %llu",
				  (unsigned long long)src.offset);
	src.available = src.object.size - src.offset;
	if (!err)
		err = b2f_frame_read(f, &src, why);
	if (err)
		b2f_frame_forget(f);
	b2f_object_close(&src.object);
	return err;
}

/*
 * True if the index changed since it was stamped: the bytes read may be torn.
 */
static bool has_changed(struct b2f_frame *f)
{
	struct b2f_frame_stamp now;

	return b2f_store_stamp_index(f->store, &now) ||
	       !b2f_frame_stamp_equal(&now, &f->stamp);
}

/*
 * The index was read with @err in the tick of the clock in which it changed:
 * may a later change have the same stamp? An index that agrees with its
 * checksum is whole, and tags identify the chunks.
 */
static bool is_doubtful(const struct b2f_frame *f, int err)
{
	if (err)
		return err == B2F_ECORRUPT || err == B2F_EUNSUPPORTED;
	return !f->sealed || b2f_frame_has_bare(f);
}

/* Accepts the version read with *@err, or drops it to try again. */
static bool take_version(struct b2f_frame *f, bool is_quiet, int *err,
			 struct b2f_why *why)
{
	if (!has_changed(f) && (is_quiet || !is_doubtful(f, *err)))
		return true;
	if (!*err)
		b2f_frame_forget(f);
	*err = b2f_why_set(why, -EAGAIN, "another program keeps changing it");
	return false;
}

/*
 * Reads a whole version: before and after it the stamp is the same, and is
 * settled, or was seen a tick of the clock before.  @is_locked: programs that
 * use locks change nothing meanwhile.
 */
static int read_version(struct b2f_frame *f, bool is_locked,
			struct b2f_why *why)
{
	const struct timespec pause = {.tv_nsec = TRY_NS};
	struct b2f_frame_stamp last = {0};
	bool is_proof, is_quiet;
	int err = 0;

	for (int i = 0; i < TRIES; i++) {
		err = b2f_store_begin_index(f->store, &f->stamp);
		if (err == -ENOENT)
			return b2f_why_set(why, B2F_ENOTFRAME,
					   "a directory without "
					   "chunks.b2frame");
		if (err)
			return err;
		is_proof = b2f_frame_stamp_is_settled(&f->stamp);
		is_quiet = i > 0 && b2f_frame_stamp_equal(&f->stamp, &last);
		atomic_store(&f->in_doubt,
			     !is_proof &&
				     !(is_quiet && !b2f_frame_stamp_is_coarse(
							   &f->stamp)));
		err = try_once(f, why);
		if (take_version(f, is_locked || is_proof || is_quiet, &err,
				 why))
			break;
		last = f->stamp;
		if (is_locked)
			nanosleep(&pause, NULL);
		else
			b2f_frame_wait_tick();
	}
	return err;
}

static int read_index(struct b2f_frame *f, uint32_t wait_ms,
		      struct b2f_why *why)
{
	bool is_glance = wait_ms == B2F_TURN_NONE;
	struct b2f_lock *lock = NULL;
	int err = 0;

	if (!f->how.no_locking && !is_glance)
		err = b2f_turn_begin(f->store, wait_ms, &lock, why);
	if (!err)
		err = read_version(f, lock || is_glance, why);
	b2f_lock_close(lock);
	return err;
}

/* A frame without an index yet; takes @store over even if it fails. */
static struct b2f_frame *new_frame(const struct b2f_frame_options *options,
				   struct b2f_store *store, const char *label)
{
	struct b2f_frame *f = calloc(1, sizeof(*f));

	if (!f) {
		b2f_store_free(store);
		return NULL;
	}
	pthread_mutex_init(&f->map_lock, NULL);
	pthread_cond_init(&f->map_grown, NULL);
	atomic_init(&f->refs, 1);
	f->store = store;
	f->log = options->log;
	f->how = (struct b2f_frame_how){
		.no_locking = options->no_locking,
		.join_objects = options->join_objects,
		.damaged_meta = options->damaged_meta,
	};
	f->reserved.of = options->reserve;
	f->offset = b2f_store_is_sparse(store) ? 0 : options->offset;
	f->label = strdup(label);
	if (!f->label) {
		b2f_frame_close(f);
		return NULL;
	}
	return f;
}

/* Hands out @f, whose index was read with @err. */
static int hand_out(struct b2f_frame *f, int err, const struct b2f_why *why,
		    struct b2f_frame **out)
{
	if (err)
		b2f_frame_report(f, err, why);
	else
		err = finish(f);
	if (err)
		b2f_frame_close(f);
	else
		*out = f;
	return err;
}

/* The file is no frame: is it a Bloscpack file?  If not, @why stays. */
static int read_bloscpack(struct b2f_frame *f, struct b2f_why *why)
{
	struct b2f_why cause = {""};
	int err = B2F_ENOTFRAME;

	if (!b2f_store_is_sparse(f->store) && f->offset == 0)
		err = b2f_blp_wrap(&f->store, &cause);
	if (err == B2F_ENOTFRAME)
		return err;
	*why = cause;
	return err ? err : read_version(f, false, why);
}

static int open_store(const struct b2f_frame_options *options,
		      struct b2f_store *store, const char *path,
		      uint32_t wait_ms, struct b2f_frame **out)
{
	const char *label = options->label ? options->label : path;
	struct b2f_frame *f = new_frame(options, store, label);
	struct b2f_why why = {""};
	int err;

	if (!f)
		return -ENOMEM;
	err = read_index(f, wait_ms, &why);
	if (err == B2F_ENOTFRAME)
		err = read_bloscpack(f, &why);
	if (err == B2F_ECORRUPT || err == B2F_ENOTFRAME)
		err = b2f_frame_read_blank(f, err, &why);
	return hand_out(f, err, &why, out);
}

int b2f_frame_open_store(const struct b2f_frame_options *options,
			 struct b2f_store *store, const char *path,
			 struct b2f_frame **out)
{
	return open_store(options, store, path, B2F_TURN_WAIT_MS, out);
}

int b2f_frame_glance(const struct b2f_frame_options *options,
		     struct b2f_store *store, struct b2f_frame **out)
{
	return open_store(options, store, "", B2F_TURN_NONE, out);
}

int b2f_frame_open(const struct b2f_frame_options *options, int dirfd,
		   const char *path, struct b2f_frame **out)
{
	const char *label = options->label ? options->label : path;
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	int err = b2f_store_open(dirfd, path, !options->nofollow, &store, &why);

	if (err)
		return b2f_log_failure(options->log, label, err, &why);
	err = options->home_name ? b2f_store_set_home(store, options->home_fd,
						      options->home_name)
				 : b2f_store_set_home(store, dirfd, path);
	if (err) {
		b2f_store_free(store);
		return err;
	}
	err = b2f_frame_open_store(options, store, path, out);
	if (!err)
		b2f_store_be_quiet((*out)->store);
	return err;
}

int b2f_frame_of_bytes(const struct b2f_frame_options *options,
		       const char *name, const uint8_t *index, size_t size,
		       bool sparse, struct b2f_frame **out)
{
	struct b2f_store *store = NULL;
	int err = b2f_store_new_memory(index, size, &store);

	if (err)
		return err;
	store->kind = sparse ? B2F_STORE_SPARSE : B2F_STORE_SINGLE;
	return b2f_frame_open_store(options, store, name, out);
}

int b2f_frame_open_memory(const struct b2f_frame_options *options,
			  const void *data, size_t size, struct b2f_frame **out)
{
	struct b2f_frame_options plain = *options;

	plain.offset = 0;
	return b2f_frame_of_bytes(&plain, "memory", data, size, false, out);
}

struct b2f_frame_options b2f_frame_options_of(const struct b2f_frame *frame)
{
	return (struct b2f_frame_options){
		.log = frame->log,
		.label = frame->label,
		.offset = frame->offset,
		.no_locking = frame->how.no_locking,
		.join_objects = frame->how.join_objects,
		.damaged_meta = frame->how.damaged_meta,
		.reserve = frame->reserved.of,
	};
}

int b2f_frame_reopen(const struct b2f_frame *frame, uint32_t wait_ms,
		     struct b2f_frame **out)
{
	const struct b2f_frame_options options = b2f_frame_options_of(frame);
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	int err = b2f_store_clone(frame->store, &store, &why);

	if (err)
		b2f_frame_report(frame, err, &why);
	else
		err = open_store(&options, store, frame->label,
				 frame->held ? B2F_TURN_OURS : wait_ms, out);
	/* It was a frame. */
	return err == -ENOENT || err == B2F_ENOTFRAME ? -ESTALE : err;
}

int b2f_frame_derive(const struct b2f_frame *frame, const uint8_t *index,
		     size_t size, struct b2f_frame **out)
{
	struct b2f_frame_options options = b2f_frame_options_of(frame);
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	struct b2f_frame *f;
	int err;

	/* Its memory is counted at the end. */
	options.reserve = NULL;
	err = b2f_store_clone(frame->store, &store, &why);
	if (err)
		return b2f_frame_report(frame, err, &why);
	if (!frame->header.sparse)
		store->ranges = b2f_ranges_ref(frame->store->ranges);
	store->generation = b2f_generation_ref(frame->store->generation);
	f = new_frame(&options, store, frame->label);
	if (!f)
		return -ENOMEM;
	/* Not in doubt: its index is not on disk, and cannot be compared. */
	f->stamp = frame->stamp;
	err = hand_out(f, b2f_frame_parse(f, index, size, &why), &why, out);
	if (err)
		return err;
	f->small = frame->small;
	/* The commit is done: count it, even if there is no room. */
	b2f_reserve_force(&f->reserved, frame->reserved.of);
	return err;
}

struct b2f_frame *b2f_frame_ref(struct b2f_frame *frame)
{
	atomic_fetch_add_explicit(&frame->refs, 1, memory_order_relaxed);
	return frame;
}

void b2f_frame_close(struct b2f_frame *frame)
{
	if (!frame || atomic_fetch_sub_explicit(&frame->refs, 1,
						memory_order_acq_rel) != 1)
		return;
	b2f_frame_forget(frame);
	b2f_array_fini(&frame->array);
	free(frame->layout.head);
	free(frame->map.starts);
	pthread_cond_destroy(&frame->map_grown);
	pthread_mutex_destroy(&frame->map_lock);
	b2f_frame_let_in(frame);
	b2f_store_free(frame->store);
	free(frame->label);
	free(frame);
}
