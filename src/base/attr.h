/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attr.h - compiler attributes under short names
 *
 * Layer: base.  Threads: -
 */
#ifndef B2F_BASE_ATTR_H
#define B2F_BASE_ATTR_H

/* B2F_MUST_CHECK and B2F_PRINTF, which public headers have too. */
#include "b2frame/error.h"
#include "b2frame/log.h"
#include "programs/io.h"

#define B2F_COLD __attribute__((cold))

#define B2F_LIKELY(x)	__builtin_expect(!!(x), 1)
#define B2F_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
