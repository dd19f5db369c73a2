/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_listing.c - the names in a directory, as the store has listed them */
#include "bucket_find.h"
#include "bucket_overlay.h"

bool fs_bucket_listing_is_fixed(const struct fs_object *dir)
{
	return dir->listed_ms == UINT64_MAX;
}

/* The listing of @dir, if it is not too old.  Locked. */
static struct fs_bucket_names *share_names(const struct fs_bucket *r,
					   struct fs_object *dir)
{
	uint64_t now = fs_bucket_node_ms();

	if (!dir->names ||
	    (now > dir->listed_ms && now - dir->listed_ms > r->attr_ms))
		return NULL;
	fs_bucket_names_ref(dir->names);
	return dir->names;
}

/* Once for each change of it. */
static void tell_hidden(struct fs_bucket *r, const struct fs_object *dir,
			size_t n)
{
	if (n)
		fs_logger_write(r->logger, B2F_LOG_WARNING,
				"%s%s%s: %zu name%s cannot be shown: a file is "
				"called neither \"\", \".\" nor \"..\", by no "
				"more than %d bytes, and not as a directory",
				b2f_remote_label(r->place),
				*dir->path ? "/" : "", dir->path, n,
				n == 1 ? "" : "s", NAME_MAX);
}

int fs_bucket_listing_get(struct fs_bucket *r, struct fs_object *dir,
			  struct fs_bucket_names **out)
{
	uint64_t begin = fs_bucket_node_ms();
	struct fs_bucket_names *names, *old;
	bool is_told;
	int err;

	pthread_mutex_lock(&r->volume.fs->state_lock);
	names = share_names(r, dir);
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	*out = names;
	if (names)
		return 0;
	err = fs_bucket_names_read(r->place, dir->path, &names);
	if (err)
		return err;
	fs_bucket_names_ref(names);
	pthread_mutex_lock(&r->volume.fs->state_lock);
	old = dir->names;
	dir->names = names;
	dir->listed_ms = fs_bucket_node_ms();
	is_told = dir->nhidden == names->nhidden;
	dir->nhidden = names->nhidden;
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	fs_bucket_names_put(old);
	if (!is_told)
		tell_hidden(r, dir, names->nhidden);
	fs_bucket_overlay_listed(r, dir->path, begin);
	*out = names;
	return 0;
}

void fs_bucket_listing_forget(struct fs_bucket *r, struct fs_object *dir)
{
	struct fs_bucket_names *old = NULL;

	pthread_mutex_lock(&r->volume.fs->state_lock);
	if (!fs_bucket_listing_is_fixed(dir)) {
		old = dir->names;
		dir->names = NULL;
	}
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	fs_bucket_names_put(old);
}
