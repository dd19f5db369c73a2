/* SPDX-License-Identifier: BSD-3-Clause */
/* openfiles.c - what is open, and which versions of frames */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attr.h"
#include "fs.h"
#include "listing.h"
#include "probe.h"

/* Ticks of clocks: of kernels, and of filesystems that keep full seconds. */
#define TICK_NS	       INT64_C(20000000)
#define COARSE_TICK_NS INT64_C(2000000000)
#define SECOND_NS      INT64_C(1000000000)

/* How many ticks an open waits for a frame that is being changed. */
#define WAITS 3

void fs_openfiles_init(struct fs_openfiles *files)
{
	pthread_mutex_init(&files->lock, NULL);
	files->all.prev = files->all.next = &files->all;
}

void fs_openfiles_fini(struct fs *fs)
{
	while (fs->files.all.next != &fs->files.all)
		fs_openfiles_close(fs, fs->files.all.next);
	pthread_mutex_destroy(&fs->files.lock);
}

bool fs_openfiles_settled(const struct stat *st)
{
	struct timespec now;
	int64_t age;

	clock_gettime(CLOCK_REALTIME, &now);
	/* Nobody can set a ctime, unlike an mtime. */
	age = (now.tv_sec - st->st_ctim.tv_sec) * SECOND_NS +
	      (now.tv_nsec - st->st_ctim.tv_nsec);
	return age > (st->st_ctim.tv_nsec ? TICK_NS : COARSE_TICK_NS);
}

/* The path of @node for messages; malloc'ed. */
static int make_label(struct fs *fs, struct fs_node *node, char **out)
{
	const char *base = fs->source.path;
	char *path, *label = NULL;
	int err;

	if (fs->source.is_frame) {
		label = strdup(base);
		*out = label;
		return label ? 0 : -ENOMEM;
	}
	err = fs_tree_path(fs->tree, node, &path);
	if (err)
		return err;
	if (asprintf(&label, "%s%s%s", base, strcmp(base, "/") ? "/" : "",
		     path) < 0)
		label = NULL;
	free(path);
	*out = label;
	return label ? 0 : -ENOMEM;
}

/* Opens the frame behind the O_PATH descriptor @fd, by no name of its own. */
static int open_frame(struct fs *fs, struct fs_node *node, int fd,
		      struct b2f_frame **out)
{
	struct b2f_frame_options options = {.log = fs_logger_sink(fs->logger)};
	char path[48], *label = NULL;
	int err;

	err = make_label(fs, node, &label);
	if (err)
		return err;
	options.label = label;
	if (node->sparse) {
		err = b2f_frame_open(&options, fd, ".", out);
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		err = b2f_frame_open(&options, AT_FDCWD, path, out);
	}
	free(label);
	/* The index was there a moment ago: a new look tells what it is now. */
	return err == -ENOENT ? -ESTALE : err;
}

int fs_openfiles_sizes(struct fs *fs, struct fs_node *node,
		       struct fs_probe *probe)
{
	struct b2f_frame *frame = NULL;
	int err = open_frame(fs, node, probe->fd, &frame);

	probe->nbytes = probe->cbytes = 0;
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return err;
	if (err)
		return 0;
	probe->nbytes = b2f_frame_info_get(frame)->nbytes;
	probe->cbytes = b2f_frame_info_get(frame)->cbytes;
	b2f_frame_close(frame);
	return 0;
}

static void free_file(struct fs_file *file)
{
	if (!file)
		return;
	b2f_file_close(file->file);
	free(file);
}

/* Attributes of @file, whose index looked like @index when it was opened. */
static int fill_attr(struct fs *fs, struct fs_file *file, int fd,
		     const struct stat *index)
{
	struct fs_probe probe = {.fd = -1,
				 .kind = FS_KIND_FRAME,
				 .index = *index,
				 .nbytes = b2f_file_size(file->file),
				 .cbytes = file->cbytes};

	if (fstat(fd, &probe.st))
		return -errno;
	fs_attr_of_probe(fs, &probe, &file->attr);
	return 0;
}

/*
 * Attributes of the index, once it is settled; or after a while without, if it
 * is changed all the time or if its clock ticks too slowly to wait for.
 */
