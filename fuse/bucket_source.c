/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_source.c - SOURCE as a URL: keys, kind, and shown names */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asker.h"
#include "b2frame/error.h"
#include "bucket_find.h"
#include "bucket_overlay.h"
#include "bucket_source.h"
#include "bucket_writer.h"
#include "packs.h"
#include "volume.h"
#include "words/aws.h"

/* The shown name of a frame whose URL has no name. */
#define NAMELESS "frame"

_Static_assert(B2F_AWS_REASON <= FS_REASON_SIZE, "one is printed to the other");

/* Until the mount stands, keeps the first error as the reason. */
static void take_message(void *arg, enum b2f_log_level level,
			 const char *message)
{
	struct fs_bucket *r = arg;

	if (!r->reason || level == B2F_LOG_WARNING)
		fs_logger_write(r->volume.fs->logger, level, "%s", message);
	else if (level == B2F_LOG_ERROR && !*r->reason)
		snprintf(r->reason, FS_REASON_SIZE, "%s", message);
}

/* Is the mount to end, or gone, and is all committed? */
static bool has_ended(void *arg)
{
	struct fs *fs = arg;
	const struct fs_bucket *r = fs->bucket;
	int fd = atomic_load(&r->session_fd);

	return (atomic_load(&r->ends) || (fd >= 0 && fs_asker_is_cut(fd))) &&
	       !fs_file_any(fs);
}

/* Connects @r to SOURCE, with the credentials of the user who mounts. */
static int connect_place(struct fs *fs, struct fs_bucket *r)
{
	const struct fs_options *o = &fs->options;
	bool is_s3 = b2f_remote_is_s3(o->source);
	struct b2f_remote_options options = {
		.log = &r->messages,
		.path_style = o->bucket.pathstyle,
		.refresh_ms = (unsigned int)r->refresh_ms,
		.ahead_bytes = fs->config.runtime.cache_bytes / 4,
		.cache_dir = o->bucket.cachedir,
		.cache_bytes = (uint64_t)o->bucket.cachedirsize,
		.ends = has_ended,
		.ends_arg = fs,
	};
	int err =
		is_s3 ? b2f_aws_read(&o->bucket.given, &r->aws, r->reason) : 0;

	if (err)
		return err;
	*r->reason = '\0';
	b2f_aws_fill(is_s3 ? &r->aws : NULL, o->source, &options);
	options.retry_ms = o->bucket.retry_s
				   ? (unsigned int)o->bucket.retry_s * 1000
				   : UINT_MAX;
	return b2f_remote_new(&options, o->source, &r->place);
}

static int note_entry(void *arg, const struct b2f_remote_entry *entry)
{
	(void)entry;
	*(bool *)arg = true;
	return 1;
}

/* Does the store have any key below the place? */
static int look_below(const struct fs_bucket *r, bool *any)
{
	int err;

	*any = false;
	err = b2f_remote_list(r->place, "", note_entry, any);
	return *any ? 0 : err;
}

enum place_kind {
	PLACE_DIR,
	PLACE_SPARSE,
	PLACE_OBJECT,
};

/* The last part of @url's path; malloc'ed. */
static char *last_part(const char *url)
{
	size_t n = strcspn(url, "?#"), begin;

	while (n && url[n - 1] == '/')
		n--;
	for (begin = n; begin && url[begin - 1] != '/';)
		begin--;
	return strndup(url + begin, n - begin);
}

/* A bucket, or a prefix that is not named like a frame, may be empty. */
static bool may_be_empty(const char *url)
{
	B2F_OWN char *name = last_part(url);
	char stem[FS_NAME_SIZE];

	return name && strlen(name) < FS_NAME_SIZE &&
	       !fs_suffix_stem(name, stem) && !b2f_pack_is_name(name);
}

/* SOURCE is a whole bucket, which is no object. */
static bool is_bucket(const char *url)
{
	const char *bucket = strstr(url, "://") + 3;
	const char *key = strchr(bucket, '/');

	return b2f_remote_is_s3(url) && (!key || !key[strspn(key, "/")]);
}

