/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_create.c - new frames: sparse ones, and small contiguous ones */
#include "b2frame/create.h"

#include <stdlib.h>
#include <string.h>

#include "b2frame/names.h"
#include "base/log_line.h"
#include "frame/frame.h"
#include "frame/settings.h"
#include "index/fingerprint.h"
#include "index/index_write.h"
#include "store/make.h"
#include "store/single.h"

struct b2f_settings b2f_settings_default(void)
{
	return (struct b2f_settings){
		.typesize = 1,
		.chunksize = -1,
		.codec = B2F_CODEC_ZSTD,
		.clevel = 5,
		.splitmode = B2F_SPLIT_FORWARD,
		.filters = {[B2F_SLOTS - 1] = B2F_FILTER_SHUFFLE},
	};
}

struct b2f_settings b2f_settings_of(const struct b2f_frame *frame)
{
	const struct b2f_frame_header *h = &frame->header;
	struct b2f_settings s = {
		.typesize = h->typesize,
		.blocksize = h->blocksize,
		.chunksize = h->chunksize,
		.codec = h->codec,
		.codec_meta = h->codec_meta,
		.clevel = h->clevel,
		.splitmode = h->splitmode,
	};

	memcpy(s.filters, h->pipeline.filter, B2F_SLOTS);
	memcpy(s.filters_meta, h->pipeline.meta, B2F_SLOTS);
	return s;
}

static int check_sizes(const struct b2f_settings *s, struct b2f_why *why)
{
	if (s->typesize == 0 || s->typesize > B2F_BLOCKSIZE_MAX)
		return b2f_why_set(why, -EINVAL, "type size %u", s->typesize);
	if (s->blocksize > B2F_BLOCKSIZE_MAX)
		return b2f_why_set(why, -EINVAL, "block size %u", s->blocksize);
	if (s->chunksize != -1 &&
	    (s->chunksize <= 0 ||
	     (uint32_t)s->chunksize > B2F_CHUNK_NBYTES_MAX))
		return b2f_why_set(why, -EINVAL, "chunk size %d", s->chunksize);
	return 0;
}

int b2f_settings_header(const struct b2f_settings *s,
			struct b2f_frame_header *h, struct b2f_why *why)
{
	int err;

	*h = (struct b2f_frame_header){
		.header_len = B2F_FRAME_HEADER_PLAIN,
		.typesize = s->typesize,
		.blocksize = s->blocksize,
		.chunksize = s->chunksize,
		.sparse = true,
		.codec = s->codec,
		.codec_meta = s->codec_meta,
		.clevel = s->clevel,
		.splitmode = s->splitmode,
	};
	memcpy(h->pipeline.filter, s->filters, B2F_SLOTS);
	memcpy(h->pipeline.meta, s->filters_meta, B2F_SLOTS);
	err = check_sizes(s, why);
	if (err)
		return err;
	if (!b2f_codec_by_code(s->codec))
		return b2f_why_set(why, -EINVAL, "codec %u (%s)", s->codec,
				   b2f_codec_code_name(s->codec));
	if (s->clevel > B2F_CLEVEL_MAX)
		return b2f_why_set(why, -EINVAL, "compression level %u",
				   s->clevel);
	if (s->splitmode < B2F_SPLIT_ALWAYS || s->splitmode > B2F_SPLIT_FORWARD)
		return b2f_why_set(why, -EINVAL, "split mode %u", s->splitmode);
	for (int i = 0; i < B2F_SLOTS; i++)
		if (s->filters[i] && !b2f_filter_by_id(s->filters[i]))
			return b2f_why_set(why, -EINVAL, "filter %u",
					   s->filters[i]);
	return 0;
}

void b2f_encode_options_of(const struct b2f_frame *frame,
			   const struct b2f_frame_header *h,
			   struct b2f_encode_options *out)
{
	const struct b2f_array *a = b2f_frame_array(frame);

	*out = (struct b2f_encode_options){
		.typesize = h->typesize,
		.codec = h->codec,
		.clevel = h->clevel,
		.codec_meta = h->codec_meta,
		.split = (enum b2f_split)h->splitmode,
		.blocksize = h->blocksize,
		.pipeline = h->pipeline,
	};
	/* Readers of a part of an array count its blocks. */
	if (a)
		out->blocksize = (uint32_t)(a->block_items * a->itemsize);
}

