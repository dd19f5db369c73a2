/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * name_ceiling.c - names in memory: what FUSE itself costs to make small files
 *
 *   name_ceiling [-z DIRECTORY] MOUNTPOINT
 *
 *   -z DIRECTORY  each new file is also made in DIRECTORY, gets owner, mode and
 *                 times there, and at its close its bytes, compressed with zstd
 *                 (level 3): what any filesystem has to do that keeps each small
 *                 file compressed in a file
 *
 * Stays in the foreground.  Files and directories can be made, listed and
 * removed; of a file its size and mode are kept, and its bytes are dropped.
 * The kernel sends the requests that it sends to bloscfs, and each of them is
 * answered at once; one thread looks for the next one before it sleeps, as
 * bloscfs does.  So no filesystem with the same requests can be faster.
 */
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define NBUCKETS (1u << 18)

/* As bloscfs encodes a chunk when no other waits. */
#define LEVEL 3

/* How long a thread looks for the next request. */
#define AWAKE_NS 50000

/* The directory of -z, or -1. */
static int stored_fd = -1;

/* The stored file of an open file, and its bytes that are not yet there. */
struct stored {
	int fd;
	char *bytes;
	size_t size;
};

struct node {
	struct stat st;
	struct node *parent;
	/* The others of the bucket of this name. */
	struct node *next;
	/* The others of its directory; of a directory, the ends of its list. */
	struct node *before, *after, *first, *last;
	struct stored stored;
	char name[];
};

static struct node *buckets[NBUCKETS];
static struct node root = {.st = {.st_ino = FUSE_ROOT_ID,
				  .st_nlink = 2,
				  .st_mode = S_IFDIR | 0755}};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct node *node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

/* Where the node is told; the end of its bucket if there is none. */
static struct node **find(const struct node *parent, const char *name)
{
	uint64_t hash = (uint64_t)(uintptr_t)parent;
	struct node **at;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	at = &buckets[(hash >> 20) % NBUCKETS];
	while (*at && ((*at)->parent != parent || strcmp((*at)->name, name)))
		at = &(*at)->next;
	return at;
}

static struct node *make(struct node *parent, const char *name, mode_t mode)
{
	struct node **at = find(parent, name), *node;

	if (*at)
		return NULL;
	node = calloc(1, sizeof(*node) + strlen(name) + 1);
	if (!node)
		abort();
	strcpy(node->name, name);
	node->st.st_ino = (ino_t)(uintptr_t)node;
	node->st.st_mode = mode;
	node->st.st_nlink = 1;
	node->parent = parent;
	node->before = parent->last;
	*(parent->last ? &parent->last->after : &parent->first) = node;
	parent->last = node;
	*at = node;
	return node;
}

/* The kernel may still ask for it: its memory goes with the program's. */
static int take_away(struct node *parent, const char *name)
{
	struct node **at = find(parent, name), *node = *at;

	if (!node)
		return ENOENT;
	if (node->first)
		return ENOTEMPTY;
	*at = node->next;
	*(node->before ? &node->before->after : &parent->first) = node->after;
	*(node->after ? &node->after->before : &parent->last) = node->before;
	return 0;
}

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

/* Makes the stored file of @node; names are unique by its address. */
static void begin_stored(struct node *node, const struct fuse_ctx *ctx)
{
	char name[300];

	if (stored_fd < 0)
		return;
	snprintf(name, sizeof(name), "%.200s-%p", node->name, (void *)node);
	node->stored.fd = openat(stored_fd, name,
				 O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	check(node->stored.fd >= 0, name);
	check(!fchown(node->stored.fd, ctx->uid, ctx->gid), name);
	check(!fchmod(node->stored.fd, node->st.st_mode & 07777), name);
}

static void keep_bytes(struct stored *s, const char *buf, size_t size,
		       size_t off)
{
	if (off + size > s->size) {
		s->bytes = realloc(s->bytes, off + size);
		check(s->bytes, "write");
		s->size = off + size;
	}
	memcpy(s->bytes + off, buf, size);
}

/* Gives the stored file the attributes that were set. */
static void set_stored(struct stored *s, const struct stat *attr, int to_set)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, attr->st_mtim};

	if (to_set & FUSE_SET_ATTR_MODE)
		check(!fchmod(s->fd, attr->st_mode & 07777), "fchmod");
	if (to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		check(!fchown(s->fd, attr->st_uid, attr->st_gid), "fchown");
	if (to_set & FUSE_SET_ATTR_MTIME)
		check(!futimens(s->fd, times), "futimens");
}

