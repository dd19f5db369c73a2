/* SPDX-License-Identifier: BSD-3-Clause */
/* memory_limit.c - how much memory this process may have */
#include "run/memory_limit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE 4096

static uint64_t less(uint64_t limit, uint64_t other)
{
	return limit == 0 || (other && other < limit) ? other : limit;
}

static uint64_t of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* The number in the file @dir/@name; 0 for "max", or if there is none. */
static uint64_t read_limit(const char *dir, const char *name)
{
	char path[2 * LINE_SIZE], text[32];
	uint64_t limit = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fgets(text, sizeof(text), f))
		limit = strtoull(text, NULL, 10);
	fclose(f);
	return limit;
}

/* The lowest limit of the group @path below @top and of its parents. */
static uint64_t of_groups(const char *top, const char *path, bool is_v2)
{
	char dir[LINE_SIZE + 512];
	uint64_t limit = 0;
	size_t ntop = strlen(top);
	char *slash;

	snprintf(dir, sizeof(dir), "%s%s", top, path);
	for (;;) {
		if (is_v2) {
			limit = less(limit, read_limit(dir, "memory.max"));
			limit = less(limit, read_limit(dir, "memory.high"));
		} else {
			limit = less(limit,
				     read_limit(dir, "memory.limit_in_bytes"));
		}
		/*
		 * In a container the path may be the host's; no file is there
		 * then.
		 */
		slash = strrchr(dir + ntop, '/');
		if (!slash)
			return limit;
		*slash = '\0';
	}
}

/* Is "memory" one of the comma-separated @names? */
static bool has_memory(const char *names)
{
	static const char memory[] = "memory";
	size_t n = sizeof(memory) - 1;

	for (; names; names = strchr(names, ',')) {
		names += *names == ',';
		if (strncmp(names, memory, n) == 0 &&
		    (names[n] == ',' || names[n] == '\0'))
			return true;
	}
	return false;
}

/* The limit from one line of /proc/self/cgroup: "NUMBER:NAMES:PATH". */
static uint64_t of_line(const char *root, char *line)
{
	char top[512], *names = strchr(line, ':'), *path;
	bool is_v2;

	path = names ? strchr(names + 1, ':') : NULL;
	if (!path)
		return 0;
	*names++ = *path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	is_v2 = names[0] == '\0';
	if (!is_v2 && !has_memory(names))
		return 0;
	snprintf(top, sizeof(top), "%s/sys/fs/cgroup%s", root,
		 is_v2 ? "" : "/memory");
	return of_groups(top, strcmp(path, "/") ? path : "", is_v2);
}

uint64_t b2f_memory_limit(const char *root)
{
	uint64_t limit = of_machine();
	char path[512], line[LINE_SIZE];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	f = fopen(path, "re");
	if (!f)
		return limit;
	while (fgets(line, sizeof(line), f))
		limit = less(limit, of_line(root, line));
	fclose(f);
	return limit;
}
