/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild.c - a new frame out of chunk files whose index is lost
 *
 * The remains of the old index are used as far as they make sense: settings and
 * metalayers from its header, vlmetalayers from its trailer.  A frame in memory
 * with just these, and no entries, reads the chunks.
 */
#include <string.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "base/sorted.h"
#include "frame/frame_report.h"
#include "make/build.h"
#include "make/transcode.h"
#include "programs/repair.h"
#include "store/write.h"
#include "txn/txn.h"

/* Nothing is saved from a larger index. */
#define INDEX_MAX (UINT64_C(64) << 20)

/* A chunk file. */
struct part {
	uint64_t id;
	uint32_t nbytes;
};

struct rebuild {
	const struct b2f_rebuild_options *options;
	/*
	 * The old frame: store, log, label, and all that was saved of the
	 * index.
	 */
	struct b2f_frame old;
	struct b2f_ids ids;
	/* Chunk files whose head makes sense. */
	struct part *parts;
	size_t n;
	struct b2f_decoder *dec;
	struct b2f_rebuild_result result;
};

static int note_id(void *arg, int64_t id)
{
	struct rebuild *r = arg;

	/* A chunk that was never committed is no part of the frame. */
	if (id < 0 || id & B2F_OBJECT_PENDING)
		return 0;
	return b2f_ids_add(&r->ids, (uint64_t)id);
}

static const struct b2f_meta_list no_metas;

/* Makes the bytes of the header, without metalayers. */
static int write_header(struct rebuild *r)
{
	struct b2f_frame_header *h = &r->old.header;
	size_t len = 0;
	int err =
		b2f_header_with_metas(h, &no_metas, &r->old.header_bytes, &len);

	h->header_len = (uint32_t)len;
	return err;
}

/* Makes a header from the first chunk's settings. */
static int make_header(struct rebuild *r, const struct b2f_chunk_header *first)
{
	struct b2f_frame_header *h = &r->old.header;

	*h = (struct b2f_frame_header){
		.typesize = first->typesize,
		.sparse = true,
		.codec = first->udcodec,
		.codec_meta = first->codec_meta,
		.clevel = 5,
		.splitmode = B2F_SPLIT_AUTO,
		.pipeline = first->pipeline,
	};
	if (!b2f_codec_by_code(h->codec))
		h->codec = B2F_CODEC_ZSTD;
	return write_header(r);
}

static int copy_bytes(const uint8_t *from, size_t size, uint8_t **out)
{
	*out = malloc(size ? size : 1);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, from, size);
	return 0;
}

/* Are bytes lost?  Any other error may be gone the next time. */
static bool is_damage(int err)
{
	return err == B2F_ECORRUPT || err == B2F_EUNSUPPORTED;
}

/* Saves header and metalayers of the index in the @size bytes at @raw. */
static int save_header(struct rebuild *r, const uint8_t *raw, size_t size)
{
	struct b2f_frame_header h;
	int err;

	if (size < B2F_FRAME_HEADER_FIXED)
		return 0;
	/* The header is useful even if the file was cut behind it. */
	if (b2f_frame_header_parse(raw, size, UINT64_MAX, &h, NULL) ||
	    !h.sparse || h.header_len > size ||
	    h.header_len < B2F_FRAME_HEADER_PLAIN)
		return 0;
	err = b2f_meta_parse(raw, h.header_len, &r->old.meta, NULL);
	if (err)
		return is_damage(err) ? 0 : err;
	b2f_meta_list_fini(&r->old.meta);
	err = copy_bytes(raw, h.header_len, &r->old.header_bytes);
	if (err)
		return err;
	r->old.header = h;
	r->result.kept_settings = true;
	return b2f_meta_parse(r->old.header_bytes, h.header_len, &r->old.meta,
			      NULL);
}

/* Saves the trailer, with vlmetalayers, at the end of those bytes. */
static int save_trailer(struct rebuild *r, const uint8_t *raw, size_t size)
{
	struct b2f_frame_header h = {.frame_len = size, .sparse = true};
	uint32_t len = 0;
	int err;

	if (size < B2F_FRAME_MIN)
		return 0;
	if (b2f_trailer_len_parse(raw + size - B2F_FRAME_TAIL, &h, &len,
				  NULL) ||
	    len < B2F_FRAME_TRAILER_PLAIN)
		return 0;
	err = b2f_vlmeta_parse(raw + size - len, len, &r->old.vlmeta, NULL);
	if (err)
		return is_damage(err) ? 0 : err;
	r->result.kept_vlmetalayers = r->old.vlmeta.n > 0;
	b2f_meta_list_fini(&r->old.vlmeta);
	err = copy_bytes(raw + size - len, len, &r->old.trailer_bytes);
	if (!err)
		r->old.trailer_len = len;
	return err;
}

