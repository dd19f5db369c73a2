/* SPDX-License-Identifier: BSD-3-Clause */
/* show.c - JSON objects as text for people, by templates */
#include "cli/show.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/need.h"
#include "cli/text.h"
#include "meta/escape.h"

/* Longer words in a placeholder are cut; templates are constant. */
#define WORD_SIZE 64

/* The text between braces. */
struct field {
	/* '?', '!', '+' or 0. */
	char test;
	char path[WORD_SIZE];
	char format[WORD_SIZE];
	/* The text to compare with, if @compares. */
	char wanted[WORD_SIZE];
	bool compares;
	int width;
};

static uint64_t number_of(const json_t *value)
{
	double n = json_number_value(value);

	return n > 0 ? (uint64_t)n : 0;
}

static void put_size(FILE *out, const json_t *value)
{
	char size[CLI_TEXT_SIZE];

	fputs(cli_text_size(number_of(value), size), out);
}

/* "1.2 GiB (1288490188 bytes)"; small sizes without the bytes. */
static void put_bytes(FILE *out, const json_t *value)
{
	uint64_t n = number_of(value);

	if (n >= 1024)
		put_size(out, value);
	fprintf(out, n < 1024 ? "%llu bytes" : " (%llu bytes)",
		(unsigned long long)n);
}

static void put_ratio(FILE *out, const json_t *value)
{
	double ratio = json_number_value(value);

	if (ratio > 0)
		fprintf(out, "%.2f", ratio);
	else
		fputc('-', out);
}

static void put_seconds(FILE *out, const json_t *value)
{
	double s = json_number_value(value);

	fprintf(out, s < 0.1 ? "%.3f s" : "%.1f s", s);
}

static void put_mega(FILE *out, const json_t *value)
{
	fprintf(out, "%.0f", json_number_value(value) / 1e6);
}

/* Writes a shape as NumPy does. */
static void put_shape(FILE *out, const json_t *value)
{
	size_t n = json_array_size(value);

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%lld", i ? ", " : "(",
			(long long)json_integer_value(json_array_get(value, i)));
	fputs(n == 0 ? "()" : n == 1 ? ",)" : ")", out);
}

static void put_count(FILE *out, const json_t *value)
{
	fprintf(out, "%zu", json_array_size(value));
}

static void put_mode(FILE *out, const json_t *value)
{
	fprintf(out, "%04llo", (unsigned long long)json_integer_value(value));
}

/* A byte of a frame that is a signed number. */
static void put_signed(FILE *out, const json_t *value)
{
	fprintf(out, "%d", (int)(int8_t)json_integer_value(value));
}

static void put_date(FILE *out, const json_t *value)
{
	time_t t = (time_t)json_integer_value(value);
	char date[32];
	struct tm tm;

	if (localtime_r(&t, &tm) &&
	    strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm))
		fputs(date, out);
	else
		fputc('-', out);
}

static const struct {
	const char *name;
	void (*put)(FILE *out, const json_t *value);
} formats[] = {
	{"size", put_size},	  {"bytes", put_bytes}, {"ratio", put_ratio},
	{"seconds", put_seconds}, {"shape", put_shape}, {"count", put_count},
	{"mode", put_mode},	  {"date", put_date},	{"signed", put_signed},
	{"mega", put_mega},
};

static void put_plain(FILE *out, const json_t *value)
{
	B2F_OWN char *text = NULL;

	if (json_is_string(value)) {
		b2f_escape_put(out, json_string_value(value),
			       json_string_length(value));
		return;
	}
	/* A value that is missing is compared as "?". */
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	fputs(text ? text : "?", out);
}

/* malloc'ed. */
static char *format_value(const struct field *field, const json_t *value)
{
	void (*put)(FILE *, const json_t *) = put_plain;
	char *text = NULL;
	size_t size;
	FILE *out = cli_need(open_memstream(&text, &size));

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, field->format) == 0)
			put = formats[i].put;
	put(out, value);
	fclose(out);
	return text;
}

/* Finds @path in @object ("." is itself); NULL: missing, or null. */
static const json_t *find(const json_t *object, const char *path)
{
	if (strcmp(path, ".") == 0)
		return object;
	while (object && *path) {
		size_t n = strcspn(path, ".");
		char key[WORD_SIZE];

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		object = json_object_get(object, key);
		path += n + (path[n] == '.');
	}
	return json_is_null(object) ? NULL : object;
}

/* Jansson has 0 for a value of another type, and for NULL. */
static bool is_full(const json_t *value)
{
	return json_object_size(value) || json_array_size(value) ||
	       json_string_length(value) || json_number_value(value) > 0 ||
	       json_is_true(value);
}

