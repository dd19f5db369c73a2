/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.h - sizes, names and bytes for people to read, and paths from them
 *
 * Layer: cli.  Threads: pure functions, but for the stream they write to.
 */
#ifndef B2F_CLI_TEXT_H
#define B2F_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Room for every size as cli_text_size() writes it. */
#define CLI_TEXT_SIZE 16

/* Writes @nbytes as "17 B" or "1.2 GiB" and returns @buf. */
const char *cli_text_size(uint64_t nbytes, char buf[CLI_TEXT_SIZE]);

/*
 * The length of the name of the store that is a file, *.b2z or *.b2e, to which
 * the URL @url leads, or into which; 0: there is none.
 */
size_t cli_text_store(const char *url);

/*
 * The number of bytes of @name to show: a URL's query may be a signature.
 * s3://BUCKET/KEY has none, nor has the path of a member of a store.
 */
size_t cli_text_shown(const char *name);

/*
 * The part of @name to show on @out, malloc'ed: escaped if @out is a terminal
 * or the name has a newline.
 */
char *cli_text_name(FILE *out, const char *name);

/* "@dir/@name", or one of them if the other is empty; malloc'ed. */
char *cli_text_join(const char *dir, const char *name);

/* @path without trailing slashes: "a/b/" is the frame "a/b". malloc'ed. */
char *cli_text_bare(const char *path);

#endif
