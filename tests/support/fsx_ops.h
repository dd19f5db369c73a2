/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fsx_ops.h - the operations of fsx.c: each on the file and on the model
 *
 * An operation works on the existing bytes: a read behind the end, for example,
 * has to return nothing.
 */
#ifndef B2F_TESTS_FSX_OPS_H
#define B2F_TESTS_FSX_OPS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/fsx_model.h"

#define PAGE 4096u

static void open_file(struct fsx *x, int flags)
{
	x->fd = open(x->path, O_RDWR | O_CLOEXEC | flags, 0644);
	if (x->fd >= 0)
		x->end_fd = open(x->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (x->fd < 0 || x->end_fd < 0)
		fail(x, "open: %s", strerror(errno));
}

static void close_file(struct fsx *x)
{
	if (close(x->fd) || close(x->end_fd))
		fail(x, "close: %s", strerror(errno));
}

static void check_size(const struct fsx *x)
{
	struct stat st;

	if (fstat(x->fd, &st))
		fail(x, "fstat: %s", strerror(errno));
	if ((uint64_t)st.st_size != x->size)
		fail(x, "the size is %lld", (long long)st.st_size);
}

static void grow_to(struct fsx *x, uint64_t size)
{
	if (size > x->size)
		x->size = size;
}

static void write_at(struct fsx *x, int fd, uint64_t off, uint64_t len)
{
	const uint8_t *src = x->model + off;
	uint64_t done = 0;
	ssize_t n;

	grow_to(x, off + len);
	while (done < len) {
		n = pwrite(fd, src + done, len - done, (off_t)(off + done));
		if (n <= 0)
			fail(x, "write: %s", strerror(errno));
		done += (uint64_t)n;
	}
	check_size(x);
}

static void do_write(struct fsx *x, const struct op *op)
{
	fill(x->model + op->off, op->len, op->seed);
	write_at(x, x->fd, op->off, op->len);
}

/* Linux appends whatever the offset is. */
static void do_append(struct fsx *x, const struct op *op)
{
	fill(x->model + x->size, op->len, op->seed);
	write_at(x, x->end_fd, x->size, op->len);
}

/* Also reads behind the end, which must return nothing. */
static void read_range(struct fsx *x, uint64_t off, uint64_t len)
{
	uint64_t want = off >= x->size ? 0 : x->size - off, done = 0;
	ssize_t n;

	if (want > len)
		want = len;
	do {
		n = pread(x->fd, x->buf + done, len - done,
			  (off_t)(off + done));
		if (n < 0)
			fail(x, "read: %s", strerror(errno));
		done += (uint64_t)n;
	} while (n > 0 && done < len);
	if (done != want)
		fail(x, "read %llu bytes at %llu, not %llu",
		     (unsigned long long)done, (unsigned long long)off,
		     (unsigned long long)want);
	compare(x, x->buf, off, want, "read");
}

static void do_read(struct fsx *x, const struct op *op)
{
	read_range(x, op->off, op->len);
}

static void check_whole(struct fsx *x)
{
	check_size(x);
	read_range(x, 0, x->max);
}

/* Maps the page of @off and what follows up to the end of the range. */
static uint8_t *map(struct fsx *x, uint64_t off, uint64_t len, int prot)
{
	uint64_t start = off - off % PAGE;
	uint8_t *p = mmap(NULL, off - start + len, prot, MAP_SHARED, x->fd,
			  (off_t)start);

	if (p == MAP_FAILED)
		fail(x, "mmap: %s", strerror(errno));
	return p;
}

static uint64_t clamp(const struct fsx *x, const struct op *op)
{
	if (op->off >= x->size)
		return 0;
	return op->len < x->size - op->off ? op->len : x->size - op->off;
}

static void do_mapread(struct fsx *x, const struct op *op)
{
	uint64_t len = clamp(x, op), end = op->off + len;
	uint8_t *p;

	if (len == 0)
		return;
	p = map(x, op->off, len, PROT_READ);
	compare(x, p + op->off % PAGE, op->off, len, "mapped");
	/* The rest of the last page is zeros. */
	for (uint64_t i = end; end == x->size && i % PAGE; i++)
		if (p[op->off % PAGE + i - op->off])
			fail(x, "the map has data behind the end, at %llu",
			     (unsigned long long)i);
	munmap(p, op->off % PAGE + len);
}

static void do_mapwrite(struct fsx *x, const struct op *op)
{
	uint64_t len = clamp(x, op);
	uint8_t *p;

	if (len == 0)
		return;
	p = map(x, op->off, len, PROT_READ | PROT_WRITE);
	fill(x->model + op->off, len, op->seed);
	memcpy(p + op->off % PAGE, x->model + op->off, len);
	if (op->seed % 64 == 0 && msync(p, op->off % PAGE + len, MS_SYNC))
		fail(x, "msync: %s", strerror(errno));
	munmap(p, op->off % PAGE + len);
}

static void do_truncate(struct fsx *x, const struct op *op)
{
	if (ftruncate(x->fd, (off_t)op->off))
		fail(x, "ftruncate: %s", strerror(errno));
	if (op->off < x->size)
		memset(x->model + op->off, 0, x->size - op->off);
	x->size = op->off;
	check_size(x);
}

static void zero(struct fsx *x, const struct op *op, int mode)
{
	if (fallocate(x->fd, mode, (off_t)op->off, (off_t)op->len))
		fail(x, "fallocate(%d): %s", mode, strerror(errno));
	memset(x->model + op->off, 0, op->len);
	check_size(x);
}

static void do_punch(struct fsx *x, const struct op *op)
{
	zero(x, op, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
}

static void do_zero(struct fsx *x, const struct op *op)
{
	if (op->seed % 2) {
		zero(x, op, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE);
	} else {
		grow_to(x, op->off + op->len);
		zero(x, op, FALLOC_FL_ZERO_RANGE);
	}
}

/* A range that lseek(2) reports as a hole must be zeros. */
static void do_seek(struct fsx *x, const struct op *op)
{
	off_t hole = 0, data;

	if (op->off >= x->size)
		return;
	hole = lseek(x->fd, (off_t)op->off, SEEK_HOLE);
	if (hole < (off_t)op->off || (uint64_t)hole > x->size)
		fail(x, "SEEK_HOLE from %llu gives %lld",
		     (unsigned long long)op->off, (long long)hole);
	data = lseek(x->fd, hole, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		data = (off_t)x->size;
	if (data < hole || (uint64_t)data > x->size)
		fail(x, "SEEK_DATA from %lld gives %lld", (long long)hole,
		     (long long)data);
	memset(x->buf, 0, (size_t)(data - hole));
	compare(x, x->buf, (uint64_t)hole, (uint64_t)(data - hole), "hole");
}

static void do_fsync(struct fsx *x, const struct op *op)
{
	if (op->seed % 2 ? fdatasync(x->fd) : fsync(x->fd))
		fail(x, "fsync: %s", strerror(errno));
}

static void do_reopen(struct fsx *x, const struct op *op)
{
	close_file(x);
	if (op->kind == REMOUNT && x->remount && system(x->remount))
		fail(x, "failed: %s", x->remount);
	open_file(x, 0);
	check_whole(x);
}

typedef void run_fn(struct fsx *x, const struct op *op);

static run_fn *const runs[KINDS] = {
	do_write, do_append, do_read, do_mapread, do_mapwrite, do_truncate,
	do_punch, do_zero,   do_seek, do_fsync,	  do_reopen,   do_reopen};

#endif
