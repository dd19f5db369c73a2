/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_open.c - reads the index of a frame */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "frame/frame.h"
#include "index/fingerprint.h"
#include "index/tags.h"

/*
 * More than this much metadata is a lie in a file that is mostly a hole, or
 * nothing that should be kept in memory.
 */
#define SECTION_MAX (UINT64_C(256) << 20)

/* C-Blosc2 rewrites an index in place: look again, this often, this soon. */
#define TRIES  50
#define TRY_NS 1000000

/* One open object, while the parts of the index are read from it. */
struct source {
	struct b2f_object object;
	/* Where the frame begins. */
	uint64_t offset;
	/* Bytes from there to the end of the object. */
	uint64_t available;
};

static int read_part(const struct source *src, uint64_t off, uint64_t size,
		     uint8_t **out, struct b2f_why *why)
{
	uint8_t *buf;
	int err;

	if (size > SECTION_MAX)
		return b2f_why_set(why, B2F_ETOOBIG, "%llu bytes of metadata",
				   (unsigned long long)size);
	buf = malloc(size ? size : 1);
	if (!buf)
		return -ENOMEM;
	err = b2f_object_read(&src->object, src->offset + off, buf, size, why);
	if (err)
		free(buf);
	else
		*out = buf;
	return err;
}

static int read_header(struct b2f_frame *f, const struct source *src,
		       struct b2f_why *why)
{
	uint8_t fixed[B2F_FRAME_HEADER_FIXED];
	int err;

	if (src->available < B2F_FRAME_MIN)
		return b2f_why_set(
			why, f->store->sparse ? B2F_ECORRUPT : B2F_ENOTFRAME,
			"%llu bytes are too few for a frame",
			(unsigned long long)src->available);
	err = b2f_object_read(&src->object, src->offset, fixed, sizeof(fixed),
			      why);
	if (!err)
		err = b2f_frame_header_parse(fixed, sizeof(fixed),
					     src->available, &f->header, why);
	if (err)
		return f->store->sparse
			       ? b2f_frame_judge_header(&src->object, err, why)
			       : err;
	if (f->header.sparse != f->store->sparse)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the index says that the frame is a %s",
				   f->header.sparse ? "directory" : "file");
	return 0;
}

static int read_meta(struct b2f_frame *f, const struct source *src,
		     struct b2f_why *why)
{
	int err;

	err = read_part(src, 0, f->header.header_len, &f->header_bytes, why);
	if (!err)
		err = b2f_meta_parse(f->header_bytes, f->header.header_len,
				     &f->meta, why);
	return err;
}

/* Where the trailer begins, from the start of the frame. */
static uint64_t trailer_start(const struct b2f_frame *f)
{
	return f->header.frame_len - f->trailer_len;
}

static int read_trailer(struct b2f_frame *f, const struct source *src,
			struct b2f_why *why)
{
	uint8_t tail[B2F_FRAME_TAIL];
	int err;

	err = b2f_object_read(&src->object,
			      src->offset + f->header.frame_len - sizeof(tail),
			      tail, sizeof(tail), why);
	if (!err)
		err = b2f_trailer_len_parse(tail, &f->header, &f->trailer_len,
					    why);
	if (!err)
		err = read_part(src, trailer_start(f), f->trailer_len,
				&f->trailer_bytes, why);
	if (!err)
		err = b2f_vlmeta_parse(f->trailer_bytes, f->trailer_len,
				       &f->vlmeta, why);
	if (!err) {
		f->info.fingerprint_type = tail[B2F_FRAME_TAIL - 17];
		memcpy(f->info.fingerprint, tail + B2F_FRAME_TAIL - 16, 16);
	}
	return err;
}

/*
 * Checks the checksums of the index, if it has some.  *@ours: all but the
 * metalayers is as it was written here.
 */
static int check_sums(struct b2f_frame *f, const uint8_t *chunk, size_t size,
		      bool *ours, struct b2f_why *why)
{
	const struct b2f_fingerprint_parts parts = {
		.header = f->header_bytes,
		.header_len = f->header.header_len,
		.chunk = chunk,
		.chunk_size = size,
		.trailer = f->trailer_bytes,
		.trailer_len = f->trailer_len,
	};
	enum b2f_fingerprint found = b2f_fingerprint_check(&parts);

	/* C-Blosc2 writes metalayers, but makes none, in a finished frame. */
	if (found == B2F_FINGERPRINT_BAD ||
	    (found == B2F_FINGERPRINT_OTHER_META && f->meta.n == 0))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the index does not agree with its "
				   "checksum");
	f->sealed = found == B2F_FINGERPRINT_GOOD;
	*ours = found != B2F_FINGERPRINT_NONE;
	return 0;
}

