/* SPDX-License-Identifier: BSD-3-Clause */
/* open_frames.c - open frames: what all who have a frame open share */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs.h"
#include "probe.h"

/* Ticks of clocks: of kernels, and of filesystems that keep full seconds. */
#define TICK_NS	       INT64_C(20000000)
#define COARSE_TICK_NS INT64_C(2000000000)
#define SECOND_NS      INT64_C(1000000000)

/* How many ticks an open waits for a frame that is being changed. */
#define WAITS 3

/*
 * How often and how long to wait for another writer: a mount that has just
 * been unmounted may still be storing what was written there last.
 */
#define BUSY_TRIES 60
#define BUSY_NS	   50000000

void fs_frames_init(struct fs_frames *frames)
{
	frames->all.prev = frames->all.next = &frames->all;
	pthread_cond_init(&frames->closed, NULL);
}

bool fs_frames_settled(const struct stat *st)
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

int fs_frames_label(struct fs *fs, struct fs_node *dir, const char *name,
		    char **out)
{
	char *path = NULL, *label = NULL;
	int err = make_label(fs, dir, &path);

	if (err)
		return err;
	/* That of the root ends in a slash. */
	if (asprintf(&label, "%s%s%s", path,
		     path[strlen(path) - 1] == '/' ? "" : "/", name) < 0)
		err = -ENOMEM;
	else
		*out = label;
	free(path);
	return err;
}

int fs_frames_open_disk(struct fs *fs, struct fs_node *node, int fd,
			struct b2f_frame **out)
{
	struct b2f_frame_options options = {.log = fs_logger_sink(fs->logger)};
	char path[48], *label = NULL;
	struct stat index;
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
	/* It was a frame a moment ago: a new look tells what it is now. */
	if (err == -ENOENT ||
	    (err == B2F_ENOTFRAME &&
	     fs_probe_index(fd, node->sparse, &index) == -ENOENT))
		return -ESTALE;
	return err == B2F_ENOTFRAME ? B2F_ECORRUPT : err;
}

int fs_frames_sizes(struct fs *fs, struct fs_node *node, struct fs_probe *probe)
{
	struct b2f_frame *frame = NULL;
	int err = fs_frames_open_disk(fs, node, probe->fd, &frame);

	probe->nbytes = probe->cbytes = 0;
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return err;
	if (err)
		return 0;
	probe->nbytes = b2f_frame_shown_nbytes(frame);
	probe->cbytes = b2f_frame_info_get(frame)->cbytes;
	b2f_frame_close(frame);
	return 0;
}

static void free_file(struct fs *fs, struct fs_file *file)
{
	if (!file)
		return;
	b2f_file_close(file->file);
	fs_tree_unpin(fs->tree, &file->pin);
	free(file->label);
	free(file);
}

/* Is this the index that we left behind ourselves? */
static bool is_own(struct fs *fs, struct fs_node *node,
		   const struct stat *index)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(index);
	bool own;

	pthread_mutex_lock(&fs->files.lock);
	own = fs_seen_is_ours(&node->state.seen, &stamp);
	pthread_mutex_unlock(&fs->files.lock);
	return own;
}

/*
 * Attributes of the index, once it is settled; or after a while without, if it
 * is changed all the time or if its clock ticks too slowly to wait for.
 */
static int wait_for_index(struct fs *fs, const struct fs_pin *pin,
			  struct stat *index, bool *settled)
{
	const struct timespec pause = {.tv_nsec = TICK_NS};
	int err = 0;

	for (int i = 0; i <= WAITS; i++) {
		err = fs_probe_index(pin->fd, pin->node->sparse, index);
		*settled = !err && fs_frames_settled(index);
		if (err || *settled || index->st_ctim.tv_nsec == 0 ||
		    is_own(fs, pin->node, index))
			break;
		if (i < WAITS)
			nanosleep(&pause, NULL);
	}
	return err == -ENOENT ? -ESTALE : err;
}

/* Takes over @frame and @pin, its node, as a file that is nobody's yet. */
static int wrap_frame(struct fs *fs, struct fs_pin *pin,
		      struct b2f_frame *frame, struct fs_file **out)
{
	struct fs_file *file = calloc(1, sizeof(*file));
	struct stat st;
	int err = 0;

