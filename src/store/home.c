/* SPDX-License-Identifier: BSD-3-Clause */
/* home.c - the home of a frame with several names, and its slots */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "b2frame/names.h"
#include "programs/directory.h"
#include "programs/home.h"

#define HOME   ".bloscfs-linked-"
#define SUFFIX ".b2frame"
#define ASIDE  ".bloscfs-replaced-"
#define DIGITS 16

/* ".link." and a number. */
#define SLOT_SIZE 24

int b2f_home_new(char home[B2F_NAME_SIZE])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(home, B2F_NAME_SIZE, HOME "%016" PRIx64 SUFFIX, number);
	return 0;
}

bool b2f_home_is(const char *name)
{
	size_t n = strlen(HOME);

	return strncmp(name, HOME, n) == 0 &&
	       strspn(name + n, "0123456789abcdef") == DIGITS &&
	       strcmp(name + n + DIGITS, SUFFIX) == 0;
}

/* FNV-1a: a name may be too long to be a part of another one. */
uint64_t b2f_home_hash(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return h;
}

int b2f_home_new_aside(const char *name, char aside[B2F_NAME_SIZE])
{
	enum b2f_suffix suffix;
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(aside, B2F_NAME_SIZE, ASIDE "%016" PRIx64 "-%016" PRIx64 "%s",
		 number, b2f_home_hash(name),
		 b2f_suffix_stem(name, &suffix) ? b2f_suffix_text(suffix) : "");
	return 0;
}

/* The two numbers of @aside, or NULL. */
static const char *numbers_of(const char *aside)
{
	const size_t n = 2 * DIGITS + 1;
	const char *numbers = aside + strlen(ASIDE);

	if (strncmp(aside, ASIDE, strlen(ASIDE)) != 0 ||
	    strspn(numbers, "0123456789abcdef-") != n ||
	    numbers[DIGITS] != '-')
		return NULL;
	if (!numbers[n] ||
	    b2f_suffix_stem(aside, NULL) == strlen(ASIDE) + n)
		return numbers;
	return NULL;
}

bool b2f_home_is_aside(const char *aside)
{
	return numbers_of(aside) != NULL;
}

bool b2f_home_is_aside_of(const char *aside, const char *name)
{
	return b2f_home_aside_hash(aside) == b2f_home_hash(name);
}

uint64_t b2f_home_aside_hash(const char *aside)
{
	return strtoull(aside + strlen(ASIDE) + DIGITS + 1, NULL, 16);
}

/* Did a call on a name fail, but not because of what the name leads to? */
static bool has_failed(void)
{
	return errno != ENOENT && errno != EINVAL && errno != ENOTDIR;
}

/*
 * Reads the target of the symbolic link @link as a name, which is "" if it
 * cannot be read; false if it is not a link, or leads elsewhere.
 */
static bool read_name(int dirfd, const char *link, char name[B2F_NAME_SIZE])
{
	char target[B2F_NAME_SIZE];
	ssize_t n = readlinkat(dirfd, link, target, sizeof(target));

	if (n < 0 && dirfd >= 0 && has_failed()) {
		name[0] = '\0';
		return true;
	}
	if (n <= 0 || (size_t)n >= sizeof(target) ||
	    memchr(target, '/', (size_t)n))
		return false;
	target[n] = '\0';
	if (strcmp(target, ".") == 0 || strcmp(target, "..") == 0)
		return false;
	memcpy(name, target, sizeof(target));
	return true;
}

void b2f_home_target(const char *home, const char *old,
		    char target[B2F_HOME_TARGET_SIZE])
{
	snprintf(target, B2F_HOME_TARGET_SIZE, "%s%s/%s", old ? old : ".",
		 old ? "/.." : "", home);
}

