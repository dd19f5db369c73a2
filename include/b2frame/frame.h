/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h - opens, describes and closes Blosc2 frames
 *
 * A frame is a row of chunks and metadata: a directory (sparse) or a file
 * (contiguous).  To read its data, give it to b2f_file_open() (file.h).
 *
 * Layer: public (made by frame/).
 *
 * Threads: an open frame is immutable; every function but b2f_frame_close()
 * may be called from any thread.
 */
#ifndef B2FRAME_FRAME_H
#define B2FRAME_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/api.h"
#include "b2frame/array.h"
#include "b2frame/error.h"
#include "b2frame/log.h"

B2F_BEGIN_API

struct b2f_frame;
struct b2f_reserve;

#define B2F_SLOTS 6

/* Zero is the default of every field. */
struct b2f_frame_options {
	/* Must outlive the frame.  NULL: no messages. */
	const struct b2f_log *log;
	/* Name for messages; NULL: the path of the frame. */
	const char *label;
	/* Where a contiguous frame begins in its file, bytes. */
	uint64_t offset;
	/* Refuse a path whose last component is a symbolic link. */
	bool nofollow;
	/*
	 * A contiguous frame has its lock file, NAME.b2lock, beside the file
	 * NAME, @home_name below @home_fd.  NULL: NAME is @path below @dirfd.
	 * An empty name: the frame has no lock file.
	 */
	int home_fd;
	const char *home_name;
	/* Take no part in the locks of C-Blosc2, where there is a lock file. */
	bool no_locking;
	/*
	 * Take serialized objects (b2f_frame_objects()) for plain bytes, one
	 * chunk behind the other: for copies chunk by chunk.
	 */
	bool join_objects;
	/*
	 * Open a frame whose metalayers do not agree with the checksum of its
	 * index, if all else does; the next commit takes them as they are.
	 */
	bool damaged_meta;
	/*
	 * From b2f_runtime_reserve(): the index counts against the memory of
	 * that cache, which has to outlive the frame, and one for which there
	 * is no room is refused (B2F_ETOOBIG; -ENOMEM if others have to be
	 * closed first).  NULL: it does not count.
	 */
	struct b2f_reserve *reserve;
};

/* The contents of the index.  Sizes in bytes. */
struct b2f_frame_info {
	/* Decoded bytes of the whole frame. */
	uint64_t nbytes;
	/* Stored bytes of its chunks, as the index counts them. */
	uint64_t cbytes;
	uint64_t nchunks;
	/* Chunks that are index entries alone: zeros, NaNs, uninitialised. */
	uint64_t nspecial;
	uint64_t frame_len;
	uint32_t header_len;
	uint32_t trailer_len;
	uint32_t typesize;
	/* The block size in the settings; 0: automatic. */
	uint32_t blocksize;
	/* Decoded bytes of a chunk; 0: they differ; -1: not known yet. */
	int32_t chunksize;
	/* A directory of chunk files. */
	bool sparse;
	uint8_t version;
	uint8_t general_flags;
	/* Defaults for new chunks; see names.h. */
	uint8_t codec;
	uint8_t codec_meta;
	uint8_t clevel;
	/* 1 always, 2 never, 3 auto, 4 forward-compatible. */
	uint8_t splitmode;
	bool use_dict;
	uint8_t filters[B2F_SLOTS];
	uint8_t filters_meta[B2F_SLOTS];
	/* Type byte and content of the trailer's fingerprint. */
	uint8_t fingerprint_type;
	uint8_t fingerprint[16];
	size_t nmeta;
	size_t nvlmeta;
	/*
	 * The kind of checksums in a Bloscpack file, such as "crc32" or "none".
	 * NULL: not a Bloscpack file.
	 */
	const char *bloscpack;
};

enum b2f_chunk_kind {
	/* Blocks that went through filters and codec. */
	B2F_CHUNK_COMPRESSED,
	/* The data, not compressed. */
	B2F_CHUNK_STORED,
	/* Compressed blocks of different lengths. */
	B2F_CHUNK_VLBLOCKS,
	B2F_CHUNK_ZEROS,
	B2F_CHUNK_NAN,
	B2F_CHUNK_VALUE,
	B2F_CHUNK_UNINIT,
};

/* "compressed", "stored", "vlblocks", "zeros", "nan", "value", "uninit". */
const char *b2f_chunk_kind_name(enum b2f_chunk_kind kind);

/* The header of one chunk. */
struct b2f_chunk_info {
	enum b2f_chunk_kind kind;
	/* The chunk is an index entry alone; fields after @nbytes are 0. */
	bool in_index;
	/* Decoded bytes. */
	uint64_t nbytes;
	/* Stored bytes. */
	uint64_t cbytes;
	/* Number of the chunk file, or offset from the end of the header. */
	uint64_t place;
	uint32_t blocksize;
	uint32_t nblocks;
	uint8_t version;
	uint8_t typesize;
	uint8_t codec;
	uint8_t codec_meta;
	bool split;
	bool has_dict;
	uint8_t filters[B2F_SLOTS];
	uint8_t filters_meta[B2F_SLOTS];
};

