/* SPDX-License-Identifier: BSD-3-Clause */
/* session.c - the connection to the kernel: mount, serve, unmount */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asker.h"
#include "b2frame/error.h"
#include "fuse_api.h"
#include "daemon.h"
#include "ops.h"
#include "resources.h"
#include "bucket_node.h"
#include "session.h"

/* Threads that wait for requests; decoding has threads of its own. */
#define THREADS_BASE 8
#define THREADS_CORE 2
#define THREADS_MAX  64

/*
 * How long a thread looks for a request; the number of looks in vain after
 * which only one of AWAKE_RARELY requests is followed by one, until a look is
 * worth it again; and how many requests in a row a thread of a program has made
 * by then.
 */
#define AWAKE_NS     50000
#define AWAKE_TRUST  16
#define AWAKE_RARELY 32
#define ALONE_MIN    16

/*
 * A thread that stands aside looks after so long whether it is needed, and each
 * further one later by so much.  It goes back after so many looks at a mount
 * without requests.
 */
#define ASIDE_MS      4
#define ASIDE_NEXT_MS 16
#define ASIDE_MAX_MS  400
#define ASIDE_IDLE    8

/* A request for more bytes keeps one thread busy while the next ones come. */
#define SMALL_MAX (64u << 10)

/* How long the end of a mount waits for the kernel's write-back, seconds. */
#define SYNC_S 20

/* After so long a silence, the kernel has no more writes to send. */
#define QUIET_NS 100000000

/*
 * Measured: 2 MiB of readahead are 1.4 to 1.7 times as fast as the usual 128
 * KiB; more is not faster.  The kernel takes the smaller of our answer and of
 * the mount's own setting.
 */
#define READAHEAD_KIB 2048

/* Requests in flight that no program waits for, such as readahead. */
#define BACKGROUND_MAX	   64
#define BACKGROUND_CONGEST 48

/*
 * libfuse passes no argument to its log function, so this is global.  Set once,
 * before the second thread starts.
 */
static struct fs_logger *fuse_logger;

static enum b2f_log_level level_of(enum fuse_log_level level)
{
	if (level <= FUSE_LOG_ERR)
		return B2F_LOG_ERROR;
	if (level == FUSE_LOG_WARNING)
		return B2F_LOG_WARNING;
	return level <= FUSE_LOG_INFO ? B2F_LOG_INFO : B2F_LOG_DEBUG;
}

B2F_PRINTF(2, 0)
static void log_fuse(enum fuse_log_level level, const char *format,
		     va_list args)
{
	char text[400];

	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	fs_logger_write(fuse_logger, level_of(level), "%s", text);
}

static bool may_mount(void)
{
	struct fs_powers powers;

	return fs_powers_get(&powers) ||
	       (powers.data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective &
		CAP_TO_MASK(CAP_SYS_ADMIN));
}

/*
 * May the kernel read and write plain files itself?  Options that change how
 * the kernel reads and writes exclude it.  It writes with the daemon's rights,
 * also to blocks reserved for root, and does not clear set-id bits, so only
 * root's mounts allow it.
 */
static bool may_pass(const struct fs *fs)
{
	const struct fs_options *o = &fs->options;

	return !fs->bucket && !o->cache.no_passthrough &&
	       !o->cache.direct_io && !o->cache.writeback_cache &&
	       !o->access.allow_other && !o->access.allow_root &&
	       geteuid() == 0 && may_mount();
}

/* The first request: agrees with the kernel; the parent may exit. */
static void init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;
	/*
	 * libfuse turns these on; they are switched off.  For set-id bits see
	 * agree_more().  Foreign changes are reported to the kernel (ticker.h):
	 * if it went by the mtime, it would drop pages that are being written,
	 * and might then cache old ones.  After an asynchronous O_DIRECT write
	 * (io_submit(2)) it would not drop the pages that a reader has cached
	 * meanwhile.
	 */
	unsigned int off = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
			   FUSE_CAP_SPLICE_MOVE | FUSE_CAP_HANDLE_KILLPRIV |
			   FUSE_CAP_IOCTL_DIR | FUSE_CAP_AUTO_INVAL_DATA |
			   FUSE_CAP_ASYNC_DIO;
	unsigned int on = FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
			  FUSE_CAP_ATOMIC_O_TRUNC;

	/*
	 * AUTO: the kernel asks for attributes with the first names of a
	 * directory, and for more only if a program uses them.  In a bucket
	 * each frame takes a request.
	 */
	if (fs->bucket)
		off |= FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO;
	else
		on |= FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO;

	/* With writeback_cache the kernel keeps its own sizes. */
	if (fs->options.cache.writeback_cache && fs->read_write && !fs->bucket)
		on |= FUSE_CAP_WRITEBACK_CACHE;
	/* Splicing from the daemon's memory would take 4 times as long. */
	conn->want &= ~off;
	conn->want |= conn->capable & on;
	/* The rest of the code asks this option. */
	fs->options.cache.writeback_cache =
		conn->want & FUSE_CAP_WRITEBACK_CACHE;
	atomic_store(&fs->config.passes, may_pass(fs));
	conn->max_readahead = READAHEAD_KIB << 10;
	conn->max_background = BACKGROUND_MAX;
	conn->congestion_threshold = BACKGROUND_CONGEST;
	fs_logger_write(fs->logger, B2F_LOG_INFO, "%s is mounted on %s",
			fs->source.path, fs->mountpoint.path);
	if (fs->config.background)
		fs_logger_to_syslog(fs->logger);
	/*
	 * First of all, because the manager must know this process before the
	 * parent exits.
	 */
	fs_daemon_notify(true);
	fs_daemon_ready(&fs->daemon);
}

