/* SPDX-License-Identifier: BSD-3-Clause */
/* value.c - turns words of a command line into values; guesses unknown ones */
#include "words/value.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "b2frame/names.h"
#include "b2frame/remote.h"

/* Longest word that is compared; no name of ours is longer. */
#define WORD_MAX 31

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

int b2f_value_text(const char *text, char **out)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*out);
	*out = copy;
	return 0;
}

void b2f_value_hide_query(char *word)
{
	char *query = strpbrk(word, "?#");

	if (query && b2f_remote_is_url(word) && !b2f_remote_is_s3(word))
		memset(query + 1, 'x', strlen(query + 1));
}

int b2f_value_size(const char *text, int64_t *out)
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

int b2f_value_number(const char *text, int base, uint64_t max, int64_t *out)
{
	uint64_t value;
	const char *end;

	if (parse_digits(text, base, max, &end, &value) || *end)
		return -EINVAL;
	*out = (int64_t)value;
	return 0;
}

int b2f_value_seconds(const char *text, const char *units, double max,
		      double *out)
{
	char *end;
	double value, unit;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -EINVAL;
	value = strtod(text, &end);
	if (end == text)
		return -EINVAL;
	unit = *end == 'd' ? 86400 : *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
	if (*end && strchr(units, *end))
		end++;
	value *= unit;
	if (*end || !(value >= 0 && value <= max))
		return -EINVAL;
	*out = value;
	return 0;
}

int b2f_value_whole_seconds(const char *text, const char *units, double max,
			    int64_t *out)
{
	double value;

	if (b2f_value_seconds(text, units, max, &value) || value != (double)(int64_t)value)
		return -EINVAL;
	*out = (int64_t)value;
	return 0;
}

int b2f_value_user(const char *text, int64_t *out)
{
	const struct passwd *user;

	if (b2f_value_number(text, 10, UINT32_MAX - 1, out) == 0)
		return 0;
	/* getpwnam(3) is safe: options are read before there are threads. */
	user = getpwnam(text);
	if (!user)
		return -EINVAL;
	*out = user->pw_uid;
	return 0;
}

int b2f_value_group(const char *text, int64_t *out)
{
	const struct group *group;

	if (b2f_value_number(text, 10, UINT32_MAX - 1, out) == 0)
		return 0;
	group = getgrnam(text);
	if (!group)
		return -EINVAL;
	*out = group->gr_gid;
	return 0;
}

int b2f_value_choice(const char *text, const char *const *words, int64_t *out)
{
	for (int64_t i = 0; words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return 0;
		}
	}
	return -EINVAL;
}

/*
 * The number for which @name_of gives the name in the @n bytes at @word, in
 * either case, if it is one of @words; else -1.
 */
static int find_name(const char *const *words, const char *(*name_of)(unsigned int),
		     const char *word, size_t n)
{
	while (*words && (strlen(*words) != n ||
			  strncasecmp(*words, word, n) != 0))
		words++;
	for (unsigned int i = 0; *words && i <= UINT8_MAX; i++)
		if (strcmp(name_of(i), *words) == 0)
			return (int)i;
	return -1;
}

int b2f_value_codec(const char *text, int64_t *out)
{
	static const char *const words[] = {"blosclz", "lz4",  "lz4hc",
					    "zlib",    "zstd", NULL};
	int code = find_name(words, b2f_codec_code_name, text, strlen(text));

	if (code < 0)
		return -EINVAL;
	*out = code;
	return 0;
}

/* "NAME", or with @meta "NAME:NUMBER", of @len bytes; returns the id, or -1. */
static int find_filter(const char *text, size_t len, uint8_t *meta)
{
	/* The filters with an encoder that loses nothing. */
	static const char *const words[] = {"none", "shuffle", "bitshuffle",
					    "bytedelta", NULL};
	const char *colon = meta ? memchr(text, ':', len) : NULL, *end;
	uint64_t value = 0;

	/* python-blosc2 takes the number as a signed byte. */
	if (colon && (parse_digits(colon + 1, 10, INT8_MAX, &end, &value) ||
		      end != text + len))
		return -1;
	if (meta)
		*meta = (uint8_t)value;
	return find_name(words, b2f_filter_name, text,
			 colon ? (size_t)(colon - text) : len);
}

int b2f_value_filters(const char *text, uint8_t slots[B2F_SLOTS],
		      uint8_t metas[B2F_SLOTS])
{
	uint8_t ids[B2F_SLOTS] = {0}, numbers[B2F_SLOTS] = {0};
	size_t n = 0, len;

	for (const char *p = text;; p += len + 1) {
		int id;

		len = strcspn(p, ",+");
		id = n == B2F_SLOTS ? -1
				    : find_filter(p, len, metas ? &numbers[n] : NULL);
		if (id < 0)
			return -EINVAL;
		ids[n] = (uint8_t)id;
		/* "none" takes no slot. */
		n += id != 0;
		if (!p[len])
			break;
	}
	memset(slots, 0, B2F_SLOTS);
	memcpy(slots + B2F_SLOTS - n, ids, n);
	if (metas) {
		memset(metas, 0, B2F_SLOTS);
		memcpy(metas + B2F_SLOTS - n, numbers, n);
	}
	return 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Letters to change from @a to @b (see struct b2f_value_near); large if one has
 * more than WORD_MAX.
 */
static size_t distance(const char *a, const char *b)
{
	/* [i][j]: from the first i letters of @a to the first j of @b. */
	unsigned char cost[WORD_MAX + 1][WORD_MAX + 1];
	size_t na = strlen(a), nb = strlen(b), best;

	if (na > WORD_MAX || nb > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= na; i++) {
		for (size_t j = 0; j <= nb; j++) {
			if (i == 0 || j == 0) {
				cost[i][j] = (unsigned char)(i + j);
				continue;
			}
			best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			best = least(best, cost[i - 1][j] + 1U);
			best = least(best, cost[i][j - 1] + 1U);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				best = least(best, cost[i - 2][j - 2] + 1U);
			cost[i][j] = (unsigned char)best;
		}
	}
	return cost[na][nb];
}

void b2f_value_nearest(struct b2f_nearest *nearest, const char *name)
{
	size_t n = distance(nearest->word, name);

	if (n >= nearest->limit)
		return;
	nearest->limit = n;
	nearest->found = name;
}
