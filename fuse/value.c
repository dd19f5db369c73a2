/* SPDX-License-Identifier: BSD-3-Clause */
/* value.c - words of the command line into values */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "b2frame/names.h"
#include "value.h"

/* Digits only: strtoull() would take signs and blanks too. */
static int parse_digits(const char *text, int base, uint64_t max,
			const char **end, uint64_t *out)
{
	char *stop;
	unsigned long long value;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &stop, base);
	if (errno || value > max)
		return -EINVAL;
	*end = stop;
	*out = value;
	return 0;
}

int fs_value_text(const char *text, char **out)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*out);
	*out = copy;
	return 0;
}

int fs_value_size(const char *text, int64_t *out)
{
	static const char units[] = "kmgt";
	unsigned int shift = 0;
	const char *end, *unit;
	uint64_t value;

	if (parse_digits(text, 10, INT64_MAX, &end, &value))
		return -EINVAL;
	if (*end) {
		unit = strchr(units, tolower((unsigned char)*end));
		if (!unit || (end[1] && strcasecmp(end + 1, "ib") != 0))
			return -EINVAL;
		shift = 10 * (unsigned int)(unit - units + 1);
	}
	if (value > (uint64_t)INT64_MAX >> shift)
		return -EINVAL;
	*out = (int64_t)(value << shift);
	return 0;
}

int fs_value_number(const char *text, int base, uint64_t max, int64_t *out)
{
	uint64_t value;
	const char *end;

	if (parse_digits(text, base, max, &end, &value) || *end)
		return -EINVAL;
	*out = (int64_t)value;
	return 0;
}

int fs_value_seconds(const char *text, double *out)
{
	char *end;
	double value, unit;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -EINVAL;
	value = strtod(text, &end);
	if (end == text)
		return -EINVAL;
	unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
	if (*end && strchr("smh", *end))
		end++;
	value *= unit;
	/* A year: beyond that the kernel's jiffies would overflow. */
	if (*end || !(value >= 0 && value <= 3.2e7))
		return -EINVAL;
	*out = value;
	return 0;
}

int fs_value_whole_seconds(const char *text, int64_t *out)
{
	double value;

	if (fs_value_seconds(text, &value) || value != (double)(int64_t)value)
		return -EINVAL;
	*out = (int64_t)value;
	return 0;
}

int fs_value_user(const char *text, int64_t *out)
{
	const struct passwd *user;

	if (fs_value_number(text, 10, UINT32_MAX - 1, out) == 0)
		return 0;
	/* Options are read before there are threads. */
	user = getpwnam(text);
	if (!user)
		return -EINVAL;
	*out = user->pw_uid;
	return 0;
}

int fs_value_group(const char *text, int64_t *out)
{
	const struct group *group;

	if (fs_value_number(text, 10, UINT32_MAX - 1, out) == 0)
		return 0;
	group = getgrnam(text);
	if (!group)
		return -EINVAL;
	*out = group->gr_gid;
	return 0;
}

int fs_value_choice(const char *text, const char *const *words, int64_t *out)
{
	for (int64_t i = 0; words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* The number by which @name_of knows the @n bytes at @word, or -1. */
static int find_name(const char *(*name_of)(unsigned int number),
		     const char *word, size_t n)
{
	for (unsigned int i = 0; i <= UINT8_MAX; i++) {
		const char *name = name_of(i);

		if (strlen(name) == n && strncasecmp(name, word, n) == 0)
			return (int)i;
	}
	return -1;
}

/* Are the @n bytes at @word one of @words? */
static bool is_among(const char *const *words, const char *word, size_t n)
{
	while (*words && (strlen(*words) != n ||
			  strncasecmp(*words, word, n) != 0))
		words++;
	return *words;
}

int fs_value_codec(const char *text, int64_t *out)
{
	static const char *const words[] = {"blosclz", "lz4",  "lz4hc",
					    "zlib",    "zstd", NULL};
	size_t n = strlen(text);

	if (!is_among(words, text, n))
		return -EINVAL;
	*out = find_name(b2f_codec_code_name, text, n);
	return 0;
}

int fs_value_filters(const char *text, uint8_t slots[B2F_SLOTS])
{
	/* The lossless filters. */
	static const char *const words[] = {"none",  "shuffle",	  "bitshuffle",
					    "delta", "bytedelta", NULL};
	uint8_t found[B2F_SLOTS] = {0};
	size_t n = 0;

	for (const char *p = text;; p++) {
		size_t len = strcspn(p, "+");

		if (!is_among(words, p, len) || n == B2F_SLOTS)
			return -EINVAL;
		found[n] = (uint8_t)find_name(b2f_filter_name, p, len);
		/* "none" takes no slot. */
		n += found[n] != 0;
		p += len;
		if (!*p)
			break;
	}
	memset(slots, 0, B2F_SLOTS);
	memcpy(slots + B2F_SLOTS - n, found, n);
	return 0;
}
