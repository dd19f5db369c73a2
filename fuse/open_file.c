/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open_file.c - the data of a frame while it is open, whatever volume it is of
 */
#include "open_file.h"

#include <errno.h>
#include <stdlib.h>

#include "b2frame/pack.h"
#include "fs.h"
#include "wakeup.h"

/* How many files stay open unused. */
#define IDLE_MAX 64

/* Seconds until a failed commit is tried again. */
#define RETRY_S 5

/*
 * How long to wait for another writer before each new try: a mount that was
 * just unmounted may still be storing changes.
 */
#define BUSY_NS 50000000

/* The daemon has at least twice as many threads. */
#define WAITING_MAX 5

void fs_file_init(struct fs_files *files)
{
	TAILQ_INIT(&files->active);
	TAILQ_INIT(&files->idle);
	pthread_cond_init(&files->settled, NULL);
}

bool fs_file_any(struct fs *fs)
{
	B2F_HOLD(&fs->state_lock);

	return !TAILQ_EMPTY(&fs->files.active);
}

int fs_file_all(struct fs *fs, struct fs_file ***out, size_t *n)
{
	struct fs_file **files = NULL, *f;
	size_t count = 0, i = 0;

	B2F_HOLD(&fs->state_lock);
	TAILQ_FOREACH (f, &fs->files.active, active)
		count++;
	if (count > 0)
		files = malloc(count * sizeof(struct fs_file *));
	TAILQ_FOREACH (f, &fs->files.active, active) {
		if (!files)
			break;
		f->nrefs++;
		if (f->ops->ref)
			f->ops->ref(f);
		files[i++] = f;
	}
	if (count > 0 && !files)
		return -ENOMEM;
	*out = files;
	*n = count;
	return 0;
}

static bool is_idle(const struct fs_file *file)
{
	return file->until_s > 0;
}

static void remove_idle(struct fs *fs, struct fs_file *file)
{
	TAILQ_REMOVE(&fs->files.idle, file, idle);
	fs->files.nidle--;
	file->until_s = 0;
}

void fs_file_rest(struct fs *fs, struct fs_file *file)
{
	file->until_s = fs_clock_s() + file->stays_s;
	TAILQ_INSERT_TAIL(&fs->files.idle, file, idle);
	fs->files.nidle++;
	fs_wakeup_call(&fs->wakeup, false);
}

/* Locked. */
static void *use(struct fs *fs, struct fs_file *file)
{
	if (is_idle(file))
		remove_idle(fs, file);
	file->nrefs += file->data != NULL;
	return file->data;
}

void *fs_file_share(struct fs *fs, struct fs_file *file)
{
	B2F_HOLD(&fs->state_lock);

	return use(fs, file);
}

static void close_data(void *data, bool is_pack)
{
	if (is_pack)
		b2f_pack_close(data);
	else
		b2f_file_close(data);
}

void *fs_file_add(struct fs *fs, struct fs_file *file, void *data)
{
	void *used;

	pthread_mutex_lock(&fs->state_lock);
	used = use(fs, file);
	/* Another thread may have opened the file first. */
	if (!used) {
		used = file->data = data;
		file->nrefs = 1;
		data = NULL;
	}
	pthread_mutex_unlock(&fs->state_lock);
	close_data(data, file->is_pack);
	return used;
}

void *fs_file_take_unused(struct fs *fs, struct fs_file *file)
{
	void *data = NULL;

	if (is_idle(file)) {
		remove_idle(fs, file);
		data = file->data;
		file->data = NULL;
	}
	return data;
}

void fs_file_fini(struct fs *fs, struct fs_file *file)
{
	pthread_mutex_lock(&fs->state_lock);
	if (is_idle(file))
		remove_idle(fs, file);
	pthread_mutex_unlock(&fs->state_lock);
	close_data(file->data, file->is_pack);
}

/* Finds a file that was unused for long enough, or exceeds the number. */
static struct fs_file *find_old(const struct fs_files *files)
{
	time_t now = fs_clock_s();
	struct fs_file *f;

	TAILQ_FOREACH (f, &files->idle, idle)
		if (f->until_s <= now || files->nidle > IDLE_MAX)
			break;
	return f;
}

/* Closes one of these.  Returns whether there was one. */
static bool close_old(struct fs *fs)
{
	void *data = NULL;
	bool is_pack = false;
	struct fs_file *f;

	pthread_mutex_lock(&fs->state_lock);
	f = find_old(&fs->files);
	if (f) {
		is_pack = f->is_pack;
		data = fs_file_take_unused(fs, f);
	}
	pthread_mutex_unlock(&fs->state_lock);
	close_data(data, is_pack);
	return f;
}

void fs_file_close(struct fs *fs, struct fs_file *file)
{
	void *data = NULL;
	bool is_pack = file->is_pack;

	pthread_mutex_lock(&fs->state_lock);
	if (--file->nrefs == 0 && file->stays_s) {
		fs_file_rest(fs, file);
	} else if (file->nrefs == 0) {
		data = file->data;
		file->data = NULL;
	}
	pthread_mutex_unlock(&fs->state_lock);
	close_data(data, is_pack);
	/* The close of an object may ask its server: that is for the ticker. */
	if (is_pack && fs->files.nidle > IDLE_MAX)
		(void)close_old(fs);
}

