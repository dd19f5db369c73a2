/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arc4random.c - a function of glibc 2.36, for libraries in a wheel that has to
 * run with glibc 2.34
 */
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) void arc4random_buf(void *out, size_t size)
{
	/* getrandom() never splits requests of up to 256 bytes. */
	for (size_t done = 0, n; done < size; done += n) {
		n = size - done < 256 ? size - done : 256;
		if (getrandom((char *)out + done, n, 0) != (ssize_t)n)
			abort();
	}
}
