/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packs.h - stores that are one file, as directories
 *
 * A file that is a pack (b2frame/pack.h) is shown as a read-only directory by
 * its own name.  Its members have no files below, so they are no nodes of the
 * tree (tree.h): the nodes of a pack are an array that lives as long as there
 * is a reference to one of them; its root counts them all.
 *
 * A pack is one version of the file.  If that is replaced or changed, the next
 * lookup of its name makes another pack, with other nodes.  Of a file that was
 * replaced, the old pack goes on with what it has open.  All else there is
 * ESTALE, so that the kernel looks it up again; so is all of a file that was
 * written to in place: its bytes may be of two versions.
 *
 * The kernel remembers nodes for long, so the file is open only as long as it
 * is used, and a second more.  An object in a bucket stays open, as to open it takes
 * requests: all of it is one version.
 *
 * Layer: fuse.
 *
 * Threads: any.  All packs are under fs->state_lock, which is never held during I/O.  All that may return an
 * errno may block on I/O.
 */
#ifndef B2F_FUSE_PACKS_H
#define B2F_FUSE_PACKS_H

#include "b2frame/pack.h"
#include "frame_sizes.h"
#include "fs.h"

struct fs_member {
	struct fs_node head;
	struct fs_pack *pack;
	/* The number that is shown, but for a view's bit. */
	uint64_t ino;
	/*
	 * The frame, as long as there are handles of it; in a bucket, and a while.  NULL
	 * before the first open.
	 */
	struct fs_file *file;
	/* Never change once they are known. */
	struct fs_frame_sizes sizes;
};

struct fs_pack {
	/* These never change. */
	struct fs *fs;
	char *label;
	/* Where it was found; NULL for the root of the mount, and in a bucket. */
	struct fs_backed *dir;
	char *name;
	/*
	 * Where it is in a bucket, else NULL.  To open it takes requests, so it stays
	 * open; and it is one version whatever is there by now.
	 */
	char *path;
	/* Attributes of the file, as if it were a plain one. */
	struct stat st;
	struct b2f_frame_stamp stamp;
	/*
	 * The entries, and then the .npy views of each.  The first one, the directory
	 * that it is shown as, counts the references to all.
	 */
	struct fs_member *nodes;
	size_t nentries;

	/* The rest under the lock. */
	struct fs_pack *next;
	/* NULL: not open; else as long as it is used, and a while. */
	struct b2f_pack *pack;
	uint64_t nusers;
	/* When the last user went, on the monotonic clock. */
	time_t idle_s;
};

/* Closes what is not used any more.  Returns whether there is more to come. */
bool fs_packs_tick(struct fs *fs);

/* Gives back a reference to @pack. */
void fs_packs_put(struct fs_pack *pack);

/* Closes everything; no request is running any more. */
void fs_packs_fini(struct fs *fs);

/* Opens SOURCE, a pack, as the root of the mount.  Errors: b2f_pack_open()'s. */
B2F_MUST_CHECK
int fs_packs_open_root(struct fs *fs);

/*
 * Is @name in the backing directory @dirfd a pack?  By content, if it is called
 * like one.  Returns 1, 0, or an errno that is no answer.
 */
B2F_MUST_CHECK
int fs_packs_look(struct fs *fs, int dirfd, const char *name);

/*
 * If @name in @dir (descriptor @dirfd) is a pack: answers with its root, which
 * has a reference for the kernel then.  A pack that cannot be opened is logged,
 * and shown as a file.
 *
 * Returns 1, 0 (it is none) or an errno.
 */
B2F_MUST_CHECK
int fs_packs_enter(struct fs *fs, struct fs_backed *dir, int dirfd,
		   const char *name, struct fuse_entry_param *answer);

/* Is @name one, and is nothing in it?  Returns as fs_packs_enter(). */
B2F_MUST_CHECK
int fs_packs_look_inside(struct fs *fs, struct fs_backed *dir, int dirfd,
			 const char *name, bool *empty);

/* An object in a bucket, open as @pack. */
struct fs_pack_found {
	struct b2f_pack *pack;
	/* Name of the bucket, path of the object, and its attributes. */
	const char *label;
	const char *path;
	struct stat st;
	/* The number that is shown for a path. */
	uint64_t (*number_of)(const char *path);
};

/*
 * Makes it known, or takes what another thread has made; with a reference.  Closes
 * @found->pack after an error, too.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_packs_adopt(struct fs *fs, const struct fs_pack_found *found,
		   struct fs_pack **out);

/*
 * The pack of that very version, which is at @path in a bucket (NULL: in the tree),
 * with a reference; or NULL.
 */
struct fs_pack *fs_packs_known(struct fs *fs, const char *path,
			       const struct b2f_frame_stamp *stamp);

/*
 * Answers with @node, of a pack in use; the kernel has one more reference to it.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_packs_answer(struct fs *fs, struct fs_member *node,
		    struct fuse_entry_param *answer);

#endif
