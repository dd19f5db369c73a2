/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - tables of options, and their parser */
#include "cli/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit_codes.h"
#include "cli/message.h"
#include "cli/need.h"
#include "words/value.h"

#define THREADS_MAX 1024

/* Limit of rows of a command, shared tables included. */
#define ROWS_MAX 48

/* getopt_long() returns this + i for row i, or the row's letter. */
#define FIRST_ROW 256

int cli_command_misuse(const struct cli_command *self, const char *reason)
{
	return cli_refuse(CLI_EXIT_USAGE, "%s: %s; see 'bloscctl %s --help'",
			  self->name, reason, self->name);
}

int cli_command_check(const struct cli_command *self,
		      const struct cli_misuse *misuses)
{
	while (misuses->reason && !misuses->is)
		misuses++;
	return misuses->reason ? cli_command_misuse(self, misuses->reason)
			       : CLI_CONTINUE;
}

int cli_option_refuse(const struct cli_option *option, const char *text,
		      const char *what)
{
	if (option->letter)
		cli_message_error("-%c: '%s' is not %s", option->letter, text,
				  what);
	else
		/* Environment variables begin with a capital letter. */
		cli_message_error("%s%s: '%s' is not %s",
				  option->name[0] == 'B' ? "" : "--",
				  option->name, text, what);
	return -EINVAL;
}

const char *cli_option_environment(const struct cli_option *option)
{
	return getenv(option->name);
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
	if (b2f_value_size(value, field))
		return cli_option_refuse(option, value, "a size");
	return 0;
}

int cli_option_threads(const struct cli_option *option, void *field,
		       const char *value)
{
	int64_t n;

	if (b2f_value_size(value, &n) || n > THREADS_MAX)
		return cli_option_refuse(option, value, "a number of threads");
	*(unsigned int *)field = (unsigned int)n;
	return 0;
}

/* The rows of a command, and the same for getopt_long(). */
struct parser {
	const struct cli_option *rows[ROWS_MAX];
	void *fields[ROWS_MAX];
	size_t nrows;
	struct option names[ROWS_MAX + 1];
	size_t nnames;
	char letters[3 * ROWS_MAX];
	size_t nletters;
};

static bool is_letter(const struct cli_option *row, int c)
{
	return c && (row->letter == '1' ? isdigit(c) && c != '0' : c == row->letter);
}

static void add_row(struct parser *p, const struct cli_option *row, char *field)
{
	assert(p->nrows < ROWS_MAX);
	if (row->name)
		p->names[p->nnames++] =
			(struct option){row->name, row->value != NULL, NULL,
					FIRST_ROW + (int)p->nrows};
	for (char c = row->letter; is_letter(row, c); c++)
		p->letters[p->nletters++] = c;
	if (row->letter && row->value)
		p->letters[p->nletters++] = ':';
	p->rows[p->nrows] = row;
	p->fields[p->nrows++] = field;
}

static void add_table(struct parser *p, const struct cli_option *row,
		      char *values)
{
	for (; row->store || row->shared; row++) {
		char *field = row->base ? row->base : values;

		field += row->field;
		if (row->store)
			add_row(p, row, field);
		else
			add_table(p, row->shared, field);
	}
}

/* Every command has this option; --help lists it last. */
static const struct cli_option help_row =
	CLI_OPTION("help", 'h', NULL, cli_option_set, 0, "this text");

static void begin(struct parser *p, const struct cli_command *self, void *values)
{
	/* The colon has getopt_long() tell errors apart. */
	*p = (struct parser){.letters = ":", .nletters = 1};
	add_row(p, &help_row, values);
	add_table(p, self->options, values);
}

/* "  -o, --output=FRAME    write to FRAME", and further lines below that. */
static void put_row(const struct cli_option *row)
{
	const char *text = row->help, *dash = row->letter ? ", --" : "      --";
	char label[64];
	int n = 0;

	if (!text)
		return;
	if (row->letter)
		n = sprintf(label, "  -%c%s", row->letter,
			    row->letter == '1' ? " ... -9" : "");
	if (row->name)
		n += sprintf(label + n, "%s%s", dash, row->name);
	if (row->value)
		sprintf(label + n, "%s%s", row->name ? "=" : " ", row->value);
	printf("%-22s  ", label);
	for (; *text; text++) {
		putchar(*text);
		if (*text == '\n')
			printf("%24s", "");
	}
	putchar('\n');
}

