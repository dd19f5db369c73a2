/* SPDX-License-Identifier: BSD-3-Clause */
/* setattr.c - owner, mode and times of backing files */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "setattr.h"

struct fs_setattr fs_setattr_none(void)
{
	return (struct fs_setattr){.uid = (uid_t)-1, .gid = (gid_t)-1};
}

int fs_setattr_file(struct fs *fs, int fd, const struct fs_setattr *meta)
{
	char name[16];

	/* /proc leads to this very file, even if it is a symbolic link. */
	snprintf(name, sizeof(name), "%d", fd);
	if ((meta->uid != (uid_t)-1 || meta->gid != (gid_t)-1) &&
	    fchownat(fd, "", meta->uid, meta->gid, AT_EMPTY_PATH))
		return -errno;
	/* After chown(2), which clears set-uid bits. */
	if (meta->has_mode && fchmodat(fs->tree->proc_fd, name, meta->mode, 0))
		return -errno;
	if (meta->has_times &&
	    utimensat(fs->tree->proc_fd, name, meta->times, 0))
		return -errno;
	return 0;
}
