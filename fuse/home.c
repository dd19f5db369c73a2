/* SPDX-License-Identifier: BSD-3-Clause */
/* home.c - where a frame with several names lies, and the slots in it */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "home.h"

#define HOME   ".bloscfs-linked-"
#define SUFFIX ".b2frame"
#define ASIDE  ".bloscfs-replaced-"
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

/* FNV-1a: a name may be too long to be a part of another one. */
static uint64_t hash_of(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return h;
}

int fs_home_new_aside(const char *name, char aside[FS_NAME_SIZE])
{
	char stem[FS_NAME_SIZE], plain[FS_NAME_SIZE];
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(plain, sizeof(plain), ASIDE "%016" PRIx64 "-%016" PRIx64,
		 number, hash_of(name));
	if (!fs_suffix_stem(name, stem) ||
	    !fs_suffix_join(plain, fs_suffix_of(name), aside))
		memcpy(aside, plain, sizeof(plain));
	return 0;
}

/* The two numbers of @aside, or NULL. */
static const char *numbers_of(const char *aside)
{
	const size_t n = 2 * DIGITS + 1;
	const char *numbers = aside + strlen(ASIDE);
	char stem[FS_NAME_SIZE];

	if (strncmp(aside, ASIDE, strlen(ASIDE)) != 0 ||
	    strspn(numbers, "0123456789abcdef-") != n ||
	    numbers[DIGITS] != '-')
		return NULL;
	if (!numbers[n] ||
	    (fs_suffix_stem(aside, stem) && strlen(stem) == strlen(ASIDE) + n))
		return numbers;
	return NULL;
}

bool fs_home_is_aside(const char *aside)
{
	return numbers_of(aside) != NULL;
}

bool fs_home_is_aside_of(const char *aside, const char *name)
{
	const char *numbers = numbers_of(aside);
	char hash[DIGITS + 1];

	snprintf(hash, sizeof(hash), "%016" PRIx64, hash_of(name));
	return numbers && strncmp(numbers + DIGITS + 1, hash, DIGITS) == 0;
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

void fs_home_target(const char *home, const char *old,
		    char target[FS_HOME_TARGET_SIZE])
{
	snprintf(target, FS_HOME_TARGET_SIZE, "%s%s/%s", old ? old : ".",
		 old ? "/.." : "", home);
}

/*
 * Cuts @target into the home that it leads to and the directory on the way there,
 * "." or a name, or NULL.  Returns the home, or NULL.
 */
static const char *cut_target(char *target, const char **via)
{
	char *slash = strrchr(target, '/'), *home = slash ? slash + 1 : target;

	*via = NULL;
	if (slash) {
		*slash = '\0';
		*via = target;
		if (slash - target > 3 && strcmp(slash - 3, "/..") == 0)
			slash[-3] = '\0';
		else if (strcmp(target, ".") != 0)
			return NULL;
		if (strchr(target, '/'))
			return NULL;
	}
	return fs_home_is(home) || fs_home_is_aside(home) ? home : NULL;
}

bool fs_home_is_target(const char *target)
{
	char copy[FS_HOME_TARGET_SIZE];
	const char *via;

	return snprintf(copy, sizeof(copy), "%s", target) < (int)sizeof(copy) &&
	       cut_target(copy, &via);
}

enum fs_home_link fs_home_link(int dirfd, const char *name, int fd,
			       char home[FS_NAME_SIZE])
{
	char target[FS_HOME_TARGET_SIZE];
	const char *found, *via;
	struct stat st;
	ssize_t n = readlinkat(fd < 0 ? dirfd : fd, fd < 0 ? name : "", target,
			       sizeof(target));

	if (n <= 0 || (size_t)n >= sizeof(target))
		return FS_HOME_NO_LINK;
	target[n] = '\0';
	found = cut_target(target, &via);
	if (!found)
		return FS_HOME_NO_LINK;
	/* By way of itself, or from a directory where it does not belong. */
	if (via && (strcmp(via, name) == 0 ||
		    (strcmp(via, ".") == 0 &&
		     fstatat(dirfd, found, &st, AT_SYMLINK_NOFOLLOW) &&
		     errno == ENOENT)))
		return FS_HOME_DOOMED;
	snprintf(home, FS_NAME_SIZE, "%s", found);
	return via ? FS_HOME_UNTIL : FS_HOME_NAME;
}

bool fs_home_of(int dirfd, const char *name, char home[FS_NAME_SIZE])
{
	enum fs_home_link kind = fs_home_link(dirfd, name, -1, home);

	return kind == FS_HOME_NAME || kind == FS_HOME_UNTIL;
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