int b2f_settings_index(const struct b2f_settings *settings, bool small,
		       uint8_t **out, size_t *size, struct b2f_why *why)
{
	uint8_t head[B2F_FRAME_HEADER_PLAIN], trailer[B2F_FRAME_TRAILER_PLAIN];
	struct b2f_index_parts parts = {
		.header_bytes = head,
		.trailer_bytes = trailer,
		.trailer_len = sizeof(trailer),
		.sealed = true,
	};
	int err;

	err = b2f_settings_header(settings, &parts.header, why);
	if (err)
		return err;
	parts.header.sparse = !small;
	b2f_frame_header_write(&parts.header, head);
	b2f_trailer_write(trailer);
	err = b2f_index_write(&parts, out, size, why);
	if (!err && small)
		b2f_fingerprint_set_small(*out, *size);
	return err;
}

/* As b2f_settings_index(), but tells @log why not. */
static int make_index_of(const char *name, const struct b2f_settings *settings,
			 bool small, uint8_t **out, size_t *size,
			 const struct b2f_log *log)
{
	struct b2f_why why = {""};
	int err = b2f_settings_index(settings, small, out, size, &why);

	if (err)
		b2f_log(log, B2F_LOG_ERROR, "%s: not created: %s", name,
			why.text[0] ? why.text : strerror(-err));
	return err;
}

int b2f_frame_create(const struct b2f_settings *settings, int dirfd,
		     const char *name, mode_t mode, bool durable,
		     const struct b2f_log *log)
{
	struct b2f_store_plan plan = {.mode = mode, .durable = durable};
	uint8_t *index = NULL;
	int err;

	err = make_index_of(name, settings, false, &index, &plan.size, log);
	if (err)
		return err;
	plan.index = index;
	/* An errno of the filesystem says enough to the caller. */
	err = b2f_store_make(dirfd, name, &plan, NULL);
	free(index);
	return err;
}

/* A frame whose index are these bytes, and which is nowhere yet. */
static int open_bytes(const struct b2f_frame_options *options, const char *name,
		      const struct b2f_store_plan *plan,
		      struct b2f_frame **out)
{
	struct b2f_store *store = NULL;
	int err = b2f_store_new_memory(plan->index, plan->size, &store);

	if (err)
		return err;
	store->sparse = !plan->single;
	return b2f_frame_open_store(options, store, name, out);
}

/*
 * What is about to be written is parsed in memory: so nothing of it has to be
 * read again, and what fails does so before there is anything to take back.
 */
static int make(const struct b2f_settings *settings, int dirfd,
		const char *name, struct b2f_store_plan *plan,
		const struct b2f_frame_options *options,
		struct b2f_frame_made *out)
{
	struct b2f_frame *frame = NULL;
	struct b2f_store_made made;
	uint8_t *index = NULL;
	int err;

	err = make_index_of(name, settings, plan->single, &index, &plan->size,
			    options->log);
	if (err)
		return err;
	plan->index = index;
	err = open_bytes(options, name, plan, &frame);
	if (!err)
		err = plan->single
			      ? b2f_single_make_open(dirfd, name, plan, &made)
			      : b2f_store_make_open(dirfd, name, plan, &made,
						    NULL);
	if (err) {
		b2f_frame_close(frame);
	} else {
		b2f_store_free(frame->store);
		frame->store = made.store;
		frame->stamp = b2f_frame_stamp_of(&made.index);
		*out = (struct b2f_frame_made){
			.frame = frame, .dir = made.dir, .index = made.index};
	}
	free(index);
	return err;
}

int b2f_frame_make(const struct b2f_settings *settings, int dirfd,
		   const char *name, mode_t mode,
		   const struct b2f_frame_options *options,
		   struct b2f_frame_made *out)
{
	struct b2f_store_plan plan = {.mode = mode};

	return make(settings, dirfd, name, &plan, options, out);
}

int b2f_frame_make_small(const struct b2f_settings *settings, int dirfd,
			 const char *name, mode_t mode,
			 const struct b2f_frame_options *options,
			 struct b2f_frame_made *out)
{
	struct b2f_store_plan plan = {.mode = mode, .single = true};

	return make(settings, dirfd, name, &plan, options, out);
}

int b2f_frame_remove(int dirfd, const char *name)
{
	return b2f_store_unmake(dirfd, name, NULL);
}

int b2f_frame_permit_chunks(int dirfd, uid_t owner)
{
	return b2f_store_permit_chunks(dirfd, owner);
}
