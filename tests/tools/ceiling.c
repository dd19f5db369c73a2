/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ceiling.c - files in memory: what FUSE itself costs
 *
 *   ceiling [-d | -s] [-w] [-r KIB] [-z FILE [-t SIZE]] FILE MOUNTPOINT
 *
 *   -d      direct_io
 *   -s      two threads store the data in the kernel's cache from the open on
 *   -w      the kernel collects writes (writeback_cache)
 *   -r KIB  readahead of the mount (root; the kernel has 128)
 *   -z FILE two threads compress what is written with lz4, into FILE, which
 *           fsync syncs: what any filesystem with lz4 has to do
 *   -t SIZE before that they put together the bytes of items alike, of SIZE
 *
 * Stays in the foreground.  MOUNTPOINT has two files: "data" is a copy of FILE
 * and read-only, and "new" can be created and written, up to 8 GiB.  No
 * filesystem that has to encode or decode its data can be faster, so
 * scripts/bench compares ours with it.
 */
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <lz4.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define INO_DATA     2
#define INO_NEW	     3
#define NEW_MAX	     ((size_t)8 << 30)
#define PIECE	     (1u << 20)
#define STORERS	     2
#define BLOCK	     (64u << 10)
/* Blosc2's acceleration of LZ4 at its default level. */
#define ACCELERATION 5
#define FOREVER	     1e9
#define REQUESTS_MAX 64

struct ceiling {
	const char *path;
	char *data;
	size_t size;
	/* The file that is written: NEW_MAX bytes of address space. */
	char *new_data;
	_Atomic size_t new_size;
	_Atomic bool has_new;
	bool direct_io;
	bool store;
	bool writeback;
	const char *readahead_kib;
	struct fuse_session *session;
	/* The next piece to be stored. */
	_Atomic size_t next_piece;
	bool stored;
	pthread_t storers[STORERS];
	/* Where compressed data go, or NULL. */
	const char *packed_path;
	int packed;
	_Atomic long packed_end;
	size_t item;
	pthread_mutex_t lock;
	/* More was written, a piece is compressed, or all of them are wanted. */
	pthread_cond_t more;
	size_t taken, done;
	bool is_last;
};

static struct ceiling *ceiling_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static void init(void *userdata, struct fuse_conn_info *conn)
{
	const struct ceiling *c = userdata;

	conn->want &= ~(unsigned int)(FUSE_CAP_SPLICE_READ |
				      FUSE_CAP_SPLICE_WRITE |
				      FUSE_CAP_SPLICE_MOVE);
	if (c->writeback)
		conn->want |= FUSE_CAP_WRITEBACK_CACHE;
	/* The mount's own setting is the limit. */
	conn->max_readahead = UINT_MAX;
	conn->max_background = REQUESTS_MAX;
	conn->congestion_threshold = REQUESTS_MAX * 3 / 4;
}

static size_t size_of(struct ceiling *c, fuse_ino_t ino)
{
	if (ino == INO_NEW)
		return c->new_size;
	return ino == INO_DATA ? c->size : 0;
}

static struct stat attributes(struct ceiling *c, fuse_ino_t ino)
{
	struct stat st = {.st_ino = ino, .st_nlink = 1};

	st.st_mode = ino == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
	st.st_size = (off_t)size_of(c, ino);
	return st;
}

static struct fuse_entry_param entry(struct ceiling *c, fuse_ino_t ino)
{
	return (struct fuse_entry_param){.ino = ino,
					 .attr = attributes(c, ino),
					 .attr_timeout = FOREVER,
					 .entry_timeout = FOREVER};
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct ceiling *c = ceiling_of(req);
	bool is_new = c->has_new && strcmp(name, "new") == 0;
	struct fuse_entry_param e = entry(c, is_new ? INO_NEW : INO_DATA);

	(void)parent;
	if (!is_new && strcmp(name, "data") != 0)
		fuse_reply_err(req, ENOENT);
	else
		fuse_reply_entry(req, &e);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct stat st = attributes(ceiling_of(req), ino);

