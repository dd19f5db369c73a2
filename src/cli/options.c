/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - tables of options, and the parser that walks them */
#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/exit_codes.h"
#include "cli/message.h"
#include "words/nearest.h"

#define THREADS_MAX 1024

/* Rows of a command, with those of the tables that it shares. */
#define ROWS_MAX 48

/* What getopt_long() returns for row i is this + i, or its letter. */
#define FIRST_ROW 256

int cli_option_refuse(const struct cli_option *option, const char *text,
		      const char *what)
{
	if (option->letter)
		cli_message_error("-%c: '%s' is not %s", option->letter, text,
				  what);
	else
		/* Variables of the environment have names in capitals. */
		cli_message_error("%s%s: '%s' is not %s",
				  option->name[0] == 'B' ? "" : "--",
				  option->name, text, what);
	return -EINVAL;
}

const char *cli_option_environment(const struct cli_option *option)
{
	return getenv(option->name);
}

/* Bits that suffix @text shifts by; -1 if it is none. */
static int suffix_shift(const char *text)
{
	static const char units[] = "kmgt";
	const char *unit;

	if (!text[0])
		return 0;
	unit = strchr(units, text[0] | 0x20);
	if (!unit || (text[1] && strcasecmp(text + 1, "ib") != 0))
		return -1;
	return 10 * (int)(unit - units + 1);
}

static int parse_size(const char *text, uint64_t *out)
{
	unsigned long long value;
	char *end;
	int shift;

	/* strtoull() would take a sign and spaces. */
	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	shift = suffix_shift(end);
	if (errno || shift < 0 || value > (uint64_t)INT64_MAX >> shift)
		return -EINVAL;
	*out = value << shift;
	return 0;
}

int cli_option_set(const struct cli_option *option, void *field,
		   const char *value)
{
	(void)option;
	(void)value;
	*(bool *)field = true;
	return 0;
}

int cli_option_clear(const struct cli_option *option, void *field,
		     const char *value)
{
	(void)option;
	(void)value;
	*(bool *)field = false;
	return 0;
}

int cli_option_text(const struct cli_option *option, void *field,
		    const char *value)
{
	(void)option;
	*(const char **)field = value;
	return 0;
}

int cli_option_size(const struct cli_option *option, void *field,
		    const char *value)
{
	if (parse_size(value, field))
		return cli_option_refuse(option, value, "a size");
	return 0;
}

int cli_option_position(const struct cli_option *option, void *field,
			const char *value)
{
	struct cli_position *position = field;
	bool minus = value[0] == '-';

	if (parse_size(value + minus, &position->offset))
		return cli_option_refuse(option, value, "a position");
	position->from_end = minus;
	return 0;
}

int cli_option_threads(const struct cli_option *option, void *field,
		       const char *value)
{
	uint64_t n;

	if (parse_size(value, &n) || n > THREADS_MAX)
		return cli_option_refuse(option, value, "a number of threads");
	*(unsigned int *)field = (unsigned int)n;
	return 0;
}

/* The rows of a command, and the same as getopt_long() wants to have them. */
struct parser {
	const struct cli_option *rows[ROWS_MAX];
	void *fields[ROWS_MAX];
	size_t nrows;
	struct option names[ROWS_MAX + 1];
	size_t nnames;
	char letters[2 * ROWS_MAX + 2];
	size_t nletters;
};

static void add_row(struct parser *p, const struct cli_option *row, char *field)
{
	assert(p->nrows < ROWS_MAX);
	if (row->name)
		p->names[p->nnames++] =
			(struct option){row->name, row->has_arg, NULL,
					FIRST_ROW + (int)p->nrows};
	if (row->letter)
		p->letters[p->nletters++] = row->letter;
	if (row->letter && row->has_arg)
		p->letters[p->nletters++] = ':';
	p->rows[p->nrows] = row;
	p->fields[p->nrows++] = field;
}

static void add_table(struct parser *p, const struct cli_option *row,
		      char *values)
{
	for (; row->store || row->shared; row++) {
		if (row->shared)
			add_table(p, row->shared, values + row->field);
		else
			add_row(p, row, values + row->field);
	}
}

/* The row that @opt was returned for; nrows: for what is no option. */
static size_t find_row(const struct parser *p, int opt)
{
	size_t i = 0;

	if (opt >= FIRST_ROW)
		return (size_t)(opt - FIRST_ROW);
	while (i < p->nrows && p->rows[i]->letter != opt)
		i++;
	return i;
}

