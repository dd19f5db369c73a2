/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - a file that is written as a whole or not at all */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/attributes.h"
#include "cli/message.h"

/* Holes are made of whole pages, and only if they are worth an extent. */
#define CELL	 4096u
#define HOLE_MIN (64u << 10)

static int open_target(struct cli_output *out, bool replace)
{
	struct cli_target *t = &out->target;
	int err = cli_target_open(t, t->name, replace);

	if (err)
		return err;
	out->fd = openat(t->dirfd, t->base,
			 O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return out->fd < 0 ? cli_message_errno(out->target.name, -errno) : 0;
}

int cli_output_open(struct cli_output *out, const char *path, bool replace,
		    bool sparse)
{
	size_t len = strlen(path);
	struct stat st;
	bool exists = stat(path, &st) == 0;
	int err = 0;

	*out = (struct cli_output){.fd = -1,
				   .target = {.name = path, .dirfd = -1},
				   .sparse = sparse};
	if (exists && S_ISDIR(st.st_mode))
		return cli_message_errno(out->target.name, -EISDIR);
	if (!exists && len > 0 && path[len - 1] == '/')
		return cli_message_errno(out->target.name, -ENOENT);
	if (!exists || S_ISREG(st.st_mode)) {
		err = open_target(out, replace);
	} else {
		out->sparse = false;
		out->fd = open(path, O_WRONLY | O_CLOEXEC);
		if (out->fd < 0)
			err = cli_message_errno(out->target.name, -errno);
	}
	if (err)
		cli_output_close(out);
	return err;
}

static int write_all(int fd, const void *data, size_t size)
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

int cli_output_stream(int fd, const char *name, const void *data, size_t size)
{
	int err = write_all(fd, data, size);

	return err == -EPIPE ? err : cli_message_errno(name, err);
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

		err = write_all(out->fd, zeros, size);
		n -= size;
	}
	return err;
}

static int write_data(struct cli_output *out, const char *data, size_t size)
{
	int err = flush_zeros(out);

	if (!err)
		err = write_all(out->fd, data, size);
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

	if (stat(out->target.name, &st) != 0 || st.st_dev != like->st_dev ||
	    st.st_ino != like->st_ino)
		return 0;
	cli_message_error("%s: it is the %s itself", out->target.name, what);
	return -EINVAL;
}

int cli_output_write(struct cli_output *out, const void *data, size_t size)
{
	int err;

	if (out->sparse)
		err = write_sparse(out, data, size);
	else
		err = write_data(out, data, size);
	return cli_message_errno(out->target.name, err);
}

int cli_output_skip(struct cli_output *out, uint64_t size)
{
	out->pending += size;
	out->pos += size;
	return 0;
}

static int finish_temp(struct cli_output *out, const struct stat *like,
		       bool durable)
{
	int err;

	if (ftruncate(out->fd, (off_t)out->pos) != 0)
		return -errno;
	err = cli_attributes_set(out->target.temp, like, NULL);
	if (!err && durable && fsync(out->fd) != 0)
		err = -errno;
	return err;
}

int cli_output_finish(struct cli_output *out, const struct stat *like,
		      bool durable)
{
	int err = flush_zeros(out);

	if (!err && out->target.temp)
		err = finish_temp(out, like, durable);
	return cli_message_errno(out->target.name, err);
}

int cli_output_commit(struct cli_output *out, bool durable)
{
	/* Some filesystems report a failed write not before this. */
	int err = close(out->fd) != 0
			  ? cli_message_errno(out->target.name, -errno)
			  : 0;

	out->fd = -1;
	if (!err && out->target.temp)
		err = cli_target_commit(&out->target, durable);
	return err;
}

void cli_output_close(struct cli_output *out)
{
	if (out->fd >= 0)
		close(out->fd);
	out->fd = -1;
	cli_target_close(&out->target);
}