/* Reads as much of the old index as possible. */
static int save_index(struct rebuild *r, struct b2f_why *why)
{
	B2F_OWN_OBJECT struct b2f_object object = {.fd = -1};
	B2F_OWN uint8_t *raw = NULL;
	int err;

	err = b2f_object_open(r->old.store, B2F_OBJECT_INDEX, &object, why);
	if (!err && object.size > INDEX_MAX)
		return 0;
	if (!err)
		raw = malloc(object.size + 1);
	if (!err)
		err = raw ? b2f_object_read(&object, 0, raw, object.size, why)
			  : -ENOMEM;
	if (!err)
		err = save_header(r, raw, object.size);
	if (!err)
		err = save_trailer(r, raw, object.size);
	return err == -ENOENT || is_damage(err) ? 0 : err;
}

static int read_head(struct rebuild *r, uint64_t id,
		     struct b2f_chunk_header *out, struct b2f_why *why)
{
	B2F_OWN_OBJECT struct b2f_object object = {.fd = -1};
	uint8_t buf[B2F_CHUNK_HEADER_MAX];
	size_t size;
	int err;

	err = b2f_object_open(r->old.store, (int64_t)id, &object, why);
	if (err)
		return err;
	size = b2f_min_u64(object.size, sizeof(buf));
	/* C-Blosc2 leaves empty files where zeros have replaced a chunk. */
	if (size == 0)
		err = -ENODATA;
	if (!err)
		err = b2f_object_read(&object, 0, buf, size, why);
	if (!err)
		err = b2f_chunk_header_parse(buf, size, out, why);
	if (!err && out->nbytes == 0)
		err = b2f_why_set(why, B2F_ECORRUPT, "it has no data");
	return err;
}

/* Reads all heads; the first sound one replaces a lost header. */
static int list_parts(struct rebuild *r)
{
	struct b2f_chunk_header h;
	int err = 0;

	r->parts = calloc(r->ids.n + 1, sizeof(*r->parts));
	if (!r->parts)
		return -ENOMEM;
	for (size_t i = 0; i < r->ids.n && !err; i++) {
		struct b2f_why why = {""};
		int e = read_head(r, r->ids.ids[i], &h, &why);

		if (e == -ENODATA)
			continue;
		if (e) {
			b2f_frame_report_entry(&r->old, i, r->ids.ids[i], -1, e,
					       &why);
			r->result.nbad++;
			err = is_damage(e) ? 0 : e;
			continue;
		}
		r->parts[r->n++] = (struct part){r->ids.ids[i], h.nbytes};
		if (!r->old.header_bytes)
			err = make_header(r, &h);
	}
	return err;
}

/*
 * A single chunk that is shorter than all others was the last one; with two
 * shorter chunks all sizes may differ.
 */
static void choose_chunksize(struct rebuild *r)
{
	bool varies = r->result.kept_settings && r->old.header.nbytes > 0 &&
		      r->old.header.chunksize == 0;
	uint32_t max = 0;
	size_t nshort = 0, at = 0;
	struct part last;

	for (size_t i = 0; i < r->n; i++)
		max = (uint32_t)b2f_max_u64(max, r->parts[i].nbytes);
	if (r->result.kept_settings && r->old.header.chunksize > 0 &&
	    (uint32_t)r->old.header.chunksize >= max)
		max = (uint32_t)r->old.header.chunksize;
	for (size_t i = 0; i < r->n; i++) {
		if (r->parts[i].nbytes < max) {
			nshort++;
			at = i;
		}
	}
	r->result.is_variable = varies || nshort > 1;
	r->old.header.chunksize = r->result.is_variable ? 0 : (int32_t)max;
	if (nshort != 1 || r->result.is_variable)
		return;
	last = r->parts[at];
	memmove(&r->parts[at], &r->parts[at + 1],
		(r->n - at - 1) * sizeof(*r->parts));
	r->parts[r->n - 1] = last;
}

/* Drops metalayers that describe another number of chunks. */
static int drop_array(struct rebuild *r)
{
	b2f_meta_list_fini(&r->old.meta);
	free(r->old.header_bytes);
	r->old.header_bytes = NULL;
	return write_header(r);
}

/* Sets the block shape, which some filters need. */
static void set_grid(struct rebuild *r)
{
	const struct b2f_array *array = &r->old.array;

	if (array->ndim == 0 || array->ndim > B2F_GRID_MAX_DIM)
		return;
	r->old.grid.ndim = array->ndim;
	memcpy(r->old.grid.blockshape, array->blockshape,
	       array->ndim * sizeof(*array->blockshape));
	r->old.context.grid = &r->old.grid;
}

static int choose_meta(struct rebuild *r)
{
	const struct b2f_meta *m = b2f_meta_find(&r->old.meta, "b2nd");
	struct b2f_array *array = &r->old.array;
	int err = 0;

	r->old.context.typesize = r->old.header.typesize;
	r->result.kept_metalayers = r->old.meta.n > 0;
	if (!m)
		return 0;
	r->old.is_array = !b2f_array_parse(m->content, m->size,
					   r->old.header.typesize, array, NULL);
	r->result.kept_metalayers = r->old.is_array && array->nchunks == r->n;
	if (!r->result.kept_metalayers)
		err = drop_array(r);
	else
		set_grid(r);
	return err;
}

