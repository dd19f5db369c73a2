/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer_bytes.c - copies one file or object from one place to another */
#include "cli/transfer_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/frames.h"
#include "cli/message.h"
#include "cli/need.h"
#include "programs/io.h"

/* Bytes that are read and written at once. */
#define PIECE ((size_t)1 << 20)

/*
 * The copy is synced after so many bytes: a loss of power can damage only the
 * bytes after the last whole step.
 */
#define STEP (UINT64_C(64) << 20)

/*
 * Files of the kernel, as in /proc, have size 0.  A file that another program
 * has appended to since @st has another size by now.
 */
static bool is_longer(int fd, const struct stat *st)
{
	struct stat now;
	char next;

	return pread(fd, &next, 1, st->st_size) > 0 && fstat(fd, &now) == 0 &&
	       now.st_size == st->st_size;
}

/* C-Blosc2 changes a frame in several steps: do not copy a state in between. */
static int open_frame(struct cli_bytes *bytes, const struct cli_at *at)
{
	const struct b2f_frame_options quiet = {.nofollow =
							!cli_at_is_named(at)};
	int err = b2f_frame_open(&quiet, at->dir, at->name, &bytes->frame);

	if (err == -EAGAIN)
		return cli_frames_refuse_locked(at->path);
	/* A damaged frame, or a file that is no frame, is copied unchanged. */
	return err == -ENOMEM ? err : 0;
}

int cli_bytes_open_file(struct cli_bytes *bytes, const struct cli_at *at,
			struct stat *like)
{
	const char *path = at->path;
	int err;

	bytes->name = path;
	bytes->fd = cli_at_open(at, O_RDONLY | O_NONBLOCK);
	if (bytes->fd < 0)
		return cli_message_errno(path, bytes->fd);
	if (fstat(bytes->fd, like) != 0)
		return cli_message_errno(path, -errno);
	if (!S_ISREG(like->st_mode))
		return cli_refuse(-EINVAL, "%s: it is no regular file", path);
	if (is_longer(bytes->fd, like))
		return cli_refuse(-EINVAL,
				  "%s: it has more bytes than its size says",
				  path);
	err = open_frame(bytes, at);
	/* It may have waited for a writer, so that the size is another one. */
	if (!err && fstat(bytes->fd, like) != 0)
		err = cli_message_errno(path, -errno);
	bytes->size = (uint64_t)like->st_size;
	bytes->version = bytes->frame ? b2f_frame_stamp_get(bytes->frame)
				      : b2f_frame_stamp_of(like);
	return err;
}

int cli_bytes_open_object(struct cli_bytes *bytes, struct b2f_remote *remote,
			  const struct b2f_remote_stat *version)
{
	bytes->name = b2f_remote_label(remote);
	bytes->size = version->size;
	bytes->version = b2f_remote_stamp(version);
	return cli_message_errno(bytes->name,
				 b2f_remote_reader_new(remote, "", version,
						       &bytes->reader));
}

void cli_bytes_close(struct cli_bytes *bytes)
{
	cli_at_close(bytes->fd);
	b2f_frame_close(bytes->frame);
	b2f_remote_reader_free(bytes->reader);
	*bytes = (struct cli_bytes){.fd = -1};
}

/* Checks that the open file has not changed: its bytes are one version. */
static int check_version(const struct cli_bytes *bytes)
{
	struct b2f_frame_stamp now;
	struct stat st;

	if (fstat(bytes->fd, &st) != 0)
		return -errno;
	now = b2f_frame_stamp_of(&st);
	if (!b2f_frame_stamp_equal(&now, &bytes->version))
		return -ESTALE;
	return bytes->frame ? b2f_frame_check_same(bytes->frame) : 0;
}

static int read_file(const struct cli_bytes *bytes, uint64_t off, void *buf,
		     size_t n)
{
	ssize_t got = b2f_io_read(bytes->fd, buf, n, (int64_t)off);

	if (got < 0)
		return (int)got;
	if ((size_t)got < n)
		return -ESTALE;
	return off + n == bytes->size ? check_version(bytes) : 0;
}

