/* SPDX-License-Identifier: BSD-3-Clause */
/* losses.c - what a plain file cannot hold of a frame */
#include "cli/losses.h"

#include <stdlib.h>
#include <string.h>

#include "cli/message.h"

static bool is_named(const struct b2f_meta_info *info, const char *name)
{
	return info->name_len == strlen(name) &&
	       memcmp(info->name, name, info->name_len) == 0;
}

static int refuse(const char *path, const char *kind, const char *name)
{
	cli_message_error("%s: its %s%s would be lost: --rm refused; -f "
			  "removes it all the same",
			  path, kind, name);
	return -EINVAL;
}

static int check_metas(const char *path, const struct b2f_frame *frame)
{
	bool array = b2f_frame_array(frame) != NULL;

	for (size_t i = 0; i < b2f_frame_info_get(frame)->nmeta; i++) {
		const uint8_t *content;
		struct b2f_meta_info info = b2f_frame_meta(frame, i, &content);

		/*
		 * The file keeps shape and dtype; only the partition is lost.
		 */
		if (array &&
		    (is_named(&info, "b2nd") || is_named(&info, "caterva")))
			continue;
		return refuse(path, "metalayer ", info.name);
	}
	return 0;
}

static int check_vlmetas(const char *path, const struct b2f_frame *frame)
{
	for (size_t i = 0; i < b2f_frame_info_get(frame)->nvlmeta; i++) {
		struct b2f_meta_info info;
		uint8_t *content = NULL;
		int err = b2f_frame_vlmeta(frame, i, &info, &content);

		free(content);
		if (err)
			return err;
		/* This is what the file begins with. */
		if (b2f_frame_is_npy(frame) && is_named(&info, "npy"))
			continue;
		return refuse(path, "vlmetalayer ", info.name);
	}
	return 0;
}

int cli_losses_check(const char *path, const struct b2f_frame *frame, bool raw)
{
	int err;

	if (raw && b2f_frame_array(frame))
		return refuse(path, "shape and the type of its items", "");
	err = check_metas(path, frame);
	return err ? err : check_vlmetas(path, frame);
}
