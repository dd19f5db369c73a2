/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_state.h - all chunks of a frame at one moment, and what a transaction knows
 *
 * Layer: frame.  Threads: one at a time per state.
 */
#ifndef B2F_FRAME_TXN_STATE_H
#define B2F_FRAME_TXN_STATE_H

#include "frame/frame.h"
#include "frame/ids.h"
#include "index/entry_pages.h"
#include "index/fingerprint.h"
#include "programs/durability.h"
#include "store/write.h"

/* All chunks of a frame at one moment. */
struct b2f_txn_state {
	/* One entry per chunk; b2f_txn_raw() tells one. */
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

/* A file that the index on disk names no more. */
struct b2f_retired {
	uint64_t number;
	/* When the first index without it came: its ctime. */
	int64_t since_ns;
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
	/* Held while one of these, or those on disk, are read or changed. */
	pthread_mutex_t lock;
	/* The header, @head_len bytes; malloc'ed. */
	uint8_t *head;
	size_t head_len;
	/*
	 * The end of the frame.  @is_ours: with a fingerprint, or claimed, so
	 * that another program that changes the frame changes this.
	 */
	uint8_t tail[B2F_FINGERPRINT_TAIL];
	bool is_ours;
	bool is_claimed;
	uint64_t frame_len;
	/* The range of index and trailer. */
	uint64_t index_id;
};

/* Chunks that no index names, or soon none (garbage.h). */
struct b2f_garbage {
	/*
	 * Named by the index on disk, or pending and named by a commit under
	 * way; replaced since.
	 */
	struct b2f_ids replaced;
	/* The first of them that a commit under way replaces. */
	size_t nfrozen;
	struct b2f_retirees retired;
	/* Pending ones to be deleted as soon as no reader needs them. */
	struct b2f_ids dead;
	/* Being deleted: these, and the first ones that retired. */
	struct b2f_ids dying;
	size_t ndying;
};

/* Of chunk files, or ranges. */
struct b2f_txn_numbers {
	/* Numbers that are free, the next one last. */
	struct b2f_ids free;
	uint64_t next_id;
	/* Tag of the chunk that was written last; never given twice. */
	uint32_t last_tag;
	/* The number above all that the index on disk names. */
	uint64_t above;
};

/* What keeps other programs out. */
struct b2f_txn_guard {
	/* Other writers' locks; NULL if they are not used. */
	struct b2f_lock *lock;
	/*
	 * How often it was taken; under mutex, which is held to take it.
	 */
	unsigned int n;
	pthread_mutex_t mutex;
};

struct b2f_txn {
	/* Holds a reference; the settings, metalayers and log are its. */
	struct b2f_frame *frame;
	/* The store of @home, the frame it began with, which has the lock. */
	struct b2f_store *store;
	struct b2f_frame *home;
	const struct b2f_protocol *protocol;
	bool has_lock;
	/* Its users believe that it has ended before it does. */
	bool ends_late;
	/*
	 * To be written: chunk size and type size may still change.  Its
	 * frame_len and cbytes are those of the index on disk.
	 */
	struct b2f_frame_header header;
	struct b2f_txn_state committed;
	struct b2f_txn_state working;
	/*
	 * In a shared store: the state of the last commit while its outcome is
	 * unknown.  Otherwise without entries.
	 */
	struct b2f_txn_state doubtful;
	bool is_in_doubt;
	/*
	 * In a frame of chunks of different sizes: decoded bytes of a new
	 * chunk, set by the owner; and the first chunks of the working state
	 * that keep their size when it grows.
	 */
	uint32_t step;
	uint64_t nkept;
	/* Stamp of the index that @committed was read from, or written to. */
	struct b2f_frame_stamp stamp;
	/* NULL if the frame is not contiguous. */
	struct b2f_txn_disk *disk;
	/* A commit is being written. */
	bool committing;
	/* Does what is committed survive a loss of power?  Outlives this. */
	struct b2f_durability *durability;
	/* Generation of the version that it continues; or NULL. */
	struct b2f_generation *generation;
	struct b2f_txn_guard guard;
	/* Files that were written here: by id.  A uthash. */
	struct b2f_new_chunk *fresh;
	struct b2f_garbage garbage;
	/* Files whose data have to be written to others. */
	size_t nbad;
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
 * The state that @frame tells, without starts.  Free it with
 * b2f_txn_state_fini().
 */
B2F_MUST_CHECK
int b2f_txn_state_of(const struct b2f_frame *frame,
		      struct b2f_txn_state *out);

void b2f_txn_state_fini(struct b2f_txn_state *state);

/* The same chunks, of as many bytes. */
bool b2f_txn_state_equal(const struct b2f_txn_state *a,
			  const struct b2f_txn_state *b);

/*
 * Copies @from to @to, which is empty, and shares its entries until one of both
 * changes them.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_txn_state_copy(const struct b2f_txn_state *from,
			struct b2f_txn_state *to);

/*
 * Room for @n entries, some more as files grow; those from entry n of @state on
 * can be set by b2f_pages_set().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_txn_state_reserve(struct b2f_txn_state *state, uint64_t n);

#endif