/* The row for @opt of getopt_long(); nrows: none. */
static size_t find_row(const struct parser *p, int opt)
{
	size_t i = 0;

	if (opt >= FIRST_ROW)
		return (size_t)(opt - FIRST_ROW);
	while (i < p->nrows && !is_letter(p->rows[i], opt))
		i++;
	return i;
}

/*
 * Refuses two digits after one dash where digits are levels: -19 means -1 -9 to
 * getopt, but level 19 to users of zstd.
 */
static int refuse_levels(const struct parser *p, int argc, char **argv)
{
	if (!strchr(p->letters, '9'))
		return 0;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		size_t n = strspn(argv[i] + (argv[i][0] == '-'), "0123456789");

		if (argv[i][0] == '-' && n > 1 && !argv[i][n + 1])
			return cli_refuse(-EINVAL,
					  "%s: there are the levels -1 to -9",
					  argv[i]);
	}
	return 0;
}

/* The long options that begin with @name, malloc'ed; NULL: none. */
static char *list_beginning(const struct parser *p, const char *name)
{
	char *list = NULL;

	for (size_t i = 0; i < p->nnames; i++) {
		B2F_OWN char *before = NULL;

		if (strncmp(p->names[i].name, name, strlen(name)) != 0)
			continue;
		before = list;
		list = cli_need_text("%s%s--%s", before ? before : "",
				     before ? ", " : "", p->names[i].name);
	}
	return list;
}

/* Refuses "--WORD" or "--WORD=VALUE", which is no long option. */
static int refuse_word(const struct cli_command *self, const struct parser *p,
		       const char *word)
{
	char name[32], reason[128];
	B2F_OWN char *several = NULL;
	struct b2f_nearest nearest = {.word = name};

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	nearest.limit = strlen(name) < 6 ? 2 : 3;
	for (size_t i = 0; i < p->nnames; i++)
		b2f_value_nearest(&nearest, p->names[i].name);
	several = list_beginning(p, name);
	snprintf(reason, sizeof(reason), "there is no option --%s", name);
	if (several)
		cli_message_error("%s: several options begin with --%s: %s",
				  self->name, name, several);
	else if (nearest.found)
		cli_message_error("%s: %s; did you mean --%s?", self->name,
				  reason, nearest.found);
	else
		(void)cli_command_misuse(self, reason);
	return CLI_EXIT_USAGE;
}

/*
 * Refuses the option for which getopt_long() returned @opt, '?' or ':'. optopt
 * has the option's letter, the number of its row, or 0; @word is the argument.
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
	struct parser p;
	int opt;

	begin(&p, self, values);
	if (refuse_levels(&p, argc, argv))
		return CLI_EXIT_USAGE;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, p.letters, p.names, NULL)) !=
	       -1) {
		size_t i = find_row(&p, opt);
		struct cli_option row;

		if (i == 0)
			return cli_options_help(self);
		if (i == p.nrows)
			return refuse_option(self, &p, opt, argv[optind - 1]);
		row = *p.rows[i];
		row.letter = opt < FIRST_ROW ? (char)opt : '\0';
		if (row.store(&row, p.fields[i], optarg))
			return CLI_EXIT_USAGE;
	}
	if (optind == argc && self->missing)
		return cli_command_misuse(self, self->missing);
	if (optind + 1 < argc && self->several)
		return cli_command_misuse(self, self->several);
	return CLI_CONTINUE;
}

int cli_options_help(const struct cli_command *self)
{
	struct parser p;

	/* Nothing is stored. */
	begin(&p, self, &p);
	printf("Usage: bloscctl %s [OPTION...]%s%s\n%s\n\n", self->name,
	       self->operands ? " " : "", self->operands ? self->operands : "",
	       self->help);
	for (size_t i = 1; i < p.nrows; i++)
		put_row(p.rows[i]);
	put_row(&help_row);
	fputs(self->notes ? self->notes : "", stdout);
	return CLI_EXIT_OK;
}