static int wait_for_index(const struct fs_handle *handle, struct stat *index,
			  bool *settled)
{
	const struct timespec pause = {.tv_nsec = TICK_NS};
	int err = 0;

	for (int i = 0; i <= WAITS; i++) {
		err = fs_probe_index(handle->pin.fd, handle->pin.node->sparse,
				     index);
		*settled = !err && fs_openfiles_settled(index);
		if (err || *settled || index->st_ctim.tv_nsec == 0)
			break;
		if (i < WAITS)
			nanosleep(&pause, NULL);
	}
	return err == -ENOENT ? -ESTALE : err;
}

/*
 * Opens the version that is on disk.  @index is of before that, so what comes
 * later has another stamp if it is @settled.
 */
static int new_file(struct fs *fs, const struct fs_handle *handle,
		    const struct stat *index, bool settled,
		    struct fs_file **out)
{
	struct b2f_frame_stamp before = b2f_frame_stamp_of(index);
	struct fs_node *node = handle->pin.node;
	struct fs_file *file = calloc(1, sizeof(*file));
	struct b2f_frame *frame = NULL;
	int err;

	if (!file)
		return -ENOMEM;
	err = open_frame(fs, node, handle->pin.fd, &frame);
	if (err)
		goto out;
	file->node = node;
	file->nrefs = 1;
	file->stamp = b2f_frame_stamp_get(frame);
	file->cbytes = b2f_frame_info_get(frame)->cbytes;
	err = b2f_file_open(fs->runtime, frame, &file->file);
	if (err)
		goto out;
	frame = NULL; /* now the file's */
	err = fill_attr(fs, file, handle->pin.fd, index);
	if (err)
		goto out;
	file->settled = settled && b2f_frame_stamp_equal(&before, &file->stamp);
	*out = file;
	file = NULL; /* now the caller's */
out:
	b2f_frame_close(frame);
	free_file(file);
	return err;
}

/* The open version of @node with a reference, if it is that of @index. */
static struct fs_file *share_file(struct fs *fs, struct fs_node *node,
				  const struct stat *index)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(index);
	struct fs_file *file;

	pthread_mutex_lock(&fs->files.lock);
	file = node->state.file;
	if (file && b2f_frame_stamp_equal(&file->stamp, &stamp))
		file->nrefs++;
	else
		file = NULL;
	pthread_mutex_unlock(&fs->files.lock);
	return file;
}

/*
 * May the kernel keep what it has of @node, whose data have @stamp now?  Notes
 * for the next time what it will have.  Locked.
 */
static bool may_keep(struct fs_state *state,
		     const struct b2f_frame_stamp *stamp, bool settled)
{
	bool keep = state->has_cached &&
		    b2f_frame_stamp_equal(&state->cached, stamp);

	state->cached = *stamp;
	state->has_cached = settled;
	return keep;
}

/*
 * Makes *@file the open version of its node, or takes the equal one that
 * another thread opened meanwhile.  See openfiles.h for what happens if a
 * different one is open.
 */
static int publish(struct fs *fs, struct fs_file **file,
		   struct fs_opened *opened)
{
	struct fs_node *node = (*file)->node;
	struct fs_file *other, *spare = NULL;
	int err = 0;

	pthread_mutex_lock(&fs->files.lock);
	other = node->state.file;
	if (!other) {
		node->state.file = *file;
	} else if (b2f_frame_stamp_equal(&other->stamp, &(*file)->stamp)) {
		other->nrefs++;
		spare = *file;
		*file = other;
	} else if (node->is_root) {
		opened->direct_io = true;
	} else {
		fs_tree_retire(fs->tree, node);
		err = -ESTALE;
	}
	pthread_mutex_unlock(&fs->files.lock);
	free_file(spare);
	return err;
}

static void put_file(struct fs *fs, struct fs_file *file)
{
	bool last;

	pthread_mutex_lock(&fs->files.lock);
	last = --file->nrefs == 0;
	if (last && file->node->state.file == file)
		file->node->state.file = NULL;
	pthread_mutex_unlock(&fs->files.lock);
	if (last)
		free_file(file);
}

static int open_version(struct fs *fs, struct fs_handle *handle,
			struct fs_opened *opened)
{
	struct fs_node *node = handle->pin.node;
	struct fs_file *file = NULL;
	struct stat index;
	bool settled;
	int err;

