/* SPDX-License-Identifier: BSD-3-Clause */
/* editor.c - a sparse frame as a row of chunks that can be changed */
#include <string.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "txn/chunk_write.h"
#include "txn/txn_commit.h"
#include "txn/txn.h"
#include "txn/garbage.h"
#include "txn/editor_priv.h"
#include "frame/frame_chunk.h"
#include "frame/frame_report.h"
#include "frame/frame_unit.h"

/* How long to wait for programs that use the locks of C-Blosc2. */
#define LOCK_WAIT_MS 60000

int b2f_editor_open(const struct b2f_editor_options *options, int dirfd,
		    const char *path, struct b2f_editor **out)
{
	const struct b2f_frame_options frame_options = {
		.log = options->log, .label = options->label};
	struct b2f_frame *frame = NULL;
	int err = b2f_frame_open(&frame_options, dirfd, path, &frame);

	if (!err)
		err = b2f_editor_open_frame(options, frame, out);
	b2f_frame_close(frame);
	return err;
}

int b2f_editor_open_frame(const struct b2f_editor_options *options,
			  struct b2f_frame *frame, struct b2f_editor **out)
{
	struct b2f_editor *editor = calloc(1, sizeof(*editor));
	int err;

	if (!editor)
		return -ENOMEM;
	err = b2f_txn_new(frame,
			  options->any_kind ? B2F_USE_ANY : B2F_USE_CHUNKS,
			  B2F_TXN_LOCKING_IF_THERE, &editor->durability,
			  &editor->cw.txn);
	if (err == -ESTALE)
		b2f_frame_report_stale(frame);
	if (!err)
		err = b2f_encoder_new(&editor->cw.encoder);
	if (err) {
		b2f_editor_close(editor);
		return err;
	}
	editor->cw.no_seal = options->no_seal;
	editor->any_kind = options->any_kind;
	*out = editor;
	return 0;
}

void b2f_editor_close(struct b2f_editor *editor)
{
	if (!editor)
		return;
	b2f_txn_free(editor->cw.txn);
	b2f_encoder_free(editor->cw.encoder);
	free(editor);
}

uint64_t b2f_editor_nchunks(const struct b2f_editor *editor)
{
	return editor->cw.txn->working.n;
}

uint64_t b2f_editor_nbytes(const struct b2f_editor *editor)
{
	return editor->cw.txn->working.nbytes;
}

int32_t b2f_editor_chunksize(const struct b2f_editor *editor)
{
	return editor->cw.txn->header.chunksize;
}

int b2f_editor_refuse(const struct b2f_editor *editor, int err,
		      const char *what)
{
	struct b2f_why why;

	b2f_why_set(&why, err, "%s", what);
	return b2f_frame_report(editor->cw.txn->frame, err, &why);
}

static int refuse(const struct b2f_editor *editor, const char *what)
{
	return b2f_editor_refuse(editor, -EINVAL, what);
}

/* May the data be changed? */
static int check_editable(const struct b2f_editor *editor)
{
	if (editor->any_kind)
		return b2f_editor_refuse(editor, -EROFS,
					 "it was not opened for this");
	return 0;
}

static uint32_t chunk_nbytes(const struct b2f_txn *txn, uint64_t nchunk)
{
	return b2f_txn_chunk_nbytes(txn, &txn->working, nchunk);
}

/* The stored size of the chunk of entry @raw. */
static uint32_t stored_size(const struct b2f_editor *editor, uint64_t raw)
{
	uint32_t cbytes;

	if (b2f_txn_known_cbytes(editor->cw.txn, raw, &cbytes))
		return cbytes;
	return b2f_txn_read_cbytes(editor->cw.txn->store, raw);
}

int b2f_editor_put(struct b2f_editor *editor, uint64_t nchunk,
		   const struct b2f_txn_chunk *chunk)
{
	struct b2f_txn *txn = editor->cw.txn;
	uint64_t before = b2f_txn_raw(&txn->working, nchunk);
	int err = b2f_txn_put(txn, nchunk, chunk, stored_size(editor, before));

	if (err)
		(void)!b2f_txn_drop(txn, chunk->raw);
	return err;
}

