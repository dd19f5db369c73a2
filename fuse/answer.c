/* SPDX-License-Identifier: BSD-3-Clause */
/* answer.c - fills the answer to a request for names */
#include "answer.h"

#include <errno.h>
#include <stdlib.h>

#include "fs.h"
#include "view.h"
#include "volume.h"

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

/* Adds the view of @name, if that is an array. */
static bool put_view(struct fs_answer *a, struct fs_node *dir, const char *name,
		     off_t next)
{
	struct fs *fs = dir->volume->fs;
	struct fuse_entry_param found;
	struct fs_node *node;
	char view[FS_NAME_SIZE];
	bool fits = true;

	if (!fs_view_name(name, view) ||
	    dir->volume->ops->lookup(fs, dir, view, &found))
		return true;
	node = fs_node_of(fs, found.ino);
	/* Another entry may have the name. */
	if (node->is_view)
		fits = fs_answer_put_name(a, view, found.attr.st_ino, S_IFREG,
					  next);
	fs_node_put(node, 1);
	return fits;
}

/* 0 and 1 are the dots; then each name has two, one for its view. */
static bool put_at(struct fs_answer *a, const struct fs_answer_names *names,
		   off_t pos)
{
	const struct fs *fs = names->dir->volume->fs;
	struct fs_answer_name at = {pos ? ".." : ".", names->ino, S_IFDIR};

	if (pos % 2 && pos > 1 && fs->options.view.npy != FS_VIEW_LIST)
		return true;
	if (pos > 1)
		at = names->get(names, (size_t)(pos - 2) / 2);
	return pos % 2 && pos > 1 ? put_view(a, names->dir, at.name, pos + 1)
				  : fs_answer_put_name(a, at.name, at.ino,
						       at.type, pos + 1);
}

void fs_answer_list(struct fs_answer *a, const struct fs_answer_names *names,
		    off_t off)
{
	off_t end = 2 + 2 * (off_t)names->n;

	while (off >= 0 && off < end && put_at(a, names, off))
		off++;
}
