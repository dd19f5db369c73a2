/* SPDX-License-Identifier: BSD-3-Clause */
/* source.c - checks SOURCE and MOUNTPOINT before the mount */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "b2frame/frame.h"
#include "b2frame/error.h"
#include "b2frame/pack.h"
#include "b2frame/remote.h"
#include "dir.h"
#include "source.h"
#include "suffix.h"

/* Older headers lack it. */
#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xfe534d42
#endif

static int give_reason(char reason[FS_REASON_SIZE], const char *path, int err)
{
	snprintf(reason, FS_REASON_SIZE, "%s: %s", path, b2f_strerror(err));
	return err;
}

static void keep_message(void *arg, enum b2f_log_level level,
			 const char *message)
{
	(void)level;
	snprintf(arg, FS_REASON_SIZE, "%s", message);
}

struct b2f_log fs_source_log(char reason[FS_REASON_SIZE])
{
	return (struct b2f_log){.write = keep_message,
				.arg = reason,
				.max_level = B2F_LOG_ERROR};
}

static int try_inside(const struct b2f_pack *pack, const char *inside,
		      const char *path, char reason[FS_REASON_SIZE])
{
	size_t entry;
	int err = b2f_pack_find(pack, inside, &entry);

	if (err)
		return give_reason(reason, path, err);
	if (b2f_pack_entry(pack, entry)->kind == B2F_PACK_DIR)
		return 0;
	snprintf(reason, FS_REASON_SIZE,
		 "%s: a file in a store is mounted with its directory", path);
	return -ENOTDIR;
}

/*
 * Opens the frame, or the pack and the directory in it that is asked for, and
 * closes it again, to find out why that fails.
 */
static int try(const struct fs_source *source, const char *path,
	       char reason[FS_REASON_SIZE])
{
	struct b2f_log log = fs_source_log(reason);
	struct b2f_frame_options options = {.log = &log, .label = path};
	struct b2f_frame *frame = NULL;
	struct b2f_pack *pack = NULL;
	int err;

	give_reason(reason, path, B2F_ECORRUPT);
	if (source->is_pack)
		err = b2f_pack_open(&options, source->fd, source->name, &pack);
	else
		err = b2f_frame_open(&options, source->fd, source->name,
				     &frame);
	if (!err && pack)
		err = try_inside(pack, source->inside, path, reason);
	b2f_pack_close(pack);
	b2f_frame_close(frame);
	return err;
}