/* True if the last chunk has the whole chunk size. */
static bool last_is_whole(const struct b2f_txn *txn)
{
	return txn->working.n == 0 ||
	       txn->working.nbytes % (uint32_t)txn->header.chunksize == 0;
}

/* May a chunk of @nbytes be put before chunk @nchunk? */
static int check_new(struct b2f_editor *editor, uint64_t nchunk,
		     uint64_t nbytes)
{
	struct b2f_txn *txn = editor->cw.txn;
	int32_t chunksize = txn->header.chunksize;
	int err = check_editable(editor);

	if (err)
		return err;
	if (nbytes == 0 || nbytes > B2F_CHUNK_NBYTES_MAX)
		return refuse(editor, "a chunk has 1 to 2147483615 bytes");
	if (nchunk > txn->working.n)
		return refuse(editor, "there is no such chunk");
	/* The very first chunk sets the chunk size. */
	if (chunksize <= 0)
		return 0;
	if (nbytes > (uint32_t)chunksize)
		return refuse(editor, "it is longer than the chunks of this "
				      "frame");
	if (nchunk == txn->working.n && !last_is_whole(txn))
		return refuse(editor, "the last chunk is short: nothing can "
				      "come after it");
	if (nchunk < txn->working.n && nbytes != (uint32_t)chunksize)
		return refuse(editor, "only the last chunk may be short");
	return 0;
}

/* Opens a gap before chunk @nchunk for @nbytes, and puts @chunk there. */
static int put_new(struct b2f_editor *editor, uint64_t nchunk, uint32_t nbytes,
		   const struct b2f_txn_chunk *chunk)
{
	struct b2f_txn *txn = editor->cw.txn;
	struct b2f_txn_state *state = &txn->working;
	uint64_t n = state->n, zeros = b2f_entry_raw(B2F_SPECIAL_ZEROS);
	int err = b2f_pages_own(&state->pages, nchunk, n - nchunk);

	if (!err)
		err = b2f_txn_resize(txn, n + 1, state->nbytes + nbytes, 0);
	if (err) {
		(void)!b2f_txn_drop(txn, chunk->raw);
		return err;
	}
	if (txn->header.chunksize <= 0)
		txn->header.chunksize = (int32_t)nbytes;
	for (uint64_t i = n; i > nchunk; i--)
		b2f_pages_set(&state->pages, i, b2f_txn_raw(state, i - 1));
	b2f_pages_set(&state->pages, nchunk, zeros);
	return b2f_txn_put(txn, nchunk, chunk, 0);
}

int b2f_editor_insert(struct b2f_editor *editor, uint64_t nchunk,
		      const void *data, uint32_t nbytes)
{
	struct b2f_txn_chunk chunk;
	int err = check_new(editor, nchunk, nbytes);

	if (!err)
		err = b2f_chunk_write(&editor->cw, nchunk, data, nbytes,
				      &chunk);
	if (!err)
		err = put_new(editor, nchunk, nbytes, &chunk);
	return err;
}

int b2f_editor_append(struct b2f_editor *editor, const void *data,
		      uint32_t nbytes)
{
	return b2f_editor_insert(editor, b2f_editor_nchunks(editor), data,
				 nbytes);
}

int b2f_editor_update(struct b2f_editor *editor, uint64_t nchunk,
		      const void *data, uint32_t nbytes)
{
	struct b2f_txn *txn = editor->cw.txn;
	struct b2f_txn_chunk chunk;
	uint32_t before;
	bool last;
	int err = check_editable(editor);

	if (err)
		return err;
	if (nchunk >= txn->working.n)
		return refuse(editor, "there is no such chunk");
	before = chunk_nbytes(txn, nchunk);
	last = nchunk + 1 == txn->working.n;
	if (nbytes == 0 || nbytes > (uint32_t)txn->header.chunksize ||
	    (!last && nbytes != before))
		return refuse(editor, "only the last chunk may have another "
				      "length");
	err = b2f_chunk_write(&editor->cw, nchunk, data, nbytes, &chunk);
	if (!err)
		err = b2f_editor_put(editor, nchunk, &chunk);
	if (!err)
		txn->working.nbytes = txn->working.nbytes - before + nbytes;
	return err;
}

