/* SPDX-License-Identifier: BSD-3-Clause */
/* at.c - the kind of an operand or result, and where it lies */
#include "cli/at.h"

#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "b2frame/remote.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/pack_path.h"

#define DIRECTORY (O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

enum cli_kind cli_kind_of(const char *operand)
{
	if (strcmp(operand, "-") == 0)
		return CLI_KIND_STDIN;
	if (b2f_remote_is_url(operand))
		return CLI_KIND_URL;
	return cli_pack_path_leads_in(operand, false) ? CLI_KIND_MEMBER
					       : CLI_KIND_PATH;
}

int cli_at_check_change(const struct cli_at *at, const char *advice)
{
	static const char *const reasons[] = {
		[CLI_KIND_URL] = "objects on a server are not changed or "
				 "removed",
		[CLI_KIND_MEMBER] = "stores are read-only",
		[CLI_KIND_STDIN] = "standard input cannot be changed or "
				   "removed",
	};

	return at->kind == CLI_KIND_PATH
		       ? 0
		       : cli_refuse(-EROFS, "%s: %s%s", at->path,
				    reasons[at->kind], advice);
}

int cli_kind_check_output(const char *output)
{
	if (cli_kind_of(output) != CLI_KIND_URL)
		return 0;
	return cli_refuse(-EROFS,
			  "%s: only compress, append and copy write to "
			  "servers; copy the result there",
			  output);
}

struct cli_at cli_at_path(const char *path)
{
	return (struct cli_at){.path = path,
			       .kind = CLI_KIND_PATH,
			       .dir = AT_FDCWD,
			       .name = path};
}

struct cli_at cli_at_named(const char *operand)
{
	struct cli_at at = cli_at_path(operand);

	at.kind = cli_kind_of(operand);
	return at;
}

struct cli_at cli_at_store(const char *file)
{
	struct cli_at at = cli_at_path(file);

	if (b2f_remote_is_url(file))
		at.kind = CLI_KIND_URL;
	return at;
}

struct cli_at cli_at_beside(const struct cli_at *at, const char *path)
{
	struct cli_at beside = cli_at_path(path);

	if (cli_at_is_named(at))
		return beside;
	beside.dir = at->dir;
	beside.name = basename(path);
	return beside;
}

int cli_at_open(const struct cli_at *at, int flags)
{
	int fd;

	flags |= O_CLOEXEC | O_NOCTTY;
	if (!cli_at_is_named(at))
		flags |= O_NOFOLLOW | O_NONBLOCK;
	fd = openat(at->dir, at->name, flags, 0);
	return fd < 0 ? -errno : fd;
}

int cli_at_open_index(const struct cli_at *at, int flags, int *dir)
{
	int fd = cli_at_open(at, flags | O_NONBLOCK), index;
	struct stat st;

	if (dir)
		*dir = -1;
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode))
		return fd;
	index = openat(fd, B2F_INDEX_NAME,
		       flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	index = index < 0 ? -errno : index;
	if (dir)
		*dir = fd;
	else
		close(fd);
	return index;
}

int cli_at_stat(const struct cli_at *at, struct stat *out)
{
	int flags = cli_at_is_named(at) ? 0 : AT_SYMLINK_NOFOLLOW;

	return fstatat(at->dir, at->name, out, flags) != 0 ? -errno : 0;
}

int cli_at_open_holder(const char *path, int flags, const char **name)
{
	B2F_OWN char *dir = NULL;
	int fd;

	*name = basename(path);
	dir = *name == path ? cli_need_copy(".")
	      : *name == path + 1
		      ? cli_need_copy("/")
		      : cli_need_part(path, (size_t)(*name - path - 1));
	fd = open(dir, flags | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Takes a component of *@path; false: none.  Too long ones cannot exist. */
static bool take_name(const char **path, char name[NAME_MAX + 1])
{
	const char *at = *path + strspn(*path, "/");
	size_t n = strcspn(at, "/");

	*path = at + n;
	if (n == 0 || n > NAME_MAX)
		return false;
	memcpy(name, at, n);
	name[n] = '\0';
	return true;
}

int cli_at_sync(int dir)
{
	CLI_OWN_FD int fd = openat(dir, ".", O_RDONLY | DIRECTORY);
	int err;

	if (fd < 0)
		return -errno;
	do
		err = fsync(fd) != 0 ? -errno : 0;
	while (err == -EINTR);
	/* Some filesystems have no fsync for directories, and need none. */
	return err == -EINVAL || err == -EBADF ? 0 : err;
}

static int sync_filesystem(int dir, const char *name)
{
	CLI_OWN_FD int fd = openat(dir, name, O_RDONLY | DIRECTORY);

	return fd < 0 || syncfs(fd) != 0 ? -errno : 0;
}

int cli_at_make(int dir, const char *name, mode_t mode, enum cli_make make)
{
	int err;

	if (mkdirat(dir, name, mode) != 0)
		return errno == EEXIST ? 1 : -errno;
	err = make == CLI_MAKE_DURABLE ? cli_at_sync(dir) : 0;
	/* The right to write to @dir does not include to read it. */
	return err == -EACCES ? sync_filesystem(dir, name) : err;
}

static int step_below(int dir, const char *name, enum cli_make make)
{
	int fd, err = 0;

	if (strcmp(name, "..") == 0)
		return -EXDEV;
	if (make)
		err = cli_at_make(dir, name, 0777, make);
	if (err < 0)
		return err;
	fd = openat(dir, name, O_PATH | DIRECTORY);
	return fd < 0 ? -errno : fd;
}

/* Walks component by component. */
static int walk_below(int root, const char *path, enum cli_make make)
{
	int fd = openat(root, ".", O_PATH | DIRECTORY), next;
	char name[NAME_MAX + 1];

	if (fd < 0)
		return -errno;
	while (fd >= 0 && take_name(&path, name)) {
		next = step_below(fd, name, make);
		close(fd);
		fd = next;
	}
	return fd;
}

/* Uses one system call, since Linux 5.6. */
static int open_beneath(int root, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (unsigned int)flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, root, *path ? path : ".", &how,
			    sizeof(how));
}

int cli_at_open_below(int root, const char *path, int flags)
{
	int fd = open_beneath(root, path, flags | DIRECTORY);
	CLI_OWN_FD int dir = -1;

	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd < 0 ? -errno : fd;
	fd = walk_below(root, path, CLI_MAKE_NONE);
	if (fd < 0 || flags & O_PATH)
		return fd;
	dir = fd;
	fd = openat(dir, ".", flags | DIRECTORY);
	return fd < 0 ? -errno : fd;
}

bool cli_at_has_above(int dir, const char *name, size_t depth)
{
	int fd = cli_at_open_below(dir, "", O_PATH), up;
	struct stat here, above;
	bool has = false;

	for (; fd >= 0 && !has && depth > 0; depth--) {
		has = faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up >= 0 && fstat(fd, &here) == 0 &&
		    fstat(up, &above) == 0 && cli_at_is_same(&here, &above))
			depth = 1;
		close(fd);
		fd = up;
	}
	cli_at_close(fd);
	return has;
}

int cli_at_open_parent(int root, const char *path, enum cli_make make,
		       const char **name)
{
	size_t n = (size_t)(basename(path) - path);
	B2F_OWN char *parent = cli_need_part(path, n);

	*name = path + n;
	return make ? walk_below(root, parent, make)
		    : cli_at_open_below(root, parent, O_PATH);
}
