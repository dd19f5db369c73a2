/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_open.c - frames and packs on a server */
#include <stdlib.h>
#include <string.h>

#include "base/log_line.h"
#include "frame/frame.h"
#include "pack/pack.h"
#include "remote/remote_store.h"

/*
 * Finds the store at @path: with @may_be_sparse a directory of objects, or else
 * one object.  A server that hides the names of objects denies access to
 * missing ones.
 */
static int find_store(struct b2f_remote *remote, const char *path,
		      bool may_be_sparse, struct b2f_store **out,
		      struct b2f_why *why)
{
	struct b2f_why other = {""};
	int err = 0, first = 0;

	for (int sparse = may_be_sparse; sparse >= 0; sparse--) {
		struct b2f_store *store = NULL;

		err = b2f_remote_store_new(remote, path, sparse, &store);
		if (!err)
			err = b2f_remote_store_begin(store,
						     sparse ? why : &other);
		if (!err) {
			*out = store;
			return 0;
		}
		b2f_store_free(store);
		/* A bucket is not an object. */
		if (sparse && ((err != -ENOENT && err != -EACCES) ||
			       (remote->url.s3 && !*remote->url.base && !*path)))
			return err;
		first = sparse ? err : first;
	}
	/* Return the more useful error. */
	if (first == -EACCES && err == -ENOENT)
		return first;
	*why = other;
	return err;
}

static void report(const struct b2f_frame_options *options, const char *label,
		   int err, const struct b2f_why *why)
{
	const char *name = options->label ? options->label : label;

	b2f_log_failure(options->log, name ? name : "", err, why);
}

int b2f_remote_open_frame(struct b2f_remote *remote, const char *path,
			  const struct b2f_frame_options *options,
			  struct b2f_frame **out)
{
	B2F_OWN char *label = b2f_remote_join(remote->url.label, path);
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	int err =
		label ? find_store(remote, path, true, &store, &why) : -ENOMEM;

	if (err)
		report(options, label, err, &why);
	else
		err = b2f_frame_open_store(options, store, label, out);
	return err;
}

int b2f_remote_open_pack(struct b2f_remote *remote, const char *path,
			 const struct b2f_frame_options *options,
			 struct b2f_pack **out)
{
	B2F_OWN char *label = b2f_remote_join(remote->url.label, path);
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	int err =
		label ? find_store(remote, path, false, &store, &why) : -ENOMEM;

	if (err)
		report(options, label, err, &why);
	else
		err = b2f_pack_open_store(options, store, label, out);
	return err;
}
