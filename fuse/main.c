/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - starts and ends bloscfs, in this order
 *
 *   options      no side effects; what follows from them
 *   fork         the parent waits; stderr stays the terminal's
 *   signals      blocked before there are threads
 *   logger, source, mountpoint, runtime, tree
 *   mount        from here on the kernel queues requests
 *   threads      of logger, ticker and signals
 *   requests     the first one (init) lets the parent go
 *
 * The end is in reverse order.  Only steps above "requests" can fail.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "durable.h"
#include "b2frame/error.h"
#include "fs.h"
#include "helper.h"
#include "daemon.h"
#include "packs.h"
#include "bucket_source.h"
#include "bucket_writer.h"
#include "resources.h"
#include "session.h"
#include "signals.h"
#include "volume.h"

/* Prints on stderr, in one line, why the mount failed. */
static enum fs_exit fail(const char *reason, enum fs_exit code)
{
	fprintf(stderr, "bloscfs: %s\n", reason);
	return code;
}

static enum fs_exit fail_errno(const char *what, int err, enum fs_exit code)
{
	fprintf(stderr, "bloscfs: %s: %s\n", what, b2f_strerror(err));
	return code;
}

/* Opens the log and the statistics file. */
static enum fs_exit open_reports(struct fs *fs)
{
	const char *log = fs->options.logfile, *stats = fs->options.statsfile;
	int err = fs_logger_new(fs->config.log_level, &fs->logger);

	if (err)
		return fail_errno("log", err, FS_EXIT_DAEMON);
	err = log ? fs_logger_to_file(fs->logger, log) : 0;
	if (err)
		return fail_errno(log, err, FS_EXIT_DAEMON);
	err = stats ? fs_stats_file_open(fs, stats) : 0;
	return err ? fail_errno(stats, err, FS_EXIT_DAEMON) : FS_EXIT_OK;
}

static enum fs_exit open_operands(struct fs *fs)
{
	char reason[FS_REASON_SIZE];

	if (fs_source_open(fs->options.source, &fs->source, reason))
		return fail(reason, FS_EXIT_SOURCE);
	if (fs_source_mountpoint(fs->options.mountpoint, &fs->mountpoint,
				 reason))
		return fail(reason, FS_EXIT_MOUNTPOINT);
	if (fs->mountpoint.is_file &&
	    (!fs->source.is_frame || fs->source.is_pack)) {
		snprintf(reason, sizeof(reason),
			 "%s: a directory cannot be mounted on the file %.200s",
			 fs->source.is_url ? fs->source.path
					   : fs->options.source,
			 fs->mountpoint.path);
		return fail(reason, FS_EXIT_MOUNTPOINT);
	}
	return FS_EXIT_OK;
}

/* fusermount3 unmounts as root, to whom this mount does not answer. */
static void warn_auto_unmount(struct fs *fs)
{
	const struct fs_options *o = &fs->options;

	if (o->auto_unmount && geteuid() != 0 && !o->access.allow_other &&
	    !o->access.allow_root)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"option auto_unmount has no effect without "
				"allow_other");
}

/* Decides whether the mount is writable, and logs once if not. */
static void decide_writing(struct fs *fs)
{
	const char *weak;
	int err;

	if (fs->options.read_only || fs->source.is_url)
		return;
	err = fs_source_check_write(&fs->source);
	fs->read_write = !err;
	if (err)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: mounted read-only: %s", fs->options.source,
				b2f_strerror(err));
	weak = err ? NULL : fs_source_weakness(&fs->source);
	if (weak)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: is on %s, where a crash may undo a "
				"commit: see BACKINGS in bloscfs(5)",
				fs->options.source, weak);
}

/* Makes runtime and tree; the descriptors move into the tree. */
static enum fs_exit make_parts(struct fs *fs)
{
	struct fs_descriptors descriptors = fs_resources_raise_files();
	const struct fs_volume volume = {&fs_volume_tree, fs};
	char reason[FS_REASON_SIZE];
	int err;

