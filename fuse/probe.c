/* SPDX-License-Identifier: BSD-3-Clause */
/* probe.c - looks whether a backing file is a frame, and how large it is */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "acl.h"
#include "b2frame/create.h"
#include "dir.h"
#include "fs.h"
#include "probe.h"
#include "programs/home.h"
#include "suffix.h"

/* How often to follow a name that changes at the same time. */
#define TRIES 20

/* Looks at the index in the directory @fd. */
static int look_inside(int fd, struct stat *out)
{
	return fstatat(fd, B2F_INDEX_NAME, out, AT_SYMLINK_NOFOLLOW) ? -errno
								     : 0;
}

int fs_probe_both(int fd, bool sparse, struct stat *self, struct stat *index)
{
	if (fstat(fd, self))
		return -errno;
	/* A new contiguous frame may have become a directory (form.h). */
	if (sparse || S_ISDIR(self->st_mode))
		return look_inside(fd, index);
	*index = *self;
	return 0;
}

int fs_probe_index(int fd, bool sparse, struct stat *out)
{
	struct stat self;

	return sparse ? look_inside(fd, out)
		      : fs_probe_both(fd, false, &self, out);
}

bool fs_probe_is_shortage(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM ||
	       err == -EINTR;
}

bool fs_probe_is_failure(int err)
{
	if (b2f_is_format_error(err))
		return false;
	switch (err) {
	case 0:
	case -EACCES:
	case -EPERM:
	case -ENOENT:
	case -ENOTDIR:
	case -ELOOP:
	case -ENXIO:
		return false;
	default:
		return true;
	}
}

/*
 * Has @name the name of a frame that the daemon may not read, or that the disk
 * does not give?  Such a file still counts as a frame, so that its shown name
 * depends neither on its mode nor on the disk.
 */
static bool is_closed_frame(const char *name, int err)
{
	char stem[FS_NAME_SIZE];

	return (err == -EACCES || fs_probe_is_failure(err)) &&
	       !fs_probe_is_shortage(err) && fs_suffix_stem(name, stem);
}

/* Does the name lead to no file, or not to @probe, as @peek shows? */
static bool is_another(const struct fs_probe *probe, int err,
		       const struct b2f_frame_peek *peek)
{
	return err == -ENOENT ||
	       (!err && (peek->index.st_dev != probe->st.st_dev ||
			 peek->index.st_ino != probe->st.st_ino));
}

static void take_sizes(struct fs_probe *probe, const struct b2f_frame_peek *p)
{
	probe->sizes.nbytes = p->broken ? 0 : p->nbytes;
	probe->sizes.cbytes = p->broken ? 0 : p->cbytes;
	probe->index = p->index;
	probe->sizes.has_npy_header = p->has_npy_header;
	probe->sizes.is_npy = p->is_npy;
	probe->sizes.read_only = p->read_only && !p->broken;
	probe->has_header = !p->broken && !p->blank;
}

bool fs_probe_known(struct fs_tree *tree, struct fs_probe *probe)
{
	probe->has_header = fs_sizes_get(tree, &probe->index, &probe->sizes);
	return probe->has_header;
}

struct b2f_frame_stamp fs_probe_settled(const struct fs_probe *probe)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(&probe->index);

	return b2f_frame_stamp_is_settled(&stamp)
		       ? stamp
		       : (struct b2f_frame_stamp){0};
}

void fs_probe_keep(struct fs_tree *tree, struct fs_probe *probe,
		   const struct b2f_frame_stamp *before)
{
	struct fs_sizes *sizes = &probe->sizes;

	sizes->stamp = b2f_frame_stamp_of(&probe->index);
	if ((sizes->nbytes == 0 && !probe->has_header) ||
	    !b2f_frame_stamp_equal(&sizes->stamp, before))
		return;
	/* A changed ACL changes the ctime, too. */
	sizes->no_acl = fs_acl_is_none(tree->proc_fd, probe->fd,
				       probe->sparse ? B2F_INDEX_NAME : NULL);
	fs_sizes_keep(tree, sizes);
}

static struct b2f_reserve *reserve_of(const struct fs_tree *tree)
{
	return b2f_runtime_reserve(tree->volume.fs->runtime);
}

