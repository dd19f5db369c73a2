/* SPDX-License-Identifier: BSD-3-Clause */
/* absent.c - remotes of a library that was built without libcurl: none */
#include <string.h>

#include "b2frame/copy_frame.h"
#include "b2frame/remote.h"
#include "base/log_line.h"

int b2f_remote_new(const struct b2f_remote_options *options, const char *url,
		   struct b2f_remote **out)
{
	(void)out;
	b2f_log(options->log, B2F_LOG_ERROR,
		"%.*s: this program was built without libcurl, and so without "
		"URLs",
		(int)strcspn(url, "?#"), url);
	return B2F_EUNSUPPORTED;
}

/* As there is no remote, none of these is called. */

void b2f_remote_free(struct b2f_remote *remote)
{
	(void)remote;
}

void b2f_remote_hurry(struct b2f_remote *remote, bool at_once)
{
	(void)remote;
	(void)at_once;
}

bool b2f_remote_has_list(const struct b2f_remote *remote)
{
	(void)remote;
	return false;
}

unsigned int b2f_remote_keep_s(const struct b2f_remote *remote)
{
	(void)remote;
	return 0;
}

const char *b2f_remote_label(const struct b2f_remote *remote)
{
	(void)remote;
	return "";
}

struct b2f_frame_stamp b2f_remote_stamp(const struct b2f_remote_stat *st)
{
	(void)st;
	return (struct b2f_frame_stamp){.dev = 0};
}

void b2f_remote_attributes(const struct b2f_remote_stat *st, struct stat *out)
{
	(void)st;
	*out = (struct stat){.st_dev = 0};
}

int b2f_remote_look(struct b2f_remote *remote, const char *path,
		    struct b2f_remote_stat *out)
{
	(void)remote;
	(void)path;
	(void)out;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_find(struct b2f_remote *remote, const char *path, bool *sparse,
		    struct b2f_remote_stat *out)
{
	(void)sparse;
	return b2f_remote_look(remote, path, out);
}

ssize_t b2f_remote_read(struct b2f_remote *remote, const char *path,
			const struct b2f_remote_stat *st, uint64_t off, void *buf,
			size_t n)
{
	(void)remote;
	(void)path;
	(void)st;
	(void)off;
	(void)buf;
	(void)n;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_list(struct b2f_remote *remote, const char *path,
		    b2f_remote_list_fn *fn, void *arg)
{
	(void)remote;
	(void)path;
	(void)fn;
	(void)arg;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_open_frame(struct b2f_remote *remote, const char *path,
			  const struct b2f_frame_options *options,
			  struct b2f_frame **out)
{
	(void)remote;
	(void)path;
	(void)options;
	(void)out;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_open_pack(struct b2f_remote *remote, const char *path,
			 const struct b2f_frame_options *options,
			 struct b2f_pack **out)
{
	(void)remote;
	(void)path;
	(void)options;
	(void)out;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_allow_write(struct b2f_remote *remote, const char *path)
{
	(void)remote;
	(void)path;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_create_frame(struct b2f_remote *remote, const char *path,
			    const struct b2f_settings *settings)
{
	(void)remote;
	(void)path;
	(void)settings;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_make_frame(struct b2f_remote *remote, const char *path,
			  const struct b2f_settings *settings,
			  const struct b2f_frame_options *options,
			  struct b2f_frame **out)
{
	(void)remote;
	(void)path;
	(void)settings;
	(void)options;
	(void)out;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_remove_frame(struct b2f_remote *remote, const char *path)
{
	(void)remote;
	(void)path;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_remove_index(struct b2f_remote *remote, const char *path,
			    struct b2f_remote_remains **out)
{
	(void)remote;
	(void)path;
	(void)out;
	return B2F_EUNSUPPORTED;
}

void b2f_remote_remains_free(struct b2f_remote_remains *remains)
{
	(void)remains;
}

void b2f_remote_remains_leave(struct b2f_remote_remains *remains)
{
	(void)remains;
}

int b2f_remote_rename_frame(struct b2f_remote *remote, struct b2f_frame *frame,
			    const char *to, bool replace,
			    struct b2f_remote_renamed *out)
{
	(void)remote;
	(void)frame;
	(void)to;
	(void)replace;
	*out = (struct b2f_remote_renamed){.from = NULL};
	return B2F_EUNSUPPORTED;
}

int b2f_remote_sweep(struct b2f_remote *remote, const char *path,
		     uint64_t older_s, bool dry_run,
		     struct b2f_remote_orphans *out)
{
	(void)remote;
	(void)path;
	(void)older_s;
	(void)dry_run;
	(void)out;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_copy_frame(struct b2f_remote *remote, const char *from,
			  const char *to)
{
	(void)remote;
	(void)from;
	(void)to;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_put(struct b2f_remote *remote, const char *path,
		   const void *bytes, size_t n,
		   const struct b2f_remote_stat *replaces,
		   struct b2f_remote_stat *out)
{
	(void)remote;
	(void)path;
	(void)bytes;
	(void)n;
	(void)replaces;
	(void)out;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_remove(struct b2f_remote *remote, const char *path)
{
	(void)remote;
	(void)path;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_send(struct b2f_remote *remote, const char *path,
		    const struct b2f_remote_source *source, bool overwrite,
		    bool *kept)
{
	(void)remote;
	(void)path;
	(void)source;
	(void)overwrite;
	(void)kept;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_reader_new(struct b2f_remote *remote, const char *path,
			  const struct b2f_remote_stat *st,
			  struct b2f_remote_reader **out)
{
	(void)remote;
	(void)path;
	(void)st;
	(void)out;
	return B2F_EUNSUPPORTED;
}

int b2f_remote_reader_read(struct b2f_remote_reader *reader, uint64_t off,
			   void *buf, size_t n)
{
	(void)reader;
	(void)off;
	(void)buf;
	(void)n;
	return B2F_EUNSUPPORTED;
}

void b2f_remote_reader_free(struct b2f_remote_reader *reader)
{
	(void)reader;
}

int b2f_copy_to_remote(struct b2f_remote *remote, const char *path,
		       bool replace, struct b2f_copy_target **out)
{
	(void)remote;
	(void)path;
	(void)replace;
	(void)out;
	return B2F_EUNSUPPORTED;
}

struct b2f_remote_counts b2f_remote_counts_get(const struct b2f_remote *remote)
{
	(void)remote;
	return (struct b2f_remote_counts){.requests = 0};
}
