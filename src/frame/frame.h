/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h - an open frame, as the layers of the library see it
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.
 *
 * Threads: immutable after opening, but for the map of positions, which is
 * made as far as it is used.
 */
#ifndef B2F_FRAME_FRAME_H
#define B2F_FRAME_FRAME_H

#include <pthread.h>
#include <stdatomic.h>

#include "array/b2nd.h"
#include "b2frame/frame.h"
#include "chunk/seal.h"
#include "frame/frame_map.h"
#include "index/index.h"
#include "store/store.h"

/* The vlmetalayer that holds the header of a .npy file, packed as a bin. */
#define B2F_NPY_META "npy"

/* Room for what a frame stands for, and its 0. */
#define B2F_CARRIER_SIZE 64

/* What a frame shows as a file. */
struct b2f_form {
	/* The items of the array in C order; else the data as they are stored.
	 */
	bool is_array;
	/*
	 * What is shown stands in the order of storage: byte 0 behind the head
	 * is byte 0 of chunk 0.  Always so if it is no array.
	 */
	bool linear;
	/* A .npy header that is shown before the data; malloc'ed, or NULL. */
	uint8_t *head;
	size_t head_len;
	/* Shown bytes behind the head. */
	uint64_t nbytes;
	/* Not 0: the frame cannot be shown; the cause was logged. */
	int err;
	/* What it stands for, its data being elsewhere (carrier.h), or "". */
	char carrier[B2F_CARRIER_SIZE];
	/* What kind of serialized objects it holds (carrier.h), or NULL. */
	const char *objects;
};

struct b2f_frame {
	/* Of those who will call b2f_frame_close(). */
	atomic_uint refs;
	struct b2f_store *store;
	const struct b2f_log *log;
	char *label;
	/* Serialized objects are shown, joined. */
	bool join_objects;
	/* Where the frame begins in the index object. */
	uint64_t offset;
	struct b2f_frame_header header;
	uint32_t trailer_len;
	struct b2f_entries entries;
	/* The bytes that the two lists point into. */
	uint8_t *header_bytes;
	uint8_t *trailer_bytes;
	struct b2f_meta_list meta;
	struct b2f_meta_list vlmeta;
	struct b2f_array array;
	bool is_array;
	/* @array is that of plain data (tensor.h): it has no chunks and blocks. */
	bool is_tensor;
	struct b2f_form form;
	/* The index has checksums, and they are right. */
	bool sealed;
	/* The index on disk is blank; a writer has to write one. */
	bool blank;
	/* What filters may ask for; its grid points to @grid or is NULL. */
	struct b2f_chunk_context context;
	struct b2f_filter_grid grid;
	struct b2f_frame_stamp stamp;
	struct b2f_frame_info info;
	/* Protects @map_busy; not held during I/O. */
	pthread_mutex_t map_lock;
	/* @map_busy has ended. */
	pthread_cond_t map_grown;
	/* Somebody makes the map, and nobody else may write to it. */
	bool map_busy;
	struct b2f_frame_map map;
};

/*
 * As b2f_frame_open(), with the frame in @store, which it takes over even if
 * it fails.  @path is what messages call it if @options has no label.
 */
B2F_MUST_CHECK
int b2f_frame_open_store(const struct b2f_frame_options *options,
			 struct b2f_store *store, const char *path,
			 struct b2f_frame **out);

/*
 * Opens the frame in the place of @frame as it is on disk now.  Close *@out
 * with b2f_frame_close().  Returns as b2f_frame_open().
 */
B2F_MUST_CHECK
int b2f_frame_reopen(const struct b2f_frame *frame, struct b2f_frame **out);

/*
 * Makes the frame that the whole index of @size bytes at @index tells, with the
 * chunks of @frame.  Close *@out with b2f_frame_close().
 * Returns as b2f_frame_open().
 */
B2F_MUST_CHECK
int b2f_frame_derive(const struct b2f_frame *frame, const uint8_t *index,
		     size_t size, struct b2f_frame **out);

/* The metalayer of an array, also a broken one, or NULL. */
const struct b2f_meta *b2f_frame_array_meta(const struct b2f_frame *frame);

/* Sets @frame->info, from what was read of the index. */
void b2f_frame_info_set(struct b2f_frame *frame);

/* form.c: sets @frame->form.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_form_set(struct b2f_frame *frame);

/* One more who will close @frame; returns it. */
struct b2f_frame *b2f_frame_ref(struct b2f_frame *frame);

/* A piece of the decoded data: one chunk. */
struct b2f_frame_span {
	uint64_t nchunk;
	/* First byte of the chunk in the data, and how many it has. */
	uint64_t start;
	uint64_t nbytes;
};

/*
 * Finds the chunk that holds byte @off (< header.nbytes).  If the sizes of
 * chunks differ, this may read the heads of all chunks before it, and of all
 * behind it if one of those before is unreadable.
 *
 * Returns 0, B2F_ECORRUPT (unreadable chunks before it hide its place; logged),
 * -ENOMEM, -EMFILE or -ENFILE.
 */
