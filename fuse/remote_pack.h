/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_pack.h - an object that is a pack (b2frame/pack.h), open
 *
 * It is one version of the object.  All nodes of what is in it hold on to it
 * (remote_pack_find.h).
 *
 * Layer: fuse.  Threads: any; what opens something makes requests.
 */
#ifndef B2F_FUSE_REMOTE_PACK_H
#define B2F_FUSE_REMOTE_PACK_H

#include <stdatomic.h>

#include "b2frame/pack.h"
#include "b2frame/remote.h"
#include "fs.h"

struct fs_remote_pack {
	_Atomic size_t nrefs;
	struct b2f_pack *pack;
};

/*
 * Opens the object @path of @place.  Give *@out back with fs_remote_pack_put().
 * Returns -ENOMEM or as b2f_remote_open_pack().
 */
B2F_MUST_CHECK
int fs_remote_pack_open(struct b2f_remote *place, const struct b2f_log *log,
			const char *path, struct fs_remote_pack **out);

/* One more who will call _put; returns @pack. */
struct fs_remote_pack *fs_remote_pack_ref(struct fs_remote_pack *pack);

/* NULL does nothing. */
void fs_remote_pack_put(struct fs_remote_pack *pack);

/*
 * Opens the frame that entry @entry of @pack is; messages call it @label.  Returns as
 * b2f_pack_open_frame(), or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_remote_pack_open_file(struct fs *fs, const struct fs_remote_pack *pack,
			     size_t entry, const char *path,
			     struct b2f_file **out);

#endif
