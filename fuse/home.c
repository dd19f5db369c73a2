/* SPDX-License-Identifier: BSD-3-Clause */
/* home.c - where a frame with several names lies, and the slots in it */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "home.h"

#define HOME   ".bloscfs-linked-"
#define SUFFIX ".b2frame"
#define DIGITS 16

/* ".link." and a number. */
#define SLOT_SIZE 24

int fs_home_new(char home[FS_NAME_SIZE])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(home, FS_NAME_SIZE, HOME "%016" PRIx64 SUFFIX, number);
	return 0;
}

bool fs_home_is(const char *name)
{
	size_t n = strlen(HOME);

	return strncmp(name, HOME, n) == 0 &&
	       strspn(name + n, "0123456789abcdef") == DIGITS &&
	       strcmp(name + n + DIGITS, SUFFIX) == 0;
}

/*
 * Reads the symbolic link @link as a name; false if it is none, or leads
 * elsewhere.
 */
static bool read_name(int dirfd, const char *link, char name[FS_NAME_SIZE])
{
	char target[FS_NAME_SIZE];
	ssize_t n = readlinkat(dirfd, link, target, sizeof(target));

	if (n <= 0 || (size_t)n >= sizeof(target) ||
	    memchr(target, '/', (size_t)n))
		return false;
	target[n] = '\0';
	if (strcmp(target, ".") == 0 || strcmp(target, "..") == 0)
		return false;
	memcpy(name, target, sizeof(target));
	return true;
}

bool fs_home_of(int dirfd, const char *name, char home[FS_NAME_SIZE])
{
	char target[FS_NAME_SIZE] = "";

	if (!read_name(dirfd, name, target) || !fs_home_is(target))
		return false;
	memcpy(home, target, sizeof(target));
	return true;
}

static const char *slot_name(unsigned int i, char buf[SLOT_SIZE])
{
	snprintf(buf, SLOT_SIZE, B2F_SLOT_NAME "%u", i);
	return buf;
}

bool fs_home_slot(int fd, unsigned int i, char name[FS_NAME_SIZE])
{
	char buf[SLOT_SIZE];

	return i < FS_HOME_SLOTS && read_name(fd, slot_name(i, buf), name);
}

unsigned int fs_home_count(int fd)
{
	char name[FS_NAME_SIZE];
	unsigned int n = 0;

	while (fs_home_slot(fd, n, name))
		n++;
	return n;
}

int fs_home_add(int fd, const char *name)
{
	char slot[FS_NAME_SIZE], buf[SLOT_SIZE];
	unsigned int i = 0;

	for (; fs_home_slot(fd, i, slot); i++)
		if (strcmp(slot, name) == 0)
			return 0;
	if (i == FS_HOME_SLOTS)
		return -EMLINK;
	return symlinkat(name, fd, slot_name(i, buf)) ? -errno : 0;
}

int fs_home_drop(int fd, unsigned int i)
{
	unsigned int n = fs_home_count(fd);
	char buf[SLOT_SIZE], last[SLOT_SIZE];

	if (i >= n)
		return 0;
	slot_name(i, buf);
	slot_name(n - 1, last);
	if (i == n - 1)
		return unlinkat(fd, buf, 0) ? -errno : 0;
	return renameat(fd, last, fd, buf) ? -errno : 0;
}
