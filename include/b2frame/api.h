/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api.h - C linkage and visibility of every public header
 *
 * The shared library exports the functions between B2F_BEGIN_API and
 * B2F_END_API, with C linkage in C++, and hides all others.
 *
 * Layer: public.  Threads: -
 */
#ifndef B2FRAME_API_H
#define B2FRAME_API_H

#ifdef __cplusplus
#define B2F_BEGIN_LINKAGE extern "C" {
#define B2F_END_LINKAGE	  }
#else
#define B2F_BEGIN_LINKAGE
#define B2F_END_LINKAGE
#endif

#define B2F_BEGIN_API                                                          \
	B2F_BEGIN_LINKAGE _Pragma("GCC visibility push(default)")
#define B2F_END_API _Pragma("GCC visibility pop") B2F_END_LINKAGE

#endif
