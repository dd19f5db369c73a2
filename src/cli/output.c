/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - a file that is written completely or not at all */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/attributes.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "programs/io.h"

/* Zeros become holes in multiples of this; smaller holes do not pay. */
#define CELL (64u << 10)

struct cli_output cli_output_standard(void)
{
	return (struct cli_output){
		.fd = STDOUT_FILENO,
		.target = {.at = {"standard output", .dir = -1}, .to.dir = -1},
		.from = -1};
}

static int open_target(struct cli_output *out, const struct cli_at *at,
		       bool replace)
{
	struct cli_target *t = &out->target;
	int err = cli_target_open(t, at, cli_replace_if(replace));

	if (err)
		return err;
	out->fd = openat(t->at.dir, t->at.name,
			 O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return out->fd < 0 ? cli_message_errno(out->target.at.path, -errno) : 0;
}

/* Opens a device or pipe that the user has named. */
static int open_as_it_is(struct cli_output *out, const struct cli_at *at)
{
	out->fd = cli_at_open(at, O_WRONLY);
	return out->fd < 0 ? cli_message_errno(at->path, out->fd) : 0;
}

static bool is_special(const struct cli_at *at, const struct stat *st)
{
	return cli_at_is_named(at) && !S_ISREG(st->st_mode) &&
	       !S_ISLNK(st->st_mode);
}

static int check_distinct(const struct cli_output *out, const char *what)
{
	struct stat st;

	if (!out->target.temp || cli_at_stat(&out->target.to, &st) != 0 ||
	    !cli_at_is_same(&st, &out->like))
		return 0;
	return cli_refuse(-EINVAL, "%s: it is the %s itself",
			  out->target.at.path, what);
}

int cli_output_open(struct cli_output *out, const struct cli_at *at,
		    bool replace, const struct cli_at *source,
		    const struct b2f_frame *frame, const char *what)
{
	size_t len = strlen(at->path);
	struct stat st;
	bool exists;
	int err;

	*out = (struct cli_output){
		.fd = -1,
		.target = {.at = {at->path, .dir = -1}, .to.dir = -1},
		.from = -1};
	err = cli_frames_source(source, frame, &out->like, &out->from);
	if (err)
		return err;
	exists = cli_at_stat(at, &st) == 0;
	if (cli_kind_check_output(at->path))
		return -EROFS;
	if (exists && S_ISDIR(st.st_mode))
		return cli_message_errno(at->path, -EISDIR);
	if (!exists && len > 0 && at->path[len - 1] == '/')
		return cli_message_errno(at->path, -ENOENT);
	err = exists && is_special(at, &st) ? open_as_it_is(out, at)
					    : open_target(out, at, replace);
	return err ? err : check_distinct(out, what);
}

static int write_all(struct cli_output *out, const char *data, size_t size)
{
	int err = b2f_io_write(out->fd, data, size,
			       out->sparse ? (int64_t)out->pos : B2F_IO_NEXT);

	out->pos += size;
	return err;
}

/* Bytes up to the next multiple of CELL behind @pos. */
static size_t cell_size(uint64_t pos, size_t size)
{
	size_t n = CELL - (size_t)(pos % CELL);

	return n < size ? n : size;
}

static bool is_zeros(const char *data, size_t size)
{
	return data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
}

/* Length of the data at @data, up to the first cell of zeros. */
static size_t data_size(uint64_t pos, const char *data, size_t size)
{
	size_t done = 0, n;

	for (; done < size; done += n) {
		n = cell_size(pos + done, size - done);
		if (is_zeros(data + done, n))
			break;
	}
	return done;
}

static int write_sparse(struct cli_output *out, const char *data, size_t size)
{
	int err = 0;

	for (size_t n; size > 0 && !err; data += n, size -= n) {
		n = data_size(out->pos, data, size);
		err = write_all(out, data, n);
		if (n == 0) {
			n = cell_size(out->pos, size);
			out->pos += n;
		}
	}
	return err;
}

int cli_output_write(struct cli_output *out, const void *data, size_t size)
{
	int err = out->sparse ? write_sparse(out, data, size)
			      : write_all(out, data, size);

	if (err == -EPIPE && out->fd == STDOUT_FILENO)
		return err;
	return cli_message_errno(out->target.at.path, err);
}

static int finish_temp(struct cli_output *out, bool durable)
{
	int err;

	if (ftruncate(out->fd, (off_t)out->pos) != 0)
		return -errno;
	err = cli_attributes_set_file(out->fd, &out->like, out->from);
	if (!err && durable && fsync(out->fd) != 0)
		err = -errno;
	return err;
}

int cli_output_finish(struct cli_output *out, bool durable)
{
	bool syncs = durable || out->target.replaces;
	int err = out->target.temp ? finish_temp(out, syncs) : 0;

	return cli_message_errno(out->target.at.path, err);
}

int cli_output_commit(struct cli_output *out, bool durable)
{
	/* Some filesystems report a failed write only here. */
	int err = close(out->fd) != 0
			  ? cli_message_errno(out->target.at.path, -errno)
			  : 0;

	out->fd = -1;
	if (!err && out->target.temp)
		err = cli_target_commit(&out->target,
					durable || out->target.replaces);
	return err;
}

void cli_output_close(struct cli_output *out)
{
	cli_at_close(out->fd);
	cli_at_close(out->from);
	out->fd = out->from = -1;
	cli_target_close(&out->target);
}
