/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack.h - a file that holds frames by names: a pack
 *
 * There are two kinds, both of python-blosc2: a .b2z store, which is a ZIP file
 * of stored members, and a .b2e store, which is a frame whose data are frames.
 * A .b2e inside of a .b2z is a directory in it.  Packs are only read.
 *
 * A pack holds a tree of entries.  A frame is shown without its suffix (as "x"
 * if it is stored as x.b2nd), unless that would clash with another entry of its
 * directory; so each entry has a name of its own.
 *
 * Layer: public (made by pack/).
 *
 * Threads: a pack is immutable; every function but b2f_pack_close() may be
 * called from any thread.
 */
#ifndef B2FRAME_PACK_H
#define B2FRAME_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "b2frame/api.h"
#include "b2frame/error.h"
#include "b2frame/frame.h"

B2F_BEGIN_API

struct b2f_pack;

enum b2f_pack_kind {
	B2F_PACK_DIR,
	B2F_PACK_FRAME,
	/* Plain bytes. */
	B2F_PACK_FILE,
};

struct b2f_pack_entry {
	enum b2f_pack_kind kind;
	/* The name in its directory; "" for the root, entry 0. */
	const char *shown;
	/* From the root, as it is stored: "g/x.b2nd"; "" for the root. */
	const char *path;
	/* The directory it is in; the root is in itself. */
	size_t parent;
	/* Stored bytes; 0 for a directory. */
	uint64_t size;
	/* Why it cannot be read, such as "it is encrypted"; NULL: it can. */
	const char *refused;
};

/* Does @name end in .b2z or .b2e, so that the file could be a pack? */
bool b2f_pack_is_name(const char *name);

/*
 * Is the file @name below @dirfd (AT_FDCWD is allowed) a pack?  It needs the
 * suffix of a pack, and to end like a ZIP file or have the metalayers of an
 * EmbedStore.  A symbolic link is no pack.
 *
 * Returns 0 and sets *@is, or an errno: then the answer is not known.
 */
B2F_MUST_CHECK
int b2f_pack_look(int dirfd, const char *name, bool *is);

/*
 * Opens the pack @path below @dirfd: reads names and positions of all entries.
 * Uses log, label and nofollow of @options.  Close *@out with b2f_pack_close();
 * frames that were opened from it stay open.
 *
 * Returns 0, B2F_ENOTFRAME (it is no pack), B2F_ECORRUPT, B2F_EUNSUPPORTED,
 * B2F_ETOOBIG, -ENOMEM, or an errno of the filesystem.  The cause is logged.
 */
B2F_MUST_CHECK
int b2f_pack_open(const struct b2f_frame_options *options, int dirfd,
		  const char *path, struct b2f_pack **out);

/* NULL does nothing. */
void b2f_pack_close(struct b2f_pack *pack);

/* The state of the file when it was opened. */
struct b2f_frame_stamp b2f_pack_stamp(const struct b2f_pack *pack);

/*
 * Is the file unchanged since it was opened?  If so, all bytes read before the
 * call are of one version.  Returns 0, -ESTALE, or an errno.
 */
B2F_MUST_CHECK
int b2f_pack_check(const struct b2f_pack *pack);

/* Returns the number of entries, with the root. */
size_t b2f_pack_count(const struct b2f_pack *pack);

/* Entry @i (< b2f_pack_count()); valid like the pack. */
const struct b2f_pack_entry *b2f_pack_entry(const struct b2f_pack *pack,
					    size_t i);

/* Number of entries in directory @dir; the @i-th of them by shown name. */
size_t b2f_pack_nchildren(const struct b2f_pack *pack, size_t dir);
size_t b2f_pack_child(const struct b2f_pack *pack, size_t dir, size_t i);

/*
 * Finds the entry shown as @name in the directory @dir.  Returns 0, -ENOENT, or
 * -ENOTDIR.
 */
B2F_MUST_CHECK
int b2f_pack_lookup(const struct b2f_pack *pack, size_t dir, const char *name,
		    size_t *out);

/*
 * Finds the entry @path from the root: by the names that are shown, or else as
 * it is stored.  Slashes at both ends do not count.  Returns as
 * b2f_pack_lookup().
 */
B2F_MUST_CHECK
int b2f_pack_find(const struct b2f_pack *pack, const char *path, size_t *out);

/*
 * Opens the frame of entry @i.  Uses log and label of @options.  Returns as
 * b2f_frame_open(); or -EISDIR, B2F_ENOTFRAME (plain bytes), B2F_EUNSUPPORTED
 * (it is refused, which is logged).
 */
B2F_MUST_CHECK
int b2f_pack_open_frame(const struct b2f_pack *pack, size_t i,
			const struct b2f_frame_options *options,
			struct b2f_frame **out);

/*
 * Reads up to @n stored bytes of entry @i from byte @off on; a read of the
 * whole entry also checks its checksum.  Returns the number of bytes, fewer
 * than @n only at the end; -EISDIR, B2F_EUNSUPPORTED (it is refused),
 * B2F_ECORRUPT, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
ssize_t b2f_pack_read(const struct b2f_pack *pack, size_t i, uint64_t off,
		      void *buf, size_t n);

/*
 * Reads all stored bytes of entry @i, and compares them with their CRC-32: a
 * .b2z has one for frames, plain bytes, and each .b2e in it (a directory here).
 * Entries without a CRC-32 are not read: a .b2e file, refused entries,
 * directories.
 *
 * Returns 0, B2F_ECORRUPT (they differ), -ENOMEM or an errno; the cause is
 * logged.
 */
B2F_MUST_CHECK
int b2f_pack_check_sum(const struct b2f_pack *pack, size_t i);

B2F_END_API

#endif