	if (!file) {
		fs_tree_unpin(fs->tree, pin);
		b2f_frame_close(frame);
		return -ENOMEM;
	}
	file->pin = *pin;
	*pin = (struct fs_pin){0};
	if (fstat(file->pin.fd, &st))
		err = -errno;
	if (!err) {
		file->label = strdup(b2f_frame_label(frame));
		err = file->label ? 0 : -ENOMEM;
	}
	if (err)
		goto out;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->nrefs = 1;
	err = b2f_file_open(fs->runtime, frame, &file->file);
	if (err)
		goto out;
	frame = NULL; /* now the file's */
	*out = file;
	file = NULL; /* now the caller's */
out:
	b2f_frame_close(frame);
	free_file(fs, file);
	return err;
}

/*
 * Opens the version that is on disk, for nobody yet; *@settled: no other version
 * can have its stamp.
 */
static int new_file(struct fs *fs, struct fs_node *node, struct fs_file **out,
		    bool *settled)
{
	struct b2f_frame *frame = NULL;
	struct b2f_frame_stamp before, opened = {0};
	struct fs_pin pin = {0};
	struct stat index;
	int err;

	err = fs_tree_pin(fs->tree, node, &pin);
	if (!err)
		err = wait_for_index(fs, &pin, &index, settled);
	if (!err)
		err = fs_frames_open_disk(fs, node, pin.fd, &frame);
	if (!err)
		opened = b2f_frame_stamp_get(frame);
	if (!err)
		err = wrap_frame(fs, &pin, frame, out);
	fs_tree_unpin(fs->tree, &pin);
	if (err)
		return err;
	/* @index is of before: what comes later has another stamp. */
	before = b2f_frame_stamp_of(&index);
	*settled = *settled && b2f_frame_stamp_equal(&before, &opened);
	return 0;
}

/* Locked. */
static void add_to_list(struct fs *fs, struct fs_file *file)
{
	struct fs_file *head = &fs->frames.all;

	file->prev = head->prev;
	file->next = head;
	head->prev->next = file;
	head->prev = file;
}

/*
 * Makes *@file the one of its node, or takes the one that another thread
 * opened meanwhile.
 */
static void publish(struct fs *fs, struct fs_file **file, bool settled,
		    struct fs_frame_opened *opened)
{
	struct fs_state *state = &(*file)->pin.node->state;
	struct fs_file *other, *spare = NULL;
	struct b2f_file_now now;

	b2f_file_now_get((*file)->file, &now);
	pthread_mutex_lock(&fs->files.lock);
	other = state->file;
	if (other && other->dev == (*file)->dev && other->ino == (*file)->ino) {
		other->nrefs++;
		spare = *file;
		*file = other;
	} else {
		if (other) {
			opened->direct_io = (*file)->past_cache = true;
		} else {
			state->file = *file;
			opened->keep_cache =
				fs_seen_open(&state->seen, &now.stamp, settled);
		}
		add_to_list(fs, *file);
	}
	pthread_mutex_unlock(&fs->files.lock);
	free_file(fs, spare);
	fs_ticker_wake(&fs->ticker, false);
}

/* Does the name of the root lead to another directory than @file's? */
static bool is_replaced(struct fs *fs, const struct fs_file *file)
{
	struct fs_pin pin = {0};
	struct stat st;
	bool replaced;

	if (!file->pin.node->is_root ||
	    fs_tree_pin(fs->tree, file->pin.node, &pin))
		return false;
	replaced = fstat(pin.fd, &st) == 0 &&
		   (st.st_dev != file->dev || st.st_ino != file->ino);
	fs_tree_unpin(fs->tree, &pin);
	return replaced;
}

/* Shares @file as it is on disk now. */
static int share(struct fs *fs, struct fs_file *file,
		 struct fs_frame_opened *opened)
{
	int err = fs_frames_refresh(fs, file);

	if (err)
		return err == -ENOENT ? -ESTALE : err;
	pthread_mutex_lock(&fs->files.lock);
	opened->keep_cache = fs_seen_may_share(&file->pin.node->state.seen);
	pthread_mutex_unlock(&fs->files.lock);
	return 0;
}

/*
 * As fs_frames_peek(), but waits for one that is just being closed: as long as
 * that is open there can be no other writer.
 */
static struct fs_file *peek_or_wait(struct fs *fs, struct fs_node *node)
{
	const struct fs_state *state = &node->state;
	struct fs_file *file;

	pthread_mutex_lock(&fs->files.lock);
	while (!state->file && state->nclosing > 0)
		pthread_cond_wait(&fs->frames.closed, &fs->files.lock);
	file = state->file;
	if (file)
		file->nrefs++;
	pthread_mutex_unlock(&fs->files.lock);
	return file;
}