/* Copies the text up to one of @ends; returns the position of the end. */
static const char *take(const char *at, const char *ends, char word[WORD_SIZE])
{
	size_t n = strcspn(at, ends);

	snprintf(word, WORD_SIZE, "%.*s", (int)n, at);
	return at + n;
}

/* Parses a placeholder after its brace; returns the closing brace. */
static const char *parse_field(const char *at, struct field *field)
{
	char width[WORD_SIZE];

	*field = (struct field){.test = strchr("?!+", *at) ? *at : '\0'};
	at = take(at + (field->test != '\0'), "=:,}", field->path);
	field->compares = *at == '=';
	if (field->compares)
		at = take(at + 1, "}", field->wanted);
	if (*at == ':')
		at = take(at + 1, ",}", field->format);
	if (*at == ',')
		at = take(at + 1, "}", width);
	else
		width[0] = '\0';
	field->width = atoi(width);
	return at + 1;
}

static bool holds(const struct field *field, const json_t *value)
{
	B2F_OWN char *text = NULL;

	if (!field->compares)
		return is_full(value);
	text = format_value(field, value);
	return strcmp(text, field->wanted) == 0;
}

/* Returns whether the value exists and the test holds. */
static bool put_field(FILE *out, const struct field *field, const char *name,
		      const json_t *object)
{
	const json_t *value = find(object, field->path);
	bool is = field->test ? holds(field, value) : value != NULL;
	B2F_OWN char *text = NULL;

	if (!*field->path) {
		fprintf(out, "%*s", field->width, name);
		return true;
	}
	if (field->test == '!')
		return !is;
	if (field->test == '?')
		return is;
	text = value ? format_value(field, value) : NULL;
	fprintf(out, "%*s", field->width, text ? text : "-");
	return is;
}

/* The end of the part at @at: a character of @ends outside of other parts. */
static const char *part_end(const char *at, const char *ends)
{
	unsigned int depth = 0;

	for (; *at; at++) {
		/* The '>' of an arrow is text. */
		if (at[0] == '-' && at[1] == '>')
			at += 2;
		if (depth == 0 && strchr(ends, *at))
			break;
		depth += *at == '[' || *at == '<';
		depth -= *at == ']' || *at == '>';
	}
	return at;
}

static bool put_part(FILE *out, const char *at, const char *end,
		     const char *name, const json_t *object);

/*
 * Prints the first part that holds; moves from the bracket to behind the last.
 */
static const char *put_choice(FILE *out, const char *at, const char *name,
			      const json_t *object)
{
	bool done = false;
	const char *end;

	do {
		B2F_OWN char *text = NULL;
		size_t size = 0;
		FILE *part = cli_need(open_memstream(&text, &size));
		bool is;

		end = part_end(at, "|]");
		is = put_part(part, at, end, name, object);
		fclose(part);
		if (is && !done)
			fwrite(text, 1, size, out);
		done = done || is;
		at = end + 1;
	} while (*end == '|');
	return at;
}

/* Prints a list; returns whether it had values. Moves *@at behind it. */
static bool put_each(FILE *out, const char **at, const json_t *object)
{
	char path[WORD_SIZE], between[WORD_SIZE] = ", ";
	const char *begin = take(*at, "|", path) + 1;
	const char *end = part_end(begin, "|>"), *close = end;
	json_t *list = json_object_get(object, path), *value;
	const char *key;
	size_t i;

	if (*end == '|')
		close = take(end + 1, ">", between);
	json_array_foreach(list, i, value)
	{
		fputs(i ? between : "", out);
		put_part(out, begin, end, "", value);
	}
	i = 0;
	json_object_foreach(list, key, value)
	{
		fputs(i++ ? between : "", out);
		put_part(out, begin, end, key, value);
	}
	*at = close + 1;
	return is_full(list);
}

/* Returns whether all tests hold and no value is missing. */
static bool put_part(FILE *out, const char *at, const char *end,
		     const char *name, const json_t *object)
{
	struct field field;
	bool is = true;

	while (at < end) {
		if (*at == '[') {
			at = put_choice(out, at + 1, name, object);
		} else if (*at == '<') {
			at++;
			is = put_each(out, &at, object) && is;
		} else if (*at == '{') {
			at = parse_field(at + 1, &field);
			is = put_field(out, &field, name, object) && is;
		} else {
			fputc(*at++, out);
		}
	}
	return is;
}

void cli_show(FILE *out, const char *text, const char *name,
	      const json_t *object)
{
	B2F_OWN char *label = cli_text_name(out, name);

	put_part(out, text, text + strlen(text), label, object);
}
