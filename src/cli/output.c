/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - a file that is written as a whole or not at all */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doomed.h"
#include "cli/message.h"
#include "cli/rename.h"

/* Holes are made of whole pages, and only if they are worth an extent. */
#define CELL	 4096u
#define HOLE_MIN (64u << 10)

static int complain(const struct cli_output *out, int err)
{
	cli_message_error("%s: %s", out->path, strerror(-err));
	return err;
}

/* ".../.bloscctl-XXXXXX" in the folder of @path; NULL: no memory. */
static char *temp_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash - path) + 1 : 0;
	char *name;

	if (asprintf(&name, "%.*s.bloscctl-XXXXXX", dir_len, path) < 0)
		return NULL;
	return name;
}

static int open_temp(struct cli_output *out)
{
	sigset_t old;
	int err = 0;

	out->temp = temp_name(out->path);
	if (!out->temp)
		return complain(out, -ENOMEM);
	cli_doomed_block(&old);
	out->fd = mkostemp(out->temp, O_CLOEXEC);
	if (out->fd < 0)
		err = -errno;
	else
		cli_doomed_add(out->temp);
	cli_doomed_restore(&old);
	if (err) {
		free(out->temp);
		out->temp = NULL;
		return complain(out, err);
	}
	return 0;
}

static int open_direct(struct cli_output *out)
{
	out->fd = open(out->path, O_WRONLY | O_CLOEXEC);
	out->sparse = false;
	return out->fd < 0 ? complain(out, -errno) : 0;
}

/* What is there already decides how to write. */
static int open_existing(struct cli_output *out, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return complain(out, -EISDIR);
	if (!S_ISREG(st->st_mode))
		return open_direct(out);
	if (!out->replace) {
		cli_message_error("%s: it exists already; -f overwrites it",
				  out->path);
		return -EEXIST;
	}
	return open_temp(out);
}

int cli_output_open(struct cli_output *out, const char *path, bool replace,
		    bool sparse)
{
	struct stat st;
	bool exists = lstat(path, &st) == 0;
	int err;

	*out = (struct cli_output){
		.fd = -1, .replace = replace, .sparse = sparse};
	/* A link stays a link: what it points to is replaced. */
	out->path = exists ? realpath(path, NULL) : strdup(path);
	if (!out->path) {
		err = -errno;
		cli_message_error("%s: %s", path, strerror(errno));
		return err;
	}
	if (!exists)
		err = open_temp(out);
	else if (stat(out->path, &st) != 0)
		err = complain(out, -errno);
	else
		err = open_existing(out, &st);
	if (err)
		cli_output_close(out);
	return err;
}

int cli_output_write_all(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size > 0) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Writes the zeros before pos, or jumps over them if they are many. */
static int flush_zeros(struct cli_output *out)
{
	static const char zeros[HOLE_MIN];
	uint64_t n = out->pending;
	int err = 0;

	out->pending = 0;
	if (out->sparse && n >= HOLE_MIN)
		return lseek(out->fd, (off_t)out->pos, SEEK_SET) < 0 ? -errno
								     : 0;
	while (n > 0 && !err) {
		size_t size = n < sizeof(zeros) ? (size_t)n : sizeof(zeros);

		err = cli_output_write_all(out->fd, zeros, size);
		n -= size;
	}
	return err;
}

static int write_data(struct cli_output *out, const char *data, size_t size)
{
	int err = flush_zeros(out);

	if (!err)
		err = cli_output_write_all(out->fd, data, size);
	if (!err)
		out->pos += size;
	return err;
}

static bool is_zeros(const char *data, size_t size)
{
	return data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
}

/* Bytes of @data, up to the next border of a cell, at position @pos. */
static size_t cell_size(uint64_t pos, size_t size)
{
	size_t n = CELL - (size_t)(pos % CELL);

	return n < size ? n : size;
}

/* Length of the data at the start of @data: up to the first cell of zeros. */
static size_t data_size(uint64_t pos, const char *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t n = cell_size(pos + done, size - done);

		if (is_zeros(data + done, n))
			break;
		done += n;
	}
	return done;
}

static int write_sparse(struct cli_output *out, const char *data, size_t size)
{
	int err = 0;

	while (size > 0 && !err) {
		size_t n = data_size(out->pos, data, size);

		if (n > 0) {
			err = write_data(out, data, n);
		} else {
			n = cell_size(out->pos, size);
			out->pos += n;
			out->pending += n;
		}
		data += n;
		size -= n;
	}
	return err;
}

int cli_output_check_distinct(const struct cli_output *out,
			      const struct stat *like, const char *what)
{
	struct stat st;

	if (stat(out->path, &st) != 0 || st.st_dev != like->st_dev ||
	    st.st_ino != like->st_ino)
		return 0;
	cli_message_error("%s: it is the %s itself", out->path, what);
	return -EINVAL;
}

int cli_output_write(struct cli_output *out, const void *data, size_t size)
{
	int err;

	if (out->sparse)
		err = write_sparse(out, data, size);
	else
		err = write_data(out, data, size);
	return err ? complain(out, err) : 0;
}

int cli_output_skip(struct cli_output *out, uint64_t size)
{
	out->pending += size;
	out->pos += size;
	return 0;
}

static int copy_attributes(const struct cli_output *out,
			   const struct stat *like)
{
	const struct timespec times[2] = {like->st_atim, like->st_mtim};

	/* Only root may give files away; nobody else misses it. */
	if (fchown(out->fd, like->st_uid, like->st_gid) != 0)
		errno = 0;
	if (fchmod(out->fd, like->st_mode & 0777) != 0)
		return -errno;
	return futimens(out->fd, times) != 0 ? -errno : 0;
}

static int finish_temp(struct cli_output *out, const struct stat *like,
		       bool durable)
{
	int err;

	if (ftruncate(out->fd, (off_t)out->pos) != 0)
		return -errno;
	err = copy_attributes(out, like);
	if (!err && durable && fsync(out->fd) != 0)
		err = -errno;
	return err;
}

int cli_output_finish(struct cli_output *out, const struct stat *like,
		      bool durable)
{
	int err = flush_zeros(out);

	if (!err && out->temp)
		err = finish_temp(out, like, durable);
	return err ? complain(out, err) : 0;
}

static int rename_temp(struct cli_output *out)
{
	sigset_t old;
	int err = 0;

	cli_doomed_block(&old);
	if (!out->replace)
		err = cli_rename_new(out->temp, out->path);
	else if (rename(out->temp, out->path) != 0)
		err = -errno;
	if (!err) {
		cli_doomed_drop(out->temp);
		free(out->temp);
		out->temp = NULL;
	}
	cli_doomed_restore(&old);
	return err;
}

int cli_output_commit(struct cli_output *out, bool durable)
{
	bool named = out->temp != NULL;
	int err = 0;

	/* Some filesystems report a failed write not before this. */
	if (close(out->fd) != 0)
		err = -errno;
	out->fd = -1;
	if (!err && named)
		err = rename_temp(out);
	if (!err && named && durable)
		err = cli_rename_sync(out->path);
	return err ? complain(out, err) : 0;
}

void cli_output_close(struct cli_output *out)
{
	sigset_t old;

	if (out->fd >= 0)
		close(out->fd);
	if (out->temp) {
		cli_doomed_block(&old);
		unlink(out->temp);
		cli_doomed_drop(out->temp);
		cli_doomed_restore(&old);
	}
	free(out->temp);
	free(out->path);
	*out = (struct cli_output){.fd = -1};
}
