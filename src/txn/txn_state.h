/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_state.h - all chunks of a frame at one moment, and a transaction's fields
 *
 * Where all chunks but the last have one size, division finds them.  Where
 * chunks have different sizes, a state has a table: old chunks keep their
 * sizes, and appended data go to new chunks.
 *
 * Layer: txn.  Threads: one at a time per state; functions with a transaction
 * as txn.h; the table of the working state changes only with the number of
 * chunks.
 */
#ifndef B2F_TXN_TXN_STATE_H
#define B2F_TXN_TXN_STATE_H

#include <stdlib.h>

#include <uthash.h>

#include "base/checked.h"
#include "frame/frame.h"
#include "txn/ids.h"
#include "index/entry_pages.h"
#include "index/fingerprint.h"
#include "programs/durability.h"
#include "store/write.h"

/* All chunks of a frame at one moment. */
struct b2f_txn_state {
	/* One entry per chunk: see b2f_txn_raw(). */
	struct b2f_pages pages;
	uint64_t n;
	/*
	 * The start of each chunk and the end of the last one, if the chunks
	 * have different sizes, malloc'ed, with room for @cap + 1; otherwise
	 * NULL.
	 */
	uint64_t *starts;
	uint64_t cap;
	/* Decoded bytes. */
	uint64_t nbytes;
	/* Stored bytes of the chunks that have a file; see b2f_txn_count(). */
	uint64_t cbytes;
};

/* A chunk that is about to be put into a state. */
struct b2f_txn_chunk {
	uint64_t raw;
	/* Stored bytes; 0 for an entry that has no file. */
	uint32_t cbytes;
	/* fresh.nfailed before they were written. */
	uint64_t nfailed;
};

/* A file that the index on disk names no more. */
struct b2f_retired {
	uint64_t number;
	/* The ctime of the first index without it. */
	int64_t left_ns;
};

/* In the order in which they were replaced. */
struct b2f_retirees {
	struct b2f_retired *files;
	size_t n;
	size_t cap;
	/* Number of files of the last commit, at the end of the list. */
	size_t nnewest;
};

struct b2f_new_chunk;
struct b2f_protocol;

/* The parts of a contiguous frame that a commit has to find unchanged. */
struct b2f_txn_disk {
	/* Held while these, or the bytes on disk, are read or changed. */
	pthread_mutex_t lock;
	/* The header, @head_len bytes; malloc'ed. */
	uint8_t *head;
	size_t head_len;
	/*
	 * The end of the frame.  @is_ours: with a fingerprint, or claimed, so
	 * that any program that changes the frame changes these bytes.
	 */
	uint8_t tail[B2F_FINGERPRINT_TAIL];
	bool is_ours;
	bool is_claimed;
	uint64_t frame_len;
	/* The range of index and trailer. */
	uint64_t index_id;
	/* The file, to be read; its size is that at the begin. */
	struct b2f_object file;
};

/* Chunks that no index names, or soon none (garbage.h). */
struct b2f_garbage {
	/*
	 * Named by the index on disk, or pending and named by a commit under
	 * way; replaced since.
	 */
	struct b2f_ids replaced;
	/* A commit is being written; it replaces the first @nfrozen of them. */
	bool committing;
	size_t nfrozen;
	struct b2f_retirees retired;
	/* Pending chunks to be deleted as soon as no reader needs them. */
	struct b2f_ids dead;
	/* Being deleted: these, and the first @ndying retired files. */
	struct b2f_ids dying;
	size_t ndying;
};

/* Ids of chunk files, or ranges. */
struct b2f_txn_numbers {
	/* Free ids, the next one last. */
	struct b2f_ids free;
	/* Ids of files that are neither ours nor named by the index. */
	struct b2f_ids foreign;
	uint64_t next_id;
	/* Tag of the chunk that was written last; never given twice. */
	uint32_t last_tag;
	/* The id above all that the index on disk names. */
	uint64_t above;
};

/*
 * Locks against other writers, and the generation by which readers of this
 * process learn of a commit.
 */
struct b2f_txn_guard {
	/* The store is locked. */
	bool has_store;
	/* Users take the transaction for ended before it has. */
	bool ends_late;
	/* Generation of the version that the transaction continues; or NULL. */
	struct b2f_generation *continued;
	/*
	 * The owner holds it during calls; functions that it calls without the
	 * lock take it.  NULL: the owner is one thread.  Set by the owner.
	 */
	pthread_mutex_t *owner;
	/* Other writers' locks; NULL if they are not used. */
	struct b2f_lock *lock;
	/* How often @lock was taken; under @mutex, which is held to take it. */
	unsigned int n;
	pthread_mutex_t mutex;
};

/*
 * In a shared store: the state of the last commit while its outcome is unknown.
 * Otherwise without entries.
 */
