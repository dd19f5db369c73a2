/* SPDX-License-Identifier: BSD-3-Clause */
/* tally.c - counts encoded and decoded bytes, and their time */
#include "file/tally.h"

#include "frame/frame_chunk.h"
#include "programs/io.h"

static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

void b2f_tally_decoded(struct b2f_tally tally[B2F_STATS_CODECS],
		       const struct b2f_loaded *loaded, uint64_t nbytes,
		       uint64_t start_ns)
{
	const struct b2f_chunk_header *h = &loaded->chunk.header;
	unsigned int code = b2f_frame_codec_of(h);

	/* No codec works on uncompressed bytes. */
	if (h->memcpyed || h->special != B2F_SPECIAL_NONE ||
	    code >= B2F_STATS_CODECS)
		return;
	add(&tally[code].decoded_bytes, nbytes);
	add(&tally[code].decode_ns, b2f_monotonic_ns() - start_ns);
}

void b2f_tally_encoded(struct b2f_tally tally[B2F_STATS_CODECS],
		       unsigned int code, uint64_t nbytes, uint64_t cbytes,
		       uint64_t start_ns)
{
	if (code >= B2F_STATS_CODECS)
		return;
	add(&tally[code].encoded_bytes, nbytes);
	add(&tally[code].stored_bytes, cbytes);
	add(&tally[code].encode_ns, b2f_monotonic_ns() - start_ns);
}

void b2f_tally_get(struct b2f_tally tally[B2F_STATS_CODECS],
		   struct b2f_codec_stats out[B2F_STATS_CODECS])
{
	for (size_t i = 0; i < B2F_STATS_CODECS; i++)
		out[i] = (struct b2f_codec_stats){
			.decoded_bytes = tally[i].decoded_bytes,
			.decode_ns = tally[i].decode_ns,
			.encoded_bytes = tally[i].encoded_bytes,
			.stored_bytes = tally[i].stored_bytes,
			.encode_ns = tally[i].encode_ns,
		};
}