/* The disk may take long, so other threads may come back meanwhile. */
static void make_ahead(struct fs_requests *r)
{
	if (!atomic_load(&r->spare.is_wanted))
		return;
	atomic_fetch_sub(&r->nreading, 1);
	fs_maker_make_spare(&r->spare);
	atomic_fetch_add(&r->nreading, 1);
}

/*
 * Looks for a request for a moment; returns whether there is one.  Meanwhile it
 * prepares for later ones.
 */
static bool look(struct fs_requests *r, int fd)
{
	struct pollfd device = {.fd = fd, .events = POLLIN};
	uint64_t until = b2f_monotonic_ns() + AWAKE_NS;

	do {
		if (poll(&device, 1, 0) != 0)
			return true;
		make_ahead(r);
	} while (b2f_monotonic_ns() < until);
	return false;
}

/* Does one thread of a program make small requests, one behind the other? */
static bool is_one_asking(const struct fs_requests *r)
{
	return r->may_look && atomic_load(&r->nsame) >= ALONE_MIN;
}

/* Does a look for the next request mostly find one? */
static bool is_awake(const struct fs_requests *r)
{
	return is_one_asking(r) && fs_requests_are_close(r);
}

/*
 * Has one thread look for the next request while one thread of a program makes
 * them, closely behind each other: the kernel takes longer to wake a thread
 * than this one for most requests.  Several programs keep each other's threads
 * awake, and need the processor.
 */
static void stay_awake(struct fs_requests *r, int fd)
{
	bool is_looking = false;
	uint32_t trust;

	if (!is_one_asking(r) ||
	    !atomic_compare_exchange_strong(&r->is_looking, &is_looking, true))
		return;
	trust = atomic_load(&r->trust);
	if (trust > 0 || ++r->nslept % AWAKE_RARELY == 0) {
		if (look(r, fd))
			trust += trust < AWAKE_TRUST;
		else
			trust -= trust > 0;
		atomic_store(&r->trust, trust);
	}
	atomic_store(&r->is_looking, false);
}

/*
 * Leaves the requests to another thread while that is enough: for each request
 * the kernel wakes a thread that waits in read(2), even if the thread that
 * looks takes it.  A request that takes long has the next thread come back.
 */
static void stand_aside(struct fs_requests *r)
{
	uint32_t before = atomic_fetch_add(&r->naside, 1), seen;
	uint64_t ms = ASIDE_MS + (uint64_t)before * ASIDE_NEXT_MS;
	const struct timespec tick = {
		.tv_nsec = (long)(ms < ASIDE_MAX_MS ? ms : ASIDE_MAX_MS) *
			   1000000};
	unsigned int nidle = 0;

	do {
		seen = atomic_load(&r->nreceived);
		nanosleep(&tick, NULL);
		if (atomic_load(&r->nreceived) != seen)
			nidle = 0;
		else if (atomic_load(&r->nreading) == 0)
			break;
		else
			nidle++;
	} while (is_awake(r) && nidle < ASIDE_IDLE);
	atomic_fetch_sub(&r->naside, 1);
}

static bool is_small(const struct fuse_in_header *in)
{
	const struct fuse_read_in *read = (const void *)(in + 1);

	return in->len <= SMALL_MAX &&
	       (in->opcode != FUSE_READ || read->size <= SMALL_MAX);
}

/* Counts small requests in a row of one thread; the kernel's own have none. */
static void count_same(struct fs_requests *r, const struct fuse_in_header *in)
{
	atomic_fetch_add(&r->nreceived, 1);
	if (in->pid == 0)
		return;
	if (atomic_exchange(&r->asker, in->pid) == in->pid && is_small(in))
		atomic_fetch_add(&r->nsame, 1);
	else
		atomic_store(&r->nsame, 0);
}

