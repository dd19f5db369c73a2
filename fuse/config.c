/* SPDX-License-Identifier: BSD-3-Clause */
/* config.c - derives the configuration from the options */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "b2frame/remote.h"
#include "config.h"

#define SECOND_NS UINT64_C(1000000000)

static enum b2f_log_level log_level(const struct fs_options *o)
{
	if (o->loglevel != FS_UNSET)
		return (enum b2f_log_level)o->loglevel;
	if (o->debug)
		return B2F_LOG_DEBUG;
	if (o->verbose)
		return B2F_LOG_INFO;
	return o->quiet ? B2F_LOG_ERROR : B2F_LOG_WARNING;
}

static mode_t mask(int64_t special, int64_t general)
{
	int64_t value = special != FS_UNSET ? special : general;

	return value != FS_UNSET ? (mode_t)value : 0;
}

static struct b2f_runtime_options runtime(const struct fs_options *o)
{
	struct b2f_runtime_options r = {
		.cache_bytes = (size_t)o->cache.cachesize,
		.dirty_bytes = (size_t)o->cache.dirtysize,
		.bounded = true,
		.nworkers = (unsigned int)o->workers,
		.no_readahead = o->cache.readahead == 0,
	};

	if (o->cache.readahead != FS_UNSET)
		r.readahead_bytes = (size_t)o->cache.readahead;
	return r;
}

static struct b2f_write_options write_options(const struct fs_options *o)
{
	return (struct b2f_write_options){
		.no_seal = o->create.no_seal,
		.locking = o->locking,
		.no_locking = o->nolocking,
		.guess_typesize = o->create.typesize == 0,
		.npy_arrays = true,
		.keep_beginning = true,
		.adapt_clevel = o->create.clevel == FS_UNSET,
		/* The kernel sends the release after close(2) has returned. */
		.ends_late = true,
		.chunksize = (uint32_t)o->create.chunksize,
	};
}

static struct b2f_settings new_files(const struct fs_options *o)
{
	struct b2f_settings s = b2f_settings_default();

	s.typesize = o->create.typesize ? (uint32_t)o->create.typesize : 1;
	if (o->create.blocksize != FS_UNSET)
		s.blocksize = (uint32_t)o->create.blocksize;
	s.chunksize = (int32_t)o->create.chunksize;
	s.codec = (uint8_t)o->create.codec;
	if (o->create.clevel != FS_UNSET)
		s.clevel = (uint8_t)o->create.clevel;
	memcpy(s.filters, o->create.filters, sizeof(s.filters));
	return s;
}

/* Makes a frame in no directory, which only checks the settings. */
static int try_new_file(const struct b2f_settings *s,
			char reason[FS_REASON_SIZE])
{
	struct b2f_log log = fs_source_log(reason);
	int err = b2f_frame_create(s, -1, "new files", 0, false, &log);

	return err == -EINVAL ? err : 0;
}

static int refuse(const char *option, const char *problem,
		  char reason[FS_REASON_SIZE])
{
	snprintf(reason, FS_REASON_SIZE, "option %s: %s", option, problem);
	return -EINVAL;
}

/* The first of the options that only a mount of a URL takes, or NULL. */
static const char *url_option(const struct fs_options *o)
{
	const struct b2f_aws_options *aws = &o->bucket.given;

	return aws->endpoint	     ? "endpoint"
	       : aws->region	     ? "region"
	       : aws->profile	     ? "profile"
	       : o->bucket.pathstyle ? "pathstyle"
	       : o->bucket.cachedir  ? "cachedir"
	       : aws->no_keys	     ? "no_sign_request"
	       : aws->request_payer  ? "request_payer"
	       : aws->sse	     ? "sse"
	       : aws->sse_kms_key    ? "sse_kms_key"
	       : aws->sse_c_key	     ? "sse_c_key"
				     : NULL;
}

static int check(const struct fs_options *o, char reason[FS_REASON_SIZE])
{
	/* Limits of the fields of a frame, and of times. */
	if (o->create.clevel > 9)
		return refuse("clevel", "0 to 9", reason);
	if (o->create.typesize > 255)
		return refuse("typesize", "1 to 255, or auto", reason);
	if (o->create.chunksize <= 0 || o->create.chunksize > INT32_MAX)
		return refuse("chunksize", "up to 2g", reason);
	if (o->create.blocksize > o->create.chunksize)
		return refuse("blocksize", "more than a chunk", reason);
	if (o->bucket.refresh_s > 86400)
		return refuse("refresh", "up to a day", reason);
	if (o->bucket.retry_s > 86400)
		return refuse("retry", "up to a day", reason);
	if (o->bucket.cachedirsize && !o->bucket.cachedir)
		return refuse("cachedirsize", "without cachedir", reason);
	if (o->source && !b2f_remote_is_url(o->source) && url_option(o))
		return refuse(url_option(o), "SOURCE is no URL", reason);
	if (o->locking && o->nolocking)
		return refuse("locking", "and nolocking", reason);
	return 0;
}

int fs_config_make(const struct fs_options *options, struct fs_config *out,
		   char reason[FS_REASON_SIZE])
{
	struct fs_config s = {0};
	int err = check(options, reason);

	if (err)
		return err;
	s.runtime = runtime(options);
	s.write = write_options(options);
	s.new_files = new_files(options);
	/*
	 * A small frame has a mark in its seals; a program that has
	 * locked NAME.b2lock must not find a directory at NAME; and with
	 * writeback_cache the kernel would keep its own size while a file
	 * becomes a directory.
	 */
	s.small_bytes = options->create.no_seal || options->locking ||
				  options->cache.writeback_cache
			  ? 0
			  : (uint64_t)options->create.small;
	s.log_level = log_level(options);
	s.commit_ns = (uint64_t)options->commit * SECOND_NS;
	s.file_mask = mask(options->access.fmask, options->access.umask);
	s.dir_mask = mask(options->access.dmask, options->access.umask);
	s.background = !options->foreground && !options->debug;
	err = try_new_file(&s.new_files, reason);
	if (err)
		return err;
	/* The first bytes of a file decide its item size and the rest. */
	s.new_files.chunksize = -1;
	*out = s;
	return 0;
}