/* The read function of struct b2f_remote_source. */
static int read_bytes(void *arg, uint64_t off, void *buf, size_t n)
{
	struct cli_bytes *bytes = arg;
	int err;

	if (bytes->reader)
		err = b2f_remote_reader_read(bytes->reader, off, buf, n);
	else
		err = read_file(bytes, off, buf, n);
	if (err == -ESTALE && !bytes->reader)
		bytes->has_changed = true;
	else if (err)
		(void)!cli_message_explain(bytes->name, err);
	bytes->failed = err != 0;
	if (!err && bytes->progress)
		cli_progress_update(bytes->progress, off + n, bytes->size);
	return err;
}

/* Appends everything from offset @off on to the file @fd, named @name. */
static int fill(struct cli_bytes *bytes, int fd, uint64_t off, const char *name)
{
	B2F_OWN char *buf = cli_need(malloc(PIECE));
	int err = 0;

	while (off < bytes->size && !err) {
		uint64_t left = bytes->size - off;
		size_t n = left < PIECE ? (size_t)left : PIECE;
		int wrote = 0;

		err = read_bytes(bytes, off, buf, n);
		if (!err)
			wrote = b2f_io_write(fd, buf, n, (int64_t)off);
		off += n;
		if (!err && !wrote && off % STEP == 0 && fdatasync(fd) != 0)
			wrote = -errno;
		err = err ? err : cli_message_errno(name, wrote);
	}
	return err;
}

/* Opens the file in the workshop; *@is_new: it was created. */
static int open_named(const struct cli_target *target, bool *is_new)
{
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(target->at.dir, target->at.name, flags | O_EXCL, 0600);

	*is_new = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = openat(target->at.dir, target->at.name, flags, 0600);
	return fd < 0 ? -errno : fd;
}

/* Is @now still the file of @target, and begun by this user? */
static int check_begun(const struct cli_target *target, const struct stat *now)
{
	struct stat named;

	/* The copy may have been completed, and renamed. */
	if (fstatat(target->at.dir, target->at.name, &named,
		    AT_SYMLINK_NOFOLLOW) ||
	    !cli_at_is_same(&named, now))
		return -EBUSY;
	/* In a directory like /tmp, any user can make a file of that name. */
	return S_ISREG(now->st_mode) && now->st_uid == geteuid() ? 0 : -EEXIST;
}

/* Finds bytes to keep from an earlier run: steps with bytes behind them. */
static int open_begun(const struct cli_target *target, uint64_t size, int *fd,
		      uint64_t *off)
{
	struct stat st;
	bool is_new;
	int err = 0;

	*fd = open_named(target, &is_new);
	if (*fd < 0)
		return *fd;
	if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	if (fstat(*fd, &st) != 0)
		return -errno;
	if (!is_new)
		err = check_begun(target, &st);
	if (err)
		return err;
	*off = (uint64_t)st.st_size <= size ? (uint64_t)st.st_size : 0;
	*off = *off ? (*off - 1) / STEP * STEP : 0;
	return ftruncate(*fd, (off_t)*off) != 0 ? -errno : 0;
}

int cli_bytes_to_target(struct cli_bytes *bytes, struct cli_target *target,
			int *fd)
{
	uint64_t off = 0;
	int err = cli_target_explain_kept(
		target, open_begun(target, bytes->size, fd, &off));

	if (!err)
		err = fill(bytes, *fd, off, target->at.path);
	/* An empty file was not read, so check it here. */
	if (err || bytes->fd < 0)
		return err;
	err = check_version(bytes);
	bytes->has_changed = err == -ESTALE;
	return bytes->has_changed ? err : cli_message_errno(bytes->name, err);
}

int cli_bytes_to_object(struct cli_bytes *bytes, struct b2f_remote *remote,
			const char *path, const char *output, bool replace,
			bool *kept)
{
	const struct b2f_remote_source source = {
		.read = read_bytes,
		.arg = bytes,
		.size = bytes->size,
		.key = b2f_copy_key(&bytes->version, ""),
	};
	int err;

	cli_message_forget();
	err = b2f_remote_send(remote, path, &source, replace, kept);
	if (err == -EEXIST)
		cli_message_error("%s: it exists already; -f overwrites it",
				  output);
	else if (!bytes->failed)
		err = cli_message_explain(output, err);
	return err;
}
