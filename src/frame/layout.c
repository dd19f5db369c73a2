/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.c - what a frame shows as a file */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/array_cells.h"
#include "array/npy.h"
#include "base/cursor.h"
#include "base/log_line.h"
#include "frame/frame.h"
#include "frame/tensor.h"

const struct b2f_meta *b2f_frame_array_meta(const struct b2f_frame *frame)
{
	const struct b2f_meta *m = b2f_meta_find(&frame->meta, "b2nd");

	return m ? m : b2f_meta_find(&frame->meta, "caterva");
}

/*
 * Tells why the chunks do not fit the array, or NULL. A program that resizes an
 * array in place writes shape and chunks one after the other; in between the
 * chunks do not fit the shape.
 */
static const char *misfit(const struct b2f_frame *f)
{
	const struct b2f_array *a = &f->array;
	uint64_t chunk_nbytes = a->chunk_items * a->itemsize;

	if (!f->is_array)
		return "the metalayer of the array is broken";
	if (a->nchunks != f->entries.n)
		return "the number of its chunks does not fit its shape";
	if (f->entries.n == 0)
		return NULL;
	if (f->header.chunksize <= 0 ||
	    (uint64_t)f->header.chunksize != chunk_nbytes ||
	    f->header.nbytes != a->nchunks * chunk_nbytes)
		return "the size of its chunks does not fit their shape";
	return NULL;
}

/* True if @npy is the header of just this array. */
static bool describes(const struct b2f_npy *npy, size_t len,
		      const struct b2f_array *a)
{
	if (npy->size != len || npy->fortran_order || npy->ndim != a->ndim ||
	    npy->itemsize != a->itemsize)
		return false;
	for (unsigned int i = 0; i < a->ndim; i++)
		if (npy->shape[i] != a->shape[i])
			return false;
	return true;
}

/*
 * Takes the header that was written with the array, byte for byte.  If another
 * program has changed the array since, a new header describes it.
 */
static int set_head(struct b2f_frame *f, const uint8_t *packed, size_t size)
{
	struct b2f_layout *layout = &f->layout;
	const uint8_t *head = NULL;
	struct b2f_npy npy = {0};
	size_t len = 0;
	bool same = false;

	if (!b2f_npy_unpack(packed, size, &head, &len) &&
	    !b2f_npy_parse(head, len, &npy)) {
		same = describes(&npy, len, &f->array);
		b2f_npy_fini(&npy);
	}
	if (!same)
		return b2f_npy_write(&f->array, &layout->head, &layout->head_len);
	layout->head = malloc(len);
	if (!layout->head)
		return -ENOMEM;
	memcpy(layout->head, head, len);
	layout->head_len = len;
	return 0;
}

static int find_head(struct b2f_frame *f)
{
	B2F_OWN uint8_t *content = NULL;
	size_t size = 0;
	int err;

	/* If the header is damaged, the first bytes of the file are unknown. */
	err = b2f_frame_vlmeta_find(f, B2F_NPY_META, &content, &size);
	if (!err)
		err = set_head(f, content, size);
	return err == -ENODATA ? 0 : err;
}

/* Sets what the chunks hold, if that can be shown. */
static int set_array(struct b2f_frame *f)
{
	struct b2f_layout *layout = &f->layout;
	const char *text = misfit(f);
	int err;

	layout->is_array = true;
	if (text) {
		b2f_log(f->log, B2F_LOG_WARNING, "%s: not readable as an array: %s",
			f->label, text);
		layout->err = B2F_ECORRUPT;
		return 0;
	}
	layout->linear = b2f_array_is_linear(&f->array);
	layout->nbytes = f->array.nitems * f->array.itemsize;
	err = find_head(f);
	if (err == -ENOMEM)
		return err;
	layout->err = err;
	return 0;
}

/*
 * Frames that are no row of plain bytes: python-blosc2 saves a lazy expression,
 * a function to be computed, or a proxy of another array as a frame of the
 * right shape with nothing in its chunks, and tells in a metalayer what it
 * stands for.  Read as data, it would be zeros that no program wrote.
 *
 * It also saves lists of Python objects: each chunk (or block) is a serialized
 * object, or a batch of them.  The chunks joined would be bytes that no reader
 * can cut into objects again, as the lengths are missing.
 */

