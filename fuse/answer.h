/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.h - the answer to a request for names, while it is filled
 *
 * Layer: fuse.  Threads: one at a time.
 */
#ifndef B2F_FUSE_ANSWER_H
#define B2F_FUSE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "b2frame/error.h"
#include "fuse_api.h"

struct fs_answer {
	fuse_req_t req;
	/* With room for attributes. */
	bool plus;
	char *buf;
	size_t size;
	size_t used;
	/* The nodes in it, each with a reference. */
	fuse_ino_t *inos;
	size_t ninos;
};

/* @size: what the kernel has room for.  End with fs_answer_fini().  0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_answer_init(struct fs_answer *answer, fuse_req_t req, size_t size,
		   bool plus);
void fs_answer_fini(struct fs_answer *answer);

/* Is there room for @name? */
bool fs_answer_has_room(const struct fs_answer *answer, const char *name);

/*
 * Adds @name; of @entry only the number and the type of the attributes if it has no
 * node.  @next: the position behind it.  False: it does not fit any more.
 */
bool fs_answer_put(struct fs_answer *answer, const char *name,
		   const struct fuse_entry_param *entry, off_t next);

/* The same for entries without a lookup. */
bool fs_answer_put_name(struct fs_answer *answer, const char *name,
			uint64_t ino, mode_t type, off_t next);

#endif
