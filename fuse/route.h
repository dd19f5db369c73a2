/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * route.h - is a request about a node of the tree, or of a pack?
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_ROUTE_H
#define B2F_FUSE_ROUTE_H

#include "fuse_api.h"

/* Puts before each request of @ops the question whose node it is about. */
void fs_route_add(struct fuse_lowlevel_ops *ops);

#endif
