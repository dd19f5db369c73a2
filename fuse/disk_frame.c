/* SPDX-License-Identifier: BSD-3-Clause */
/* disk_frame.c - opens, resets and measures frames on disk */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/repair.h"
#include "dir.h"
#include "disk_frame.h"
#include "fs.h"

/* Makes the path of @name in the directory @dir; malloc'ed. */
static int join(const char *dir, const char *name, char **out)
{
	/* The path "/" ends in a slash already. */
	const char *slash = dir[strlen(dir) - 1] == '/' ? "" : "/";

	*out = b2f_io_text("%s%s%s", dir, slash, name);
	return *out ? 0 : -ENOMEM;
}

/* Makes the path of @node for messages; malloc'ed. */
static int make_label(struct fs *fs, struct fs_backed *node, char **out)
{
	const char *base = fs->source.path;
	B2F_OWN char *path = NULL;
	int err;

	if (fs->source.is_frame) {
		*out = strdup(base);
		return *out ? 0 : -ENOMEM;
	}
	err = fs_tree_path(fs->tree, node, &path);
	return err ? err : join(base, path, out);
}

int fs_disk_frame_label(struct fs *fs, struct fs_backed *dir, const char *name,
			char **out)
{
	B2F_OWN char *path = NULL;
	int err = make_label(fs, dir, &path);

	return err ? err : join(path, name, out);
}

/* Where the library finds a frame; a contiguous one by its name, too. */
struct place {
	int dirfd;
	char path[FS_DIR_PATH_SIZE];
	char name[FS_NAME_SIZE];
	struct fs_pin parent;
};

/* Finds the frame @node at the descriptor @fd.  Unpin @place->parent. */
static void find(struct fs *fs, struct fs_backed *node, int fd,
		 struct b2f_frame_options *options, struct place *place)
{
	*place = (struct place){.dirfd = fd, .path = "."};
	if (node->sparse)
		return;
	place->dirfd = AT_FDCWD;
	fs_dir_path(fd, place->path);
	options->home_name = place->name;
	if (fs->source.is_frame) {
		options->home_fd = AT_FDCWD;
		options->home_name = fs->source.path;
	} else if (fs_tree_pin_parent(fs->tree, node, &place->parent,
				      place->name) == 0) {
		options->home_fd = place->parent.fd;
	} else {
		place->name[0] = '\0';
	}
}

int fs_disk_frame_open(struct fs *fs, struct fs_backed *node, int fd,
		       struct b2f_frame **out)
{
	struct b2f_frame_options options = {
		.log = fs_logger_sink(fs->logger),
		.no_locking = fs->config.write.no_locking,
		.reserve = b2f_runtime_reserve(fs->runtime),
	};
	struct place place;
	B2F_OWN char *label = NULL;
	struct stat index;
	int err = make_label(fs, node, &label);

	if (err)
		return err;
	options.label = label;
	find(fs, node, fd, &options, &place);
	err = b2f_frame_open(&options, place.dirfd, place.path, out);
	fs_tree_unpin(&place.parent);
	/* The file has changed its kind: the next lookup finds the new one. */
	if (err == -ENOENT ||
	    (err == B2F_ENOTFRAME &&
	     fs_probe_index(fd, node->sparse, &index) == -ENOENT))
		return -ESTALE;
	return err == B2F_ENOTFRAME ? B2F_ECORRUPT : err;
}

int fs_disk_frame_reset(struct fs *fs, struct fs_backed *node)
{
	struct b2f_frame_options options = {.log = fs_logger_sink(fs->logger)};
	FS_PIN(pin);
	struct place place;
	B2F_OWN char *label = NULL;
	int err = fs_tree_pin(fs->tree, node, &pin);

	if (!err)
		err = make_label(fs, node, &label);
	if (err)
		return err;
	options.label = label;
	find(fs, node, pin.fd, &options, &place);
	err = b2f_frame_reset(&fs->config.new_files, place.dirfd, place.path,
			      &options);
	fs_tree_unpin(&place.parent);
	return err;
}

int fs_disk_frame_sizes(struct fs *fs, struct fs_backed *node,
			struct fs_probe *probe)
{
	const struct b2f_frame_stamp before = fs_probe_settled(probe);
	struct b2f_frame *frame = NULL;
	int err = fs_disk_frame_open(fs, node, probe->fd, &frame);

	probe->sizes.nbytes = probe->sizes.cbytes = 0;
	if (fs_probe_is_failure(err))
		return err;
	if (err)
		return 0;
	probe->sizes.nbytes = b2f_frame_shown_nbytes(frame);
	probe->sizes.cbytes = b2f_frame_info_get(frame)->cbytes;
	probe->sizes.read_only = b2f_frame_obstacle(frame);
	b2f_frame_close(frame);
	fs_probe_keep(fs->tree, probe, &before);
	return 0;
}
