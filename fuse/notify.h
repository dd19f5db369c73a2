/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * notify.h - tells the service manager what became of the mount
 *
 * Uses the protocol of sd_notify(3): one datagram to the socket that the
 * environment names in NOTIFY_SOCKET.  Nothing happens if it names none.
 *
 * Layer: fuse.  Threads: one at a time.
 */
#ifndef B2F_FUSE_NOTIFY_H
#define B2F_FUSE_NOTIFY_H

/* The mount answers, and this process is the one that serves it. */
void fs_notify_ready(void);

/* The mount is ending. */
void fs_notify_stopping(void);

#endif