/* A msgpack map of few entries, and a short text. */
#define IS_MAP(mark)  (((mark)&0xf0) == 0x80)
#define IS_TEXT(mark) (((mark)&0xe0) == 0xa0)

static const struct {
	const char *kind;
	const char *text;
} kinds[] = {
	{"lazyexpr", "a lazy expression"},
	{"lazyudf", "a lazy user-defined function"},
};

/* A ListArray also has the metalayer of its base, so it comes first. */
static const struct {
	const char *meta;
	const char *text;
} objects[] = {
	{"listarray", "a ListArray"},
	{"ctable_varlen_scalar", "a column of strings, bytes or objects"},
	{"batcharray", "a BatchArray"},
	{"vlarray", "an ObjectArray"},
	{"b2embed", "an EmbedStore"},
	{"b2dict", "the EmbedStore of a DictStore"},
	{"b2tree", "the EmbedStore of a TreeStore"},
};

/* The kind of serialized objects in @f, such as "an ObjectArray"; or NULL. */
static const char *find_objects(const struct b2f_frame *f)
{
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		if (b2f_meta_find(&f->meta, objects[i].meta))
			return objects[i].text;
	return NULL;
}

/* Takes a short text; NULL: something else stands there. */
static const char *take_text(struct b2f_cursor *cur, size_t *len)
{
	uint8_t mark = b2f_cursor_u8(cur);

	*len = mark & 31;
	return IS_TEXT(mark) ? (const char *)b2f_cursor_take(cur, *len) : NULL;
}

static bool is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return true;
}

/* The metalayer of such an object begins {"kind": KIND. */
static void name_object(const struct b2f_meta *m, char text[B2F_CARRIER_SIZE])
{
	struct b2f_cursor cur = b2f_cursor_at(m->content, m->size);
	const char *key = NULL, *kind = NULL;
	size_t n;

	if (IS_MAP(b2f_cursor_u8(&cur)))
		key = take_text(&cur, &n);
	if (key && n == strlen("kind") && memcmp(key, "kind", n) == 0)
		kind = take_text(&cur, &n);
	snprintf(text, B2F_CARRIER_SIZE, "a lazy object");
	if (!kind || !is_printable(kind, n))
		return;
	snprintf(text, B2F_CARRIER_SIZE, "a lazy object (%.*s)", (int)n, kind);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].kind) == n &&
		    memcmp(kinds[i].kind, kind, n) == 0)
			snprintf(text, B2F_CARRIER_SIZE, "%s", kinds[i].text);
}

static bool has_bits(const uint8_t *map, size_t len, uint64_t nbits)
{
	if (len < nbits / 8 + (nbits % 8 > 0))
		return false;
	for (uint64_t i = 0; i < nbits; i++)
		if (!(map[i / 8] >> (i % 8) & 1))
			return false;
	return true;
}

/*
 * Are the first @nbits bits of the map in the vlmetalayer @name set?  Returns
 * 1, 0, -ENODATA (there is no such map) or -ENOMEM.
 */
static int is_all_fetched(const struct b2f_frame *f, const char *name,
			  uint64_t nbits)
{
	B2F_OWN uint8_t *content = NULL;
	const uint8_t *map;
	size_t size = 0, len;
	int err = b2f_frame_vlmeta_find(f, name, &content, &size);

	if (!err)
		err = b2f_npy_unpack(content, size, &map, &len);
	if (!err)
		err = has_bits(map, len, nbits);
	/* A damaged map does not prove that all data are there. */
	return err < 0 && err != -ENOMEM && err != -ENODATA ? 0 : err;
}

/* Blocks of all chunks; a map of blocks has a bit for each. */
static uint64_t count_blocks(const struct b2f_frame *f)
{
	uint64_t per_chunk = 1;

	if (f->header.blocksize > 0 && f->header.chunksize > 0)
		per_chunk = ((uint64_t)f->header.chunksize +
			     f->header.blocksize - 1) /
			    f->header.blocksize;
	return per_chunk * f->entries.n;
}