B2F_MUST_CHECK
int b2f_frame_locate(struct b2f_frame *frame, uint64_t off,
		     struct b2f_frame_span *out);

/* The same for chunk @nchunk (< info.nchunks). */
B2F_MUST_CHECK
int b2f_frame_span_get(struct b2f_frame *frame, uint64_t nchunk,
		       struct b2f_frame_span *out);

/* A chunk with its head, or all its stored bytes, in memory. */
struct b2f_loaded {
	struct b2f_chunk chunk;
	uint64_t nchunk;
	/* Its entry: equal ones of one open frame mean the same bytes. */
	uint64_t raw;
	/* The first @size stored bytes; malloc'ed. */
	uint8_t *bytes;
	size_t size;
	/* Where the chunk is. */
	int64_t object;
	/* What the object was when @bytes were read. */
	struct b2f_frame_stamp identity;
	/* Its checksums, in the malloc'ed @tail; none if it is unsealed. */
	struct b2f_seal seal;
	uint8_t *tail;
};

enum b2f_load { B2F_LOAD_HEAD, B2F_LOAD_ALL };

/*
 * Loads chunk @nchunk, which must have @nbytes decoded bytes.  Free *@out with
 * b2f_loaded_free().
 *
 * Returns 0, B2F_ECORRUPT, B2F_EUNSUPPORTED, -ENOMEM or an errno of the store;
 * the cause is logged.
 */
B2F_MUST_CHECK
int b2f_frame_load(struct b2f_frame *frame, uint64_t nchunk, uint64_t nbytes,
		   enum b2f_load how, struct b2f_loaded **out);

/*
 * The same for chunk @nchunk (of messages) whose entry is @raw: also one that
 * the index does not have, as it is still being edited.
 */
B2F_MUST_CHECK
int b2f_frame_load_entry(struct b2f_frame *frame, uint64_t nchunk, uint64_t raw,
			 uint64_t nbytes, enum b2f_load how,
			 struct b2f_loaded **out);

/*
 * As b2f_frame_load_entry() with B2F_LOAD_HEAD; leaves the object open in
 * *@object, for b2f_object_close(), if there is more of the chunk than the head
 * and b2f_object_look() can tell whether it changes.
 */
B2F_MUST_CHECK
int b2f_frame_load_head(struct b2f_frame *frame, uint64_t nchunk, uint64_t raw,
			uint64_t nbytes, struct b2f_object *object,
			struct b2f_loaded **out);

/* NULL does nothing. */
void b2f_loaded_free(struct b2f_loaded *loaded);

/* Are all stored bytes of @loaded in memory, so that nothing is read any more? */
bool b2f_loaded_is_whole(const struct b2f_loaded *loaded);

/*
 * Reads how many bytes chunk @nchunk, which must be stored, decodes to.  If it
 * has a seal (*@sealed) that has been checked; else its header is believed.
 * Returns as b2f_frame_load(), but logs nothing.
 */
B2F_MUST_CHECK
int b2f_frame_chunk_nbytes(struct b2f_frame *frame, uint64_t nchunk,
			   uint32_t *out, bool *sealed, struct b2f_why *why);

/*
 * Is the index of the sparse @store blank: empty, or zeros?  That is how a loss
 * of power leaves a frame that was just made: the names of directory and index
 * are there, and of what was written nothing.  Such a frame is empty, unless a chunk file is
 * beside the index.
 */
bool b2f_frame_is_blank(struct b2f_store *store);

/*
 * Reads, if the index of @f is blank, the one of an empty frame instead.
 * Returns 0; @broken, why it could not be read, if it is not; or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_frame_read_blank(struct b2f_frame *f, int broken, struct b2f_why *why);

/*
 * Logs that something about @frame failed with @err because of @why (NULL or
 * empty: strerror), and returns @err.
 */
int b2f_frame_report(const struct b2f_frame *frame, int err,
		     const struct b2f_why *why);

/*
 * The same for chunk @nchunk of entry @raw; names its file, and the unit if it
 * is >= 0.
 */
int b2f_frame_report_entry(const struct b2f_frame *frame, uint64_t nchunk,
			   uint64_t raw, int64_t unit, int err,
			   const struct b2f_why *why);

/* Where in its file the stored chunk of entry @raw of a contiguous frame is. */
uint64_t b2f_frame_chunk_off(const struct b2f_frame *frame, uint64_t raw);

/* The same for chunk @nchunk of the index. */
int b2f_frame_report_chunk(const struct b2f_frame *frame, uint64_t nchunk,
			   int64_t unit, int err, const struct b2f_why *why);

/*
 * The header of the sparse frame with this @index failed to parse with @err:
 * is it damaged, though it looks like something else?  So it is if the index
 * ends in a checksum: C-Blosc2 writes none, and whoever does could read what it
 * had written.  Returns B2F_ECORRUPT, or @err.
 */
B2F_MUST_CHECK
int b2f_frame_judge_header(const struct b2f_object *index, int err,
			   struct b2f_why *why);

#endif