/*
 * Looks at SOURCE: it may be a frame with an index, a prefix of objects, or an
 * object.  Lists first, because only an answer with a body says why a request
 * is refused; a user who may not list may still read a frame.
 */
static int look_at_place(const struct fs_bucket *r, const char *url,
			 enum place_kind *out)
{
	struct b2f_remote_stat st;
	bool any = false;
	bool has_list = b2f_remote_has_list(r->place);
	int list_err = has_list ? look_below(r, &any) : 0;
	bool sparse = true;
	int err = -ENOENT;

	if (list_err)
		err = b2f_remote_find(r->place, "", &sparse, &st);
	else if (any || !has_list)
		err = b2f_remote_look(r->place, B2F_INDEX_NAME, &st);
	*out = sparse ? PLACE_SPARSE : PLACE_OBJECT;
	if (!err)
		*r->reason = '\0';
	/* The list of a prefix without objects is empty, not missing. */
	if (list_err == -ENOENT && err && !*r->reason)
		snprintf(r->reason, FS_REASON_SIZE,
			 "%s: there is no such bucket",
			 b2f_remote_label(r->place));
	if (list_err && err)
		return list_err;
	if (err != -ENOENT)
		return err;
	*out = PLACE_DIR;
	if (any || is_bucket(url))
		return 0;
	err = b2f_remote_look(r->place, "", &st);
	if (err == -ENOENT && has_list && may_be_empty(url)) {
		fs_logger_write(r->volume.fs->logger, B2F_LOG_WARNING,
				"%s: there are no objects yet",
				b2f_remote_label(r->place));
		return 0;
	}
	*out = PLACE_OBJECT;
	return err;
}

/* Returns the shown name of the frame at @url; malloc'ed. */
static char *shown_name(const char *url)
{
	char *name = last_part(url), stem[FS_NAME_SIZE];

	if (name && (!*name || strlen(name) >= FS_NAME_SIZE)) {
		free(name);
		name = strdup(NAMELESS);
	} else if (name && fs_suffix_stem(name, stem)) {
		free(name);
		name = strdup(stem);
	}
	return name;
}

/* Opens the frame of a mount that has only one. */
static int try_frame(struct fs *fs)
{
	struct fs_bucket *r = fs->bucket;
	const struct fs_bucket_name *name = &r->root->names->list[0];
	struct fs_node *inode;
	int err = fs_bucket_find(fs, r->root, name->shown, &inode);

	if (err)
		return err;
	if (fs_object_of(inode)->kind != FS_BUCKET_FRAME)
		err = B2F_ENOTFRAME;
	else
		err = fs_object_of(inode)->unreadable;
	/* The file stays open, so that the first lookup finds it. */
	return err;
}

/* Has the object at @url the name of a pack? */
static bool is_called_pack(const char *url)
{
	B2F_OWN char *path = strndup(url, strcspn(url, "?#"));

	return path && b2f_pack_is_name(path);
}

static int make_root(struct fs *fs, enum place_kind kind)
{
	struct fs_bucket_names *names = NULL;
	struct fs_bucket *r = fs->bucket;
	struct fs_pack *pack;
	B2F_OWN char *shown = NULL;
	int err;

	if (kind == PLACE_DIR)
		return fs_bucket_node_make_root(r, NULL);
	if (kind == PLACE_OBJECT && is_called_pack(fs->options.source)) {
		err = fs_bucket_find_pack(fs, "", &pack);
		if (!err) {
			/* The reference lasts until the end of the mount. */
			err = fs_bucket_node_make_root(r, NULL);
			fs->nodes.root = &pack->nodes[0].head;
			return err;
		}
		if (err != B2F_ENOTFRAME)
			return err;
		*r->reason = '\0';
	}
	/* The list has a single frame, whose path is "". */
	shown = shown_name(fs->options.source);
	names = shown ? fs_bucket_names_new() : NULL;
	err = names ? fs_bucket_names_add(names, shown, "",
					  kind == PLACE_SPARSE)
		    : -ENOMEM;
	if (!err)
		err = fs_bucket_node_make_root(r, names);
	if (err)
		fs_bucket_names_put(names);
	return err ? err : try_frame(fs);
}