/* Compresses the bytes into the stored file, which keeps its times. */
static void put_stored(struct stored *s, const struct stat *st)
{
	static _Thread_local ZSTD_CCtx *context;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st->st_mtim};
	size_t room = ZSTD_compressBound(s->size), n;
	char *packed = malloc(room);

	if (!context)
		context = ZSTD_createCCtx();
	check(packed && context, "put_stored");
	n = ZSTD_compressCCtx(context, packed, room, s->bytes, s->size, LEVEL);
	check(!ZSTD_isError(n), "zstd");
	check(pwrite(s->fd, packed, n, 0) == (ssize_t)n, "pwrite");
	if (st->st_mtim.tv_sec)
		check(!futimens(s->fd, times), "futimens");
	free(packed);
	free(s->bytes);
	s->bytes = NULL;
	s->size = 0;
}

static struct fuse_entry_param entry(const struct node *node)
{
	return (struct fuse_entry_param){.ino = (fuse_ino_t)node->st.st_ino,
					 .attr = node->st,
					 .attr_timeout = 1,
					 .entry_timeout = 1};
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e;
	struct node *node;

	pthread_mutex_lock(&lock);
	node = *find(node_of(parent), name);
	if (node)
		e = entry(node);
	pthread_mutex_unlock(&lock);
	if (node)
		fuse_reply_entry(req, &e);
	else
		fuse_reply_err(req, ENOENT);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	(void)fi;
	fuse_reply_attr(req, &node_of(ino)->st, 1);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		       int to_set, struct fuse_file_info *fi)
{
	struct stat *st = &node_of(ino)->st;

	if (to_set & FUSE_SET_ATTR_MODE)
		st->st_mode = attr->st_mode;
	if (to_set & FUSE_SET_ATTR_UID)
		st->st_uid = attr->st_uid;
	if (to_set & FUSE_SET_ATTR_GID)
		st->st_gid = attr->st_gid;
	if (to_set & FUSE_SET_ATTR_SIZE)
		st->st_size = attr->st_size;
	if (to_set & FUSE_SET_ATTR_MTIME)
		st->st_mtim = attr->st_mtim;
	if (node_of(ino)->stored.fd > 0)
		set_stored(&node_of(ino)->stored, st, to_set);
	op_getattr(req, ino, fi);
}

/* Answers for a file if @fi is not NULL. */
static void answer_made(fuse_req_t req, fuse_ino_t parent, const char *name,
			mode_t mode, struct fuse_file_info *fi)
{
	struct fuse_entry_param e;
	struct node *node;

	pthread_mutex_lock(&lock);
	node = make(node_of(parent), name, mode);
	if (node)
		e = entry(node);
	pthread_mutex_unlock(&lock);
	if (node && fi)
		begin_stored(node, fuse_req_ctx(req));
	if (!node)
		fuse_reply_err(req, EEXIST);
	else if (fi)
		fuse_reply_create(req, &e, fi);
	else
		fuse_reply_entry(req, &e);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, struct fuse_file_info *fi)
{
	answer_made(req, parent, name, S_IFREG | (mode & 07777), fi);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode)
{
	answer_made(req, parent, name, S_IFDIR | (mode & 07777), NULL);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	int err;

	pthread_mutex_lock(&lock);
	err = take_away(node_of(parent), name);
	pthread_mutex_unlock(&lock);
	fuse_reply_err(req, err);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
		     size_t size, off_t off, struct fuse_file_info *fi)
{
	struct stat *st = &node_of(ino)->st;

	(void)fi;
	if (node_of(ino)->stored.fd > 0)
		keep_bytes(&node_of(ino)->stored, buf, size, (size_t)off);
	if (st->st_size < off + (off_t)size)
		st->st_size = off + (off_t)size;
	fuse_reply_write(req, size);
}

