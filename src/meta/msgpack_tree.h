/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack_tree.h - shared by the files msgpack*.c
 *
 * Layer: meta, below both programs.  Threads: pure functions.
 */
#ifndef B2F_B2F_MSGPACK_TREE_H
#define B2F_B2F_MSGPACK_TREE_H

#include <msgpack.h>
#include <stdbool.h>
#include <stddef.h>

#include "b2frame/error.h"

/*
 * Extensions of python-blosc2: a whole frame, and a map with kind and version.
 */
#define B2F_MSGPACK_FRAME  42
#define B2F_MSGPACK_OBJECT 43

/*
 * True if the @size bytes at @data are one object, by the lengths that it and
 * all inside of it say they have, and not too deep for the library.
 */
B2F_MUST_CHECK
bool b2f_msgpack_claims_hold(const char *data, size_t size);

/*
 * Decodes all @size bytes at @data; @tree points into them.  End with
 * msgpack_unpacked_destroy().  Returns 0, -EBADMSG (they are something else) or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_msgpack_tree_make(msgpack_unpacked *tree, const char *data, size_t size);

/* Is there an extension in @o, at any depth? */
bool b2f_msgpack_tree_has_ext(const msgpack_object *o);

/* @o as text, malloc'ed, with a 0 behind it; NULL: no memory. */
char *b2f_msgpack_tree_text(const msgpack_object *o, size_t *size);

#endif