/* Makes zeros in the place of a damaged chunk. */
static int make_zeros(struct rebuild *r, struct b2f_piece *out)
{
	const struct b2f_frame_header *h = &r->old.header;
	const struct b2f_transcode how = {
		.options = {.typesize = h->typesize, .codec = h->codec},
		.special = h->chunksize > 0,
	};
	struct b2f_why why = {""};
	int err = b2f_transcode_zeros(&how, out->nbytes, out, &why);

	return err && why.text[0] ? b2f_frame_report(&r->old, err, &why) : err;
}

/* Replaces a damaged chunk by zeros, or leaves it out; returns other errors. */
static int do_without(struct rebuild *r, struct b2f_piece *out, int err)
{
	if (!is_damage(err))
		return err;
	r->result.nbad++;
	if (r->options->zero_damaged)
		return make_zeros(r, out);
	/* The chunks of an array cannot move up. */
	if (r->old.is_array && r->result.kept_metalayers)
		return err;
	out->left_out = true;
	return 0;
}

/* Reads the stored bytes of a chunk file, and checks them. */
static int make_chunk(void *arg, struct b2f_piece *out)
{
	struct rebuild *r = arg;
	const struct part *part = &r->parts[out->nchunk];
	int err;

	out->nbytes = part->nbytes;
	err = b2f_transcode_entry(&r->old, part->id, r->dec, out);
	if (err)
		err = do_without(r, out, err);
	if (!err && !out->left_out) {
		r->result.nchunks++;
		r->result.nbytes += out->nbytes;
	}
	/* Without one readable chunk there is nothing to rebuild. */
	if (!err && out->nchunk + 1 == r->n && r->result.nchunks == 0)
		err = -ENODATA;
	return err;
}

/* Makes one chunk at a time, so that messages about chunks come in order. */
static int make_frame(struct rebuild *r, int to, const char *name)
{
	const struct b2f_build_plan plan = {
		.like = &r->old,
		.header = r->old.header,
		.dirfd = to,
		.name = name,
		.mode = r->options->mode,
		.no_seal = r->options->no_seal,
		.log = r->old.log,
		.label = r->old.label,
		.make = make_chunk,
		.context = r,
		.n = r->n,
		.nahead = 1,
	};

	return b2f_build_run(&plan);
}

static int prepare(struct rebuild *r)
{
	struct b2f_why why = {""};
	size_t len = 0;
	int err;

	err = b2f_store_list(r->old.store, note_id, r);
	if (err)
		return b2f_frame_report(&r->old, err, NULL);
	if (r->ids.n)
		qsort(r->ids.ids, r->ids.n, sizeof(*r->ids.ids), b2f_compare_u64);
	err = save_index(r, &why);
	if (err)
		return b2f_frame_report(&r->old, err, &why);
	err = list_parts(r);
	if (!err && r->n == 0)
		err = -ENODATA;
	if (!err && !r->old.trailer_bytes) {
		err = b2f_trailer_with_metas(&no_metas, &r->old.trailer_bytes,
					     &len);
		r->old.trailer_len = (uint32_t)len;
	}
	if (err)
		return err;
	choose_chunksize(r);
	return choose_meta(r);
}

static void free_all(struct rebuild *r)
{
	b2f_decoder_free(r->dec);
	b2f_ids_fini(&r->ids);
	b2f_meta_list_fini(&r->old.meta);
	b2f_meta_list_fini(&r->old.vlmeta);
	b2f_array_fini(&r->old.array);
	b2f_store_free(r->old.store);
	free(r->old.header_bytes);
	free(r->old.trailer_bytes);
	free(r->old.label);
	free(r->parts);
}

int b2f_frame_rebuild(const struct b2f_rebuild_options *options, int dirfd,
		      const char *path, int to, const char *name,
		      struct b2f_rebuild_result *out)
{
	struct rebuild r = {.options = options,
			    .old = {.log = options->log,
				    .header.sparse = true}};
	struct b2f_why why = {""};
	int err;

	r.old.label = strdup(options->label ? options->label : path);
	if (!r.old.label)
		return -ENOMEM;
	err = b2f_store_open(dirfd, path, true, &r.old.store, &why);
	if (!err && !b2f_store_is_sparse(r.old.store))
		err = b2f_why_set(&why, -ENOTDIR, "it is no directory");
	if (err)
		b2f_frame_report(&r.old, err, &why);
	if (!err)
		err = b2f_decoder_new(&r.dec);
	if (!err)
		err = prepare(&r);
	if (!err)
		err = make_frame(&r, to, name);
	if (err == -ENODATA)
		b2f_log(options->log, B2F_LOG_ERROR,
			"%s: none of its chunk files can be read",
			r.old.label);
	if (!err)
		*out = r.result;
	free_all(&r);
	return err;
}
