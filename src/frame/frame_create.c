/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_create.c - new frames: sparse ones, and small contiguous ones */
#include "b2frame/create.h"

#include <stdlib.h>
#include <string.h>

#include "base/log_line.h"
#include "frame/frame.h"
#include "frame/settings.h"
#include "programs/file_form.h"
#include "store/make.h"
#include "store/single.h"

/* Like b2f_settings_index(), but logs the cause of a failure to @log. */
static int make_index_of(const char *name, const struct b2f_settings *settings,
			 bool small, uint8_t **out, size_t *size,
			 const struct b2f_log *log)
{
	struct b2f_why why = {""};
	int err = b2f_settings_index(settings, small, out, size, &why);

	if (err)
		b2f_log(log, B2F_LOG_ERROR, "%s: not created: %s", name,
			b2f_why_text(&why, err));
	return err;
}

int b2f_frame_create(const struct b2f_settings *settings, int dirfd,
		     const char *name, mode_t mode, bool durable,
		     const struct b2f_log *log)
{
	struct b2f_store_plan plan = {.mode = mode, .durable = durable};
	B2F_OWN uint8_t *index = NULL;
	int err = make_index_of(name, settings, false, &index, &plan.size, log);

	if (err)
		return err;
	plan.index = index;
	/* An errno of the filesystem says enough to the caller. */
	return b2f_store_make(dirfd, name, &plan, NULL);
}

/*
 * Parses the new index in memory before writing it: nothing has to be read
 * back, and a failure comes before there is anything to undo.
 */
static int make(const struct b2f_settings *settings, int dirfd,
		const char *name, struct b2f_store_plan *plan,
		const struct b2f_frame_options *options,
		struct b2f_frame_made *out)
{
	struct b2f_frame *frame = NULL;
	struct b2f_store_made made;
	B2F_OWN uint8_t *index = NULL;
	int err = make_index_of(name, settings, plan->single, &index,
				&plan->size, options->log);

	if (err)
		return err;
	plan->index = index;
	err = b2f_frame_of_bytes(options, name, index, plan->size,
				 !plan->single, &frame);
	if (!err)
		err = plan->single
			      ? b2f_single_make_open(dirfd, name, plan, &made)
			      : b2f_store_make_open(dirfd, name, plan, &made,
						    NULL);
	if (err) {
		b2f_frame_close(frame);
	} else {
		b2f_store_free(frame->store);
		frame->store = made.store;
		b2f_store_be_quiet(frame->store);
		frame->stamp = b2f_frame_stamp_of(&made.index);
		*out = (struct b2f_frame_made){
			.frame = frame, .dir = made.dir, .index = made.index};
	}
	return err;
}

int b2f_frame_make(const struct b2f_settings *settings, int dirfd,
		   const char *name, mode_t mode,
		   const struct b2f_frame_options *options,
		   struct b2f_frame_made *out)
{
	struct b2f_store_plan plan = {.mode = mode};

	return make(settings, dirfd, name, &plan, options, out);
}

int b2f_frame_make_small(const struct b2f_settings *settings, int dirfd,
			 const char *name, mode_t mode,
			 const struct b2f_frame_options *options,
			 struct b2f_frame_made *out)
{
	struct b2f_store_plan plan = {.mode = mode, .single = true};

	return make(settings, dirfd, name, &plan, options, out);
}

int b2f_frame_make_locked(const struct b2f_settings *settings, int dirfd,
			  const char *name, mode_t mode, int *spare,
			  const struct b2f_frame_options *options,
			  struct b2f_frame_made *out)
{
	struct b2f_store_plan plan = {.mode = mode,
				      .single = true,
				      .stays_locked = true,
				      .spare = spare};

	return make(settings, dirfd, name, &plan, options, out);
}

int b2f_frame_spare(int dirfd, mode_t mode)
{
	return b2f_single_spare(dirfd, mode & 07777);
}

int b2f_frame_remove(int dirfd, const char *name)
{
	return b2f_store_unmake(dirfd, name);
}

int b2f_frame_permit_chunks(int dirfd, const struct stat *index, uid_t owner)
{
	return b2f_store_permit_chunks(dirfd, index, owner);
}