	/* Before the first thread, and after the limits were raised. */
	if (fs_powers_drop())
		return fail_errno("capabilities", -errno, FS_EXIT_DAEMON);
	err = b2f_runtime_new(&fs->config.runtime, &fs->runtime);
	if (err)
		return fail_errno("worker threads", err, FS_EXIT_DAEMON);
	err = fs_tree_new(&volume, descriptors.max_idle,
			  descriptors.reserved_from, &fs->tree);
	if (err)
		return fail_errno("/proc/self/fd", err, FS_EXIT_DAEMON);
	fs_known_init(&fs->known);
	fs->nodes.root = &fs->tree->root->head;
	err = fs->source.is_pack ? fs_packs_open_root(fs) : 0;
	if (err)
		return fail_errno(fs->source.path, err, FS_EXIT_SOURCE);
	if (fs->source.is_url && fs_bucket_source_open(fs, reason))
		return fail(reason, FS_EXIT_SOURCE);
	fs_unlinked_init(&fs->deleted, fs->tree->root->fd);
	if (fs->read_write && !fs->source.is_frame && !fs->source.is_url)
		fs_unlinked_purge(fs);
	return FS_EXIT_OK;
}

static void on_exit_signal(struct fs *fs, int signal)
{
	fs_logger_write(fs->logger, B2F_LOG_INFO, "%s: ending: %s",
			fs->mountpoint.path, strsignal(signal));
	if (fs->read_write)
		fs_session_sync(fs);
	if (fs->bucket)
		fs_bucket_source_rest(fs);
	fuse_session_exit(fs->session);
}

static enum fs_exit serve(struct fs *fs)
{
	struct fs_signals signals = {.fs = fs, .on_exit = on_exit_signal};
	char reason[FS_REASON_SIZE];
	int err;

	if (fs_session_mount(fs, reason))
		return fail(reason, FS_EXIT_MOUNT);
	err = fs_logger_start(fs->logger);
	if (err)
		return fail_errno("log", err, FS_EXIT_DAEMON);
	err = fs_ticker_start(fs);
	if (err)
		return fail_errno("ticker", err, FS_EXIT_DAEMON);
	err = fs_signals_start(&signals);
	if (err)
		return fail_errno("signals", err, FS_EXIT_SIGNALS);
	/* Callers choose modes; the daemon's umask must not count. */
	umask(0);
	err = fs_session_run(fs);
	fs_signals_stop(&signals);
	if (err) {
		fs_logger_write(fs->logger, B2F_LOG_ERROR, "%s: %s",
				fs->mountpoint.path, b2f_strerror(err));
		return FS_EXIT_LOOP;
	}
	return FS_EXIT_OK;
}

/* Stores all changes.  Returns 0 or the first error. */
static int store_all(struct fs *fs)
{
	int err = fs_open_frame_fini(fs);
	int last = fs_durable_sync_fini(fs);

	fs_wakeup_fini(&fs->wakeup);
	return err ? err : last;
}

static void on_next_signal(struct fs *fs, int signal)
{
	fs_logger_write(fs->logger, B2F_LOG_WARNING,
			"%s: ending without waiting for the server: %s",
			fs->source.path, strsignal(signal));
	fs_bucket_source_abandon(fs);
}

/* Ends the parts that were started, in reverse order. */
static enum fs_exit finish(struct fs *fs, enum fs_exit code)
{
	struct fs_signals signals = {.fs = fs, .on_exit = on_next_signal};
	/* The server may be unreachable: another signal ends the wait. */
	bool listens = fs->bucket && fs->session &&
		       fs_signals_start(&signals) == 0;
	bool unmounted;

