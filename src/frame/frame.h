/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h - an open frame, as the layers of the library see it
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.
 *
 * Threads: immutable after opening, except the map of positions, which grows
 * with use, and @in_doubt, which ends.
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

/* Room for the text of find_carrier() (layout.c), with its 0. */
#define B2F_CARRIER_SIZE 64

/* The file that a frame is shown as. */
struct b2f_layout {
	/* The items of the array in C order; else the data as stored. */
	bool is_array;
	/*
	 * The bytes of the file stand in the order of storage: byte 0 behind
	 * the head is byte 0 of chunk 0.  Always true for plain data.
	 */
	bool linear;
	/* A .npy header that is shown before the data; malloc'ed, or NULL. */
	uint8_t *head;
	size_t head_len;
	/* Shown bytes behind the head. */
	uint64_t nbytes;
	/*
	 * An error if the frame cannot be shown, whose cause was logged; or 0.
	 */
	int err;
	/* The kind of frame if its data are elsewhere (layout.c), or "". */
	char carrier[B2F_CARRIER_SIZE];
	/* The kind of its serialized objects (layout.c), or NULL. */
	const char *objects;
};

/* See struct b2f_frame_options. */
struct b2f_frame_how {
	bool no_locking;
	bool join_objects;
	bool damaged_meta;
};

struct b2f_frame {
	/* Number of owners, each of which calls b2f_frame_close(). */
	atomic_uint refs;
	struct b2f_store *store;
	const struct b2f_log *log;
	char *label;
	struct b2f_frame_how how;
	/* Where the frame begins in the index object. */
	uint64_t offset;
	struct b2f_frame_header header;
	uint32_t trailer_len;
	struct b2f_entries entries;
	/* Memory of @entries, the two lists and the map. */
	struct b2f_reserved reserved;
	/* The bytes that the two lists point into. */
	uint8_t *header_bytes;
	uint8_t *trailer_bytes;
	struct b2f_meta_list meta;
	struct b2f_meta_list vlmeta;
	struct b2f_array array;
	bool is_array;
	/* @array describes plain data (tensor.h), without chunks or blocks. */
	bool is_tensor;
	struct b2f_layout layout;
	/* The index has checksums, and they are right. */
	bool sealed;
	/* Made as one file by a mount (index/fingerprint.h). */
	bool small;
	/* @small, and nothing was committed since: its form is still open. */
	atomic_bool undecided;
	/* The index on disk is blank; a writer has to write one. */
	bool blank;
	/* Context for filters; its grid points to @grid or is NULL. */
	struct b2f_chunk_context context;
	struct b2f_filter_grid grid;
	struct b2f_frame_stamp stamp;
	/* From b2f_frame_hold() on, if there is a lock file; or NULL. */
	struct b2f_lock *held;
	/* Another version may have @stamp, too: see frame_still.h. */
	atomic_bool in_doubt;
	/* It was reported that another program has changed the frame. */
	atomic_bool told_stale;
	struct b2f_frame_info info;
	/* Protects @map_busy; not held during I/O. */
	pthread_mutex_t map_lock;
	/* @map_busy has ended. */
	pthread_cond_t map_grown;
	/* A thread is making the map; no other may write to it. */
	bool map_busy;
	struct b2f_frame_map map;
};

/*
 * Like b2f_frame_open(), for the frame in @store, which it takes over even if
 * it fails.  @path is the name for messages if @options has no label.
 */
B2F_MUST_CHECK
int b2f_frame_open_store(const struct b2f_frame_options *options,
			 struct b2f_store *store, const char *path,
			 struct b2f_frame **out);

/*
 * The same without waiting for a program that changes the frame, to show a
 * name: its sizes may be out of date a moment later.
 */
B2F_MUST_CHECK
int b2f_frame_glance(const struct b2f_frame_options *options,
		     struct b2f_store *store, struct b2f_frame **out);

/*
 * Opens a frame that is only in memory, like b2f_frame_open(): its whole index
 * are the @size bytes at @index, which have to stay.
 */
B2F_MUST_CHECK
int b2f_frame_of_bytes(const struct b2f_frame_options *options,
		       const char *name, const uint8_t *index, size_t size,
		       bool sparse, struct b2f_frame **out);

/* The options for opening @frame again; pointers are valid as long as it. */
struct b2f_frame_options b2f_frame_options_of(const struct b2f_frame *frame);

/*
 * Opens the version of @frame that is on disk now.  Waits @wait_ms, a time or
 * B2F_TURN_OURS of turn.h, for another program that has locked it.  Close *@out
 * with b2f_frame_close().  Returns as b2f_frame_open(), but -ESTALE if the frame
 * is gone.
 */
B2F_MUST_CHECK
int b2f_frame_reopen(const struct b2f_frame *frame, uint32_t wait_ms,
		     struct b2f_frame **out);

/*
 * Makes the frame that the whole index of @size bytes at @index describes, with
 * the chunks of @frame.  Close *@out with b2f_frame_close().  Returns as
 * b2f_frame_open().
 */
B2F_MUST_CHECK
int b2f_frame_derive(const struct b2f_frame *frame, const uint8_t *index,
		     size_t size, struct b2f_frame **out);

/* The metalayer of an array, also a broken one, or NULL. */
const struct b2f_meta *b2f_frame_array_meta(const struct b2f_frame *frame);

/* Sets @frame->info from the index that was read. */
void b2f_frame_info_set(struct b2f_frame *frame);

/* layout.c: sets @frame->layout.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_layout_set(struct b2f_frame *frame);

/* Adds an owner, who will close @frame; returns @frame. */
struct b2f_frame *b2f_frame_ref(struct b2f_frame *frame);

#endif