	(void)fi;
	fuse_reply_attr(req, &st, FOREVER);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		       int to_set, struct fuse_file_info *fi)
{
	struct ceiling *c = ceiling_of(req);

	if (ino == INO_NEW && to_set & FUSE_SET_ATTR_SIZE)
		c->new_size = (size_t)attr->st_size < NEW_MAX
				      ? (size_t)attr->st_size
				      : NEW_MAX;
	op_getattr(req, ino, fi);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, struct fuse_file_info *fi)
{
	struct ceiling *c = ceiling_of(req);
	struct fuse_entry_param e;

	(void)parent;
	(void)mode;
	if (strcmp(name, "new") != 0) {
		fuse_reply_err(req, EPERM);
		return;
	}
	c->has_new = true;
	c->new_size = 0;
	e = entry(c, INO_NEW);
	fi->direct_io = c->direct_io;
	fuse_reply_create(req, &e, fi);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct ceiling *c = ceiling_of(req);
	bool is_new = strcmp(name, "new") == 0;

	(void)parent;
	if (is_new)
		c->has_new = false;
	fuse_reply_err(req, is_new ? 0 : EPERM);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
		     size_t size, off_t off, struct fuse_file_info *fi)
{
	struct ceiling *c = ceiling_of(req);
	size_t end = (size_t)off + size;
	size_t had = c->new_size;

	(void)fi;
	if (ino != INO_NEW || end > NEW_MAX) {
		fuse_reply_err(req, ino != INO_NEW ? EPERM : EFBIG);
		return;
	}
	memcpy(c->new_data + off, buf, size);
	while (had < end &&
	       !atomic_compare_exchange_weak(&c->new_size, &had, end))
		;
	if (c->packed_path && had / PIECE != end / PIECE) {
		pthread_mutex_lock(&c->lock);
		pthread_cond_broadcast(&c->more);
		pthread_mutex_unlock(&c->lock);
	}
	fuse_reply_write(req, size);
}

/*
 * Puts together the bytes of @n items that have the same place in them.  Inline,
 * so that the compiler makes vectors of it where it knows @item.
 */
static inline __attribute__((always_inline)) void shuffle(char *restrict dst, const char *restrict src, size_t n,
		    size_t item)
{
	for (size_t j = 0; j < item; j++)
		for (size_t i = 0; i < n; i++)
			dst[j * n + i] = src[i * item + j];
}

/* Compresses the @n bytes at @src into @dst; the size of that. */
static size_t pack(const struct ceiling *c, const char *src, size_t n,
		   char *dst)
{
	char shuffled[BLOCK];
	size_t end = 0;

	for (size_t off = 0; off < n; off += BLOCK) {
		int size = (int)(n - off < BLOCK ? n - off : BLOCK);
		const char *from = src + off;

		if (c->item == 2)
			shuffle(shuffled, from, (size_t)size / 2, 2);
		else if (c->item == 4)
			shuffle(shuffled, from, (size_t)size / 4, 4);
		else if (c->item > 1)
			shuffle(shuffled, from, (size_t)size / c->item,
				c->item);
		if (c->item > 1)
			from = shuffled;
		end += (size_t)LZ4_compress_fast(
			from, dst + end, size, LZ4_compressBound(size),
			ACCELERATION);
	}
	return end;
}

/* The next piece that is written, or 0 if none is.  Locked. */
static size_t take_piece(struct ceiling *c, size_t *off)
{
	size_t left;

	*off = c->taken;
	left = c->new_size > *off ? c->new_size - *off : 0;
	if (left < PIECE && !c->is_last)
		return 0;
	left = left < PIECE ? left : PIECE;
	c->taken += left;
	return left;
}

static void *compress(void *arg)
{
	struct ceiling *c = arg;
	char *dst = malloc(2 * PIECE);
	size_t n, off, size;
	long at;

	pthread_mutex_lock(&c->lock);
	while (dst) {
		n = take_piece(c, &off);
		if (!n) {
			pthread_cond_wait(&c->more, &c->lock);
			continue;
		}
		pthread_mutex_unlock(&c->lock);
		size = pack(c, c->new_data + off, n, dst);
		at = atomic_fetch_add(&c->packed_end, (long)size);
		if (pwrite(c->packed, dst, size, at) != (ssize_t)size)
			exit(1);
		/* The disk begins now, not when all is there. */
		sync_file_range(c->packed, at, (off_t)size,
				SYNC_FILE_RANGE_WRITE);
		pthread_mutex_lock(&c->lock);
		c->done += n;
		pthread_cond_broadcast(&c->more);
	}
	exit(1);
}

/* Memory has nothing to store. */
static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		     struct fuse_file_info *fi)
{
	struct ceiling *c = ceiling_of(req);
	int err = 0;

	(void)ino;
	(void)datasync;
	(void)fi;
	if (c->packed_path) {
		pthread_mutex_lock(&c->lock);
		c->is_last = true;
		pthread_cond_broadcast(&c->more);
		while (c->done < c->new_size)
			pthread_cond_wait(&c->more, &c->lock);
		c->is_last = false;
		pthread_mutex_unlock(&c->lock);
		err = fsync(c->packed) ? errno : 0;
	}
	fuse_reply_err(req, err);
}

