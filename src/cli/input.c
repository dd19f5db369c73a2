/* SPDX-License-Identifier: BSD-3-Clause */
/* input.c - plain data that are to be written to a frame */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/need.h"
#include "programs/io.h"

/* Bytes that are read and written at once. */
#define STEP (UINT64_C(1) << 20)

static uint64_t bytes_from(const struct stat *st, uint64_t base)
{
	return st->st_size > (off_t)base ? (uint64_t)st->st_size - base : 0;
}

static void measure(struct cli_input *in)
{
	off_t pos = lseek(in->fd, 0, SEEK_CUR);

	in->is_file = S_ISREG(in->st.st_mode) && pos >= 0;
	if (!in->is_file)
		return;
	in->base = (uint64_t)pos;
	in->size = bytes_from(&in->st, in->base);
}

int cli_input_open(struct cli_input *in, const struct cli_at *at)
{
	bool is_stdin = at->kind == CLI_KIND_STDIN;
	int err;

	*in = (struct cli_input){.fd = STDIN_FILENO,
				 .name = is_stdin ? "standard input"
						  : at->path};
	if (at->kind == CLI_KIND_URL)
		in->fd = -EOPNOTSUPP;
	else if (!is_stdin)
		in->fd = cli_at_open(at, O_RDONLY);
	err = in->fd < 0 ? in->fd : 0;
	if (!err && fstat(in->fd, &in->st) != 0)
		err = -errno;
	if (!err && S_ISDIR(in->st.st_mode))
		err = -EISDIR;
	/* It was a regular file when it was found, and has been replaced. */
	if (!err && !cli_at_is_named(at) && !S_ISREG(in->st.st_mode))
		err = -ESTALE;
	if (err) {
		cli_input_close(in);
		return cli_message_errno(in->name, err);
	}
	measure(in);
	if (in->is_file)
		posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

void cli_input_close(struct cli_input *in)
{
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	in->fd = -1;
	free(in->ahead);
	in->ahead = NULL;
}

static int is_written_to(const struct cli_input *in)
{
	return cli_refuse(-EBUSY,
			  "%s: not removed: another program writes to it",
			  in->name);
}

int cli_input_claim(struct cli_input *in)
{
	/* A lease: SIGIO tells that a program wants to write, and waits. */
	signal(SIGIO, SIG_IGN);
	in->is_claimed = fcntl(in->fd, F_SETLEASE, F_RDLCK) == 0;
	return !in->is_claimed && errno == EAGAIN ? is_written_to(in) : 0;
}

int cli_input_check_unchanged(const struct cli_input *in)
{
	struct b2f_frame_stamp then = b2f_frame_stamp_of(&in->st), now;
	struct stat st;

	if (in->is_claimed && fcntl(in->fd, F_GETLEASE) != F_RDLCK)
		return is_written_to(in);
	if (fstat(in->fd, &st) != 0)
		return cli_message_errno(in->name, -errno);
	now = b2f_frame_stamp_of(&st);
	if (b2f_frame_stamp_equal(&then, &now))
		return 0;
	return cli_refuse(-EBUSY, "%s: not removed: it was changed meanwhile",
			  in->name);
}

ssize_t cli_input_read(const struct cli_input *in, void *buf, size_t size,
		       uint64_t off)
{
	size_t done = 0;
	ssize_t n;

	if (off < in->nahead) {
		done = in->nahead - (size_t)off;
		done = done < size ? done : size;
		memcpy(buf, in->ahead + off, done);
	}
	n = b2f_io_read(in->fd, (char *)buf + done, size - done,
			in->is_file ? (int64_t)(in->base + off + done)
				    : B2F_IO_NEXT);
	return n < 0 ? cli_message_errno(in->name, (int)n) : (ssize_t)done + n;
}

uint64_t cli_input_find(const struct cli_input *in, uint64_t off)
{
	off_t base = (off_t)in->base, at;
	struct stat st;

	if (!in->is_file)
		return off;
	at = lseek(in->fd, base + (off_t)off, SEEK_DATA);
	if (at >= 0)
		return (uint64_t)(at - base);
	if (errno != ENXIO || fstat(in->fd, &st) != 0)
		return off;
	return bytes_from(&st, in->base);
}

int cli_input_sample(struct cli_input *in, uint8_t **out, size_t *size)
{
	uint8_t *buf = cli_need(malloc(STEP));
	off_t first = 0;
	ssize_t n;

	*out = buf;
	*size = in->nahead;
	if (in->ahead) {
		memcpy(buf, in->ahead, in->nahead);
		return 0;
	}
	/* A sample from a hole at the start would be useless. */
	if (in->is_file)
		first = lseek(in->fd, (off_t)in->base, SEEK_DATA) -
			(off_t)in->base;
	n = cli_input_read(in, buf, STEP, first > 0 ? (uint64_t)first : 0);
	if (n < 0)
		return (int)n;
	*size = (size_t)n;
	if (in->is_file)
		return 0;
	in->ahead = cli_need(malloc(STEP));
	in->nahead = *size;
	memcpy(in->ahead, buf, *size);
	return 0;
}

/* A copy to a frame. */
struct copy {
	const struct cli_input *in;
	struct b2f_file *file;
	const char *target;
	/* The offset of byte 0 of the input. */
	uint64_t off;
	struct cli_progress *progress;
	uint8_t *buf;
};

static int write_some(const struct copy *c, size_t size, uint64_t off)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = b2f_file_pwrite(c->file, c->buf + done, size - done,
					    c->off + off + done);

		if (n < 0)
			return cli_message_explain(c->target, (int)n);
		done += (size_t)n;
	}
	return 0;
}

