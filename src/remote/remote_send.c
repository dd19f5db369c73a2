/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_send.c - an object that is put while its source is read */
#include <stdlib.h>
#include <string.h>

#include "remote/conditions.h"
#include "remote/put.h"

struct send {
	struct b2f_remote *remote;
	const char *path;
	const struct b2f_remote_source *source;
	/* The destination is an object; or a sparse frame with an index. */
	bool has_object;
	bool has_frame;
	struct b2f_remote_stat there;
	struct b2f_note note;
	/* Error of the source. */
	int read_err;
};

static int read_source(void *arg, uint64_t off, void *buf, size_t n)
{
	struct send *s = arg;

	s->read_err = s->source->read(s->source->arg, off, buf, n);
	return s->read_err;
}

static int look(struct send *s, struct b2f_why *why)
{
	struct b2f_remote_stat other;
	int err = b2f_remote_head(s->remote, s->path, &s->there, &s->note, why);

	s->has_object = !err;
	if (!err || err == -ENOENT)
		err = b2f_remote_head_index(s->remote, s->path, &other, why);
	s->has_frame = !err;
	return err == -ENOENT ? 0 : err;
}

static bool is_same(const struct send *s)
{
	return s->has_object && !s->has_frame &&
	       s->there.size == s->source->size && s->note.nmarks &&
	       s->note.marks[0] == s->source->key;
}

/* The source of a single PUT is read before, so that it has a checksum. */
static int put(struct send *s, struct b2f_why *why)
{
	const struct b2f_remote_source source = {.read = read_source, .arg = s};
	bool large = s->source->size > s->remote->put_bytes;
	B2F_OWN uint8_t *bytes =
		large ? NULL : malloc((size_t)s->source->size + 1);
	const struct b2f_put_spec spec = {
		.path = s->path,
		.data = bytes,
		.size = (size_t)s->source->size,
		.source = large ? &source : NULL,
		.replaces = s->has_object ? &s->there : NULL,
		.note = {.marks = {s->source->key}, .nmarks = 1},
	};
	int err = large || bytes ? 0 : -ENOMEM;

	if (bytes)
		err = b2f_parts_read(&source, 0, bytes, spec.size);
	if (!err)
		err = b2f_put_run(s->remote, &spec, NULL, why);
	return err == -EEXIST ? b2f_why_set(why, -ESTALE,
					    "another program writes to it "
					    "meanwhile")
			      : err;
}

static int check_size(const struct b2f_remote_source *source,
		      struct b2f_why *why)
{
	if (source->size <= B2F_REMOTE_PUT_MAX)
		return 0;
	return b2f_why_set(why, B2F_ETOOBIG,
			   "larger than 5 TiB, the limit of one object; "
			   "'bloscctl convert --sparse' (of a plain file: "
			   "compress) makes a frame that is sent chunk by "
			   "chunk");
}

/* Probes beside the object: below an object, some servers accept no other. */
static int probe(struct b2f_remote *remote, const char *path,
		 struct b2f_why *why)
{
	const char *slash = strrchr(path, '/');
	B2F_OWN char *dir = strndup(path, slash ? (size_t)(slash - path) : 0);

	return dir ? b2f_remote_probe(remote, dir, why) : -ENOMEM;
}

int b2f_remote_send(struct b2f_remote *remote, const char *path,
		    const struct b2f_remote_source *source, bool overwrite,
		    bool *kept)
{
	struct send s = {.remote = remote, .path = path, .source = source};
	struct b2f_why why = {""};
	int err = check_size(source, &why);

	*kept = false;
	if (!err)
		err = probe(remote, path, &why);
	if (!err)
		err = look(&s, &why);
	if (!err && is_same(&s)) {
		*kept = true;
		return 0;
	}
	if (!err && !overwrite && (s.has_object || s.has_frame))
		return -EEXIST;
	if (!err && s.has_frame)
		err = b2f_why_set(&why, -EISDIR,
				  "a sparse frame has that name, and no object "
				  "can replace it");
	if (!err)
		err = put(&s, &why);
	if (err && err == s.read_err)
		return err;
	/* After look(), -ENOENT is of the bucket. */
	return b2f_remote_tell(remote, path, err, &why);
}
