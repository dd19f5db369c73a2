/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold_lock.c - holds the .b2lock of a sparse frame, for a test
 *
 *   hold_lock DIR
 *
 * Prints "locked" as soon as it has the lock; releases it when a line, or
 * the end, comes on standard input.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/lock.h"
#include "b2frame/error.h"

static void fail(int err, const struct b2f_why *why)
{
	fprintf(stderr, "hold_lock: %s\n",
		why->text[0] ? why->text : b2f_strerror(err));
	exit(1);
}

int main(int argc, char **argv)
{
	struct b2f_store *store = NULL;
	struct b2f_lock *lock = NULL;
	struct b2f_why why = {""};
	int err;

	if (argc != 2)
		return 2;
	err = b2f_store_open(AT_FDCWD, argv[1], true, &store, &why);
	if (!err)
		err = b2f_lock_open(store, true, &lock, &why);
	if (!err)
		err = b2f_lock_acquire(lock, UINT32_MAX, &why);
	if (err)
		fail(err, &why);
	puts("locked");
	fflush(stdout);
	(void)getchar();
	b2f_lock_release(lock);
	b2f_lock_close(lock);
	b2f_store_free(store);
	return 0;
}
