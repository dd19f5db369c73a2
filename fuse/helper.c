/* SPDX-License-Identifier: BSD-3-Clause */
/* helper.c - runs as mount.TYPE, the helper of mount(8) */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "helper.h"
#include "b2frame/error.h"
#include "words/namespace.h"

#define MOUNT_EXIT_FAILED 32

/* Only the beginning of a longer list is compared. */
#define OPTIONS_SIZE 4096

bool fs_helper_is(const char *program)
{
	return strncmp(basename(program), "mount.", 6) == 0;
}

int fs_helper_exit(enum fs_exit code)
{
	return code == FS_EXIT_OK || code == FS_EXIT_USAGE ? (int)code
							   : MOUNT_EXIT_FAILED;
}

static int explain(const char *path, int err, const char *why,
		   char reason[FS_REASON_SIZE])
{
	snprintf(reason, FS_REASON_SIZE, "%.500s: %s", path,
		 why ? why : b2f_strerror(err));
	return err;
}

int fs_helper_enter(const char *name, char reason[FS_REASON_SIZE])
{
	char path[B2F_NAMESPACE_PATH];
	int err = b2f_namespace_enter(name, path);

	return err ? explain(path, err, NULL, reason) : 0;
}

struct flag {
	const char *name;
	/* The flag in statvfs(3), and in mount(2). */
	unsigned long told;
	unsigned long bit;
};

static const struct flag flags[] = {
	{"exec", ST_NOEXEC, MS_NOEXEC},
	{"suid", ST_NOSUID, MS_NOSUID},
	{"dev", ST_NODEV, MS_NODEV},
	{"atime", ST_NOATIME, MS_NOATIME},
	{NULL, ST_NODIRATIME, MS_NODIRATIME},
	{NULL, ST_RELATIME, MS_RELATIME},
	{NULL, ST_MANDLOCK, MS_MANDLOCK},
	{NULL, ST_SYNCHRONOUS, MS_SYNCHRONOUS},
};

/* Sets or clears @flag as @list says: "exec" or "noexec". */
static void apply_flag(const struct flag *flag, const char *list,
		       unsigned long *bits)
{
	size_t n = strlen(flag->name), len;

	for (const char *p = list; *p; p += len + (p[len] == ',')) {
		len = strcspn(p, ",");
		if (len == n && memcmp(p, flag->name, n) == 0)
			*bits &= ~flag->bit;
		if (len == n + 2 && memcmp(p, "no", 2) == 0 &&
		    memcmp(p + 2, flag->name, n) == 0)
			*bits |= flag->bit;
	}
}

static unsigned long new_flags(const struct fs_options *o,
			       unsigned long told)
{
	unsigned long bits = MS_REMOUNT | (o->read_only ? MS_RDONLY : 0);

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		if (told & flags[i].told)
			bits |= flags[i].bit;
		if (flags[i].name && o->kernel)
			apply_flag(&flags[i], o->kernel, &bits);
	}
	return bits;
}

/* Can the bloscfs at @path write?  False also if it does not say. */
static bool is_writable(const char *path)
{
	char value[2];

	return getxattr(path, "user.bloscfs.writable", value, sizeof(value)) ==
		       1 &&
	       value[0] == '1';
}

/* Is @word, of @n characters, one of the words of @list? */
static bool has_word(const char *list, const char *word, size_t n)
{
	for (const char *p = list; *p; p += strspn(p, ",")) {
		size_t size = strcspn(p, ",");

		if (size == n && memcmp(p, word, n) == 0)
			return true;
		p += size;
	}
	return false;
}

/*
 * Returns the first of the options @own that the bloscfs at @path was mounted
 * without; NULL: none.  *@n: its length.
 */
static const char *find_other(const char *path, const char *own, size_t *n)
{
	char told[OPTIONS_SIZE] = "";
	ssize_t size = getxattr(path, "user.bloscfs.options", told,
				sizeof(told) - 1);

	told[size > 0 ? size : 0] = '\0';
	for (const char *p = own; *p; p += strspn(p, ",")) {
		*n = strcspn(p, ",");
		/* The kernel has one name for both. */
		if (!has_word(told, p, *n) &&
		    !(has_word("allow_other", p, *n) &&
		      has_word(told, "allow_root", strlen("allow_root"))))
			return p;
		p += *n;
	}
	return NULL;
}

/* Can a remount change all the given options? */
static int check_own(const struct fs_options *o, char reason[FS_REASON_SIZE])
{
	const char *other;
	size_t n;

	other = o->own ? find_other(o->mountpoint, o->own, &n) : NULL;
	if (!other)
		return 0;
	snprintf(reason, FS_REASON_SIZE,
		 "%.300s: a remount cannot change %.*s; unmount it first",
		 o->mountpoint, n < 200 ? (int)n : 200, other);
	return -EINVAL;
}

int fs_helper_remount(const struct fs_options *options,
		      char reason[FS_REASON_SIZE])
{
	const char *path = options->mountpoint;
	struct statvfs told;
	struct statfs type;

	if (statfs(path, &type) || statvfs(path, &told))
		return explain(path, -errno, NULL, reason);
	if (type.f_type != FUSE_SUPER_MAGIC)
		return explain(path, -EINVAL, "no bloscfs is mounted there",
			       reason);
	if (check_own(options, reason))
		return -EINVAL;
	if (!options->read_only && !is_writable(path))
		return explain(path, -EROFS,
			       "was mounted read-only; unmount it first",
			       reason);
	if (mount(options->source, path, NULL, new_flags(options, told.f_flag),
		  NULL))
		return explain(path, -errno, NULL, reason);
	return 0;
}