static ssize_t receive(int fd, void *buf, size_t size, void *userdata)
{
	const struct fuse_in_header *in = buf;
	struct fs_requests *r = &((struct fs *)userdata)->requests;
	ssize_t n;

	if (is_awake(r) && atomic_load(&r->nreading) > 0)
		stand_aside(r);
	atomic_fetch_add(&r->nreading, 1);
	stay_awake(r, fd);
	n = read(fd, buf, size);
	atomic_fetch_sub(&r->nreading, 1);
	if (n >= (ssize_t)sizeof(*in)) {
		fs_asker_note(fd, (pid_t)in->pid);
		count_same(r, in);
	}
	return n;
}

/* May the daemon run on more than one processor? */
static bool has_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 &&
	       CPU_COUNT(&set) > 1;
}

/*
 * Adds to the first answer what libfuse, or an older one, cannot say:
 *
 * We clear set-id bits ourselves, by fs_setattr_clear_set_ids().  Otherwise the
 * kernel asks for an attribute before each write, which takes as long as the
 * write.  Linux before 5.11 takes no notice, and changes the mode itself.
 *
 * Files may be mapped in spite of direct_io, where an inode is always the same
 * file.
 *
 * The kernel may use backing files, if these are on no stack of filesystems.
 */
static void agree_more(const struct fs *fs, struct fuse_init_out *agreed)
{
	static const uint32_t depth = 1;

	agreed->flags |= FUSE_HANDLE_KILLPRIV_V2 | FUSE_INIT_EXT;
	if (fs->options.cache.direct_io && !fs->bucket && !fs->source.is_frame)
		agreed->flags2 |= FS_INIT2_MMAP_DIRECT;
	if (atomic_load(&fs->config.passes)) {
		agreed->flags2 |= FS_INIT2_PASSTHROUGH;
		/* Older headers have no name for the field behind that. */
		memcpy((char *)agreed +
			       offsetof(struct fuse_init_out, flags2) +
			       sizeof(agreed->flags2),
		       &depth, sizeof(depth));
	}
}

static ssize_t answer(int fd, struct iovec *iov, int count, void *userdata)
{
	const struct fuse_out_header *head = iov->iov_base;
	struct fs *fs = userdata;
	struct fuse_init_out *agreed;

	/* A notification has no unique number. */
	if (!fs->requests.is_ready && head->unique) {
		agreed = count == 2 ? iov[1].iov_base : NULL;
		if (agreed && iov[1].iov_len == sizeof(*agreed))
			agree_more(fs, agreed);
		fs->requests.is_ready = true;
	}
	return writev(fd, iov, count);
}

/* Adds "@name=@value" with commas and backslashes escaped. */
static int add_text(char **list, const char *name, const char *value)
{
	B2F_OWN char *text = b2f_io_text("%s=%s", name, value);

	return text && !fuse_opt_add_opt_escaped(list, text) ? 0 : -ENOMEM;
}

/* The option list for libfuse; malloc'ed. */
static int make_list(const struct fs *fs, char **out)
{
	const struct fs_options *o = &fs->options;
	unsigned long denied = o->kernel ? fs->tree->base_flags : 0;
	const char *const words[] = {
		fs->read_write ? "rw" : "ro",
		"default_permissions",
		o->access.allow_other ? "allow_other" : NULL,
		o->access.allow_root ? "allow_root" : NULL,
		o->auto_unmount ? "auto_unmount" : NULL,
		o->debug ? "debug" : NULL,
		o->kernel,
		/* "suid" and "dev" cannot allow what SOURCE denies. */
		denied & ST_NOSUID ? "nosuid" : NULL,
		denied & ST_NODEV ? "nodev" : NULL,
	};
	char *list = NULL;
	int err = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !err; i++)
		if (words[i])
			err = fuse_opt_add_opt(&list, words[i]);
	if (!err)
		err = add_text(&list, "fsname",
			       o->fsname ? o->fsname : fs->source.path);
	if (!err)
		err = add_text(&list, "subtype",
			       o->subtype ? o->subtype : "bloscfs");
	if (err) {
		free(list);
		return -ENOMEM;
	}
	*out = list;
	return 0;
}

