/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h - frames in an object store, or on a web server
 *
 * A struct b2f_remote is one location: a bucket or a prefix in it
 * (s3://BUCKET/PREFIX), or a URL (http://, https://), with the credentials for
 * it and the connections to it.  A *path* names an object below it, and "" the
 * location itself; it is the rest of the key, with '/' between its parts.
 *
 * The ETag identifies a version of an object.  All reads of an open object are
 * of one version (If-Match), or fail with -ESTALE.
 *
 * In a library that was built without libcurl these functions log that and
 * return B2F_EUNSUPPORTED.
 *
 * Layer: public (made by remote/).
 *
 * Threads: every function but b2f_remote_free() may be called from any thread.
 * A remote has a thread of its own: a daemon makes it after its last fork.
 */
#ifndef B2FRAME_REMOTE_H
#define B2FRAME_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "b2frame/api.h"
#include "b2frame/create.h"
#include "b2frame/error.h"
#include "b2frame/frame.h"
#include "b2frame/pack.h"
#include "b2frame/patience.h"

B2F_BEGIN_API

struct b2f_remote;

/*
 * Keys of an object store: malloc'ed, the session token NULL if there is none.
 */
struct b2f_remote_keys {
	char *access_key;
	char *secret_key;
	char *session_token;
	/* When the keys expire, seconds since 1970; 0: never. */
	int64_t end_s;
};

#define B2F_REMOTE_SSE_C_SIZE 32

/* Zero is the default of every field.  All strings are copied. */
struct b2f_remote_options {
	/* Must outlive the remote.  NULL: no messages. */
	const struct b2f_log *log;
	/* The server of an s3:// URL, "http://HOST:PORT"; NULL: that of AWS. */
	const char *endpoint;
	/* NULL: "us-east-1". */
	const char *region;
	/*
	 * Name the bucket in the path, not in the host; always so with
	 * @endpoint unless @host_style.
	 */
	bool path_style;
	bool host_style;
	/* For an s3:// URL; without the first two nothing is signed. */
	const char *access_key;
	const char *secret_key;
	const char *session_token;
	/*
	 * When these keys expire, seconds since 1970 (0: never), and a function
	 * that gets new ones before that.  It returns 0 with *@out, which the
	 * remote frees, or a negative errno with a @reason of up to @size
	 * bytes.  Any thread that makes requests calls it, one at a time, and
	 * it may block.  If it fails, the remote goes on with the old keys
	 * until they expire, and calls it again.  NULL: keys are not renewed.
	 */
	int64_t keys_end_s;
	int (*renew)(void *arg, struct b2f_remote_keys *out, char *reason,
		     size_t size);
	void *renew_arg;
	/*
	 * For s3:// URLs: the user pays for the requests, not the owner of the
	 * bucket.
	 */
	bool request_payer;
	/*
	 * How the server is to encrypt new objects: "AES256" or "aws:kms", with
	 * the key @sse_kms_key (which alone implies "aws:kms").  NULL: the
	 * default of the bucket.
	 */
	const char *sse;
	const char *sse_kms_key;
	/* Instead, a key of B2F_REMOTE_SSE_C_SIZE bytes (SSE-C), or NULL. */
	const uint8_t *sse_c_key;
	/*
	 * If there are no keys: the places where none were found, for messages.
	 * NULL: the user wants no keys.
	 */
	const char *unsigned_why;
	/*
	 * A proxy as libcurl takes it (NULL: none, whatever the environment
	 * says), and the hosts to reach without it, in the form of no_proxy
	 * (NULL: none).
	 */
	const char *proxy;
	const char *no_proxy;
	/* A file of certificates (PEM) to trust; NULL: those of the system. */
	const char *ca_file;
	/* Time limit for connecting, ms; 0: 10,000. */
	unsigned int connect_ms;
	/* Time limit without a byte, ms, in steps of a second; 0: 30,000. */
	unsigned int stall_ms;
	/*
	 * Time limit for a whole answer, ms, plus a second per 16 KiB of it; 0:
	 * 60,000.
	 */
	unsigned int answer_ms;
	/*
	 * How long a request is retried after transient errors, ms; 0: 180,000.
	 * UINT_MAX: no retry.  For a server that has never answered, 5,000 at
	 * most.
	 */
	unsigned int retry_ms;
	/*
	 * Pause before the first retry, ms, half of it random; doubled before
	 * each further one, up to 10,000. 0: 100.
	 */
	unsigned int backoff_ms;
	/*
	 * A longer object is sent in parts of a quarter of this size (multipart
	 * upload), with this many bytes in memory; 0: 64 MiB.
	 */
	uint64_t put_bytes;
	/*
	 * Requests at a time; 0: 32, so that chunks of some 100 KiB fill a link
	 * of 100 MB/s.
	 */
	unsigned int connections;
	/*
	 * How long an index counts as current after it was read or checked, ms;
	 * 0: 5,000.  A frame asks no more often whether it has changed.
	 */
	unsigned int refresh_ms;
	/*
	 * A directory, made if there is none, that caches stored bytes by
	 * object and version, up to @cache_bytes on disk (0: 10 GiB), at least
	 * 1 MiB.  Several programs may share it.  NULL: no cache.
	 */
	const char *cache_dir;
	uint64_t cache_bytes;
	/*
	 * Bytes of chunks that may be prefetched for sequential readers of all
	 * frames together; 0: 128 MiB.
	 */
	uint64_t ahead_bytes;
	/*
	 * Seconds for which chunks that a commit has replaced stay, for readers
	 * of the older index; 0: 60.
	 */
	unsigned int keep_s;
	/*
	 * Called once a second by a thread of the remote while there are
	 * requests: is the program to end, and has it committed all data?  If
	 * true, the remote acts as after b2f_remote_hurry().
	 */
	b2f_unwanted_fn *ends;
	void *ends_arg;
};

/* "s3://...", "http://...", "https://...": may be given to b2f_remote_new(). */
bool b2f_remote_is_url(const char *path);

/* Is it "s3://...", an object store? */
bool b2f_remote_is_s3(const char *path);

/*
 * Makes the remote of @url; makes no request.  Free *@out with
 * b2f_remote_free().  Returns 0, -EINVAL (the URL or an option makes no sense,
 * which is logged), B2F_EUNSUPPORTED (built without), -EAGAIN or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_remote_new(const struct b2f_remote_options *options, const char *url,
		   struct b2f_remote **out);

/*
 * Frames and packs that were opened from @remote keep it alive.  NULL does
 * nothing.
 */
void b2f_remote_free(struct b2f_remote *remote);

/*
 * For the end of a program that has committed all: reads and removals get two
 * seconds from now on.  With @at_once all requests end now, and unstored bytes
 * are lost.
 */
void b2f_remote_hurry(struct b2f_remote *remote, bool at_once);

/* Is @remote in an object store, whose directories can be listed? */
bool b2f_remote_has_list(const struct b2f_remote *remote);

/* Returns keep_s of the options: seconds until replaced chunks are removed. */
unsigned int b2f_remote_keep_s(const struct b2f_remote *remote);

/* Returns the URL of @remote for messages, without its secret parts. */
const char *b2f_remote_label(const struct b2f_remote *remote);

/* Room for an ETag and its 0; longer ones are not supported. */
#define B2F_REMOTE_ETAG_SIZE 128

/* A version of an object. */
struct b2f_remote_stat {
	uint64_t size;
	/* Seconds since 1970; 0: not known. */
	int64_t mtime;
	/* The ETag as the server writes it, with quotes; "": none. */
	char etag[B2F_REMOTE_ETAG_SIZE];
	/*
	 * The CRC-32 of the whole object, if the server knows it and was asked.
	 */
	bool has_crc32;
	uint32_t crc32;
};

/* The stamp of the version @st, and its attributes as of a plain file. */
struct b2f_frame_stamp b2f_remote_stamp(const struct b2f_remote_stat *st);
void b2f_remote_attributes(const struct b2f_remote_stat *st, struct stat *out);

/*
 * Looks up the current version of the object @path, by one request.
 *
 * Returns 0 or an *error of requests*; the functions below return the same
 * errors, and log all but -ENOENT: -ENOENT (no such object, or no bucket),
 * -EACCES (wrong key, access denied, or this machine's clock is wrong), -ESTALE
 * (another version), -EREMOTE (redirected), -ETIMEDOUT, -ECONNREFUSED,
 * -ECONNRESET, -EHOSTUNREACH, -EPROTO (TLS; no HTTP), B2F_EINDOUBT (a change
 * may have happened, or may yet), -EIO (the server fails), -EINTR
 * (b2frame/patience.h), -EBUSY (the object changes all the time, on a server
 * without ETags), B2F_EUNSUPPORTED (the server cannot serve ranges, or
 * identifies no version), B2F_ETOOBIG, -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_remote_look(struct b2f_remote *remote, const char *path,
		    struct b2f_remote_stat *out);

/*
 * Looks up the current version of @path: if *@sparse is set, the index of a
 * sparse frame, otherwise an object.  Also works with keys that may not list,
 * to which servers deny access to missing objects.  Makes up to two requests.
 * Returns 0 or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_find(struct b2f_remote *remote, const char *path, bool *sparse,
		    struct b2f_remote_stat *out);

/*
 * Reads up to @n bytes from byte @off on of the version @st of @path, by one
 * request.  Returns the number of bytes, fewer than @n only at the end, or an
 * error of requests.
 */
B2F_MUST_CHECK
ssize_t b2f_remote_read(struct b2f_remote *remote, const char *path,
			const struct b2f_remote_stat *st, uint64_t off,
			void *buf, size_t n);

/* A name in a directory. */
struct b2f_remote_entry {
	/* One part of a path, without slashes; valid during the call. */
	const char *name;
	/* A directory: paths begin with @name and a '/'; @st is zeros. */
	bool is_dir;
	struct b2f_remote_stat st;
};

/* Returns 0 to go on, or what b2f_remote_list() is to return. */
typedef int b2f_remote_list_fn(void *arg, const struct b2f_remote_entry *entry);

/*
 * Calls @fn for each name in the directory @path, in no particular order.
 * Makes one request per thousand names.  An empty name stands for keys that no
 * path reaches: a directory for keys with two slashes in a row, otherwise the
 * object whose key ends in '/', which is left out if it has no bytes.  An empty
 * or missing directory is no error.
 *
 * Returns 0, what @fn returned, B2F_EUNSUPPORTED (no object store),
 * B2F_ECORRUPT (the answer makes no sense) or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_list(struct b2f_remote *remote, const char *path,
		    b2f_remote_list_fn *fn, void *arg);

/*
 * Like b2f_frame_open(), for the sparse frame whose index is
 * @path/chunks.b2frame, or the contiguous frame in the object @path.  Makes one
 * request, or two if the index has more than a mebibyte; up to four for a
 * contiguous frame.  Close *@out with b2f_frame_close().
 *
 * Returns as b2f_frame_open(), or an error of requests; all are logged.
 */
B2F_MUST_CHECK
int b2f_remote_open_frame(struct b2f_remote *remote, const char *path,
			  const struct b2f_frame_options *options,
			  struct b2f_frame **out);

/* Like b2f_pack_open(), for the object @path. */
B2F_MUST_CHECK
int b2f_remote_open_pack(struct b2f_remote *remote, const char *path,
			 const struct b2f_frame_options *options,
			 struct b2f_pack **out);

/*
 * Writing needs an object store that honours conditional requests.  A test
 * before the first write finds that out; on other servers all of these
 * functions return
 * -EROFS, and log why.  A sparse frame that was opened as above is written to
 * like any other (b2frame/write.h).  Other programs may write to it, too: the
 * second of two commits is merged with the first, or fails with -ESTALE.
 *
 * May objects below @path be written?  Returns 0, -EROFS or an error of
 * requests: all are logged, -ENOENT too (there is no such bucket).
 */
B2F_MUST_CHECK
int b2f_remote_allow_write(struct b2f_remote *remote, const char *path);

/*
 * Makes the empty sparse frame @path; the first commit stores its index, and no
 * object exists before.  Close *@out with b2f_frame_close().  If another
 * program makes a frame @path before that, the commit fails with -ESTALE.
 *
 * Returns 0, -EEXIST, -EINVAL (settings that cannot be; logged), -EROFS or an
 * error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_make_frame(struct b2f_remote *remote, const char *path,
			  const struct b2f_settings *settings,
			  const struct b2f_frame_options *options,
			  struct b2f_frame **out);

/*
 * Removes the sparse frame @path: its index first, so that it is either whole
 * or no frame, then its chunks, and orphans that are a day old.  A younger
 * orphan stays: another writer may be about to name it.
 * Returns 0, -ENOENT (there is no index), -ESTALE (another program has made a
 * frame there meanwhile, which stays), -EBUSY (others keep committing to it),
 * -EROFS or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_remove_frame(struct b2f_remote *remote, const char *path);

/*
 * Removes the index alone, and lists the chunks in *@out, with @orphans also
 * those that are a day old: programs with the frame open can read them until
 * b2f_remote_remains_free() removes them, too.  Returns as
 * b2f_remote_remove_frame().
 */
struct b2f_remote_remains;

B2F_MUST_CHECK
int b2f_remote_remove_index(struct b2f_remote *remote, const char *path,
			    bool orphans, struct b2f_remote_remains **out);

/*
 * Removes the chunks and waits for the end; NULL does nothing.  Leaves the
 * chunks of a replaced frame if the frame that replaced it was removed since.
 */
void b2f_remote_remains_free(struct b2f_remote_remains *remains);

/*
 * Returns the chunks that commits to @frame, which was opened from a remote,
 * have replaced, and that readers of older versions may need; NULL: none, or no
 * memory. b2f_remote_remains_free() removes those that were replaced more than
 * the remote's keep_s ago; a later writer of the frame removes the others, and
 * all after b2f_remote_remains_leave().
 */
struct b2f_remote_remains *b2f_remote_leftovers(struct b2f_frame *frame);

/*
 * Leaves them; NULL does nothing.  Chunks of a frame that was removed stay
 * then.
 */
void b2f_remote_remains_leave(struct b2f_remote_remains *remains);

/* Counts of objects that no frame needs. */
struct b2f_remote_orphans {
	/* Chunks that no index names and that are old enough; their bytes. */
	uint64_t n;
	uint64_t nbytes;
	/* Younger chunks: a writer may be about to name them. */
	uint64_t nyoung;
	/* Old test objects of b2f_remote_allow_write(), and old flags. */
	uint64_t nprobes;
};

/*
 * Finds chunks of the sparse frame @path that its index does not name (all, if
 * there are only chunks and no index), and test objects there, and removes
 * objects at least @older_s seconds old, by the clocks of server and client,
 * unless @dry_run.  No writer may take so long from a chunk to its commit.
 *
 * Returns 0, or as b2f_remote_open_frame() and b2f_remote_allow_write().
 */
B2F_MUST_CHECK
int b2f_remote_sweep(struct b2f_remote *remote, const char *path,
		     uint64_t older_s, bool dry_run,
		     struct b2f_remote_orphans *out);

/* Gets the counts of the orphans at @path. */
typedef void b2f_remote_orphans_fn(void *arg, const char *path,
				   const struct b2f_remote_orphans *found);

/*
 * Sweeps the directory @path and all below it; calls @fn for each directory
 * with orphans.  Goes on after an error, and returns the first one.
 */
B2F_MUST_CHECK
int b2f_remote_sweep_below(struct b2f_remote *remote, const char *path,
			   uint64_t older_s, bool dry_run,
			   b2f_remote_orphans_fn *fn, void *arg);

/* A rename may replace a frame. */
struct b2f_replace {
	/*
	 * Does this program read the frame, just before it is replaced?  Then
	 * for a month no other program removes its chunks before
	 * b2f_remote_remains_free() does.  NULL: it does not.
	 */
	bool (*is_read)(void *arg);
	void *arg;
};

struct b2f_remote_renamed {
	/* The frame is at its new path, in the version @now. */
	bool is_there;
	struct b2f_frame_stamp now;
	/* Chunks left at the old path; NULL: the frame is still there. */
	struct b2f_remote_remains *from;
	/* Chunks of the frame that was replaced; or NULL. */
	struct b2f_remote_remains *replaced;
};

/*
 * Gives the sparse @frame, which was opened from @remote, the path @to, by
 * copies that the server makes: the frame appears at @to, in one step, before
 * it goes from its old path.  Unless @replace is NULL, it replaces any frame at
 * @to, whatever its version.  @frame itself does not change. *@out is set in
 * any case: free the remains in it.
 *
 * Returns 0, B2F_EINDOUBT (the frame may be at both paths), -EEXIST, -ESTALE
 * (there is another version of @frame now), -EXDEV (chunks exist at @to, and
 * the chunks of @frame cannot get other ids; or @frame is not sparse), -EBUSY
 * (others keep replacing @to), -EINVAL (@frame is at @to already), -EROFS or an
 * error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_rename_frame(struct b2f_remote *remote, struct b2f_frame *frame,
			    const char *to, const struct b2f_replace *replace,
			    struct b2f_remote_renamed *out);

/*
 * Puts the @n bytes at @bytes as the object @path, in place of the version
 * @replaces; NULL: only if there is no object.  Stores the new version in *@out
 * unless that is NULL.
 *
 * Returns 0, -EEXIST, -ESTALE, -EROFS or an error of requests: then the server
 * may have stored the object, or may store it yet.
 */
B2F_MUST_CHECK
int b2f_remote_put(struct b2f_remote *remote, const char *path,
		   const void *bytes, size_t n,
		   const struct b2f_remote_stat *replaces,
		   struct b2f_remote_stat *out);

/*
 * A source of bytes to send.  @read reads all @n bytes at @off, or returns an
 * errno; calls are in order, and may begin again at 0.  The read of the last
 * bytes has to fail if not all bytes were of one version.  The thread of the
 * caller calls it; but if the object is too long for memory and the server
 * takes no parts, a thread of the remote does, and makes no other request
 * meanwhile.
 */
struct b2f_remote_source {
	int (*read)(void *arg, uint64_t off, void *buf, size_t n);
	void *arg;
	uint64_t size;
	/* Another number for each version that is read. */
	uint64_t key;
};

/* Bytes of the largest object that servers take; and of one piece of it. */
#define B2F_REMOTE_PUT_MAX   (UINT64_C(5) << 40)
#define B2F_REMOTE_PIECE_MAX (UINT64_C(5) << 30)

/*
 * Sends the bytes of @source as the object @path, which appears when the server
 * has the last byte.  With @overwrite it replaces an existing object.  Without,
 * it returns -EEXIST if there is one, unless that was sent from the same
 * version of the source: then *@kept is set, and nothing is sent.
 *
 * Returns 0, -EEXIST, -EISDIR (a sparse frame has the path), -ESTALE (another
 * program has changed the object meanwhile), B2F_ETOOBIG (more than
 * B2F_REMOTE_PUT_MAX), -EROFS or an error of requests; all but -EEXIST are
 * logged.  Or the error of @source, which is not logged.
 */
B2F_MUST_CHECK
int b2f_remote_send(struct b2f_remote *remote, const char *path,
		    const struct b2f_remote_source *source, bool overwrite,
		    bool *kept);

struct b2f_remote_reader;

/*
 * Makes a reader of the version @st of the object @path in order, which makes
 * several requests at a time and has some MiB in memory.  The reader belongs to
 * one thread at a time.  Free *@out with b2f_remote_reader_free().
 *
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_remote_reader_new(struct b2f_remote *remote, const char *path,
			  const struct b2f_remote_stat *st,
			  struct b2f_remote_reader **out);

/*
 * Reads all @n bytes at @off, and reads ahead if the last read ended there.
 * Returns 0, B2F_ECORRUPT (the object is shorter) or an error of requests;
 * logged.
 */
B2F_MUST_CHECK
int b2f_remote_reader_read(struct b2f_remote_reader *reader, uint64_t off,
			   void *buf, size_t n);

/* NULL does nothing. */
void b2f_remote_reader_free(struct b2f_remote_reader *reader);

/*
 * Removes the object @path; a missing object is no error.  Returns 0, -ESTALE
 * (another program changes it at the same time), -EROFS or an error of
 * requests.
 */
B2F_MUST_CHECK
int b2f_remote_remove(struct b2f_remote *remote, const char *path);

/* Counts of the requests of @remote. */
struct b2f_remote_counts {
	/* Requests sent, retries included. */
	uint64_t requests;
	uint64_t retries;
	/* Bytes of bodies. */
	uint64_t received;
	uint64_t sent;
};

struct b2f_remote_counts b2f_remote_counts_get(const struct b2f_remote *remote);

B2F_END_API

#endif