/*
 * Refuses two digits behind one dash where a digit is a level: -19 would mean
 * -1 -9 to getopt, and means level 19 to users of zstd.
 */
static int refuse_levels(const struct parser *p, int argc, char **argv)
{
	if (!strchr(p->letters, '9'))
		return 0;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		size_t n = strspn(argv[i] + (argv[i][0] == '-'), "0123456789");

		if (argv[i][0] == '-' && n > 1 && !argv[i][n + 1]) {
			cli_message_error("%s: there are the levels -1 to -9",
					  argv[i]);
			return -EINVAL;
		}
	}
	return 0;
}

/* The long option that @name is most like; NULL: it is like none. */
static const char *nearest_name(const struct parser *p, const char *name)
{
	struct b2f_nearest nearest = {name, strlen(name) < 6 ? 2 : 3, NULL};

	for (size_t i = 0; i < p->nnames; i++)
		b2f_nearest_try(&nearest, p->names[i].name);
	return nearest.found;
}

/* The long options that begin with @name, malloc'ed; NULL: there are none. */
static char *list_beginning(const struct parser *p, const char *name)
{
	size_t n = strlen(name), size;
	bool any = false;
	char *list = NULL;
	FILE *out = open_memstream(&list, &size);

	for (size_t i = 0; out && i < p->nnames; i++) {
		if (strncmp(p->names[i].name, name, n) != 0)
			continue;
		fprintf(out, "%s--%s", any ? ", " : "", p->names[i].name);
		any = true;
	}
	if (out)
		fclose(out);
	if (any)
		return list;
	free(list);
	return NULL;
}

/* "--WORD", or "--WORD=VALUE", is no long option. */
static int refuse_word(const struct cli_command *self, const struct parser *p,
		       const char *word)
{
	char name[32], reason[128], *several;
	const char *nearest;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	nearest = nearest_name(p, name);
	several = list_beginning(p, name);
	if (several) {
		cli_message_error("%s: several options begin with --%s: %s",
				  self->name, name, several);
		free(several);
		return CLI_EXIT_USAGE;
	}
	if (!nearest) {
		snprintf(reason, sizeof(reason), "there is no option --%s",
			 name);
		return cli_command_misuse(self, reason);
	}
	cli_message_error("%s: there is no option --%s; did you mean --%s?",
			  self->name, name, nearest);
	return CLI_EXIT_USAGE;
}

/*
 * What getopt_long() returned @opt for, '?' or ':'.  It has left the letter of
 * the option in optopt, the number of its row, or 0; @word is then where it was.
 */
static int refuse_option(const struct cli_command *self, const struct parser *p,
			 int opt, const char *word)
{
	const char letter[3] = {'-', (char)optopt, '\0'};
	bool is_long = optopt >= FIRST_ROW;
	char reason[64];
	size_t i;

	if (!optopt)
		return refuse_word(self, p, word + strspn(word, "-"));
	i = find_row(p, optopt);
	if (i == p->nrows)
		snprintf(reason, sizeof(reason), "there is no option %s",
			 letter);
	else
		snprintf(reason, sizeof(reason), "%s%s %s",
			 is_long ? "--" : "",
			 is_long ? p->rows[i]->name : letter,
			 opt == ':' ? "needs a value" : "takes no value");
	return cli_command_misuse(self, reason);
}

int cli_options_parse(const struct cli_command *self, int argc, char **argv,
		      void *values)
{
	static const struct cli_option help = {.name = "help", .letter = 'h'};
	/* The colon makes getopt_long() tell what is wrong. */
	struct parser p = {.letters = ":", .nletters = 1};
	int opt;

	add_row(&p, &help, NULL);
	add_table(&p, self->options, values);
	if (refuse_levels(&p, argc, argv))
		return CLI_EXIT_USAGE;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, p.letters, p.names, NULL)) !=
	       -1) {
		size_t i = find_row(&p, opt);
		struct cli_option row;

		if (i == 0)
			return cli_command_help(self);
		if (i == p.nrows)
			return refuse_option(self, &p, opt, argv[optind - 1]);
		row = *p.rows[i];
		row.letter = opt < FIRST_ROW ? row.letter : '\0';
		if (row.store(&row, p.fields[i], optarg))
			return CLI_EXIT_USAGE;
	}
	if (optind == argc && self->missing)
		return cli_command_misuse(self, self->missing);
	return CLI_CONTINUE;
}
