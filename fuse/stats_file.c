/* SPDX-License-Identifier: BSD-3-Clause */
/* stats_file.c - the statistics in a file (statsfile=) */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs.h"
#include "b2frame/error.h"

/* Seconds between two of them. */
#define RENEW_S 10

static int open_directory(const char *path)
{
	char *copy = strdup(path);
	int fd;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(copy);
	return fd;
}

int fs_stats_file_open(struct fs *fs, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;
	char *name;
	int fd;

	if (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		return -EISDIR;
	fd = open_directory(path);
	if (fd < 0)
		return fd;
	name = strdup(last);
	if (!name) {
		close(fd);
		return -ENOMEM;
	}
	fs->stats_file = (struct fs_stats_file){.dir_fd = fd, .name = name};
	return 0;
}

/* Writes @size bytes to the new file @name.  Returns 0 or an errno. */
static int write_new(int dir_fd, const char *name, const char *text, size_t size)
{
	int fd = openat(dir_fd, name,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0644);
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = write(fd, text, size);
	err = n < 0 ? -errno : (size_t)n < size ? -ENOSPC : 0;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static int replace(const struct fs_stats_file *file, const char *text,
		   size_t size)
{
	char *temporary = NULL;
	int err;

	if (asprintf(&temporary, "%s.new", file->name) < 0)
		return -ENOMEM;
	err = write_new(file->dir_fd, temporary, text, size);
	if (!err &&
	    renameat(file->dir_fd, temporary, file->dir_fd, file->name))
		err = -errno;
	free(temporary);
	return err;
}

/* The collector takes what is called FILE.prom. */
static bool is_prometheus(const struct fs_stats_file *file)
{
	size_t n = strlen(file->name);

	return n > 5 && strcmp(file->name + n - 5, ".prom") == 0;
}

static void write_file(struct fs *fs)
{
	struct fs_stats_file *file = &fs->stats_file;
	enum fs_stats_form form = is_prometheus(file) ? FS_STATS_PROMETHEUS
						      : FS_STATS_JSON;
	char *text = NULL;
	int n, err;

	file->nuses = fs_stats_uses(&fs->stats);
	file->age = 0;
	n = fs_stats_text(fs, form, &text);
	if (n < 0)
		return;
	/* For programs that read lines. */
	if (form == FS_STATS_JSON)
		text[n++] = '\n';
	err = replace(file, text, (size_t)n);
	free(text);
	if (err && !file->failed)
		fs_logger_write(fs->logger, B2F_LOG_WARNING, "%s: %s",
				fs->options.statsfile, b2f_strerror(err));
	file->failed = err != 0;
}

bool fs_stats_file_tick(struct fs *fs)
{
	struct fs_stats_file *file = &fs->stats_file;

	if (!file->name)
		return false;
	/* The first tick tells that it works. */
	if (file->nuses == 0 || (++file->age >= RENEW_S &&
				 fs_stats_uses(&fs->stats) != file->nuses))
		write_file(fs);
	return true;
}

void fs_stats_file_end(struct fs *fs)
{
	if (fs->stats_file.name)
		write_file(fs);
}

void fs_stats_file_close(struct fs *fs)
{
	struct fs_stats_file *file = &fs->stats_file;

	if (!file->name)
		return;
	close(file->dir_fd);
	free(file->name);
	file->name = NULL;
}
