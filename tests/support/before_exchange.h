/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * before_exchange.h - what another program does right before names are
 * exchanged
 *
 * For one source file of a program: its renameat2() is the one of the library.
 */
#ifndef B2F_TESTS_BEFORE_EXCHANGE_H
#define B2F_TESTS_BEFORE_EXCHANGE_H

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Called right before the next exchange of names; or NULL. */
static void (*meanwhile)(void);

int renameat2(int from_dir, const char *from, int to_dir, const char *to,
	      unsigned int flags)
{
	void (*fn)(void) = meanwhile;

	meanwhile = NULL;
	if (fn)
		fn();
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

#endif
