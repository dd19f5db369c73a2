/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_listing.c - the names in a directory, as the store has listed them */
#include "remote_listing.h"
#include "remote_changes.h"

bool fs_remote_listing_is_fixed(const struct fs_remote_node *dir)
{
	return dir->listed_ms == UINT64_MAX;
}

/* The listing of @dir, if it is not too old.  Locked. */
static struct fs_remote_names *share_names(const struct fs_remote *r,
					   struct fs_remote_node *dir)
{
	uint64_t now = fs_remote_node_ms();

	if (!dir->names ||
	    (now > dir->listed_ms && now - dir->listed_ms > r->attr_ms))
		return NULL;
	fs_remote_names_ref(dir->names);
	return dir->names;
}

int fs_remote_listing_get(struct fs_remote *r, struct fs_remote_node *dir,
			  struct fs_remote_names **out)
{
	uint64_t begin = fs_remote_node_ms();
	struct fs_remote_names *names, *old;
	int err;

	pthread_mutex_lock(&r->lock);
	names = share_names(r, dir);
	pthread_mutex_unlock(&r->lock);
	*out = names;
	if (names)
		return 0;
	err = fs_remote_names_read(r->place, dir->path, &names);
	if (err)
		return err;
	fs_remote_names_ref(names);
	pthread_mutex_lock(&r->lock);
	old = dir->names;
	dir->names = names;
	dir->listed_ms = fs_remote_node_ms();
	pthread_mutex_unlock(&r->lock);
	fs_remote_names_put(old);
	fs_remote_changes_listed(r, dir->path, begin);
	*out = names;
	return 0;
}

void fs_remote_listing_forget(struct fs_remote *r, struct fs_remote_node *dir)
{
	struct fs_remote_names *old = NULL;

	pthread_mutex_lock(&r->lock);
	if (!fs_remote_listing_is_fixed(dir)) {
		old = dir->names;
		dir->names = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	fs_remote_names_put(old);
}