/* A metalayer or vlmetalayer. */
struct b2f_meta_info {
	/* 0-terminated, may hold more 0 bytes; valid as long as the frame. */
	const char *name;
	size_t name_len;
	/* Decoded bytes. */
	size_t size;
};

/*
 * Identifies a version of a file without reading it: of an index, and so of its
 * frame; of a chunk file; of any other file.
 */
struct b2f_frame_stamp {
	uint64_t dev;
	uint64_t ino;
	int64_t size;
	int64_t mtime_ns;
	/*
	 * 0: @ino stands for an ETag, and the times identify nothing.  The
	 * mtime, if the filesystem tells no ctime.
	 */
	int64_t ctime_ns;
};

/* Facts about a frame that b2f_frame_peek() reads without opening it. */
struct b2f_frame_peek {
	/*
	 * A directory with an index, or a file with the magic; or a file
	 * NAME.b2frame or NAME.b2nd of zeros alone: a new frame that a loss of
	 * power has emptied.
	 */
	bool is_frame;
	bool sparse;
	/* A Bloscpack file, which is shown as a frame. */
	bool bloscpack;
	/* The header is invalid: the sizes are unknown. */
	bool broken;
	/* Without a header: an empty frame by its name and its other files. */
	bool blank;
	/* An array that was made from a .npy file. */
	bool is_npy;
	/* An array for which there is a b2f_frame_npy_header(). */
	bool has_npy_header;
	/* The header shows that there is a b2f_frame_obstacle(). */
	bool read_only;
	/* See b2f_frame_shown_nbytes(). */
	uint64_t nbytes;
	uint64_t cbytes;
	/* Status of the index: chunks.b2frame, or the contiguous file. */
	struct stat index;
};

/*
 * Opens the frame @path below @dirfd (AT_FDCWD is allowed): reads and checks
 * header, metalayers, index and trailer, no chunk.  Memory: 8 bytes a chunk.
 * While another program changes the frame it waits: some seconds if that
 * program uses the locks of C-Blosc2, otherwise until the files were unchanged
 * for one tick of their clock.  Close *@out with b2f_frame_close().
 *
 * Returns 0, B2F_ENOTFRAME, B2F_ECORRUPT, B2F_EUNSUPPORTED, B2F_ETOOBIG,
 * -EAGAIN (another program is still changing it), -ENOMEM, or an errno of the
 * filesystem (-ENOENT: no such path).  The cause is logged.
 */
B2F_MUST_CHECK
int b2f_frame_open(const struct b2f_frame_options *options, int dirfd,
		   const char *path, struct b2f_frame **out);

/*
 * Opens the contiguous frame of @size bytes at @data, which must outlive it.
 * The errors are those of b2f_frame_open(); @options->offset is not used.
 */
B2F_MUST_CHECK
int b2f_frame_open_memory(const struct b2f_frame_options *options,
			  const void *data, size_t size,
			  struct b2f_frame **out);

/* NULL does nothing. */
void b2f_frame_close(struct b2f_frame *frame);

/* Returns what the index says; valid as long as @frame. */
const struct b2f_frame_info *b2f_frame_info_get(const struct b2f_frame *frame);

/* Returns the name of the frame for messages. */
const char *b2f_frame_label(const struct b2f_frame *frame);

/* Returns the geometry of a sound b2nd array, or NULL; valid like @frame. */
const struct b2f_array *b2f_frame_array(const struct b2f_frame *frame);

/*
 * Returns the shape, item size and dtype (all other fields are 0) of an array
 * that save_array() of python-blosc2 stored as plain data with a description,
 * or NULL; valid as long as @frame.
 */
const struct b2f_array *b2f_frame_tensor(const struct b2f_frame *frame);

/*
 * Returns 0, or why @frame cannot be read as a file (logged when it was
 * opened): B2F_ECORRUPT (an array whose chunks do not fit its shape, or whose
 * .npy header is damaged), B2F_EUNSUPPORTED (its data are elsewhere: see
 * b2f_frame_stands_for(); or are no plain bytes: see b2f_frame_objects()).
 */
B2F_MUST_CHECK
int b2f_frame_shown_error(const struct b2f_frame *frame);

/*
 * If the data of @frame are elsewhere, returns the kind of frame: "a lazy
 * expression" of python-blosc2, say, or "a proxy that has not fetched all its
 * data"; or NULL.
 */
const char *b2f_frame_stands_for(const struct b2f_frame *frame);

/*
 * Returns the kind of serialized objects in @frame, such as "an ObjectArray";
 * NULL if its data are plain bytes.
 */
const char *b2f_frame_objects(const struct b2f_frame *frame);

/*
 * Size of the file that shows the frame: its data, or the items of an array in
 * C order, after a .npy header if the array was made from a .npy file.
 */
