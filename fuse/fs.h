/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fs.h - one mount: everything that a request may need
 *
 * Layer: fuse.
 *
 * Threads: set up by the main thread before the first request and taken down
 * after the last one; meanwhile each part changes under its own lock.
 */
#ifndef B2F_FUSE_FS_H
#define B2F_FUSE_FS_H

#include "b2frame/file.h"
#include "config.h"
#include "daemon.h"
#include "durable.h"
#include "fuse_api.h"
#include "handle.h"
#include "known.h"
#include "logger.h"
#include "maker.h"
#include "mount_options.h"
#include "open_frame.h"
#include "programs/io.h"
#include "source.h"
#include "stats.h"
#include "ticker.h"
#include "tree.h"
#include "unlinked.h"
#include "wakeup.h"

struct fs_bucket;
struct fs_pack;

/* See packs.h. */
struct fs_packs {
	struct fs_volume volume;
	/* All packs that have a node; under state_lock. */
	TAILQ_HEAD(fs_pack_list, fs_pack) all;
	/*
	 * The version of the last pack that could not be opened, so that it is
	 * logged only once; under fs->state_lock, too.
	 */
	struct b2f_frame_stamp failed;
};

/* The homes, and files aside, in the directory that links.c has read last. */
struct fs_named_homes {
	/* See links.h. */
	pthread_mutex_t lock;
	/* All below is under the lock. */
	/* Stamp of that directory; would any change since change it? */
	struct b2f_frame_stamp stamp;
	bool is_sure;
	time_t since_s;
	/* Homes with at least one name. */
	struct fs_name_set names;
	/* See fs_aside_find(). */
	struct fs_name_set asides;
};

/* How requests come in (session.c). */
struct fs_requests {
	/* The kernel has got the first answer. */
	bool is_ready;
	/* The daemon has a processor for a thread that looks for requests. */
	bool may_look;
	/* The thread that has made the last requests, and how many. */
	_Atomic uint32_t asker;
	_Atomic uint32_t nsame;
	/* Requests so far; threads that wait for one, and that stand aside. */
	_Atomic uint32_t nreceived;
	_Atomic uint32_t nreading;
	_Atomic uint32_t naside;
	/* Grows with each request that came while a thread looked. */
	_Atomic uint32_t trust;
	/* A thread is looking; all below is that thread's. */
	_Atomic bool is_looking;
	/* Requests behind which no thread has looked. */
	unsigned int nslept;
	/* Made by the thread that looks, in a moment without requests. */
	struct fs_spare spare;
};

/* Do small requests of one thread follow each other closely? */
static inline bool fs_requests_are_close(const struct fs_requests *r)
{
	return atomic_load(&r->trust) > 0;
}

struct fs {
	struct fs_options options;
	struct fs_config config;
	struct fs_logger *logger;
	struct fs_daemon daemon;
	struct fs_source source;
	struct fs_mountpoint mountpoint;
	struct b2f_runtime *runtime;
	struct fs_nodes nodes;
	struct fs_tree *tree;
	struct fs_known known;
	/*
	 * Protects nodes, open frames and handles, and all that a comment says
	 * is under it.  Not held during I/O.
	 */
	pthread_mutex_t state_lock;
	/* All handles; under state_lock. */
	struct fs_handles handles;
	struct fs_shares shares;
	struct fs_files files;
	struct fs_unlinked_dir deleted;
	struct fs_packs packs;
	/* The bucket if SOURCE is a URL, else NULL (bucket_source.h). */
	struct fs_bucket *bucket;
	/*
	 * Held shared by requests that make a node for a name, or change a
	 * frame's names; held alone by form.c.  Taken before the locks of the
	 * library, may be held during I/O, and is not taken twice.
	 */
	pthread_rwlock_t names_lock;
	/* New files are directories from the start. */
	_Atomic bool only_sparse;
	struct fs_named_homes named_homes;
	struct fs_durables durables;
	struct fs_wakeup wakeup;
	struct fs_ticker ticker;
	struct fs_stats stats;
	struct fs_stats_file stats_file;
	struct fuse_session *session;
	struct fs_requests requests;
	/* The user asked for a writable mount, and SOURCE is writable. */
	bool read_write;
};

/* The mount of @req. */
static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* The node of the tree at @inode. */
static inline struct fs_backed *fs_backed_of(struct fs_node *inode)
{
	return (struct fs_backed *)inode;
}

/* How a close commits. */
static inline enum b2f_commit_how fs_commit_at_close(const struct fs *fs)
{
	return fs->options.sync ? B2F_COMMIT_DURABLE : B2F_COMMIT_VISIBLE;
}

/* The handle of an open file or directory. */
static inline struct fs_handle *fs_handle_of(const struct fuse_file_info *fi)
{
	return (struct fs_handle *)(uintptr_t)fi->fh;
}

#endif
