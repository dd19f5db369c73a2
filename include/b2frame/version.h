/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * version.h - the version that a program is compiled for
 *
 * b2f_version() in names.h tells the version that it runs with.  This is the
 * place where the project's version is set.
 *
 * Layer: public.  Threads: -
 */
#ifndef B2FRAME_VERSION_H
#define B2FRAME_VERSION_H

#define B2F_VERSION_MAJOR 0
#define B2F_VERSION_MINOR 1
#define B2F_VERSION_PATCH 0

#define B2F_VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch
#define B2F_VERSION_TEXT(major, minor, patch)                                  \
	B2F_VERSION_TEXT_(major, minor, patch)

/* "0.1.0" */
#define B2F_VERSION                                                            \
	B2F_VERSION_TEXT(B2F_VERSION_MAJOR, B2F_VERSION_MINOR,                 \
			 B2F_VERSION_PATCH)

/* Versions as numbers, to compare: #if B2F_VERSION_NUMBER >= ... */
#define B2F_MAKE_VERSION(major, minor, patch)                                  \
	((major)*1000000 + (minor)*1000 + (patch))
#define B2F_VERSION_NUMBER                                                     \
	B2F_MAKE_VERSION(B2F_VERSION_MAJOR, B2F_VERSION_MINOR,                 \
			 B2F_VERSION_PATCH)

#endif