bool fs_file_tick(struct fs *fs)
{
	while (close_old(fs))
		;
	return fs->files.nidle > 0;
}

void fs_file_add_writer(struct fs *fs, struct fs_file *file)
{
	while (file->reverting)
		pthread_cond_wait(&fs->files.settled, &fs->state_lock);
	atomic_fetch_add(&file->nwriters, 1);
}

void fs_file_put_off(struct fs_file *file)
{
	file->retry_s = fs_clock_s() + RETRY_S;
}

bool fs_file_is_due(const struct fs_file *file)
{
	return file->retry_s <= fs_clock_s();
}

bool fs_file_begin_commit(struct fs *fs, struct fs_file *file, bool waits)
{
	bool may = true;

	/*
	 * A commit is counted before it looks at @held: so either this thread
	 * sees @held, or fs_file_hold() sees the commit.
	 */
	while (may) {
		atomic_fetch_add(&file->ncommits, 1);
		if (!atomic_load(&file->held) && !atomic_load(&file->gone))
			return true;
		fs_file_end_commit(fs, file);
		B2F_HOLD(&fs->state_lock);
		while (waits && atomic_load(&file->held))
			pthread_cond_wait(&fs->files.settled, &fs->state_lock);
		may = !atomic_load(&file->held) && !atomic_load(&file->gone);
	}
	return false;
}

static void wake_all(struct fs *fs)
{
	B2F_HOLD(&fs->state_lock);

	pthread_cond_broadcast(&fs->files.settled);
}

void fs_file_end_commit(struct fs *fs, struct fs_file *file)
{
	atomic_fetch_sub(&file->ncommits, 1);
	if (atomic_load(&file->held))
		wake_all(fs);
}

void fs_file_hold(struct fs *fs, struct fs_file *file)
{
	B2F_HOLD(&fs->state_lock);

	atomic_store(&file->held, true);
	while (atomic_load(&file->ncommits))
		pthread_cond_wait(&fs->files.settled, &fs->state_lock);
}

void fs_file_release(struct fs *fs, struct fs_file *file, bool gone)
{
	atomic_store(&file->gone, gone);
	atomic_store(&file->held, false);
	wake_all(fs);
}

void fs_file_begin_revert(struct fs *fs, struct fs_file *file)
{
	B2F_HOLD(&fs->state_lock);

	while (file->reverting)
		pthread_cond_wait(&fs->files.settled, &fs->state_lock);
	file->reverting = true;
}

void fs_file_end_revert(struct fs *fs, struct fs_file *file)
{
	B2F_HOLD(&fs->state_lock);

	file->reverting = false;
	pthread_cond_broadcast(&fs->files.settled);
}

bool fs_file_take_foreign(struct fs *fs, struct fs_file *file)
{
	if (!b2f_file_has_foreign(file->data))
		return false;
	/*
	 * Note the change before, because a read looks at both states, and
	 * afterwards, for changes that came in between.
	 */
	file->ops->note_foreign(fs, file);
	(void)b2f_file_take_foreign(file->data);
	file->ops->note_foreign(fs, file);
	return true;
}

/* False: there is a writer, or another thread does it. */
static bool begin_revert(struct fs *fs, struct fs_file *file, bool tells)
{
	B2F_HOLD(&fs->state_lock);
	bool may = atomic_load(&file->nwriters) == 0 && !file->reverting;

	file->is_told |= tells && atomic_load(&file->nwriters) > 0;
	file->reverting |= may;
	if (may && !file->is_told)
		atomic_store(&fs->files.lost, true);
	return may;
}

/*
 * Drops the changes once every writer was told that they contradict the stored
 * version.  A writer that began before would not be told.
 */
static void drop_refused(struct fs *fs, struct fs_file *file, bool tells)
{
	if (!begin_revert(fs, file, tells))
		return;
	file->ops->drop_refused(fs, file);
	fs_file_end_revert(fs, file);
}

int fs_file_commit(struct fs *fs, struct fs_file *file, enum b2f_commit_how how,
		   bool waits)
{
	struct b2f_file_now before;
	bool foreign;
	int err;

	if (!fs_file_begin_commit(fs, file, waits))
		return 0;
	b2f_file_now_get(file->data, &before);
	err = waits ? b2f_file_commit(file->data, how)
		    : b2f_file_try_commit(file->data, how);
	foreign = fs_file_take_foreign(fs, file);
	file->ops->note_commit(fs, file, &before, foreign, err);
	if (err == -ESTALE)
		drop_refused(fs, file, waits);
	fs_file_end_commit(fs, file);
	return err;
}

bool fs_file_wait_busy(struct fs *fs, int *tries)
{
	const struct timespec pause = {.tv_nsec = BUSY_NS};
	bool may;

	if ((*tries)++ == FS_BUSY_TRIES)
		return false;
	may = atomic_fetch_add(&fs->files.nwaiting, 1) < WAITING_MAX;
	if (may)
		nanosleep(&pause, NULL);
	atomic_fetch_sub(&fs->files.nwaiting, 1);
	return may;
}