	if (fs->session)
		fs_daemon_notify(false);
	if (fs->bucket)
		fs_bucket_source_rest(fs);
	fs_ticker_stop(fs);
	unmounted = fs_session_close(fs);
	if (fs->bucket && fs_bucket_writer_fini(fs))
		fs->files.lost = true;
	if (listens)
		fs_signals_stop(&signals);
	/* The bucket outlives its open files. */
	if (fs->bucket) {
		fs_bucket_source_close(fs);
	} else {
		fs_handle_fini(fs);
		fs_packs_fini(fs);
	}
	if (fs->tree && store_all(fs))
		fs->files.lost = true;
	fs_stats_file_end(fs);
	if (fs->tree) {
		/*
		 * Frees the remaining nodes, which deletes files that the
		 * kernel had not forgotten.
		 */
		fs_tree_free(fs->tree);
		(void)fs_maker_drop_spare(&fs->requests.spare, true);
		fs_known_fini(&fs->known);
		fs_name_set_fini(&fs->named_homes.names);
		fs_name_set_fini(&fs->named_homes.asides);
		fs_unlinked_fini(&fs->deleted);
	}
	b2f_runtime_free(fs->runtime);
	if (fs->bucket)
		fs_bucket_source_free(fs);
	if (unmounted)
		fs_logger_write(fs->logger, B2F_LOG_INFO, "%s is unmounted",
				fs->options.mountpoint);
	fs_logger_free(fs->logger);
	fs_source_mountpoint_fini(&fs->mountpoint);
	fs_source_fini(&fs->source);
	return fs->files.lost && code == FS_EXIT_OK ? FS_EXIT_LOST : code;
}

/*
 * Prefers writers: a file that is to become a directory must not wait while new
 * lookups keep coming.
 */
static void init_names_lock(struct fs *fs)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&fs->names_lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

static enum fs_exit run(struct fs *fs)
{
	enum fs_exit code;
	int err;

	fs->daemon.ready_fd = -1;
	fs->source.fd = -1;
	fs->mountpoint.fd = -1;
	fs->requests.spare.dir_fd = -1;
	fs->requests.spare.file_fd = -1;
	pthread_mutex_init(&fs->state_lock, NULL);
	pthread_mutex_init(&fs->named_homes.lock, NULL);
	init_names_lock(fs);
	TAILQ_INIT(&fs->handles);
	fs->packs.volume = (struct fs_volume){&fs_volume_pack, fs};
	TAILQ_INIT(&fs->packs.all);
	fs_file_init(&fs->files);
	pthread_mutex_init(&fs->durables.sync_lock, NULL);
	fs_wakeup_init(&fs->wakeup);
	err = fs->config.background ? fs_daemon_fork(&fs->daemon) : 0;
	if (err)
		return fail_errno("background", err, FS_EXIT_DAEMON);
	err = fs_signals_block();
	if (err)
		return fail_errno("signals", err, FS_EXIT_SIGNALS);
	fs_resources_tune();
	code = open_reports(fs);
	if (code == FS_EXIT_OK)
		code = open_operands(fs);
	if (code == FS_EXIT_OK) {
		warn_auto_unmount(fs);
		decide_writing(fs);
		code = make_parts(fs);
	}
	if (code == FS_EXIT_OK)
		code = serve(fs);
	return finish(fs, code);
}

static enum fs_exit obey(struct fs *fs)
{
	const struct fs_options *o = &fs->options;
	char reason[FS_REASON_SIZE];

	if (o->help || o->long_help) {
		fs_mount_options_usage(o->long_help);
		return FS_EXIT_OK;
	}
	if (o->version) {
		fs_mount_options_version();
		return FS_EXIT_OK;
	}
	if (o->mount_namespace && fs_helper_enter(o->mount_namespace, reason))
		return fail(reason, FS_EXIT_MOUNT);
	if (fs_config_make(o, &fs->config, reason))
		return fail(reason, FS_EXIT_USAGE);
	if (o->fake)
		return FS_EXIT_OK;
	if (o->remount)
		return fs_helper_remount(o, reason)
			       ? fail(reason, FS_EXIT_MOUNT)
			       : FS_EXIT_OK;
	return run(fs);
}

int main(int argc, char **argv)
{
	struct fs fs = {0};
	enum fs_exit code = FS_EXIT_USAGE;
	bool helper;
	int err;

	fs_daemon_fill_standard();
	err = fs_mount_options_parse(argc, argv, &fs.options);
	if (err == -ENOMEM)
		code = fail_errno("options", err, FS_EXIT_DAEMON);
	if (!err)
		code = obey(&fs);
	helper = fs.options.helper;
	fs_mount_options_fini(&fs.options);
	return helper ? fs_helper_exit(code) : (int)code;
}
