/* SPDX-License-Identifier: BSD-3-Clause */
/* form.c - makes a directory of a new file that grows large */
#include "form.h"

#include <errno.h>

#include "fs.h"
#include "programs/file_form.h"

/* A contiguous frame that becomes a directory. */
struct change {
	struct fs *fs;
	struct fs_open_frame *frame;
	/* Descriptor of the frame's directory. */
	int dirfd;
	struct b2f_file_now before;
};

static void note(void *arg, int fd, ino_t ino)
{
	const struct change *change = arg;
	struct fs_open_frame *frame = change->frame;

	fs_tree_become(change->fs->tree, frame->pin.node, fd, ino);
	atomic_store(&frame->ino, ino);
	fs_durable_note_form(change->fs, frame, change->dirfd);
	/* The index has a new stamp, but the data are the same. */
	if (!change->frame->past_cache)
		fs_open_frame_note_commit(change->fs, change->frame,
					  &change->before);
}

/* Makes @frame a sparse frame.  The caller holds names_lock alone. */
static int become_sparse(struct fs *fs, struct fs_open_frame *frame)
{
	struct change change = {.fs = fs, .frame = frame};
	char name[FS_NAME_SIZE];
	FS_PIN(parent);
	struct b2f_form form = {.name = name, .done = note, .arg = &change};
	int err = fs_tree_pin_parent(fs->tree, frame->pin.node, &parent, name);

	if (err)
		return err;
	form.dirfd = change.dirfd = parent.fd;
	b2f_file_now_get(frame->open.data, &change.before);
	return b2f_file_become_sparse(frame->open.data, &form);
}

void fs_form_decide(struct fs *fs, struct fs_open_frame *frame, const void *buf,
		    uint64_t size, uint64_t off)
{
	int err;

	if (!fs->config.small_bytes || frame->pin.node->sparse ||
	    frame->pin.node->is_root ||
	    !b2f_file_outgrows(frame->open.data, buf, size, off,
			       fs->config.small_bytes) ||
	    /* An array that has a view has another node for the same file. */
	    frame->pin.node->state.has_view)
		return;
	pthread_rwlock_wrlock(&fs->names_lock);
	err = become_sparse(fs, frame);
	pthread_rwlock_unlock(&fs->names_lock);
	if (err == -EINVAL && !atomic_exchange(&fs->only_sparse, true))
		fs_logger_write(fs->logger, B2F_LOG_INFO,
				"%s: its filesystem cannot exchange names, so new "
				"files are directories from now on",
				frame->label);
}