/*
 * Splits @target into the home, which is returned, and its parent directory,
 * "." or a name, or NULL.  Returns NULL if it is not a home.
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
	return b2f_home_is(home) || b2f_home_is_aside(home) ? home : NULL;
}

bool b2f_home_is_target(const char *target)
{
	char copy[B2F_HOME_TARGET_SIZE];
	const char *via;

	return snprintf(copy, sizeof(copy), "%s", target) < (int)sizeof(copy) &&
	       cut_target(copy, &via);
}

enum b2f_home_link b2f_home_link(int dirfd, const char *name, int fd,
			       char home[B2F_NAME_SIZE])
{
	char target[B2F_HOME_TARGET_SIZE];
	const char *found, *via;
	struct stat st;
	ssize_t n = readlinkat(fd < 0 ? dirfd : fd, fd < 0 ? name : "", target,
			       sizeof(target));

	if (n < 0 && has_failed())
		return B2F_HOME_FAILED;
	if (n <= 0 || (size_t)n >= sizeof(target))
		return B2F_HOME_NO_LINK;
	target[n] = '\0';
	found = cut_target(target, &via);
	if (!found)
		return B2F_HOME_NO_LINK;
	/* A link to itself, or through a foreign directory. */
	if (via && (strcmp(via, name) == 0 ||
		    (strcmp(via, ".") == 0 &&
		     fstatat(dirfd, found, &st, AT_SYMLINK_NOFOLLOW) &&
		     errno == ENOENT)))
		return B2F_HOME_DOOMED;
	snprintf(home, B2F_NAME_SIZE, "%s", found);
	return via ? B2F_HOME_UNTIL : B2F_HOME_NAME;
}

bool b2f_home_of(int dirfd, const char *name, char home[B2F_NAME_SIZE])
{
	enum b2f_home_link kind = b2f_home_link(dirfd, name, -1, home);

	return kind == B2F_HOME_NAME || kind == B2F_HOME_UNTIL;
}