int fs_frames_get(struct fs *fs, struct fs_node *node,
		  struct fs_frame_opened *out)
{
	struct fs_frame_opened opened = {0};
	struct fs_file *file = peek_or_wait(fs, node);
	bool settled = false;
	int err;

	if (file && is_replaced(fs, file)) {
		fs_frames_put(fs, file);
		file = NULL;
	}
	if (file) {
		err = share(fs, file, &opened);
		if (err)
			fs_frames_put(fs, file);
	} else {
		err = new_file(fs, node, &file, &settled);
		if (!err)
			publish(fs, &file, settled, &opened);
	}
	if (err)
		return err;
	opened.file = file;
	*out = opened;
	return 0;
}

int fs_frames_add(struct fs *fs, struct fs_node *node, struct b2f_frame *frame,
		  struct fs_frame_opened *out)
{
	struct fs_frame_opened opened = {0};
	struct fs_pin pin = {0};
	int err = fs_tree_pin(fs->tree, node, &pin);

	if (err) {
		b2f_frame_close(frame);
		return err;
	}
	err = wrap_frame(fs, &pin, frame, &opened.file);
	if (err)
		return err;
	publish(fs, &opened.file, false, &opened);
	*out = opened;
	return 0;
}

struct fs_file *fs_frames_peek(struct fs *fs, struct fs_node *node)
{
	struct fs_file *file;

	pthread_mutex_lock(&fs->files.lock);
	file = node->state.file;
	if (file)
		file->nrefs++;
	pthread_mutex_unlock(&fs->files.lock);
	return file;
}

int fs_frames_all(struct fs *fs, struct fs_file ***out, size_t *n)
{
	const struct fs_file *head = &fs->frames.all;
	struct fs_file **files = NULL;
	size_t count = 0, i = 0;

	pthread_mutex_lock(&fs->files.lock);
	for (struct fs_file *f = head->next; f != head; f = f->next)
		count++;
	if (count > 0)
		files = malloc(count * sizeof(struct fs_file *));
	for (struct fs_file *f = head->next; files && f != head; f = f->next) {
		f->nrefs++;
		files[i++] = f;
	}
	pthread_mutex_unlock(&fs->files.lock);
	if (count > 0 && !files)
		return -ENOMEM;
	*out = files;
	*n = count;
	return 0;
}

void fs_frames_drop_cached(struct fs *fs, struct fs_file *file)
{
	struct fs_state *state = &file->pin.node->state;

	pthread_mutex_lock(&fs->files.lock);
	fs_seen_theirs(&state->seen, NULL);
	if (state->has_view)
		state->seen.drop |= FS_SEEN_DROP_VIEW;
	pthread_mutex_unlock(&fs->files.lock);
	fs_ticker_wake(&fs->ticker, true);
}

void fs_frames_take_news(struct fs *fs, struct fs_file *file)
{
	if (b2f_file_take_news(file->file))
		fs_frames_drop_cached(fs, file);
}

int fs_frames_refresh(struct fs *fs, struct fs_file *file)
{
	const struct fs_pin *pin = &file->pin;
	struct stat index = {0};

	/* Without an index, the closer look tells why. */
	(void)!fs_probe_index(pin->fd, pin->node->sparse, &index);
	return fs_frames_refresh_seen(fs, file, &index);
}

int fs_frames_refresh_seen(struct fs *fs, struct fs_file *file,
			   const struct stat *index)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(index);
	struct b2f_file_now now;
	bool changed = false;
	int err;

	/* To look closer means to wait for the end of a commit. */
	b2f_file_now_get(file->file, &now);
	if (b2f_frame_stamp_equal(&now.stamp, &stamp)) {
		fs_frames_take_news(fs, file);
		return 0;
	}
	err = b2f_file_refresh(file->file, &changed);
	if (!err && changed)
		fs_frames_drop_cached(fs, file);
	return err;
}

int fs_frames_allow_write(struct fs *fs, struct fs_file *f)
{
	const struct timespec pause = {.tv_nsec = BUSY_NS};
	struct b2f_write_options options = fs->settings.write;
	int err = -EBUSY;

	options.durability = fs_durable_open(fs, f);
	if (!options.durability)
		return -ENOMEM;
	for (int i = 0; i < BUSY_TRIES && err == -EBUSY; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		err = b2f_file_allow_write(f->file, &options);
	}
	return err;
}
