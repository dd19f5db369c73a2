/* SPDX-License-Identifier: BSD-3-Clause */
/* answer.c - fills the answer to a request for names */
#include "answer.h"

#include <errno.h>
#include <stdlib.h>

#include "fs.h"

int fs_answer_init(struct fs_answer *answer, fuse_req_t req, size_t size,
		   bool plus)
{
	*answer = (struct fs_answer){
		.req = req, .plus = plus, .buf = malloc(size), .size = size};
	/* An entry has at least the size of its attributes. */
	if (plus)
		answer->inos = calloc(size / sizeof(struct stat) + 1,
				      sizeof(*answer->inos));
	return answer->buf && (answer->inos || !plus) ? 0 : -ENOMEM;
}

void fs_answer_fini(struct fs_answer *answer)
{
	free(answer->inos);
	free(answer->buf);
}

/* Puts @name at @buf, if it fits into @room.  Returns the bytes it takes. */
static size_t add(const struct fs_answer *a, char *buf, size_t room,
		  const char *name, const struct fuse_entry_param *entry,
		  off_t next)
{
	return a->plus ? fuse_add_direntry_plus(a->req, buf, room, name, entry,
						next)
		       : fuse_add_direntry(a->req, buf, room, name,
					   entry ? &entry->attr : NULL, next);
}

bool fs_answer_has_room(const struct fs_answer *a, const char *name)
{
	return add(a, NULL, 0, name, NULL, 0) <= a->size - a->used;
}

bool fs_answer_put(struct fs_answer *a, const char *name,
		   const struct fuse_entry_param *entry, off_t next)
{
	size_t room = a->size - a->used;
	size_t n = add(a, a->buf + a->used, room, name, entry, next);

	if (n > room)
		return false;
	a->used += n;
	if (entry->ino) {
		fs_node_tell(fs_of(a->req), entry->ino,
			     entry->attr.st_size);
		a->inos[a->ninos++] = entry->ino;
	}
	return true;
}

bool fs_answer_put_name(struct fs_answer *a, const char *name, uint64_t ino,
			mode_t type, off_t next)
{
	const struct fuse_entry_param entry = {.attr.st_ino = ino,
					       .attr.st_mode = type};

	return fs_answer_put(a, name, &entry, next);
}
