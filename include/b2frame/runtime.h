/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runtime.h - the cache and the threads that all files share
 *
 * A runtime has one cache of decoded blocks and one pool of worker threads,
 * which bound memory and threads for the whole process.
 *
 * Layer: public (made by file/).
 *
 * Threads: every function may be called from any thread, but b2f_runtime_free()
 * only when no file is open any more.
 */
#ifndef B2FRAME_RUNTIME_H
#define B2FRAME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/api.h"
#include "b2frame/error.h"

B2F_BEGIN_API

struct b2f_runtime;
struct b2f_reserve;

/* Zero is the default of every field. */
struct b2f_runtime_options {
	/*
	 * Decoded bytes to keep.  Default: an eighth of the memory that the
	 * machine has and control groups allow, at most 512 MiB.
	 */
	size_t cache_bytes;
	/* Worker threads.  Default: as many as cores are online. */
	unsigned int nworkers;
	/*
	 * How far ahead of a sequential reader to decode, decoded bytes.
	 * Default: 4 MiB for each worker, or an eighth of the cache if frames
	 * are read from a server; never more than that.
	 */
	size_t readahead_bytes;
	/*
	 * Written bytes, of all files, that may be in memory before a writer
	 * has to wait.  Default: a quarter of cache_bytes.
	 */
	size_t dirty_bytes;
	/*
	 * Refuse blocks and chunks (B2F_ETOOBIG) whose decoding or encoding
	 * takes more memory than cache_bytes (at least 32 MiB), and let large
	 * blocks and chunks wait for each other.
	 */
	bool bounded;
	/* Decode nothing ahead. */
	bool no_readahead;
};

/* Codecs by their codes, as in b2f_codec_code_name(): 0 to 5. */
#define B2F_STATS_CODECS 6

/* Work of one codec, in all threads together. */
struct b2f_codec_stats {
	/* Decoded bytes; decode_ns includes reading the stored bytes. */
	uint64_t decoded_bytes;
	uint64_t decode_ns;
	/* Chunks that were written: decoded and stored bytes. */
	uint64_t encoded_bytes;
	uint64_t stored_bytes;
	/* Includes writing the chunk files. */
	uint64_t encode_ns;
};

struct b2f_runtime_stats {
	/* Reads of blocks: found, decoded, waited for. */
	uint64_t hits;
	uint64_t misses;
	uint64_t waits;
	uint64_t evictions;
	/* Decoded bytes in memory now. */
	uint64_t cached_bytes;
	/* Decoded blocks in memory now. */
	uint64_t cached_blocks;
	/* Chunks that were decoded ahead of a reader. */
	uint64_t ahead_chunks;
	/* Written bytes in memory that are not encoded yet. */
	uint64_t dirty_bytes;
	/* Indexed by codec code. */
	struct b2f_codec_stats codecs[B2F_STATS_CODECS];
};

/*
 * Makes a runtime.  Free *@out with b2f_runtime_free() after all its files are
 * closed.  Returns 0, -ENOMEM or -EAGAIN (no more threads).
 */
B2F_MUST_CHECK
int b2f_runtime_new(const struct b2f_runtime_options *options,
		    struct b2f_runtime **out);

/* NULL does nothing. */
void b2f_runtime_free(struct b2f_runtime *runtime);

void b2f_runtime_stats_get(struct b2f_runtime *runtime,
			   struct b2f_runtime_stats *out);

/*
 * Calls @fn(@arg, i) once for each i < @n, on the workers and on the calling
 * thread, and returns when all calls have; calls may compute or wait for the
 * disk.  After a call fails, calls that did not start are left out.  Returns 0,
 * or the error of the lowest i that failed.
 */
B2F_MUST_CHECK
int b2f_runtime_for(struct b2f_runtime *runtime, size_t n,
		    int (*fn)(void *arg, size_t i), void *arg);

/*
 * The memory that indexes may take: see struct b2f_frame_options.  Valid as
 * long as @runtime.
 */
struct b2f_reserve *b2f_runtime_reserve(struct b2f_runtime *runtime);

/*
 * Frees spare buffers, but not the cached bytes of open files.  May take some
 * milliseconds.
 */
void b2f_runtime_trim(struct b2f_runtime *runtime);

B2F_END_API

#endif