/* Copies the user's name of the frame, if @path ends in a name. */
static int make_shown(const char *path, const char *name, char **out)
{
	char *copy = strdup(path), stem[FS_NAME_SIZE];
	const char *last;

	if (!copy)
		return -ENOMEM;
	last = basename(copy);
	if (strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		last = name;
	if (fs_suffix_stem(last, stem))
		last = stem;
	*out = strdup(last);
	free(copy);
	return *out ? 0 : -ENOMEM;
}

/* Splits the absolute path of a frame into directory and name, and opens it. */
static int open_frame(struct fs_source *source, const char *path,
		      char reason[FS_REASON_SIZE])
{
	char *dir = strdup(source->path);
	int err = 0;

	source->name = strdup(strrchr(source->path, '/') + 1);
	if (!dir || !source->name)
		err = -ENOMEM;
	if (!err) {
		source->fd =
			open(dirname(dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = source->fd < 0 ? -errno : 0;
	}
	free(dir);
	if (!err)
		err = make_shown(path, source->name, &source->shown);
	if (!err)
		err = b2f_pack_look(source->fd, source->name,
				    &source->is_pack);
	if (!err && *source->inside && !source->is_pack)
		err = -ENOTDIR;
	if (err)
		return give_reason(reason, path, err);
	return try(source, path, reason);
}

static int open_directory(struct fs_source *source, const char *path,
			  char reason[FS_REASON_SIZE])
{
	int fd = open(source->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return give_reason(reason, path, -errno);
	source->fd = fd;
	return 0;
}

static int has_index(const char *path, bool *out)
{
	struct b2f_frame_peek peek;
	int err = b2f_frame_peek(AT_FDCWD, path, NULL, &peek);

	if (!err)
		*out = peek.is_frame;
	return err;
}

/* No directory is needed; the working directory stands for it. */
static int open_url(struct fs_source *source, const char *url,
		    char reason[FS_REASON_SIZE])
{
	source->is_url = true;
	/* The query may be a signature, which must not be shown. */
	source->path = b2f_remote_is_s3(url) ? strdup(url)
					     : strndup(url, strcspn(url, "?#"));
	if (!source->path)
		return give_reason(reason, "SOURCE", -ENOMEM);
	source->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return source->fd < 0 ? give_reason(reason, source->path, -errno) : 0;
}

/*
 * realpath(3) of @path.  If only the beginning of @path exists, and is a file
 * (perhaps a pack), *@inside gets the rest, else "".  Both are malloc'ed.
 */
static int find_path(const char *path, char **out, char **inside)
{
	char *front = strdup(path), *slash;
	int err = front ? -ENOTDIR : -ENOMEM;

	while (err == -ENOTDIR) {
		*out = realpath(front, NULL);
		err = *out ? 0 : -errno;
		slash = strrchr(front, '/');
		if (err != -ENOTDIR || !slash || slash == front)
			break;
		*slash = '\0';
	}
	if (!err)
		*inside = strdup(path + strlen(front));
	if (!err && !*inside)
		err = -ENOMEM;
	free(front);
	return err;
}

int fs_source_open(const char *path, struct fs_source *out,
		   char reason[FS_REASON_SIZE])
{
	struct stat st;
	int err = 0;

	*out = (struct fs_source){.fd = -1};
	if (b2f_remote_is_url(path))
		return open_url(out, path, reason);
	err = find_path(path, &out->path, &out->inside);
	if (!err && stat(out->path, &st))
		err = -errno;
	if (err)
		return give_reason(reason, path, err);
	out->sparse = S_ISDIR(st.st_mode);
	out->is_frame = S_ISREG(st.st_mode);
	if (out->sparse)
		err = has_index(out->path, &out->is_frame);
	if (err)
		return give_reason(reason, path, err);
	/* "/" is not a name to show. */
	if (out->is_frame && strcmp(out->path, "/") != 0)
		return open_frame(out, path, reason);
	if (out->sparse) {
		out->is_frame = false;
		return open_directory(out, path, reason);
	}
	snprintf(reason, FS_REASON_SIZE,
		 "%s: neither a Blosc2 frame nor a directory", path);
	return B2F_ENOTFRAME;
}

int fs_source_check_write(const struct fs_source *source)
{
	const char *name = source->is_frame ? source->name : ".";
	int mode = source->sparse ? W_OK | X_OK : W_OK;

	return faccessat(source->fd, name, mode, AT_EACCESS) ? -errno : 0;
}

/*
 * Filesystems on which a commit may not be one step, or may be lost after it
 * was acknowledged.
 */
static const struct {
	/* f_type of statfs(2). */
	uint32_t type;
	const char *name;
} weak[] = {
	{MSDOS_SUPER_MAGIC, "FAT"},
	{EXFAT_SUPER_MAGIC, "exFAT"},
	{FUSE_SUPER_MAGIC, "a FUSE filesystem"},
	{SMB_SUPER_MAGIC, "SMB"},
	{CIFS_SUPER_MAGIC, "SMB"},
	{SMB2_SUPER_MAGIC, "SMB"},
};

const char *fs_source_weakness(const struct fs_source *source)
{
	struct statfs st;

	if (fstatfs(source->fd, &st))
		return NULL;
	for (size_t i = 0; i < sizeof(weak) / sizeof(weak[0]); i++)
		if ((uint32_t)st.f_type == weak[i].type)
			return weak[i].name;
	return NULL;
}

void fs_source_fini(struct fs_source *source)
{
	fs_dir_close(source->fd);
	free(source->path);
	free(source->name);
	free(source->shown);
	free(source->inside);
	*source = (struct fs_source){.fd = -1};
}

int fs_source_mountpoint(const char *path, struct fs_mountpoint *out,
			 char reason[FS_REASON_SIZE])
{
	struct stat st;
	int err;

	*out = (struct fs_mountpoint){.fd = -1};
	out->path = realpath(path, NULL);
	if (out->path)
		out->fd = open(out->path, O_PATH | O_CLOEXEC);
	if (out->fd < 0 || fstat(out->fd, &st)) {
		err = give_reason(reason, path, -errno);
		if (err == -ENOTCONN)
			snprintf(reason, FS_REASON_SIZE,
				 "%s: a mount whose program has died is here; "
				 "unmount it first: fusermount3 -u %s",
				 path, path);
		return err;
	}
	out->is_file = S_ISREG(st.st_mode);
	if (!out->is_file && !S_ISDIR(st.st_mode)) {
		snprintf(reason, FS_REASON_SIZE,
			 "%s: neither a directory nor a file", path);
		return -ENOTDIR;
	}
	return 0;
}

void fs_source_mountpoint_fini(struct fs_mountpoint *mountpoint)
{
	fs_dir_close(mountpoint->fd);
	free(mountpoint->path);
	*mountpoint = (struct fs_mountpoint){.fd = -1};
}