static int new_session(struct fs *fs)
{
	struct fuse_lowlevel_ops ops = fs_ops_table(fs->read_write);
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	B2F_OWN char *list = NULL;
	int err = make_list(fs, &list);

	if (!err &&
	    (fuse_opt_add_arg(&args, "bloscfs") ||
	     fuse_opt_add_arg(&args, "-o") || fuse_opt_add_arg(&args, list)))
		err = -ENOMEM;
	if (!err) {
		ops.init = init;
		fs->session = fuse_session_new(&args, &ops, sizeof(ops), fs);
		err = fs->session ? 0 : -EIO;
	}
	fuse_opt_free_args(&args);
	return err;
}

/*
 * Redirects stderr of libfuse and fusermount3 to a file in memory, so that a
 * failure is reported in one line.
 */
struct capture {
	int file;
	int stderr_fd;
};

static void capture_begin(struct capture *c)
{
	c->file = memfd_create("messages", MFD_CLOEXEC);
	c->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (c->file >= 0 && c->stderr_fd >= 0)
		dup2(c->file, STDERR_FILENO);
}

/* Copies the first line of the output to @text, or "". */
static void capture_end(struct capture *c, char *text, size_t size)
{
	ssize_t n = -1;

	fflush(stderr);
	if (c->stderr_fd >= 0) {
		dup2(c->stderr_fd, STDERR_FILENO);
		close(c->stderr_fd);
	}
	if (c->file >= 0) {
		n = pread(c->file, text, size - 1, 0);
		close(c->file);
	}
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

/* Users other than root need this helper; libfuse looks for it here. */
static bool has_fusermount(void)
{
	return access("/usr/bin/fusermount3", X_OK) == 0 ||
	       access("/usr/local/bin/fusermount3", X_OK) == 0 ||
	       access("/bin/fusermount3", X_OK) == 0;
}

/* Returns the error of opening /dev/fuse, or 0. */
static int device_error(void)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	/* For other users fusermount3 opens it. */
	else if (geteuid() == 0 || errno != EACCES)
		return -errno;
	return 0;
}

/* Flags with which a container may mount by FUSE. */
#define DOCKER                                                                 \
	"in a container: docker run --device /dev/fuse --cap-add SYS_ADMIN "   \
	"--security-opt apparmor=unconfined)"

static void explain(const struct fs *fs, const char *said,
		    char reason[FS_REASON_SIZE])
{
	/* The query of a URL may be a signature. */
	const char *path = fs->source.is_url ? fs->source.path
					     : fs->options.source;
	int err = device_error();

	if (err)
		snprintf(reason, FS_REASON_SIZE, "%s: /dev/fuse: %s (%s" DOCKER,
			 path, b2f_strerror(err),
			 err == -EPERM ? "" : "try: modprobe fuse; ");
	else if (geteuid() == 0 && !may_mount())
		snprintf(reason, FS_REASON_SIZE,
			 "%s: mount on %.200s: this root has no CAP_SYS_ADMIN ("
			 DOCKER,
			 path, fs->mountpoint.path);
	else if ((geteuid() != 0 || fs->options.auto_unmount) &&
		 !has_fusermount())
		snprintf(reason, FS_REASON_SIZE,
			 "%s: fusermount3 is missing; it is in the Debian "
			 "package fuse3",
			 path);
	else
		snprintf(reason, FS_REASON_SIZE, "%s: mount on %.200s: %.300s",
			 path, fs->mountpoint.path,
			 *said ? said : "the kernel refused it");
}

/*
 * The device of the filesystem on the mountpoint; 0: unknown.  Must not send a
 * request to this mount, because it may never be answered.
 */
static dev_t mounted_device(const struct fs *fs)
{
	struct statx stx;

	if (statx(AT_FDCWD, fs->mountpoint.path,
		  AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &stx))
		return 0;
	return makedev(stx.stx_dev_major, stx.stx_dev_minor);
}

/*
 * Lets the kernel read further ahead.  Only root may do so, and only before the
 * first request, when the kernel takes the smaller of this and our answer.
 */
static void raise_readahead(const struct fs *fs)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb",
		 major(fs->tree->own_dev), minor(fs->tree->own_dev));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (dprintf(fd, "%d", READAHEAD_KIB) < 0)
		fs_logger_write(fs->logger, B2F_LOG_DEBUG,
				"read_ahead_kb stays: %s", strerror(errno));
	close(fd);
}

