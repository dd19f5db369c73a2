/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack.h - makes a pack: first its leaves, then their tree
 *
 * Layer: pack.  May include: base/ index/ store/ frame/.
 * Threads: a pack that is being made belongs to one thread.
 */
#ifndef B2F_PACK_PACK_H
#define B2F_PACK_PACK_H

#include "b2frame/pack.h"
#include "base/why.h"
#include "store/store.h"

/* A range of stored bytes. */
struct b2f_member {
	/* The store with the bytes; NULL: there are none. */
	struct b2f_store *source;
	uint64_t off;
	uint64_t size;
	/* Has the ZIP file a checksum of them? */
	bool has_crc32;
	uint32_t crc32;
};

/* A frame, plain bytes, or a directory, before there is a tree. */
struct b2f_leaf {
	/* malloc'ed; the path of a directory ends in a slash. */
	char *path;
	/* Its stored bytes; a directory has some if it is an EmbedStore. */
	struct b2f_member member;
	/* It is known to be a frame, so that no byte of it has to be read. */
	bool is_frame;
	const char *refused;
};

struct b2f_leaves {
	struct b2f_leaf *items;
	size_t n;
	size_t room;
};

/* A public entry, and what only this layer knows of it. */
struct b2f_pack_node {
	struct b2f_pack_entry entry;
	struct b2f_member member;
	/* For a directory: its children in @order. */
	size_t first;
	size_t nchildren;
	/* The last part of @entry.path. */
	const char *name;
};

/* Limit of entries; python-blosc2 reads no store with more. */
#define B2F_PACK_ENTRIES_MAX (4u << 20)

/* Maximal depth of a path. */
#define B2F_PACK_DEPTH_MAX 128

struct b2f_pack {
	const struct b2f_log *log;
	/* See struct b2f_frame_options. */
	struct b2f_reserve *reserve;
	char *label;
	struct b2f_frame_stamp stamp;
	/* The stores of all leaves: the file, and EmbedStores in it. */
	struct b2f_store **sources;
	size_t nsources;
	struct b2f_leaves leaves;
	struct b2f_pack_node *nodes;
	size_t nnodes;
	/* All nodes but the root, sorted by directory and name. */
	size_t *order;
	/* Names without a suffix, and paths of directories; malloc'ed. */
	char **texts;
	size_t ntexts;
};

/*
 * Reads the @n bytes of @member from byte @off on.  Returns 0, or an error of
 * its source with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_pack_read_member(const struct b2f_member *member, uint64_t off,
			 void *buf, size_t n, struct b2f_why *why);

/*
 * Adds a leaf, and takes its @path over even if that fails.
 * Returns 0, B2F_ETOOBIG or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_leaves_add(struct b2f_leaves *leaves, const struct b2f_leaf *leaf,
		   struct b2f_why *why);

/* pack_embed.c: do the metalayers of @frame name an EmbedStore? */
bool b2f_embed_is(const struct b2f_frame *frame);

/*
 * pack_embed.c: makes a read-only store of the data of @frame as they are
 * stored, which keeps @frame open.  A read decodes block by block; nothing is
 * kept.  Free *@out with b2f_store_free().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_embed_store(struct b2f_frame *frame, struct b2f_store **out);

/*
 * pack_embed.c: adds the leaves of the EmbedStore @frame, in the directory
 * @prefix ("" or ending in a slash).  @source: its b2f_embed_store(), which has
 * their bytes.
 *
 * Returns 0, B2F_ECORRUPT, B2F_ETOOBIG or -ENOMEM, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_embed_add(struct b2f_frame *frame, struct b2f_store *source,
		  const char *prefix, struct b2f_leaves *out,
		  struct b2f_why *why);

/*
 * pack_tree.c: makes the nodes of @pack from its leaves.
 *
 * Returns 0, B2F_ECORRUPT (a file and a directory of one name), B2F_ETOOBIG,
 * -ENOMEM or an errno of a source, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_pack_make_tree(struct b2f_pack *pack, struct b2f_why *why);

/*
 * Like b2f_pack_open(), for the pack in @store, which it takes over even if it
 * fails.  The suffix of @path tells the kind of the pack.
 */
B2F_MUST_CHECK
int b2f_pack_open_store(const struct b2f_frame_options *options,
			struct b2f_store *store, const char *path,
			struct b2f_pack **out);

#endif