/*
 * Copies the data before @limit, to *@end; for each hole, begins behind it.
 * Stops where the input ends, or has become shorter.
 */
static int copy_data(const struct copy *c, uint64_t limit, uint64_t *end)
{
	uint64_t off, want;
	ssize_t n;
	int err = 0;

	while (!err && (off = cli_input_find(c->in, *end)) >= *end &&
	       off < limit) {
		/* Steps end at likely ends of chunks. */
		want = STEP - (c->off + off) % STEP;
		want = want < limit - off ? want : limit - off;
		n = cli_input_read(c->in, c->buf, (size_t)want, off);
		if (n < 0)
			return (int)n;
		err = write_some(c, (size_t)n, off);
		*end = off + (uint64_t)n;
		if (!err && c->progress)
			cli_progress_update(c->progress, *end, c->in->size);
		if ((uint64_t)n < want)
			break;
	}
	return err;
}

/* Lowers *@size to the size that the file has now. */
static int measure_now(const struct cli_input *in, uint64_t *size)
{
	struct stat st;

	if (fstat(in->fd, &st) != 0)
		return cli_message_errno(in->name, -errno);
	if (*size > bytes_from(&st, in->base))
		*size = bytes_from(&st, in->base);
	return 0;
}

int cli_input_copy(const struct cli_input *in, struct b2f_file *file,
		   const char *target, uint64_t off,
		   struct cli_progress *progress, uint64_t *nbytes)
{
	struct copy c = {.in = in,
			 .file = file,
			 .target = target,
			 .off = off,
			 .progress = progress,
			 .buf = cli_need(malloc(STEP))};
	/*
	 * Take the size first: the file may grow faster than it is read.  Files
	 * of /proc have size 0.
	 */
	uint64_t size = in->is_file ? UINT64_MAX : 0;
	int err = measure_now(in, &size);

	*nbytes = 0;
	if (!err)
		err = copy_data(&c, size ? size : UINT64_MAX, nbytes);
	if (!err)
		err = measure_now(in, &size);
	/* The input ends in a hole; or it says more bytes than it has. */
	if (!err && size > *nbytes && cli_input_find(in, *nbytes) >= size) {
		*nbytes = size;
		err = cli_message_explain(target,
					  b2f_file_truncate(file, off + size));
	}
	free(c.buf);
	return err;
}