/* Has the proxy @f all of its source?  Returns 1, 0 or -ENOMEM. */
static int is_complete(const struct b2f_frame *f)
{
	int all;

	/* A chunk that was never fetched, or has been dropped to save room. */
	for (uint64_t i = 0; f->entries.nspecial > 0 && i < f->entries.n; i++)
		if (b2f_entries_get(&f->entries, i).special ==
		    B2F_SPECIAL_UNINIT)
			return 0;
	/* The writer has not finished, or has died. */
	if (b2f_meta_find(&f->vlmeta, "proxy-dirty"))
		return 0;
	all = is_all_fetched(f, "proxy-fetched-blocks", count_blocks(f));
	if (all == -ENODATA)
		all = is_all_fetched(f, "proxy-fetched", f->entries.n);
	/* Without a map every chunk that is not special has been fetched. */
	return all == -ENODATA ? f->entries.nspecial == 0 : all;
}

/*
 * Names in @text the object that @f stands for; "" if its data are its own.  A
 * proxy that has fetched all of its source is data.  Returns 0 or -ENOMEM.
 */
static int find_carrier(const struct b2f_frame *f,
			char text[B2F_CARRIER_SIZE])
{
	const struct b2f_meta *m = b2f_meta_find(&f->meta, "b2o");
	int all;

	text[0] = '\0';
	if (m) {
		name_object(m, text);
	} else if (b2f_meta_find(&f->meta, "LazyArray")) {
		snprintf(text, B2F_CARRIER_SIZE, "a lazy array");
	} else if (b2f_meta_find(&f->meta, "proxy-source")) {
		all = is_complete(f);
		if (all < 0)
			return all;
		if (!all)
			snprintf(text, B2F_CARRIER_SIZE,
				 "a proxy that has not fetched all its data");
	}
	return 0;
}

/* Refuses a frame whose bytes a reader of a file would misunderstand. */
static void refuse(struct b2f_frame *f)
{
	if (f->layout.carrier[0])
		b2f_log(f->log, B2F_LOG_WARNING,
			"%s: not readable: it stands for %s of python-blosc2, "
			"and does not hold the data",
			f->label, f->layout.carrier);
	else if (f->how.join_objects)
		return;
	else
		b2f_log(f->log, B2F_LOG_WARNING,
			"%s: not readable: it is %s of python-blosc2, and "
			"holds serialized objects, no plain bytes",
			f->label, f->layout.objects);
	f->layout.err = B2F_EUNSUPPORTED;
}

int b2f_layout_set(struct b2f_frame *f)
{
	struct b2f_layout *layout = &f->layout;
	int err;

	*layout = (struct b2f_layout){.linear = true, .nbytes = f->header.nbytes};
	err = b2f_frame_array_meta(f) ? set_array(f) : b2f_tensor_set(f);
	if (!err)
		err = find_carrier(f, layout->carrier);
	layout->objects = find_objects(f);
	if (err || (!layout->carrier[0] && !layout->objects))
		return err;
	refuse(f);
	return 0;
}

const char *b2f_frame_objects(const struct b2f_frame *frame)
{
	return frame->layout.objects;
}

const char *b2f_frame_stands_for(const struct b2f_frame *frame)
{
	return frame->layout.carrier[0] ? frame->layout.carrier : NULL;
}

int b2f_frame_shown_error(const struct b2f_frame *frame)
{
	return frame->layout.err;
}

uint64_t b2f_frame_shown_nbytes(const struct b2f_frame *frame)
{
	return frame->layout.head_len + frame->layout.nbytes;
}

bool b2f_frame_is_npy(const struct b2f_frame *frame)
{
	return frame->layout.head != NULL;
}

int b2f_frame_npy_header(const struct b2f_frame *frame, uint8_t **out,
			 size_t *len)
{
	const struct b2f_layout *layout = &frame->layout;

	if (frame->is_tensor && !layout->err)
		return b2f_npy_write(&frame->array, out, len);
	if (!layout->is_array || layout->err)
		return layout->is_array ? layout->err : B2F_EUNSUPPORTED;
	if (!layout->head)
		return b2f_npy_write(&frame->array, out, len);
	*out = malloc(layout->head_len);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, layout->head, layout->head_len);
	*len = layout->head_len;
	return 0;
}