struct b2f_txn_doubt {
	struct b2f_txn_state state;
	bool is_open;
};

/* In a frame of chunks of different sizes. */
struct b2f_txn_sizes {
	/* Decoded bytes of a new chunk, set by the owner. */
	uint32_t step;
	/*
	 * The first chunks of the working state that keep their size when it
	 * grows.
	 */
	uint64_t nkept;
};

/* Files that were written here, and settings that were replaced. */
struct b2f_txn_fresh {
	/* Keyed by id.  A uthash. */
	struct b2f_new_chunk *files;
	/* Files whose data have to be written to others. */
	size_t nbad;
	/*
	 * Failed syncs of a contiguous frame.  Bytes that another thread was
	 * writing during one may be missing on disk.
	 */
	uint64_t nfailed;
	/*
	 * The frame of the committed state (holds a reference) and its header,
	 * once the settings have changed since; or NULL.
	 */
	struct b2f_frame *before;
	struct b2f_frame_header header_before;
};

struct b2f_txn {
	/* Holds a reference; has the settings, metalayers and log. */
	struct b2f_frame *frame;
	/* The locked store of @home, the frame at the beginning. */
	struct b2f_store *store;
	struct b2f_frame *home;
	const struct b2f_protocol *protocol;
	/*
	 * To be written: chunk size and type size may still change.  Its
	 * frame_len and cbytes are those of the index on disk.
	 */
	struct b2f_frame_header header;
	struct b2f_txn_state committed;
	struct b2f_txn_state working;
	struct b2f_txn_doubt doubt;
	struct b2f_txn_sizes sizes;
	/* Stamp of the index that @committed was read from, or written to. */
	struct b2f_frame_stamp stamp;
	/* NULL if the frame is not contiguous. */
	struct b2f_txn_disk *disk;
	/* Does the committed state survive a loss of power? Outlives this. */
	struct b2f_durability *durability;
	struct b2f_txn_guard guard;
	struct b2f_txn_fresh fresh;
	struct b2f_garbage garbage;
	struct b2f_txn_numbers numbers;
};

/* The raw entry of chunk @i (< n). */
static inline uint64_t b2f_txn_raw(const struct b2f_txn_state *state,
				   uint64_t i)
{
	return b2f_pages_get(&state->pages, i);
}

/* Sets entry @i (< n).  Returns 0 or -ENOMEM: then nothing has changed. */
B2F_MUST_CHECK
int b2f_txn_set_raw(struct b2f_txn_state *state, uint64_t i, uint64_t raw);

/*
 * Makes the state of @frame, without starts.  Free it with
 * b2f_txn_state_fini().
 */
B2F_MUST_CHECK
int b2f_txn_state_of(const struct b2f_frame *frame,
		      struct b2f_txn_state *out);

void b2f_txn_state_fini(struct b2f_txn_state *state);

/* Have both the same chunks, and as many bytes? */
bool b2f_txn_state_equal(const struct b2f_txn_state *a,
			  const struct b2f_txn_state *b);

/*
 * Copies @from to @to, which is empty, and shares its entries until one of the
 * two changes them.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_txn_state_copy(const struct b2f_txn_state *from,
			struct b2f_txn_state *to);

/*
 * Makes room for @n entries, and some more as files grow; b2f_pages_set() can
 * set the entries from n of @state on.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_txn_state_reserve(struct b2f_txn_state *state, uint64_t n);

/* The file that entry @raw names, as the store knows it. */
static inline int64_t b2f_txn_id(uint64_t raw)
{
	return (int64_t)(uint32_t)raw;
}

/* The id that the file has, or will have, in its name and in the index. */
static inline uint64_t b2f_txn_chunk_id(uint64_t raw)
{
	return raw & B2F_ENTRY_ID;
}

static inline bool b2f_txn_is_stored(uint64_t raw)
{
	return raw >> 63 == 0;
}

/* A file that was written here. */
struct b2f_new_chunk {
	/* The id of the pending file: the key. */
	uint32_t pending_id;
	uint32_t cbytes;
	/* The commit under way names it. */
	bool frozen;
	/* The index on disk names it. */
	bool committed;
	/*
	 * Its data have to be written to another file: it could not be made
	 * durable, or another program has taken its id.
	 */
	bool bad;
	/* Replaced while the commit under way still needs the entry. */
	bool dropped;
	UT_hash_handle hh;
};

/*
 * In the lists of a commit: the file could not be made durable, or has not got
 * its name.
 */
#define B2F_TXN_FAILED (UINT64_C(1) << 63)

/* The file of @raw if this transaction wrote it, or NULL. */
static inline struct b2f_new_chunk *b2f_txn_find(const struct b2f_txn *txn,
						  uint64_t raw)
{
	uint32_t id = (uint32_t)b2f_txn_id(raw);
	struct b2f_new_chunk *chunk;

	HASH_FIND(hh, txn->fresh.files, &id, sizeof(id), chunk);
	return chunk;
}