static struct fs_bucket *new_remote(struct fs *fs, char *reason)
{
	struct fs_bucket *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->file_ops = &fs_bucket_writer_ops;
	r->volume = (struct fs_volume){&fs_volume_bucket, fs};
	r->messages = (struct b2f_log){.write = take_message,
				  .arg = r,
				  .max_level = fs->config.log_level};
	r->reason = reason;
	r->refresh_ms = (uint64_t)fs->options.bucket.refresh_s * 1000;
	r->start_s = time(NULL);
	atomic_init(&r->session_fd, -1);
	TAILQ_INIT(&r->all);
	STAILQ_INIT(&r->doomed);
	return r;
}

/* Calls SOURCE by the label of @r, which contains no secret. */
static int take_label(struct fs *fs, const struct fs_bucket *r)
{
	char *label = strdup(b2f_remote_label(r->place));

	if (!label)
		return -ENOMEM;
	free(fs->source.path);
	fs->source.path = label;
	return 0;
}

/* Is @err a lasting refusal by the server? */
static bool is_refusal(int err)
{
	return err == -EROFS || err == -EACCES || err == -ENOENT ||
	       err == -EREMOTE;
}

/*
 * Finds out whether SOURCE can be written to; logs once if not.  If that is not
 * known yet, each change asks again.
 */
static void decide_writing(struct fs *fs, enum place_kind kind)
{
	const struct fs_options *o = &fs->options;
	struct fs_bucket *r = fs->bucket;
	int err;

	if (o->read_only || o->bucket.given.no_keys ||
	    !b2f_remote_is_s3(o->source))
		return;
	*r->reason = '\0';
	err = kind == PLACE_OBJECT ? -EROFS
				   : b2f_remote_allow_write(r->place, "");
	fs->read_write = !is_refusal(err);
	if (!fs->read_write)
		fs_logger_write(r->volume.fs->logger, B2F_LOG_WARNING,
				"%s: mounted read-only: %s", fs->source.path,
				kind == PLACE_OBJECT ? "it is one object"
				: *r->reason	     ? r->reason
						     : b2f_strerror(err));
	*r->reason = '\0';
}

int fs_bucket_source_open(struct fs *fs, char reason[FS_REASON_SIZE])
{
	struct fs_bucket *r = new_remote(fs, reason);
	enum place_kind kind = PLACE_DIR;
	int err = r ? 0 : -ENOMEM;

	*reason = '\0';
	fs->bucket = r;
	if (!err)
		err = connect_place(fs, r);
	if (!err)
		err = take_label(fs, r);
	if (!err)
		err = look_at_place(r, fs->options.source, &kind);
	if (!err)
		err = make_root(fs, kind);
	if (!err)
		decide_writing(fs, kind);
	if (r)
		r->reason = NULL;
	if (err && !*reason)
		snprintf(reason, FS_REASON_SIZE, "%s: %s",
			 r && r->place ? fs->source.path : "SOURCE",
			 b2f_strerror(err));
	return err;
}

void fs_bucket_source_rest(struct fs *fs)
{
	atomic_store(&fs->bucket->ends, true);
}

void fs_bucket_source_abandon(struct fs *fs)
{
	if (fs->bucket && fs->bucket->place)
		b2f_remote_hurry(fs->bucket->place, true);
}

void fs_bucket_source_close(struct fs *fs)
{
	struct fs_bucket *r = fs->bucket;

	/* The requests have ended: only tidying up is left. */
	if (r->place)
		b2f_remote_hurry(r->place, false);
	fs_handle_fini(fs);
	fs_bucket_doomed_fini(fs);
	fs_bucket_node_fini(r);
	fs_packs_fini(fs);
	fs_bucket_overlay_fini(r);
	b2f_remote_free(r->place);
	r->place = NULL;
}

void fs_bucket_source_free(struct fs *fs)
{
	struct fs_bucket *r = fs->bucket;

	b2f_aws_fini(&r->aws);
	free(r);
	fs->bucket = NULL;
}

