/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink_disk.c - a directory that becomes a sparse frame, or a file that becomes
 * a contiguous one
 *
 * The name of a copy's directory stands for one version of one frame, and a
 * chunk file gets its name when it is on the disk: so each chunk file there is
 * whole, and belongs to the copy.  Any other directory is new, and is a frame
 * without chunks until it has them all.  The header of a file, which makes it a
 * frame, is written last.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "chunk/seal.h"
#include "index/index.h"
#include "make/sink.h"
#include "store/make.h"
#include "store/single.h"
#include "store/write.h"

struct disk {
	struct b2f_copy_target base;
	/* The directory, or the file (else -1). */
	struct b2f_store *store;
	int fd;
	mode_t mode;
	/* The parent, where free() removes an unfinished frame. */
	int dirfd;
	char *name;
	/* It is new, so that free() may remove it; a copy is not. */
	bool made;
	bool finished;
};

/* Frees a target of any kind. */
void b2f_copy_target_free(struct b2f_copy_target *target)
{
	char *label = target ? target->label : NULL;

	if (target)
		target->ops->free(target);
	free(label);
}

static struct disk *disk_of(struct b2f_copy_target *target)
{
	return (struct disk *)target;
}

/* Does the chunk file @object end in the seal with the tag of entry @raw? */
static bool is_whole(const struct b2f_object *object, uint64_t raw)
{
	uint8_t end[B2F_SEAL_END_SIZE];

	if (object->size < B2F_CHUNK_HEADER_MIN)
		return false;
	if (!b2f_entry_tag(raw))
		return true;
	return !b2f_object_read(object, object->size - sizeof(end), end,
				sizeof(end), NULL) &&
	       b2f_seal_end_tag(end) == b2f_entry_tag(raw);
}

/* Is @chunk there? Removes any other file with its name. */
static int look(struct disk *d, struct b2f_copy_chunk *chunk,
		struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int64_t id = (int64_t)chunk->from;

	chunk->to = chunk->from;
	if (b2f_object_open(d->store, id, &object, NULL))
		return 0;
	chunk->is_there = is_whole(&object, chunk->raw);
	b2f_object_close(&object);
	return chunk->is_there ? 0 : b2f_store_remove(d->store, id, why);
}

/* A copy that was killed may have left a chunk that is not whole. */
static int remove_pending(void *store, int64_t id)
{
	return id >= 0 && id & B2F_OBJECT_PENDING
		       ? b2f_store_remove(store, id, NULL)
		       : 0;
}

static int begin(struct b2f_copy_target *target, struct b2f_copy_list *list,
		 struct b2f_why *why)
{
	struct b2f_store *store = disk_of(target)->store;
	int err = b2f_store_list(store, remove_pending, store);

	for (size_t i = 0; i < list->n && !err; i++)
		err = look(disk_of(target), &list->chunks[i], why);
	return err;
}

static int put(struct b2f_copy_target *target,
	       const struct b2f_copy_chunk *chunk, const void *bytes,
	       size_t size, struct b2f_why *why)
{
	return b2f_store_write_chunk(disk_of(target)->store, (int64_t)chunk->to,
				     bytes, size, true, why);
}