/* The places in the index of a contiguous frame become ids; @limit ends them. */
static int name_places(struct b2f_frame *f, uint64_t limit)
{
	struct b2f_entries *e = &f->entries;
	uint64_t n = e->raw ? e->n : 1;

	/* What was derived shares the table of the frame before. */
	if (e->nspecial == e->n)
		return 0;
	if (!f->store->ranges)
		f->store->ranges = b2f_ranges_new();
	if (!f->store->ranges)
		return -ENOMEM;
	return b2f_ranges_fill(f->store->ranges, e->raw ? e->raw : &e->same, n,
			       f->offset + f->header.header_len, limit);
}

/* The index chunk: from the chunks (or the header) to the trailer. */
static int read_entries(struct b2f_frame *f, const struct source *src,
			struct b2f_why *why)
{
	uint64_t start = f->header.header_len;
	struct b2f_decoder *dec = NULL;
	uint8_t *raw = NULL;
	bool ours = false;
	uint64_t size;
	int err;

	if (f->header.nbytes == 0)
		return check_sums(f, NULL, 0, &ours, why);
	if (!f->store->sparse)
		start += f->header.cbytes;
	if (start > trailer_start(f))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the index begins behind its end");
	size = trailer_start(f) - start;
	err = read_part(src, start, size, &raw, why);
	if (!err)
		err = check_sums(f, raw, size, &ours, why);
	if (!err)
		err = b2f_decoder_new(&dec);
	if (!err)
		err = b2f_entries_parse(raw, size, &f->header, dec, &f->entries,
					why);
	if (!err && !f->store->sparse)
		err = name_places(f, f->offset + start);
	if (!err && ours)
		err = b2f_tags_parse(raw, size, dec, &f->entries, why);
	b2f_decoder_free(dec);
	free(raw);
	return err;
}

/*
 * An array whose metalayer makes no sense is still a row of chunks; only who
 * wants the array will miss it.
 */
static void read_array(struct b2f_frame *f)
{
	const struct b2f_meta *m = b2f_frame_array_meta(f);
	struct b2f_why why = {""};
	int err;

	if (!m)
		return;
	err = b2f_array_parse(m->content, m->size, f->header.typesize,
			      &f->array, &why);
	f->is_array = !err;
	if (err)
		b2f_log(f->log, B2F_LOG_WARNING, "%s: metalayer %s: %s",
			f->label, m->name, why.text);
}