	err = wait_for_index(handle, &index, &settled);
	if (err)
		return err;
	file = share_file(fs, node, &index);
	if (!file) {
		err = new_file(fs, handle, &index, settled, &file);
		if (err)
			return err;
		err = publish(fs, &file, opened);
		if (err) {
			free_file(file);
			return err;
		}
	}
	handle->file = file;
	if (!opened->direct_io) {
		pthread_mutex_lock(&fs->files.lock);
		opened->keep_cache =
			may_keep(&node->state, &file->stamp, file->settled);
		pthread_mutex_unlock(&fs->files.lock);
	}
	return b2f_stream_new(file->file, &handle->stream);
}

static int open_other(struct fs *fs, struct fs_handle *handle,
		      struct fs_opened *opened)
{
	struct fs_node *node = handle->pin.node;
	struct b2f_frame_stamp stamp;
	struct stat st;
	int fd;

	fd = fs_tree_reopen(fs->tree, handle->pin.fd, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return fd;
	handle->fd = fd;
	if (fstat(fd, &st))
		return -errno;
	stamp = b2f_frame_stamp_of(&st);
	pthread_mutex_lock(&fs->files.lock);
	opened->keep_cache =
		may_keep(&node->state, &stamp, fs_openfiles_settled(&st));
	pthread_mutex_unlock(&fs->files.lock);
	return 0;
}

/* Makes a handle that is in the list, and pins @node. */
static int new_handle(struct fs *fs, struct fs_node *node,
		      struct fs_handle **out)
{
	struct fs_handle *handle = calloc(1, sizeof(*handle));
	struct fs_handle *head = &fs->files.all;
	int err;

	if (!handle)
		return -ENOMEM;
	handle->fd = -1;
	atomic_init(&handle->nrefs, 1);
	err = fs_tree_pin(fs->tree, node, &handle->pin);
	if (err) {
		free(handle);
		return err;
	}
	pthread_mutex_lock(&fs->files.lock);
	handle->prev = head->prev;
	handle->next = head;
	head->prev->next = handle;
	head->prev = handle;
	pthread_mutex_unlock(&fs->files.lock);
	*out = handle;
	return 0;
}

int fs_openfiles_open(struct fs *fs, struct fs_node *node,
		      struct fs_opened *out)
{
	struct fs_opened opened = {0};
	struct fs_handle *handle = NULL;
	int err;

	err = new_handle(fs, node, &handle);
	if (err)
		return err;
	opened.handle = handle;
	if (node->kind == FS_KIND_FRAME)
		err = open_version(fs, handle, &opened);
	else
		err = open_other(fs, handle, &opened);
	if (err)
		fs_openfiles_close(fs, handle);
	else
		*out = opened;
	return err;
}

int fs_openfiles_add_listing(struct fs *fs, struct fs_node *node,
			     struct fs_listing *listing, struct fs_handle **out)
{
	struct fs_handle *handle = NULL;
	int err = new_handle(fs, node, &handle);

	if (err)
		return err;
	handle->listing = listing;
	*out = handle;
	return 0;
}

void fs_openfiles_ref(struct fs_handle *handle)
{
	atomic_fetch_add_explicit(&handle->nrefs, 1, memory_order_relaxed);
}

void fs_openfiles_close(struct fs *fs, struct fs_handle *handle)
{
	if (atomic_fetch_sub_explicit(&handle->nrefs, 1,
				      memory_order_acq_rel) != 1)
		return;
	pthread_mutex_lock(&fs->files.lock);
	handle->prev->next = handle->next;
	handle->next->prev = handle->prev;
	pthread_mutex_unlock(&fs->files.lock);
	b2f_stream_free(handle->stream);
	if (handle->file)
		put_file(fs, handle->file);
	fs_listing_free(handle->listing);
	if (handle->fd >= 0)
		close(handle->fd);
	fs_tree_unpin(fs->tree, &handle->pin);
	free(handle);
}

bool fs_openfiles_retire_old(struct fs *fs, struct fs_node *node,
			     const struct stat *index)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(index);
	bool old;

	pthread_mutex_lock(&fs->files.lock);
	old = node->state.file && !node->is_root &&
	      !b2f_frame_stamp_equal(&node->state.file->stamp, &stamp);
	if (old)
		fs_tree_retire(fs->tree, node);
	pthread_mutex_unlock(&fs->files.lock);
	return old;
}
