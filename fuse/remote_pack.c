/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_pack.c - an object that is a pack (b2frame/pack.h), open */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "remote_node.h"
#include "remote_pack.h"

struct fs_remote_pack *fs_remote_pack_ref(struct fs_remote_pack *p)
{
	atomic_fetch_add(&p->nrefs, 1);
	return p;
}

void fs_remote_pack_put(struct fs_remote_pack *p)
{
	if (!p || atomic_fetch_sub(&p->nrefs, 1) != 1)
		return;
	b2f_pack_close(p->pack);
	free(p);
}

int fs_remote_pack_open(struct b2f_remote *place, const struct b2f_log *log,
			const char *path, struct fs_remote_pack **out)
{
	const struct b2f_frame_options options = {.log = log};
	struct fs_remote_pack *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	atomic_init(&p->nrefs, 1);
	err = b2f_remote_open_pack(place, path, &options, &p->pack);
	if (err)
		fs_remote_pack_put(p);
	else
		*out = p;
	return err;
}

int fs_remote_pack_open_file(struct fs *fs, const struct fs_remote_pack *p,
			     size_t entry, const char *path,
			     struct b2f_file **out)
{
	struct b2f_frame_options options = {.log = &fs->remote->log};
	struct b2f_frame *frame = NULL;
	char *label = NULL;
	int err;

	if (asprintf(&label, "%s/%s", b2f_remote_label(fs->remote->place),
		     path) < 0)
		return -ENOMEM;
	options.label = label;
	err = b2f_pack_open_frame(p->pack, entry, &options, &frame);
	free(label);
	if (!err)
		err = b2f_file_open(fs->runtime, frame, out);
	if (err)
		b2f_frame_close(frame);
	else
		b2f_file_stay(*out);
	return err;
}