uint64_t b2f_frame_shown_nbytes(const struct b2f_frame *frame);

/*
 * True if @frame is an array that was made from a .npy file, and is shown as
 * such.
 */
bool b2f_frame_is_npy(const struct b2f_frame *frame);

/*
 * Returns the .npy header of an array, or of b2f_frame_tensor(): the original
 * header, or the one that NumPy would write.  *@out is malloc'ed: free() it.
 *
 * Returns 0; B2F_EUNSUPPORTED (no array, or no .npy header can express its
 * type), B2F_ECORRUPT (the stored header is damaged) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_frame_npy_header(const struct b2f_frame *frame, uint8_t **out,
			 size_t *len);

/*
 * Is the frame on disk the one that was opened?  Returns 0, -ESTALE or an
 * errno.
 */
B2F_MUST_CHECK
int b2f_frame_check_same(struct b2f_frame *frame);

/* Stamp of the index that was read. */
struct b2f_frame_stamp b2f_frame_stamp_get(const struct b2f_frame *frame);

/* The stamp of an index, or another file, with these attributes. */
struct b2f_frame_stamp b2f_frame_stamp_of(const struct stat *st);

bool b2f_frame_stamp_equal(const struct b2f_frame_stamp *a,
			   const struct b2f_frame_stamp *b);

/*
 * Does @stamp prove a version: would a change now give another stamp?  Clocks
 * of filesystems tick every few milliseconds, those of a *coarse* stamp only
 * every other second; a younger file may change and keep its stamp.
 */
bool b2f_frame_stamp_is_settled(const struct b2f_frame_stamp *stamp);
bool b2f_frame_stamp_is_coarse(const struct b2f_frame_stamp *stamp);

/*
 * Could a mere change of attributes explain the difference of the stamps?  It
 * changes the ctime, and with @set_mtime the mtime as well.
 */
bool b2f_frame_stamp_same_data(const struct b2f_frame_stamp *a,
			       const struct b2f_frame_stamp *b, bool set_mtime);

/*
 * Reads the head of chunk @nchunk (< nchunks).  Returns 0, B2F_ECORRUPT,
 * B2F_EUNSUPPORTED, -ENOMEM or an errno; the cause is logged.
 */
B2F_MUST_CHECK
int b2f_frame_chunk_info(struct b2f_frame *frame, uint64_t nchunk,
			 struct b2f_chunk_info *out);

/*
 * Returns metalayer @i (< nmeta); *@content is its content, valid as long as
 * @frame.
 */
struct b2f_meta_info b2f_frame_meta(const struct b2f_frame *frame, size_t i,
				    const uint8_t **content);

/*
 * Decodes vlmetalayer @i (< nvlmeta).  *@content is malloc'ed: free() it.
 * Returns 0, B2F_ECORRUPT, B2F_EUNSUPPORTED, B2F_ETOOBIG or -ENOMEM; the cause
 * is logged.
 */
B2F_MUST_CHECK
int b2f_frame_vlmeta(const struct b2f_frame *frame, size_t i,
		     struct b2f_meta_info *info, uint8_t **content);

/*
 * Decodes the first vlmetalayer @name: *@size bytes at *@content, malloc'ed:
 * free() them.  Returns as b2f_frame_vlmeta(), or -ENODATA (there is none).
 */
B2F_MUST_CHECK
int b2f_frame_vlmeta_find(const struct b2f_frame *frame, const char *name,
			  uint8_t **content, size_t *size);

/*
 * Is @name below @dirfd (a symbolic link is not followed) a frame, and how
 * large?  Reads one header, or the whole index of an array, whose memory counts
 * in @reserve (see struct b2f_frame_options) or, NULL, does not.
 *
 * Returns 0 (also for no frame, and for a broken frame), or an errno that tells
 * nothing about the frame.
 */
B2F_MUST_CHECK
int b2f_frame_peek(int dirfd, const char *name, struct b2f_reserve *reserve,
		   struct b2f_frame_peek *out);

/* Bytes of a file that b2f_frame_begins() needs. */
#define B2F_FRAME_BEGIN_MAX 128

/*
 * Do the first @n bytes of a file of @size bytes begin a frame, with a valid
 * header?  If not, the file may still be another kind of frame.
 */
bool b2f_frame_begins(const void *bytes, size_t n, uint64_t size);

/*
 * Returns why @frame cannot be written to as a file, such as "it is a part of
 * another file", or NULL.  May read heads of chunks.
 */
const char *b2f_frame_obstacle(struct b2f_frame *frame);

/*
 * Describes @frame as a JSON object; with @chunks every chunk, too (reads all
 * their heads).  *@out is malloc'ed: free() it.  Returns 0, -ENOMEM, or with
 * @chunks the error of the first bad chunk, after reading all (*@out is set; a
 * bad chunk has an "error").
 */
B2F_MUST_CHECK
int b2f_frame_describe(struct b2f_frame *frame, bool chunks, char **out);

B2F_END_API

#endif