int b2f_editor_delete(struct b2f_editor *editor, uint64_t nchunk)
{
	struct b2f_txn *txn = editor->cw.txn;
	struct b2f_txn_state *state = &txn->working;
	uint64_t raw;
	int err = check_editable(editor);

	if (err)
		return err;
	if (nchunk >= state->n)
		return refuse(editor, "there is no such chunk");
	err = b2f_pages_own(&state->pages, nchunk, state->n - nchunk);
	if (!err)
		err = b2f_txn_reserve_drops(txn, 1);
	if (err)
		return err;
	raw = b2f_txn_raw(state, nchunk);
	/* Moves it to the end, where the resize cuts it off. */
	state->nbytes -= chunk_nbytes(txn, nchunk);
	for (uint64_t i = nchunk; i + 1 < state->n; i++)
		b2f_pages_set(&state->pages, i, b2f_txn_raw(state, i + 1));
	b2f_pages_set(&state->pages, state->n - 1, raw);
	return b2f_txn_resize(txn, state->n - 1, state->nbytes,
			      stored_size(editor, raw));
}

/* True if @order has each of the @n numbers once. */
static int check_order(const uint64_t *order, uint64_t n, bool *good)
{
	B2F_OWN uint8_t *seen = calloc(n / 8 + 1, 1);

	if (!seen)
		return -ENOMEM;
	*good = true;
	for (uint64_t i = 0; i < n && *good; i++) {
		uint64_t k = order[i];

		*good = k < n && !(seen[k / 8] & (1u << (k % 8)));
		if (*good)
			seen[k / 8] |= (uint8_t)(1u << (k % 8));
	}
	return 0;
}

int b2f_editor_reorder(struct b2f_editor *editor, const uint64_t *order)
{
	struct b2f_txn_state *state = &editor->cw.txn->working;
	B2F_OWN uint64_t *raw = NULL;
	uint64_t n = state->n;
	bool good;
	int err = check_editable(editor);

	if (!err)
		err = check_order(order, n, &good);
	if (err)
		return err;
	if (!good)
		return refuse(editor, "the order does not name each chunk "
				      "once");
	if (n && !last_is_whole(editor->cw.txn) && order[n - 1] != n - 1)
		return refuse(editor, "the short chunk has to stay the last "
				      "one");
	raw = malloc((n ? n : 1) * sizeof(*raw));
	if (!raw)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		raw[i] = b2f_txn_raw(state, order[i]);
	err = b2f_pages_own(&state->pages, 0, n);
	for (uint64_t i = 0; i < n && !err; i++)
		b2f_pages_set(&state->pages, i, raw[i]);
	return err;
}

/* Decodes chunk @nchunk into a buffer of @room bytes, with zeros behind it. */
static int read_chunk(const struct b2f_editor *editor, uint64_t nchunk,
		      uint8_t *buf, uint32_t room)
{
	struct b2f_txn *txn = editor->cw.txn;
	uint32_t nbytes = chunk_nbytes(txn, nchunk);
	struct b2f_loaded *loaded = NULL;
	struct b2f_decoder *dec = NULL;
	int err;

	memset(buf, 0, room);
	err = b2f_frame_load_entry(txn->frame, nchunk,
				   b2f_txn_raw(&txn->working, nchunk), nbytes,
				   B2F_LOAD_ALL, &loaded);
	if (err)
		return err;
	err = b2f_decoder_new(&dec);
	if (!err)
		err = b2f_frame_decode_whole(txn->frame, loaded, dec, buf);
	b2f_decoder_free(dec);
	b2f_loaded_free(loaded);
	return err;
}

/* Encodes the data of chunk @nchunk, cut or extended to @nbytes. */
static int encode_resized(struct b2f_editor *editor, uint64_t nchunk,
			  uint32_t nbytes, struct b2f_txn_chunk *out)
{
	uint32_t before = chunk_nbytes(editor->cw.txn, nchunk);
	uint32_t room = (uint32_t)b2f_max_u64(before, nbytes);
	B2F_OWN uint8_t *buf = malloc(room);
	int err;

	if (!buf)
		return -ENOMEM;
	err = read_chunk(editor, nchunk, buf, room);
	if (!err)
		err = b2f_chunk_write(&editor->cw, nchunk, buf, nbytes, out);
	return err;
}