static void set_context(struct b2f_frame *f)
{
	f->context.typesize = f->header.typesize;
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

/* What follows from the parts of the index. */
static int finish(struct b2f_frame *f)
{
	read_array(f);
	set_context(f);
	b2f_frame_info_set(f);
	return b2f_form_set(f);
}

static int read_all(struct b2f_frame *f, const struct source *src,
		    struct b2f_why *why)
{
	int err;

	err = read_header(f, src, why);
	if (!err)
		err = read_meta(f, src, why);
	if (!err)
		err = read_trailer(f, src, why);
	if (!err)
		err = read_entries(f, src, why);
	return err;
}

/* Gives back what a try has read. */
static void forget(struct b2f_frame *f)
{
	b2f_meta_list_fini(&f->meta);
	b2f_meta_list_fini(&f->vlmeta);
	b2f_entries_fini(&f->entries);
	free(f->header_bytes);
	free(f->trailer_bytes);
	f->header_bytes = f->trailer_bytes = NULL;
}

static int try_once(struct b2f_frame *f, struct b2f_why *why)
{
	struct source src = {.offset = f->offset};
	int err;

	err = b2f_object_open(f->store, B2F_OBJECT_INDEX, &src.object, why);
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
		err = read_all(f, &src, why);
	if (err)
		forget(f);
	b2f_object_close(&src.object);
	return err;
}

/* True if the index changed since @before: what was read may be torn. */
static bool has_changed(struct b2f_frame *f,
			const struct b2f_frame_stamp *before)
{
	struct b2f_frame_stamp now;
	struct stat st;

	if (b2f_store_stat_index(f->store, &st))
		return true;
	now = b2f_frame_stamp_of(&st);
	return !b2f_frame_stamp_equal(&now, before);
}

static int read_index(struct b2f_frame *f, struct b2f_why *why)
{
	const struct timespec pause = {.tv_nsec = TRY_NS};
	struct stat st = {0};
	int err = 0;

	for (int i = 0; i < TRIES; i++) {
		err = b2f_store_stat_index(f->store, &st);
		if (err == -ENOENT)
			return b2f_why_set(why, B2F_ENOTFRAME,
					   "a directory without "
					   "chunks.b2frame");
		if (err)
			return err;
		f->stamp = b2f_frame_stamp_of(&st);
		err = try_once(f, why);
		if (!has_changed(f, &f->stamp))
			break;
		if (!err)
			forget(f);
		err = b2f_why_set(why, -EAGAIN,
				  "another program keeps changing it");
		nanosleep(&pause, NULL);
	}
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
	f->join_objects = options->join_objects;
	f->offset = store->sparse ? 0 : options->offset;
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

int b2f_frame_open_store(const struct b2f_frame_options *options,
			 struct b2f_store *store, const char *path,
			 struct b2f_frame **out)
{
	const char *label = options->label ? options->label : path;
	struct b2f_frame *f = new_frame(options, store, label);
	struct b2f_why why = {""};
	int err;

	if (!f)
		return -ENOMEM;
	err = read_index(f, &why);
	if (err == B2F_ECORRUPT || err == B2F_ENOTFRAME)
		err = b2f_frame_read_blank(f, err, &why);
	return hand_out(f, err, &why, out);
}

int b2f_frame_open(const struct b2f_frame_options *options, int dirfd,
		   const char *path, struct b2f_frame **out)
{
	const char *label = options->label ? options->label : path;
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	int err;

	err = b2f_store_open(dirfd, path, !options->nofollow, &store, &why);
	if (err) {
		b2f_log(options->log, B2F_LOG_ERROR, "%s: %s", label,
			why.text[0] ? why.text : strerror(-err));
		return err;
	}
	err = options->home_name ? b2f_store_set_home(store, options->home_fd,
						      options->home_name)
				 : b2f_store_set_home(store, dirfd, path);
	if (err) {
		b2f_store_free(store);
		return err;
	}
	return b2f_frame_open_store(options, store, path, out);
}

int b2f_frame_open_memory(const struct b2f_frame_options *options,
			  const void *data, size_t size, struct b2f_frame **out)
{
	struct b2f_frame_options plain = *options;
	struct b2f_store *store = NULL;
	int err;

	plain.offset = 0;
	err = b2f_store_new_memory(data, size, &store);
	if (err)
		return err;
	return b2f_frame_open_store(&plain, store, "memory", out);
}

int b2f_frame_reopen(const struct b2f_frame *frame, struct b2f_frame **out)
{
	const struct b2f_frame_options options = {.log = frame->log,
						  .label = frame->label,
						  .offset = frame->offset,
						  .join_objects =
							  frame->join_objects};
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	int err;

	err = b2f_store_clone(frame->store, &store, &why);
	if (err)
		return b2f_frame_report(frame, err, &why);
	return b2f_frame_open_store(&options, store, frame->label, out);
}

int b2f_frame_parse(struct b2f_frame *f, const uint8_t *index, size_t size,
		    struct b2f_why *why)
{
	struct source src = {.available = size};
	struct b2f_store *memory = NULL;
	int err;

	err = b2f_store_new_memory(index, size, &memory);
	if (err)
		return err;
	err = b2f_object_open(memory, B2F_OBJECT_INDEX, &src.object, why);
	if (!err)
		err = read_all(f, &src, why);
	b2f_object_close(&src.object);
	b2f_store_free(memory);
	return err;
}

int b2f_frame_derive(const struct b2f_frame *frame, const uint8_t *index,
		     size_t size, struct b2f_frame **out)
{
	const struct b2f_frame_options options = {
		.log = frame->log, .join_objects = frame->join_objects};
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	struct b2f_frame *f;
	int err;

	err = b2f_store_clone(frame->store, &store, &why);
	if (err)
		return b2f_frame_report(frame, err, &why);
	if (!store->sparse)
		store->ranges = b2f_ranges_ref(frame->store->ranges);
	f = new_frame(&options, store, frame->label);
	if (!f)
		return -ENOMEM;
	f->stamp = frame->stamp;
	return hand_out(f, b2f_frame_parse(f, index, size, &why), &why, out);
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
	forget(frame);
	b2f_array_fini(&frame->array);
	free(frame->form.head);
	free(frame->map.starts);
	pthread_cond_destroy(&frame->map_grown);
	pthread_mutex_destroy(&frame->map_lock);
	b2f_store_free(frame->store);
	free(frame->label);
	free(frame);
}