static bool is_in_slot(int dirfd, const char *name, const char *home)
{
	int fd = openat(dirfd, home,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char slot[B2F_NAME_SIZE];
	bool is = false;

	for (unsigned int i = 0; !is && b2f_home_slot(fd, i, slot); i++)
		is = strcmp(slot, name) == 0;
	if (fd >= 0)
		close(fd);
	return is;
}

int b2f_home_accepts(int dirfd, const char *name, const char *home)
{
	struct stat link, at_home;

	if (fstatat(dirfd, name, &link, AT_SYMLINK_NOFOLLOW) ||
	    fstatat(dirfd, home, &at_home, AT_SYMLINK_NOFOLLOW))
		return has_failed() ? -errno : 0;
	return link.st_uid == at_home.st_uid || link.st_uid == geteuid() ||
	       link.st_uid == 0 || is_in_slot(dirfd, name, home);
}

int b2f_home_points_to(int dirfd, const char *name, const char *home)
{
	char target[B2F_NAME_SIZE];

	/* A slot that could not be read. */
	if (!name[0])
		return -EIO;
	switch (b2f_home_link(dirfd, name, -1, target)) {
	case B2F_HOME_FAILED:
		return -EIO;
	case B2F_HOME_NAME:
	case B2F_HOME_UNTIL:
		return strcmp(target, home) == 0;
	case B2F_HOME_NO_LINK:
	case B2F_HOME_DOOMED:
		break;
	}
	return 0;
}

int b2f_home_leads_to(int dirfd, const char *name, const char *home)
{
	int points = b2f_home_points_to(dirfd, name, home);

	return points > 0 ? b2f_home_accepts(dirfd, name, home) : points;
}

int b2f_home_check_name(int dirfd, const char *name, const char *home)
{
	int is = strcmp(name, home) == 0
			 ? 0
			 : b2f_home_leads_to(dirfd, name, home);

	if (is < 0)
		return is;
	return is ? 0 : -ESTALE;
}

static int is_other_name(int dirfd, const char *name, const char *home,
			 const char *but)
{
	if (strcmp(name, home) == 0 || (but && strcmp(name, but) == 0))
		return 0;
	return b2f_home_leads_to(dirfd, name, home);
}

int b2f_home_slots_have_name(int dirfd, const char *home, const char *but)
{
	int fd = openat(dirfd, home,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char name[B2F_NAME_SIZE];
	int has = 0;

	if (fd < 0)
		return has_failed() ? -errno : 0;
	for (unsigned int i = 0; !has && b2f_home_slot(fd, i, name); i++)
		has = is_other_name(dirfd, name, home, but);
	close(fd);
	return has;
}

/* A search for names of the frame at @home besides @but. */
struct search {
	const char *home;
	const char *but;
};

static int is_other_link(void *search, int dirfd, const struct dirent *d)
{
	const struct search *s = search;

	return b2f_directory_may_be_link(d->d_type)
		       ? is_other_name(dirfd, d->d_name, s->home, s->but)
		       : 0;
}

int b2f_home_has_name(int dirfd, const char *home, const char *but)
{
	struct search search = {home, but};
	int has = b2f_home_slots_have_name(dirfd, home, but);

	return has ? has
		   : b2f_directory_each(dirfd, ".", is_other_link, &search);
}

/* A search for what a rename has left of the file at @aside. */
struct aside_search {
	const char *aside;
	char *link;
	bool is_replaced;
};

static int find_aside(void *search, int dirfd, const struct dirent *d)
{
	struct aside_search *s = search;
	int is = 0;

	if (strcmp(d->d_name, s->aside) == 0)
		return 0;
	if (b2f_directory_may_be_link(d->d_type))
		is = b2f_home_leads_to(dirfd, d->d_name, s->aside);
	if (is > 0 && s->link)
		snprintf(s->link, B2F_NAME_SIZE, "%s", d->d_name);
	if (is || !b2f_home_is_aside_of(s->aside, d->d_name))
		return is;
	is = b2f_home_points_to(dirfd, d->d_name, s->aside);
	s->is_replaced |= !is;
	return is < 0 ? is : 0;
}

int b2f_home_find_aside(int dirfd, const char *aside, char link[B2F_NAME_SIZE])
{
	struct aside_search search = {.aside = aside, .link = link};
	int is = b2f_directory_each(dirfd, ".", find_aside, &search);

	if (is)
		return is < 0 ? is : B2F_HOME_LINKED;
	return search.is_replaced ? B2F_HOME_REPLACED : B2F_HOME_ALONE;
}

static const char *slot_name(unsigned int i, char buf[SLOT_SIZE])
{
	snprintf(buf, SLOT_SIZE, B2F_SLOT_NAME "%u", i);
	return buf;
}

bool b2f_home_slot(int fd, unsigned int i, char name[B2F_NAME_SIZE])
{
	char buf[SLOT_SIZE];

	return i < B2F_HOME_SLOTS && read_name(fd, slot_name(i, buf), name);
}

unsigned int b2f_home_count(int fd)
{
	char name[B2F_NAME_SIZE];
	unsigned int n = 0;

	while (b2f_home_slot(fd, n, name))
		n++;
	return n;
}

int b2f_home_add(int fd, const char *name)
{
	char slot[B2F_NAME_SIZE], buf[SLOT_SIZE];
	unsigned int i = 0;

	for (; b2f_home_slot(fd, i, slot); i++)
		if (!slot[0] || strcmp(slot, name) == 0)
			return slot[0] ? 0 : -EIO;
	if (i == B2F_HOME_SLOTS)
		return -EMLINK;
	return symlinkat(name, fd, slot_name(i, buf)) ? -errno : 0;
}

int b2f_home_drop(int fd, unsigned int i)
{
	unsigned int n = b2f_home_count(fd);
	char buf[SLOT_SIZE], last[SLOT_SIZE];

	if (i >= n)
		return 0;
	slot_name(i, buf);
	slot_name(n - 1, last);
	if (i == n - 1)
		return unlinkat(fd, buf, 0) ? -errno : 0;
	return renameat(fd, last, fd, buf) ? -errno : 0;
}

int b2f_home_forget(int fd, const char *name)
{
	char slot[B2F_NAME_SIZE];

	for (unsigned int i = 0; b2f_home_slot(fd, i, slot); i++)
		if (strcmp(slot, name) == 0)
			return b2f_home_drop(fd, i);
	return 0;
}
