/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_runtime.h - the one runtime of a fuzzer that opens files */
#ifndef B2F_TESTS_FUZZ_RUNTIME_H
#define B2F_TESTS_FUZZ_RUNTIME_H

#include <stdlib.h>

#include "b2frame/b2frame.h"

static inline struct b2f_runtime *fuzz_runtime(void)
{
	static struct b2f_runtime *rt;
	const struct b2f_runtime_options options = {.cache_bytes = 1 << 20,
						    .nworkers = 1};

	if (!rt && b2f_runtime_new(&options, &rt))
		abort();
	return rt;
}

#endif
