/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.c - what the mount has done so far, for the log */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "b2frame/names.h"
#include "fs.h"
#include "bucket_node.h"

void fs_stats_log(struct fs *fs)
{
	const struct fs_stats *s = &fs->stats;
	struct b2f_runtime_stats rt;
	size_t nnodes, nidle;

	b2f_runtime_stats_get(fs->runtime, &rt);
	fs_tree_count(fs->tree, &nnodes, &nidle);
	fs_logger_answer(fs->logger,
			 "statistics: lookups %" PRIu64 ", opens %" PRIu64
			 " (%" PRIu64 " with the kernel's cache kept), reads "
			 "%" PRIu64 " of %" PRIu64 " bytes, writes %" PRIu64
			 " of %" PRIu64 " bytes, errors %" PRIu64,
			 s->nlookups, s->nopens, s->nkept, s->nreads,
			 s->nread_bytes, s->nwrites, s->nwritten_bytes,
			 s->nerrors);
	fs_logger_answer(fs->logger,
			 "statistics: cache %" PRIu64 " bytes in %" PRIu64
			 " blocks, hits %" PRIu64 ", misses %" PRIu64
			 ", waits %" PRIu64 ", evictions %" PRIu64
			 ", chunks ahead %" PRIu64,
			 rt.cached_bytes, rt.cached_blocks, rt.hits, rt.misses,
			 rt.waits, rt.evictions, rt.ahead_chunks);
	fs_logger_answer(fs->logger,
			 "statistics: inodes %zu, directories kept open %zu",
			 nnodes, nidle);
}

/* Bytes of memory that the process has now; 0: it is not known. */
static uint64_t memory_bytes(void)
{
	uint64_t size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%" SCNu64 " %" SCNu64, &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Those that have done something. */
static void put_codecs(FILE *f, const struct b2f_runtime_stats *rt)
{
	const char *separator = "";

	for (unsigned int i = 0; i < B2F_STATS_CODECS; i++) {
		const struct b2f_codec_stats *c = &rt->codecs[i];

		if (!c->decode_ns && !c->encode_ns)
			continue;
		fprintf(f,
			"%s\"%s\": {\"decoded_bytes\": %" PRIu64
			", \"decode_seconds\": %.3f"
			", \"encoded_bytes\": %" PRIu64 ", \"stored_bytes\": %" PRIu64
			", \"encode_seconds\": %.3f}",
			separator, b2f_codec_code_name(i), c->decoded_bytes,
			(double)c->decode_ns / 1e9, c->encoded_bytes,
			c->stored_bytes, (double)c->encode_ns / 1e9);
		separator = ", ";
	}
}

static void put_counters(FILE *f, const struct fs_stats *s)
{
	fprintf(f,
		"\"lookups\": %" PRIu64 ", \"opens\": %" PRIu64
		", \"opens_kept\": %" PRIu64 ", \"reads\": %" PRIu64
		", \"read_bytes\": %" PRIu64 ", \"writes\": %" PRIu64
		", \"written_bytes\": %" PRIu64 ", \"errors\": %" PRIu64,
		s->nlookups, s->nopens, s->nkept, s->nreads, s->nread_bytes,
		s->nwrites, s->nwritten_bytes, s->nerrors);
}

static void put_runtime(FILE *f, const struct b2f_runtime_stats *rt)
{
	fprintf(f,
		", \"cached_bytes\": %" PRIu64 ", \"cached_blocks\": %" PRIu64
		", \"hits\": %" PRIu64 ", \"misses\": %" PRIu64
		", \"waits\": %" PRIu64 ", \"evictions\": %" PRIu64
		", \"chunks_ahead\": %" PRIu64 ", \"dirty_bytes\": %" PRIu64
		", \"memory_bytes\": %" PRIu64 ", \"codecs\": {",
		rt->cached_bytes, rt->cached_blocks, rt->hits, rt->misses,
		rt->waits, rt->evictions, rt->ahead_chunks, rt->dirty_bytes,
		memory_bytes());
	put_codecs(f, rt);
	fputc('}', f);
}

/* What the server was asked. */
static void put_requests(FILE *f, const struct fs_bucket *bucket)
{
	struct b2f_remote_counts c = b2f_remote_counts_get(bucket->place);

	fprintf(f,
		", \"requests\": %" PRIu64 ", \"requests_again\": %" PRIu64
		", \"received_bytes\": %" PRIu64,
		c.requests, c.retries, c.received);
}

int fs_stats_json(struct fs *fs, char **out)
{
	struct b2f_runtime_stats rt;
	size_t nnodes, nidle, size = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -1;
	b2f_runtime_stats_get(fs->runtime, &rt);
	fs_tree_count(fs->tree, &nnodes, &nidle);
	fputs("{\"schema\": 1, ", f);
	put_counters(f, &fs->stats);
	put_runtime(f, &rt);
	if (fs->bucket && fs->bucket->place)
		put_requests(f, fs->bucket);
	fprintf(f, ", \"inodes\": %zu}", nnodes);
	if (fclose(f)) {
		free(text);
		return -1;
	}
	*out = text;
	return (int)size;
}
