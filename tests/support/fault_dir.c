/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_dir.c - loads a fault store from a real directory, and saves it to one
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/files.h"
#include "tests/support/fault_disk.h"

/* The source and the destination of files. */
struct loading {
	struct b2f_store *from;
	struct fault_disk *to;
};

static int load_one(void *arg, int64_t id)
{
	struct loading *loading = arg;
	struct b2f_object object;
	struct fault_file *file;
	size_t number;
	int err;

	err = b2f_object_open(loading->from, id, &object, NULL);
	if (err)
		return err;
	number = fault_file_new(loading->to);
	file = &loading->to->files[number];
	fault_bytes_resize(&file->now, (size_t)object.size);
	err = b2f_object_read(&object, 0, file->now.data, file->now.size, NULL);
	b2f_object_close(&object);
	fault_file_resized(file);
	fault_names_set(&loading->to->now, id, number);
	fault_names_set(&loading->to->durable, id, number);
	return err;
}

struct fault_disk *fault_disk_load(const char *path)
{
	struct loading loading = {.to = fault_disk_new()};
	struct fault_file *index;
	struct stat st, kind;
	int err;

	if (stat(path, &kind)) {
		fault_disk_free(loading.to);
		return NULL;
	}
	err = b2f_store_open(AT_FDCWD, path, true, &loading.from, NULL);
	if (!err)
		err = b2f_store_stat_index(loading.from, &st);
	if (!err)
		err = load_one(&loading, B2F_OBJECT_INDEX);
	if (!err && b2f_store_is_sparse(loading.from))
		err = b2f_store_list(loading.from, load_one, &loading);
	b2f_store_free(loading.from);
	if (err) {
		fault_disk_free(loading.to);
		return NULL;
	}
	loading.to->single = !S_ISDIR(kind.st_mode);
	index = &loading.to->files[fault_names_find(&loading.to->now,
						    B2F_OBJECT_INDEX)];
	index->st.st_mode = st.st_mode;
	index->st.st_uid = st.st_uid;
	index->st.st_gid = st.st_gid;
	index->st.st_mtim = st.st_mtim;
	return loading.to;
}

static int save_one(int dir, const struct fault_file *file, int64_t id)
{
	const struct timespec times[2] = {file->st.st_atim, file->st.st_mtim};
	char buf[B2F_CHUNK_NAME_SIZE];
	int fd, err;

	fd = openat(dir, b2f_files_name(id, buf),
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = b2f_files_write_fully(fd, 0, file->now.data, file->now.size,
				    NULL);
	if (!err &&
	    (fchmod(fd, file->st.st_mode & 07777) || futimens(fd, times)))
		err = -errno;
	close(fd);
	return err;
}

int fault_disk_save(struct fault_disk *disk, const char *path)
{
	int dir, err = 0;

	if (mkdir(path, 0755))
		return -errno;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	pthread_mutex_lock(&disk->lock);
	for (size_t i = 0; !err && i < disk->now.n; i++)
		err = save_one(dir, &disk->files[disk->now.names[i].file],
			       disk->now.names[i].id);
	pthread_mutex_unlock(&disk->lock);
	close(dir);
	return err;
}