/* Without -z there is nothing to do, but a request. */
static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *node = node_of(ino);

	(void)fi;
	if (node->stored.size)
		put_stored(&node->stored, &node->st);
	fuse_reply_err(req, 0);
}

static void op_release(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct stored *s = &node_of(ino)->stored;

	(void)fi;
	if (s->fd > 0)
		close(s->fd);
	s->fd = 0;
	fuse_reply_err(req, 0);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			size_t size)
{
	(void)ino;
	(void)name;
	(void)size;
	fuse_reply_err(req, ENODATA);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	(void)ino;
	fi->cache_readdir = 1;
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

/* An offset is the node to begin with. */
static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	char *buf = malloc(size);
	size_t used = 0, n;
	struct node *node;

	(void)fi;
	if (!buf)
		abort();
	pthread_mutex_lock(&lock);
	node = off ? (struct node *)(uintptr_t)off : node_of(ino)->first;
	for (; node && off != 1; node = node->after) {
		n = fuse_add_direntry(req, buf + used, size - used, node->name,
				      &node->st,
				      node->after
					      ? (off_t)(uintptr_t)node->after
					      : 1);
		if (n > size - used)
			break;
		used += n;
	}
	pthread_mutex_unlock(&lock);
	fuse_reply_buf(req, buf, used);
	free(buf);
}

static const struct fuse_lowlevel_ops ops = {
	.lookup = op_lookup,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.create = op_create,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_unlink,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.getxattr = op_getxattr,
	.opendir = op_opendir,
	.readdir = op_readdir,
};

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Reads a request, for which one thread looks for a moment before it sleeps. */
static ssize_t receive(int fd, void *buf, size_t size, void *userdata)
{
	static atomic_flag is_looking = ATOMIC_FLAG_INIT;
	struct pollfd device = {.fd = fd, .events = POLLIN};
	int64_t until;

	(void)userdata;
	if (!atomic_flag_test_and_set(&is_looking)) {
		until = clock_ns() + AWAKE_NS;
		while (poll(&device, 1, 0) == 0 && clock_ns() < until)
			;
		atomic_flag_clear(&is_looking);
	}
	return read(fd, buf, size);
}

static ssize_t answer(int fd, struct iovec *iov, int count, void *userdata)
{
	(void)userdata;
	return writev(fd, iov, count);
}

static const struct fuse_custom_io io = {.writev = answer, .read = receive};

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse_session *session;

	if (argc == 4 && !strcmp(argv[1], "-z")) {
		stored_fd = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
		check(stored_fd >= 0, argv[2]);
	} else if (argc != 2) {
		fprintf(stderr,
			"usage: name_ceiling [-z DIRECTORY] MOUNTPOINT\n");
		return 2;
	}
	umask(0);
	if (fuse_opt_add_arg(&args, argv[0]) ||
	    fuse_opt_add_arg(&args, "-odefault_permissions,allow_other"))
		return 1;
	session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!session || !config || fuse_set_signal_handlers(session) ||
	    fuse_session_mount(session, argv[argc - 1]) ||
	    fuse_session_custom_io(session, &io, fuse_session_fd(session)))
		return 1;
	fuse_session_loop_mt(session, config);
	fuse_session_unmount(session);
	fuse_remove_signal_handlers(session);
	fuse_session_destroy(session);
	fuse_loop_cfg_destroy(config);
	fuse_opt_free_args(&args);
	return 0;
}