/* Stores the zeros of the chunks from @first on that can be no entries. */
static int store_zeros(struct b2f_editor *editor, uint64_t first)
{
	struct b2f_txn *txn = editor->cw.txn;
	B2F_OWN uint8_t *zeros = calloc(1, (uint32_t)txn->header.chunksize);
	struct b2f_txn_chunk chunk;
	int err = zeros ? 0 : -ENOMEM;

	for (uint64_t i = first; i < txn->working.n && !err; i++) {
		err = b2f_chunk_write(&editor->cw, i, zeros,
				      chunk_nbytes(txn, i), &chunk);
		if (!err)
			err = b2f_editor_put(editor, i, &chunk);
	}
	return err;
}

/* Stored size of the chunks from @first on. */
static uint64_t sum_stored(const struct b2f_editor *editor, uint64_t first)
{
	const struct b2f_txn_state *state = &editor->cw.txn->working;
	uint64_t sum = 0;

	for (uint64_t i = first; i < state->n; i++)
		sum += stored_size(editor, b2f_txn_raw(state, i));
	return sum;
}

/* Gives the frame @n chunks and @nbytes; new chunks are zeros. */
static int set_length(struct b2f_editor *editor, uint64_t n, uint64_t nbytes)
{
	struct b2f_txn *txn = editor->cw.txn;
	uint64_t n0 = txn->working.n, nbytes0 = txn->working.nbytes;
	uint64_t more = n > n0 ? n - n0 : 0;
	uint32_t typesize = txn->header.typesize;
	int err = 0;

	/* A chunk that is no whole number of items has to be stored. */
	if (b2f_txn_may_have_holes(txn))
		more = more && nbytes % typesize != 0;
	/* Room to go back, and for b2f_editor_resize() to go on. */
	err = b2f_txn_reserve_drops(txn, (n > n0 ? n - n0 : n0 - n) + 1);
	if (!err)
		err = b2f_txn_resize(txn, n, nbytes, sum_stored(editor, n));
	if (err || !more)
		return err;
	err = store_zeros(editor, n - more);
	if (err)
		/* This cannot fail. */
		(void)!b2f_txn_resize(txn, n0, nbytes0, sum_stored(editor, n0));
	return err;
}

int b2f_editor_resize(struct b2f_editor *editor, uint64_t nbytes)
{
	struct b2f_txn *txn = editor->cw.txn;
	struct b2f_txn_state *state = &txn->working;
	uint32_t chunksize = (uint32_t)txn->header.chunksize, length;
	struct b2f_txn_chunk chunk;
	uint64_t n, last;
	bool changes;
	int err = check_editable(editor);

	if (err)
		return err;
	if (txn->header.chunksize <= 0)
		return nbytes ? refuse(editor, "the chunk size is not known "
					       "before the first chunk")
			      : 0;
	n = b2f_div_up_u64(nbytes, chunksize);
	if (n > B2F_NCHUNKS_MAX)
		return B2F_ETOOBIG;
	/* The last chunk that stays gets another length. */
	last = b2f_min_u64(n, state->n) - 1;
	length = (uint32_t)b2f_min_u64(chunksize, nbytes - last * chunksize);
	changes = last != UINT64_MAX && length != chunk_nbytes(txn, last);
	if (changes) {
		err = b2f_pages_own(&state->pages, last, 1);
		if (!err)
			err = encode_resized(editor, last, length, &chunk);
		if (err)
			return err;
	}
	err = set_length(editor, n, nbytes);
	if (!changes)
		return err;
	if (err)
		(void)!b2f_txn_drop(txn, chunk.raw);
	else
		err = b2f_editor_put(editor, last, &chunk);
	return err;
}