int fs_session_mount(struct fs *fs, char reason[FS_REASON_SIZE])
{
	static const struct fuse_custom_io io = {.writev = answer,
						 .read = receive};
	struct capture capture;
	char said[300];
	int err;

	capture_begin(&capture);
	err = new_session(fs);
	if (!err && (fuse_session_mount(fs->session, fs->mountpoint.path) ||
		     fuse_session_custom_io(fs->session, &io,
					    fuse_session_fd(fs->session))))
		err = -EIO;
	capture_end(&capture, said, sizeof(said));
	if (err) {
		explain(fs, said, reason);
		if (fs->session)
			fuse_session_destroy(fs->session);
		fs->session = NULL;
		return err;
	}
	if (fs->bucket)
		atomic_store(&fs->bucket->session_fd,
			     fuse_session_fd(fs->session));
	fuse_logger = fs->logger;
	fuse_set_log_func(log_fuse);
	fs->tree->own_dev = mounted_device(fs);
	raise_readahead(fs);
	return 0;
}

static unsigned int thread_count(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	long n = THREADS_BASE + THREADS_CORE * (cores > 0 ? cores : 1);

	return (unsigned int)(n < THREADS_MAX ? n : THREADS_MAX);
}

int fs_session_run(struct fs *fs)
{
	struct fuse_loop_config *config;
	int err;

	fs->requests.may_look = has_processors();
	if (fs->options.single_thread) {
		err = fuse_session_loop(fs->session);
		fs_asker_forget();
		return err;
	}
	config = fuse_loop_cfg_create();
	if (!config)
		return -ENOMEM;
	fuse_loop_cfg_set_clone_fd(config, 0);
	fuse_loop_cfg_set_max_threads(config, thread_count());
	/* Keeping a thread is cheaper than starting one. */
	fuse_loop_cfg_set_idle_threads(config, thread_count());
	err = fuse_session_loop_mt(fs->session, config);
	fuse_loop_cfg_destroy(config);
	return err;
}

/* Runs in a thread of its own, because it may never end. */
static void *sync_mount(void *arg)
{
	B2F_OWN char *path = arg;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0) {
		/* A commit that fails logs that itself. */
		(void)!syncfs(fd);
		close(fd);
	}
	return NULL;
}

/* Counts the writes so far; -1: one is still unanswered. */
static int64_t count_writes(const struct fs *fs)
{
	uint64_t done = atomic_load(&fs->stats.nwrites_done);

	return atomic_load(&fs->stats.nwrites) == done ? (int64_t)done : -1;
}

/*
 * syncfs(2) does not wait for writes to FUSE (a mount could block it forever),
 * so wait until no more come.
 */
static void wait_for_writes(const struct fs *fs, time_t end_s)
{
	const struct timespec pause = {.tv_nsec = QUIET_NS};
	int64_t before, now = -1;

	do {
		before = now;
		nanosleep(&pause, NULL);
		now = count_writes(fs);
	} while ((now < 0 || now != before) && fs_clock_s() < end_s);
}

void fs_session_sync(struct fs *fs)
{
	const time_t end_s = fs_clock_s() + SYNC_S;
	char *path = strdup(fs->mountpoint.path);
	pthread_t thread;

	/* Another filesystem may be mounted there by now. */
	if (!path || mounted_device(fs) != fs->tree->own_dev ||
	    pthread_create(&thread, NULL, sync_mount, path)) {
		free(path);
		return;
	}
	if (fs_clock_join(thread, SYNC_S))
		wait_for_writes(fs, end_s);
	else
		pthread_detach(thread);
}

/* Only root may unmount; others ask the helper. */
static bool ask_helper(char *path)
{
	char program[] = "fusermount3", unmount[] = "-u", quiet[] = "-q";
	char end[] = "--";
	char *const words[] = {program, unmount, quiet, end, path, NULL};
	int status = -1;
	pid_t pid;

	if (posix_spawnp(&pid, program, NULL, NULL, words, environ))
		return false;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return status == 0;
}

bool fs_session_unmount_idle(struct fs *fs)
{
	char *path = fs->mountpoint.path;

	/* Another filesystem may be mounted there by now. */
	if (!fs->tree->own_dev || mounted_device(fs) != fs->tree->own_dev)
		return false;
	return umount2(path, UMOUNT_NOFOLLOW) == 0 ||
	       (errno != EBUSY && ask_helper(path));
}

void fs_session_cut(struct fs *fs)
{
	/*
	 * Only root can; another filesystem may have been mounted there since.
	 */
	if (mounted_device(fs) == fs->tree->own_dev)
		(void)!umount2(fs->mountpoint.path, MNT_FORCE | MNT_DETACH);
}

bool fs_session_close(struct fs *fs)
{
	bool gone;

	if (!fs->session)
		return false;
	fuse_session_unmount(fs->session);
	fuse_session_destroy(fs->session);
	fs->session = NULL;
	gone = !fs->tree->own_dev || mounted_device(fs) != fs->tree->own_dev;
	if (!gone)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: still mounted, without a bloscfs; "
				"unmount it",
				fs->mountpoint.path);
	return gone;
}