static void *store(void *arg)
{
	struct ceiling *c = arg;
	size_t off;

	while ((off = atomic_fetch_add(&c->next_piece, 1) * PIECE) < c->size) {
		size_t n = c->size - off < PIECE ? c->size - off : PIECE;
		struct fuse_bufvec buf = FUSE_BUFVEC_INIT(n);

		buf.buf[0].mem = c->data + off;
		fuse_lowlevel_notify_store(c->session, INO_DATA, (off_t)off,
					   &buf, (enum fuse_buf_copy_flags)0);
	}
	return NULL;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct ceiling *c = ceiling_of(req);
	bool first = c->store && !c->stored && ino == INO_DATA;

	fi->direct_io = c->direct_io;
	fi->keep_cache = 1;
	c->stored = c->stored || first;
	fuse_reply_open(req, fi);
	for (int i = 0; first && i < STORERS; i++)
		if (pthread_create(&c->storers[i], NULL, store, c))
			exit(1);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct ceiling *c = ceiling_of(req);
	size_t end = size_of(c, ino);
	size_t left = (size_t)off < end ? end - (size_t)off : 0;
	char *data = ino == INO_NEW ? c->new_data : c->data;

	(void)fi;
	fuse_reply_buf(req, data + off, size < left ? size : left);
}

static const struct fuse_lowlevel_ops ops = {
	.init = init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.create = op_create,
	.unlink = op_unlink,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.fsync = op_fsync,
};

/* Anonymous memory, as a filesystem's cache is; at least a page. */
static void *reserve(size_t size)
{
	return mmap(NULL, size + 1, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static int load(struct ceiling *c)
{
	int fd = open(c->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	c->data = reserve((size_t)st.st_size);
	c->new_data = reserve(NEW_MAX);
	if (c->data == MAP_FAILED || c->new_data == MAP_FAILED)
		return -1;
	/* Else faults on new memory would count, and a buffer has few. */
	if (c->packed_path)
		madvise(c->new_data, NEW_MAX, MADV_HUGEPAGE);
	while (n > 0 && c->size < (size_t)st.st_size) {
		n = read(fd, c->data + c->size, (size_t)st.st_size - c->size);
		c->size += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	return n > 0 ? 0 : -1;
}

/* The threads stay until the program ends. */
static int start_compressing(struct ceiling *c)
{
	pthread_t thread;

	if (!c->packed_path)
		return 0;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->more, NULL);
	c->packed = open(c->packed_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
			 0644);
	if (c->packed < 0)
		return -1;
	for (int i = 0; i < STORERS; i++)
		if (pthread_create(&thread, NULL, compress, c))
			return -1;
	return 0;
}

static int set_readahead(const struct ceiling *c, const char *mountpoint)
{
	char path[64];
	struct statx st;
	FILE *f;
	int err;

	if (!c->readahead_kib)
		return 0;
	/* The kernel answers itself: nothing is served yet. */
	if (statx(AT_FDCWD, mountpoint, AT_STATX_DONT_SYNC, 0, &st))
		return -1;
	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb",
		 st.stx_dev_major, st.stx_dev_minor);
	f = fopen(path, "w");
	if (!f)
		return -1;
	err = fputs(c->readahead_kib, f) < 0;
	return fclose(f) || err ? -1 : 0;
}

static int serve(struct ceiling *c, char *name, const char *mountpoint)
{
	char *argv[] = {name, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse_loop_config *config = fuse_loop_cfg_create();

	c->session = fuse_session_new(&args, &ops, sizeof(ops), c);
	if (!c->session || !config || fuse_set_signal_handlers(c->session) ||
	    fuse_session_mount(c->session, mountpoint))
		return 1;
	if (set_readahead(c, mountpoint))
		perror("ceiling: readahead");
	if (start_compressing(c)) {
		perror("ceiling: compressing");
		return 1;
	}
	fuse_session_loop_mt(c->session, config);
	fuse_session_unmount(c->session);
	for (int i = 0; c->stored && i < STORERS; i++)
		pthread_join(c->storers[i], NULL);
	fuse_remove_signal_handlers(c->session);
	fuse_session_destroy(c->session);
	fuse_loop_cfg_destroy(config);
	return 0;
}

int main(int argc, char **argv)
{
	struct ceiling c = {.item = 1};
	int o;

	while ((o = getopt(argc, argv, "dswr:z:t:")) != -1) {
		if (o == 'd')
			c.direct_io = true;
		else if (o == 's')
			c.store = true;
		else if (o == 'w')
			c.writeback = true;
		else if (o == 'r')
			c.readahead_kib = optarg;
		else if (o == 'z')
			c.packed_path = optarg;
		else if (o == 't' && atoi(optarg) > 0)
			c.item = (size_t)atoi(optarg);
		else
			return 2;
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: ceiling [-d | -s] [-w] [-r KIB] "
				"[-z FILE [-t SIZE]] FILE MOUNTPOINT\n");
		return 2;
	}
	c.path = argv[optind];
	if (load(&c)) {
		perror(c.path);
		return 1;
	}
	return serve(&c, argv[0], argv[optind + 1]);
}
