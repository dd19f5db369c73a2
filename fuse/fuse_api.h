/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuse_api.h - the version of libfuse's interface that we code against
 *
 * Include this, never <fuse_lowlevel.h> itself, so that all files agree.
 *
 * Layer: fuse.  Threads: -
 */
#ifndef B2F_FUSE_FUSE_API_H
#define B2F_FUSE_FUSE_API_H

#define FUSE_USE_VERSION 314

#include <fuse_lowlevel.h>

#endif
