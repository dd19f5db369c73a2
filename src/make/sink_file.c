/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink_file.c - a file that becomes a contiguous frame
 *
 * Its header, which makes it a frame, is written last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index/index.h"
#include "make/sink.h"
#include "store/single.h"

struct file {
	struct b2f_copy_target base;
	int fd;
	mode_t mode;
	/* Where an unfinished file is removed. */
	int dirfd;
	char *name;
	bool finished;
};

static struct file *file_of(struct b2f_copy_target *target)
{
	return (struct file *)target;
}

static int put(struct b2f_copy_target *target,
	       const struct b2f_copy_chunk *chunk, const void *bytes,
	       size_t size, struct b2f_why *why)
{
	return b2f_single_write(file_of(target)->fd, chunk->to, bytes, size,
				why);
}

/* Writes the header in front, and the rest of the index behind the chunks. */
static int finish(struct b2f_copy_target *target, const void *index,
		  size_t size, struct b2f_why *why)
{
	const struct file *f = file_of(target);
	const uint8_t *bytes = index;
	struct b2f_frame_header h;
	size_t len;
	int err = b2f_frame_header_parse(bytes, size, UINT64_MAX, &h, why);

	if (err)
		return err;
	len = h.header_len;
	err = b2f_single_write(f->fd, len + h.cbytes, bytes + len, size - len,
			       why);
	if (!err)
		err = b2f_single_write(f->fd, 0, bytes, len, why);
	if (!err)
		err = b2f_single_finish(f->fd, f->mode, why);
	file_of(target)->finished = !err;
	return err;
}

static void free_file(struct b2f_copy_target *target)
{
	struct file *f = file_of(target);

	if (f->fd >= 0)
		close(f->fd);
	/* A failed removal cannot be reported here. */
	if (f->fd >= 0 && !f->finished)
		(void)!b2f_single_remove(f->dirfd, f->name);
	free(f->name);
	free(f);
}

static const struct b2f_copy_ops ops = {
	.put = put,
	.finish = finish,
	.free = free_file,
};

int b2f_sink_make_file(int dirfd, const char *name, mode_t mode,
			 struct b2f_copy_target **out, struct b2f_why *why)
{
	struct file *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	if (!f)
		return -ENOMEM;
	*f = (struct file){.base.ops = &ops,
				  .fd = -1,
				  .mode = mode | 0600,
				  .dirfd = dirfd,
				  .name = strdup(name)};
	if (f->name)
		err = b2f_single_create(dirfd, name, &f->fd, why);
	if (err)
		b2f_copy_target_free(&f->base);
	else
		*out = &f->base;
	return err;
}