/* Gives index and chunk files of a copy their permissions. */
static int permit(const struct disk *d, struct b2f_why *why)
{
	int fd = b2f_store_dirfd(d->store);
	struct stat st;

	if (fchmodat(fd, B2F_INDEX_NAME, d->mode, 0) != 0)
		return b2f_why_set(why, -errno, "chmod: %s", strerror(errno));
	if (fstatat(fd, B2F_INDEX_NAME, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return b2f_why_set(why, -errno, "stat: %s", strerror(errno));
	return b2f_store_permit_chunks(fd, &st, (uid_t)-1);
}

static int finish(struct b2f_copy_target *target, const void *index,
		  size_t size, struct b2f_why *why)
{
	struct disk *d = disk_of(target);
	int err = b2f_store_replace_index(d->store, index, size, NULL, why);

	if (!err && !d->made)
		err = permit(d, why);
	d->finished = !err;
	return err;
}

static int put_bytes(struct b2f_copy_target *target,
		     const struct b2f_copy_chunk *chunk, const void *bytes,
		     size_t size, struct b2f_why *why)
{
	return b2f_single_write(disk_of(target)->fd, chunk->to, bytes, size,
				why);
}

/* Writes the header in front, and the rest of the index behind the chunks. */
static int finish_file(struct b2f_copy_target *target, const void *index,
		       size_t size, struct b2f_why *why)
{
	struct disk *f = disk_of(target);
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
	f->finished = !err;
	return err;
}

static void free_disk(struct b2f_copy_target *target)
{
	struct disk *d = disk_of(target);

	b2f_store_free(d->store);
	if (d->fd >= 0)
		close(d->fd);
	/* A failed removal cannot be reported here. */
	if (d->made && !d->finished)
		(void)!(d->fd >= 0 ? b2f_single_remove
				   : b2f_store_unmake)(d->dirfd, d->name);
	free(d->name);
	free(d);
}

static const struct b2f_copy_ops directory_ops = {
	.begin = begin,
	.put = put,
	.finish = finish,
	.free = free_disk,
};

static const struct b2f_copy_ops file_ops = {
	.put = put_bytes,
	.finish = finish_file,
	.free = free_disk,
};

/* NULL: no memory. */
static struct disk *new_disk(const struct b2f_copy_ops *ops, int dirfd,
			     const char *name, mode_t mode)
{
	struct disk *d = calloc(1, sizeof(*d));
	char *copy = strdup(name);

	if (!d || !copy) {
		free(copy);
		free(d);
		return NULL;
	}
	*d = (struct disk){.base.ops = ops,
			   .fd = -1,
			   .mode = mode,
			   .dirfd = dirfd,
			   .name = copy};
	return d;
}

/* Gives @d to the caller or, after @err, frees it. */
static int give(struct disk *d, int err, struct b2f_copy_target **out)
{
	if (!err)
		*out = &d->base;
	else if (d)
		b2f_copy_target_free(&d->base);
	return err;
}

/*
 * Does the existing directory @fd, which is locked now, still have the name
 * @name, and is it ours? In a directory for all, any user can make one of that
 * name.
 */
static int check_begun(int dirfd, const char *name, int fd)
{
	struct stat named, now;

	if (fstat(fd, &now) != 0)
		return -errno;
	/* If its copy has ended meanwhile, the directory has its final name. */
	if (fstatat(dirfd, name, &named, AT_SYMLINK_NOFOLLOW) != 0 ||
	    named.st_dev != now.st_dev || named.st_ino != now.st_ino)
		return -EBUSY;
	return now.st_uid == geteuid() ? 0 : -EEXIST;
}

int b2f_copy_to_directory(int dirfd, const char *name, mode_t mode,
			  const char *label, const struct b2f_log *log,
			  struct b2f_copy_target **out)
{
	struct disk *d = new_disk(&directory_ops, dirfd, name, mode);
	bool is_new = false;
	int err = 0;

	if (!d)
		return -ENOMEM;
	d->base.log = log;
	d->base.label = strdup(label);
	if (!d->base.label)
		err = -ENOMEM;
	else if (mkdirat(dirfd, name, 0700) == 0)
		is_new = true;
	else if (errno != EEXIST)
		err = -errno;
	if (!err)
		err = b2f_store_open(dirfd, name, false, &d->store, NULL);
	if (!err)
		err = b2f_store_lock(d->store, NULL);
	if (!err && !is_new)
		err = check_begun(dirfd, name, b2f_store_dirfd(d->store));
	return give(d, err, out);
}

int b2f_sink_make_directory(int dirfd, const char *name,
			    const struct b2f_store_plan *plan,
			    struct b2f_copy_target **out, struct b2f_why *why)
{
	struct disk *d = new_disk(&directory_ops, dirfd, name, 0);
	int err = d ? b2f_store_make(dirfd, name, plan, why) : -ENOMEM;

	if (!err) {
		d->made = true;
		err = b2f_store_open(dirfd, name, false, &d->store, why);
	}
	return give(d, err, out);
}

int b2f_sink_make_file(int dirfd, const char *name, mode_t mode,
		       struct b2f_copy_target **out, struct b2f_why *why)
{
	struct disk *d = new_disk(&file_ops, dirfd, name, mode | 0600);
	int err = d ? b2f_single_create(dirfd, name, &d->fd, why) : -ENOMEM;

	if (!err)
		d->made = true;
	return give(d, err, out);
}