/* The settings are those of the committed state now. */
static inline void b2f_txn_settle_settings(struct b2f_txn *txn)
{
	b2f_frame_close(txn->fresh.before);
	txn->fresh.before = NULL;
}

static inline void b2f_txn_forget(struct b2f_txn *txn,
				   struct b2f_new_chunk *chunk)
{
	txn->fresh.nbad -= chunk->bad;
	HASH_DEL(txn->fresh.files, chunk);
	free(chunk);
}

static inline void b2f_txn_set_bad(struct b2f_txn *txn,
				    struct b2f_new_chunk *chunk)
{
	txn->fresh.nbad += !chunk->bad;
	chunk->bad = true;
}

/*
 * The first chunk of @state, from *@nchunk on, whose file could not be made
 * durable, or cannot get its name: its data have to be written to another file.
 * With @all, every committed file counts as such.  Returns whether there is
 * one.
 */
bool b2f_txn_find_bad(const struct b2f_txn *txn,
		      const struct b2f_txn_state *state, bool all,
		      uint64_t *nchunk);

/* The start of chunk @nchunk (<= n) of @state; chunk n starts at the end. */
uint64_t b2f_txn_chunk_start(const struct b2f_txn *txn,
			      const struct b2f_txn_state *state,
			      uint64_t nchunk);

/* Decoded bytes of chunk @nchunk of @state; 0 if there is none. */
uint32_t b2f_txn_chunk_nbytes(const struct b2f_txn *txn,
			       const struct b2f_txn_state *state,
			       uint64_t nchunk);

/* The chunk of the working state that has byte @off (< nbytes). */
struct b2f_frame_span b2f_txn_locate(const struct b2f_txn *txn,
				      uint64_t off);

/* Returns the size to which chunk @nchunk (< n) can grow. */
uint32_t b2f_txn_chunk_room(const struct b2f_txn *txn, uint64_t nchunk);

/* How many chunks the working state has when it gets @nbytes. */
uint64_t b2f_txn_count_chunks(const struct b2f_txn *txn, uint64_t nbytes);

/*
 * Can an index entry alone stand for a chunk of @nbytes of zeros?  Readers of
 * it have to know how many items that are.
 */
static inline bool b2f_txn_may_be_hole(const struct b2f_txn *txn,
					uint32_t nbytes)
{
	return !txn->working.starts && nbytes % txn->header.typesize == 0;
}

/*
 * The same for all chunks but the last.  C-Blosc2 makes frames whose chunks are
 * no whole number of items, too.
 */
static inline bool b2f_txn_may_have_holes(const struct b2f_txn *txn)
{
	return b2f_txn_may_be_hole(txn, (uint32_t)txn->header.chunksize);
}

/*
 * Gives the working state @nbytes and @n chunks, as b2f_txn_count_chunks()
 * counts them; its table has room for them.
 */
void b2f_txn_lay_out(struct b2f_txn *txn, uint64_t n, uint64_t nbytes);

/*
 * Gives @state, the state of @frame, a table.  May read the heads of all
 * chunks.  Returns -ENOMEM or as b2f_frame_span_get().
 */
B2F_MUST_CHECK
int b2f_txn_make_starts(struct b2f_frame *frame, struct b2f_txn_state *state);

/*
 * Makes the state of @theirs, another version of the frame, with a table if the
 * states of @txn have one.  Free it with b2f_txn_state_fini().  Returns as
 * b2f_txn_make_starts().
 */
B2F_MUST_CHECK
int b2f_txn_state_like(const struct b2f_txn *txn, struct b2f_frame *theirs,
			struct b2f_txn_state *out);

/*
 * Stored bytes of the chunk @raw if that is known without reading; else false.
 */
bool b2f_txn_known_cbytes(const struct b2f_txn *txn, uint64_t raw,
			   uint32_t *cbytes);

/*
 * Returns the stored size of the chunk @raw of @store by its header; 0 if that
 * is unreadable.  Needs no lock.
 */
uint32_t b2f_txn_read_cbytes(struct b2f_store *store, uint64_t raw);

/* Returns the stored size of all chunks according to the index of @frame,
 * without the margin of this library. */
uint64_t b2f_txn_told_cbytes(const struct b2f_frame *frame);

/*
 * Sums up the stored sizes of the chunks of @state in @store, from their
 * headers; false: some are unreadable, and count as 0.
 */
bool b2f_txn_sum(struct b2f_store *store, const struct b2f_txn_state *state,
		 uint64_t *out);

/*
 * Finds out the stored size of the chunks of @state, the state of @frame: the
 * size in the index has a margin (b2f_index_margin()).  May read chunk files.
 */
void b2f_txn_count(const struct b2f_frame *frame, struct b2f_txn_state *state);

#endif