int fs_probe_sizes(struct fs_tree *tree, int dirfd, const char *name,
		   struct fs_probe *probe)
{
	struct b2f_frame_stamp before;
	struct b2f_frame_peek peek = {0};
	int err;

	if (fs_probe_known(tree, probe))
		return 0;
	before = fs_probe_settled(probe);
	probe->was_read = true;
	/* "." leads to the directory below our mount. */
	if (probe->sparse)
		err = b2f_frame_peek(probe->fd, ".", reserve_of(tree), &peek);
	else
		err = b2f_frame_peek(dirfd, name, reserve_of(tree), &peek);
	if (fs_probe_is_failure(err))
		return err;
	if (!probe->sparse && is_another(probe, err, &peek))
		return -ESTALE;
	if (err || !peek.is_frame) {
		/* The file is shown in any case. */
		probe->sizes.nbytes = probe->sizes.cbytes = 0;
		err = fs_probe_index(probe->fd, probe->sparse, &probe->index);
		if (is_closed_frame(name, err)) {
			probe->index = probe->st;
			err = 0;
		}
		return err;
	}
	take_sizes(probe, &peek);
	fs_probe_keep(tree, probe, &before);
	return 0;
}

static int probe_directory(const char *name, struct fs_probe *probe)
{
	int err = fs_probe_index(probe->fd, true, &probe->index);

	probe->kind = FS_KIND_DIR;
	if (!err || is_closed_frame(name, err)) {
		probe->kind = FS_KIND_FRAME;
		probe->sparse = true;
		return 0;
	}
	return fs_probe_is_failure(err) ? err : 0;
}

/*
 * Opens plain files only, because a FIFO or a device would be affected.
 * -ESTALE: @name is another file now.
 */
static int probe_file(struct fs_tree *tree, int dirfd, const char *name,
		      struct fs_probe *probe)
{
	struct b2f_frame_stamp before;
	struct b2f_frame_peek peek;
	int err;

	probe->kind = FS_KIND_OTHER;
	if (!S_ISREG(probe->st.st_mode))
		return 0;
	probe->index = probe->st;
	if (fs_probe_known(tree, probe)) {
		probe->kind = FS_KIND_FRAME;
		return 0;
	}
	before = fs_probe_settled(probe);
	probe->was_read = true;
	err = b2f_frame_peek(dirfd, name, reserve_of(tree), &peek);
	if (is_closed_frame(name, err)) {
		probe->kind = FS_KIND_FRAME;
		probe->failure = fs_probe_is_failure(err) ? err : 0;
		return 0;
	}
	if (fs_probe_is_failure(err))
		return err;
	if (is_another(probe, err, &peek))
		return -ESTALE;
	if (err || !peek.is_frame)
		return 0;
	probe->kind = FS_KIND_FRAME;
	take_sizes(probe, &peek);
	fs_probe_keep(tree, probe, &before);
	return 0;
}

/*
 * If @probe is a symbolic link that is a name of a frame, replaces it by the
 * frame at its home.  Returns whether it did.
 */
static bool follow_home(struct fs_tree *tree, int dirfd, const char *name,
			const char *home, struct fs_probe *probe)
{
	struct stat st, index;
	int64_t born_ns;
	int fd;

	if (b2f_home_accepts(dirfd, name, home) <= 0 ||
	    fs_tree_look_at(tree, dirfd, home, &fd, &st, &born_ns))
		return false;
	/* A file of any kind may lie aside. */
	if (b2f_home_is(home) &&
	    (!S_ISDIR(st.st_mode) || fs_probe_index(fd, true, &index))) {
		close(fd);
		return false;
	}
	close(probe->fd);
	probe->fd = fd;
	probe->st = st;
	probe->born_ns = born_ns;
	snprintf(probe->home, sizeof(probe->home), "%s", home);
	return true;
}

/* Opens @name, or the frame that it is a name of. */
static int open_entry(struct fs_tree *tree, int dirfd, const char *name,
		      struct fs_probe *probe)
{
	char home[FS_NAME_SIZE];
	enum b2f_home_link kind;
	int err;

