/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.c - what the mount has done so far, for the log */
#include <inttypes.h>
#include <stdio.h>

#include "fs.h"

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

int fs_stats_json(struct fs *fs, char **out)
{
	const struct fs_stats *s = &fs->stats;
	struct b2f_runtime_stats rt;
	size_t nnodes, nidle;

	b2f_runtime_stats_get(fs->runtime, &rt);
	fs_tree_count(fs->tree, &nnodes, &nidle);
	return asprintf(
		out,
		"{\"lookups\": %" PRIu64 ", \"opens\": %" PRIu64
		", \"opens_kept\": %" PRIu64 ", \"reads\": %" PRIu64
		", \"read_bytes\": %" PRIu64 ", \"writes\": %" PRIu64
		", \"written_bytes\": %" PRIu64 ", \"errors\": %" PRIu64
		", \"cached_bytes\": %" PRIu64 ", \"cached_blocks\": %" PRIu64
		", \"hits\": %" PRIu64 ", \"misses\": %" PRIu64
		", \"waits\": %" PRIu64 ", \"evictions\": %" PRIu64
		", \"chunks_ahead\": %" PRIu64 ", \"inodes\": %zu}",
		s->nlookups, s->nopens, s->nkept, s->nreads, s->nread_bytes,
		s->nwrites, s->nwritten_bytes, s->nerrors, rt.cached_bytes,
		rt.cached_blocks, rt.hits, rt.misses, rt.waits, rt.evictions,
		rt.ahead_chunks, nnodes);
}
