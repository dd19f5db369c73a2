/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show.h - JSON objects as text for people, by templates
 *
 * The result of a command is one object: --json prints it, and a template makes
 * text of it, so that both agree.  A template is text in which
 *
 *   {PATH}            is the value there ("a.b": the value b in a); "-": none
 *   {PATH:FORMAT,N}   is the same by a FORMAT of the table in show.c, N columns
 *                     wide, or with -N to the left; FORMAT and N are optional
 *   {+PATH...}        is the same, and a test that the value is not empty, 0 or
 *                     false
 *   {?PATH} {!PATH}   tests that, or the opposite, and prints nothing
 *   {?PATH=TEXT}      tests whether the value is printed as TEXT; {!PATH=TEXT}
 *                     the opposite
 *   {} and {.}        are the name of the object, as the user wrote it, or its
 *                     key; and the object itself
 *   [A|B|C]           is the first of them in which all tests hold and no value
 *                     is missing; otherwise nothing
 *   <NAME|A|TEXT>     is A for each value in a list or object, with TEXT
 *                     between them (without |TEXT: ", "); "->" does not end it
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_SHOW_H
#define B2F_CLI_SHOW_H

#include <jansson.h>
#include <stdio.h>

/* Prints @object, named @name, to @out by the template @text. */
void cli_show(FILE *out, const char *text, const char *name,
	      const json_t *object);

#endif