	for (int i = 0; i < TRIES; i++) {
		fs_probe_close(probe);
		probe->home[0] = '\0';
		err = fs_tree_look_at(tree, dirfd, name, &probe->fd,
				      &probe->st, &probe->born_ns);
		if (err || !S_ISLNK(probe->st.st_mode))
			return err;
		kind = b2f_home_link(dirfd, name, probe->fd, home);
		if (kind == B2F_HOME_DOOMED)
			return -ENOENT;
		if (kind == B2F_HOME_FAILED)
			return -EIO;
		if (kind == B2F_HOME_NO_LINK ||
		    follow_home(tree, dirfd, name, home, probe))
			return 0;
		/* The frame may just have returned to this very name. */
	}
	return 0;
}

int fs_probe_kind(struct fs_tree *tree, int dirfd, const char *name,
		  struct fs_probe *out)
{
	struct fs_probe probe = {.fd = -1};
	const char *at;
	int err, tries = 0;

	do {
		err = open_entry(tree, dirfd, name, &probe);
		if (err)
			break;
		at = probe.home[0] ? probe.home : name;
		if (S_ISDIR(probe.st.st_mode))
			err = probe_directory(at, &probe);
		else
			err = probe_file(tree, dirfd, at, &probe);
	} while (err == -ESTALE && ++tries < TRIES);
	if (err)
		fs_probe_close(&probe);
	else
		*out = probe;
	return err;
}

int fs_probe_open(struct fs_tree *tree, int dirfd, const char *name,
		  struct fs_probe *out)
{
	struct fs_probe probe;
	int err = fs_probe_kind(tree, dirfd, name, &probe);

	if (err)
		return err;
	err = probe.failure;
	if (probe.kind == FS_KIND_FRAME && probe.sparse)
		err = fs_probe_sizes(tree, dirfd, name, &probe);
	if (err)
		fs_probe_close(&probe);
	else
		*out = probe;
	return err;
}

bool fs_probe_remembered(struct fs_tree *tree, int dirfd, dev_t dev,
			 const char *name, struct fs_probe *out)
{
	struct fs_probe probe = {.fd = -1, .kind = FS_KIND_FRAME};

	/* On another device there may be our own mount, or another daemon's. */
	if (fstatat(dirfd, name, &probe.st,
		    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC) ||
	    probe.st.st_dev != dev || !S_ISREG(probe.st.st_mode))
		return false;
	probe.index = probe.st;
	/*
	 * Without these facts, and to know whether set-id bits are shown, the
	 * file itself has to be looked at.
	 */
	if (!fs_probe_known(tree, &probe) || !probe.sizes.no_acl ||
	    (probe.st.st_mode & (S_ISUID | S_ISGID)))
		return false;
	*out = probe;
	return true;
}

/* Has the disk read the head of @name, unless that is a mountpoint. */
static int begin_glance(const struct fs_tree *tree, int dirfd, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			 O_NOATIME | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV,
	};
	int fd = (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	/* The file belongs to another user: the look sets its atime. */
	if (fd < 0 && errno == EPERM) {
		how.flags &= ~(uint64_t)O_NOATIME;
		fd = (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
	}
	if (fd >= tree->reserved_from) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		(void)!posix_fadvise(fd, 0, B2F_FRAME_BEGIN_MAX,
				     POSIX_FADV_WILLNEED);
	return fd;
}

static bool end_glance(int fd)
{
	uint8_t head[B2F_FRAME_BEGIN_MAX];
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1)
		n = pread(fd, head, sizeof(head), 0);
	close(fd);
	return n > 0 &&
	       b2f_frame_begins(head, (size_t)n, (uint64_t)st.st_size);
}

void fs_probe_glance(const struct fs_tree *tree, int dirfd,
		     struct fs_glance *glances, size_t n)
{
	for (size_t i = 0; i < n; i++)
		glances[i].fd = begin_glance(tree, dirfd, glances[i].name);
	for (size_t i = 0; i < n; i++)
		glances[i].is_frame = end_glance(glances[i].fd);
}

void fs_probe_close(struct fs_probe *probe)
{
	fs_dir_close(probe->fd);
	probe->fd = -1;
}
