/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attr.h - compiler attributes under short names
 *
 * Layer: base.  Threads: -
 */
#ifndef B2F_BASE_ATTR_H
#define B2F_BASE_ATTR_H

#define B2F_MUST_CHECK	      __attribute__((warn_unused_result))
#define B2F_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define B2F_COLD	      __attribute__((cold))

#define B2F_LIKELY(x)	__builtin_expect(!!(x), 1)
#define B2F_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