static int append_entry(struct b2f_editor *editor, enum b2f_special special,
			uint32_t nbytes)
{
	struct b2f_txn *txn = editor->cw.txn;
	const struct b2f_txn_chunk chunk = {.raw = b2f_entry_raw(special)};
	uint32_t typesize = txn->header.typesize;
	int err = check_new(editor, txn->working.n, nbytes);

	if (err)
		return err;
	if (nbytes % typesize)
		return refuse(editor, "such a chunk is a whole number of "
				      "items");
	if (special == B2F_SPECIAL_NAN && typesize != 4 && typesize != 8)
		return refuse(editor, "a NaN has 4 or 8 bytes");
	return put_new(editor, txn->working.n, nbytes, &chunk);
}

/* Can C-Blosc2 read the chunk in the frame of @editor? */
static int check_encoded(struct b2f_editor *editor,
			 const struct b2f_chunk_header *h)
{
	uint32_t typesize = editor->cw.txn->header.typesize;

	if (h->vl)
		return refuse(editor, "it has blocks of different lengths");
	if (h->header_len < B2F_CHUNK_HEADER_MAX)
		return refuse(editor, "it is a chunk of Blosc 1");
	/* The field of a chunk has one byte. */
	if (h->typesize != (typesize > UINT8_MAX ? 1 : typesize))
		return refuse(editor, "its items have another size than those "
				      "of the frame");
	return 0;
}

int b2f_editor_append_encoded(struct b2f_editor *editor, const void *chunk,
			      size_t size)
{
	uint64_t n = editor->cw.txn->working.n;
	struct b2f_txn_chunk out;
	struct b2f_chunk_header h;
	struct b2f_why why = {""};
	int err = b2f_chunk_header_parse(chunk, size, &h, &why);

	if (err)
		return b2f_frame_report(editor->cw.txn->frame, err, &why);
	err = check_encoded(editor, &h);
	if (err)
		return err;
	/* C-Blosc2 opens no frame that begins with such a chunk. */
	if (h.special && h.special != B2F_SPECIAL_VALUE)
		return append_entry(editor, h.special, h.nbytes);
	err = check_new(editor, n, h.nbytes);
	if (!err)
		err = b2f_chunk_write_encoded(
			&editor->cw, n, chunk,
			(uint32_t)b2f_min_u64(size, h.cbytes), &out);
	if (!err)
		err = put_new(editor, n, h.nbytes, &out);
	return err;
}

int b2f_editor_append_special(struct b2f_editor *editor,
			      enum b2f_chunk_kind kind, uint32_t nbytes)
{
	static const enum b2f_special specials[] = {
		[B2F_CHUNK_ZEROS] = B2F_SPECIAL_ZEROS,
		[B2F_CHUNK_NAN] = B2F_SPECIAL_NAN,
		[B2F_CHUNK_UNINIT] = B2F_SPECIAL_UNINIT,
	};
	enum b2f_special special = B2F_SPECIAL_NONE;

	if ((size_t)kind < sizeof(specials) / sizeof(*specials))
		special = specials[kind];
	if (special == B2F_SPECIAL_NONE)
		return refuse(editor, "this kind of chunk needs a file");
	return append_entry(editor, special, nbytes);
}

int b2f_editor_commit(struct b2f_editor *editor)
{
	struct b2f_commit commit = {.durable = true,
				    .lock_wait_ms = LOCK_WAIT_MS};
	struct b2f_txn *txn = editor->cw.txn;
	int err = b2f_txn_freeze(txn, &commit);

	if (!err)
		err = b2f_txn_prepare(txn, &commit);
	if (err == -EEXIST)
		err = b2f_editor_refuse(editor, -EIO,
					"an earlier commit failed to store "
					"some of its chunks");
	if (!err)
		err = b2f_txn_write(txn, &commit);
	b2f_txn_finish(txn, &commit);
	if (b2f_txn_begin_delete(txn, B2F_DELETE_DUE))
		b2f_txn_end_delete(txn, b2f_txn_delete(txn));
	if (err == -EEXIST)
		err = -ESTALE;
	if (err == -ESTALE || err == -EAGAIN)
		b2f_log(txn->frame->log, B2F_LOG_ERROR,
			"%s: not committed: another program has %s it",
			txn->frame->label,
			err == -ESTALE ? "changed" : "locked");
	return err;
}
