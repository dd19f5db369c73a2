/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.c - statistics of the mount, for the log and for statsfile= */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/error.h"
#include "b2frame/names.h"
#include "bucket_node.h"
#include "fs.h"

void fs_stats_log(struct fs *fs)
{
	const struct fs_stats *s = &fs->stats;
	struct b2f_runtime_stats rt;

	b2f_runtime_stats_get(fs->runtime, &rt);
	fs_logger_answer(fs->logger,
			 "statistics: lookups %" PRIu64 ", opens %" PRIu64
			 " (%" PRIu64 " with the kernel's cache kept), reads "
			 "%" PRIu64 " of %" PRIu64 " bytes, writes %" PRIu64
			 " of %" PRIu64 " bytes, errors %" PRIu64,
			 s->nlookups, s->nopens, s->nkept, s->nreads,
			 s->nread_bytes, s->nwrites, s->nwritten_bytes,
			 s->nerrors);
	fs_logger_answer(fs->logger,
			 "statistics: cache %" PRIu64 " bytes in %" PRIu64
			 " blocks, hits %" PRIu64 ", misses %" PRIu64
			 ", waits %" PRIu64 ", evictions %" PRIu64
			 ", chunks ahead %" PRIu64,
			 rt.cached_bytes, rt.cached_blocks, rt.hits, rt.misses,
			 rt.waits, rt.evictions, rt.ahead_chunks);
	fs_logger_answer(fs->logger,
			 "statistics: inodes %zu, directories kept open %zu",
			 fs->tree->nnodes, fs->tree->nidle);
}

/* Bytes of memory that the process has now; 0: it is not known. */
static uint64_t memory_bytes(void)
{
	uint64_t size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%" SCNu64 " %" SCNu64, &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A counter, or with @is_gauge a current value. */
struct row {
	const char *key;
	const char *help;
	bool is_gauge;
	uint64_t value;
};

/* Enough for the statistics of every mount. */
#define ROWS_MAX 24

static size_t add_rows(struct row *to, const struct row *rows, size_t n)
{
	memcpy(to, rows, n * sizeof(*rows));
	return n;
}

#define ADD(to, rows) add_rows(to, rows, sizeof(rows) / sizeof((rows)[0]))

static size_t collect_requests(const struct fs_stats *s, struct row *to)
{
	const struct row rows[] = {
		{"lookups", "Requests for a name.", false, s->nlookups},
		{"opens", "Files that were opened.", false, s->nopens},
		{"opens_kept", "Opens that kept what the kernel has cached.",
		 false, s->nkept},
		{"opens_passed", "Opens of files that the kernel itself reads.",
		 false, s->npassed},
		{"reads", "Requests to read.", false, s->nreads},
		{"read_bytes", "Bytes that were read.", false, s->nread_bytes},
		{"writes", "Requests to write.", false, s->nwrites},
		{"written_bytes", "Bytes that were written.", false,
		 s->nwritten_bytes},
		{"errors", "Requests for data that failed.", false, s->nerrors},
	};

	return ADD(to, rows);
}

static size_t collect_runtime(const struct b2f_runtime_stats *rt,
			      struct row *to)
{
	const struct row rows[] = {
		{"cached_bytes", "Decoded bytes in the cache.", true,
		 rt->cached_bytes},
		{"cached_blocks", "Blocks in the cache.", true,
		 rt->cached_blocks},
		{"hits", "Blocks that the cache had.", false, rt->hits},
		{"misses", "Blocks that had to be decoded.", false, rt->misses},
		{"waits", "Blocks that another request was decoding.", false,
		 rt->waits},
		{"evictions", "Blocks that left the cache.", false,
		 rt->evictions},
		{"chunks_ahead", "Chunks that were decoded in advance.", false,
		 rt->ahead_chunks},
		{"dirty_bytes", "Bytes written and not encoded yet.", true,
		 rt->dirty_bytes},
		{"memory_bytes", "Memory of the process.", true, memory_bytes()},
	};

	return ADD(to, rows);
}

static size_t collect_remote(const struct fs_bucket *bucket, struct row *to)
{
	struct b2f_remote_counts c = b2f_remote_counts_get(bucket->place);
	const struct row rows[] = {
		{"requests", "Requests to the server.", false, c.requests},
		{"requests_again", "Requests that were repeated.", false,
		 c.retries},
		{"received_bytes", "Bytes from the server.", false, c.received},
	};

	return ADD(to, rows);
}

static size_t collect(struct fs *fs, const struct b2f_runtime_stats *rt,
		      struct row rows[ROWS_MAX])
{
	size_t n = collect_requests(&fs->stats, rows);

	n += collect_runtime(rt, rows + n);
	if (fs->bucket && fs->bucket->place)
		n += collect_remote(fs->bucket, rows + n);
	rows[n++] = (struct row){"inodes", "Names that are known.", true,
				 fs->tree->nnodes};
	return n;
}

/* Counts of each codec; times are in nanoseconds. */
static const struct {
	const char *key;
	const char *help;
	size_t field;
	bool is_time;
} codec_rows[] = {
#define FIELD(name) offsetof(struct b2f_codec_stats, name)
	{"decoded_bytes", "Bytes that a codec decoded.", FIELD(decoded_bytes),
	 false},
	{"decode_seconds", "Time of all threads to decode.", FIELD(decode_ns),
	 true},
	{"encoded_bytes", "Bytes that a codec encoded.", FIELD(encoded_bytes),
	 false},
	{"stored_bytes", "Bytes that they were encoded to.",
	 FIELD(stored_bytes), false},
	{"encode_seconds", "Time of all threads to encode.", FIELD(encode_ns),
	 true},
};

#define NCODEC_ROWS (sizeof(codec_rows) / sizeof(codec_rows[0]))

static void put_codec_value(FILE *f, const struct b2f_codec_stats *codec,
			    size_t row)
{
	uint64_t value = *(const uint64_t *)((const char *)codec +
					     codec_rows[row].field);

	if (codec_rows[row].is_time)
		fprintf(f, "%.3f", (double)value / 1e9);
	else
		fprintf(f, "%" PRIu64, value);
}

static bool is_used(const struct b2f_codec_stats *codec)
{
	return codec->decode_ns || codec->encode_ns;
}

static void put_codecs(FILE *f, const struct b2f_runtime_stats *rt)
{
	const char *separator = "";

	for (unsigned int i = 0; i < B2F_STATS_CODECS; i++) {
		if (!is_used(&rt->codecs[i]))
			continue;
		fprintf(f, "%s\"%s\": {", separator, b2f_codec_code_name(i));
		for (size_t k = 0; k < NCODEC_ROWS; k++) {
			fprintf(f, "%s\"%s\": ", k ? ", " : "",
				codec_rows[k].key);
			put_codec_value(f, &rt->codecs[i], k);
		}
		fputc('}', f);
		separator = ", ";
	}
}

static void put_json(FILE *f, const struct row *rows, size_t n,
		     const struct b2f_runtime_stats *rt)
{
	fputs("{\"schema\": 1", f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, ", \"%s\": %" PRIu64, rows[i].key, rows[i].value);
	fputs(", \"codecs\": {", f);
	put_codecs(f, rt);
	fputs("}}", f);
}

/* The value of a label: quotes, backslashes and ends of lines are escaped. */
static void put_label(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", f);
		else
			fprintf(f, *text == '"' || *text == '\\' ? "\\%c" : "%c",
				*text);
	}
}

static void put_head(FILE *f, const char *prefix, const char *key,
		     const char *help, bool is_gauge)
{
	const char *suffix = is_gauge ? "" : "_total";

	fprintf(f, "# HELP %s%s%s %s\n# TYPE %s%s%s %s\n", prefix, key, suffix,
		help, prefix, key, suffix, is_gauge ? "gauge" : "counter");
}

static void put_prometheus(FILE *f, const struct row *rows, size_t n,
			   const struct b2f_runtime_stats *rt,
			   const char *mountpoint)
{
	for (size_t i = 0; i < n; i++) {
		put_head(f, "bloscfs_", rows[i].key, rows[i].help,
			 rows[i].is_gauge);
		fprintf(f, "bloscfs_%s%s{mountpoint=\"", rows[i].key,
			rows[i].is_gauge ? "" : "_total");
		put_label(f, mountpoint);
		fprintf(f, "\"} %" PRIu64 "\n", rows[i].value);
	}
	for (size_t k = 0; k < NCODEC_ROWS; k++) {
		put_head(f, "bloscfs_codec_", codec_rows[k].key,
			 codec_rows[k].help, false);
		for (unsigned int i = 0; i < B2F_STATS_CODECS; i++) {
			if (!is_used(&rt->codecs[i]))
				continue;
			fprintf(f, "bloscfs_codec_%s_total{mountpoint=\"",
				codec_rows[k].key);
			put_label(f, mountpoint);
			fprintf(f, "\",codec=\"%s\"} ",
				b2f_codec_code_name(i));
			put_codec_value(f, &rt->codecs[i], k);
			fputc('\n', f);
		}
	}
}

int fs_stats_text(struct fs *fs, enum fs_stats_form form, char **out)
{
	struct row rows[ROWS_MAX];
	struct b2f_runtime_stats rt;
	size_t n, size = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -1;
	b2f_runtime_stats_get(fs->runtime, &rt);
	n = collect(fs, &rt, rows);
	if (form == FS_STATS_JSON)
		put_json(f, rows, n, &rt);
	else
		put_prometheus(f, rows, n, &rt, fs->mountpoint.path);
	if (fclose(f)) {
		free(text);
		return -1;
	}
	*out = text;
	return (int)size;
}

/* Seconds between two writes of the file. */
#define RENEW_S 10

int fs_stats_file_open(struct fs *fs, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;
	B2F_OWN char *copy = NULL;
	char *name;
	int fd = -ENOMEM;

	if (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		return -EISDIR;
	copy = strdup(path);
	name = strdup(last);
	if (copy && name) {
		fd = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	if (fd < 0) {
		free(name);
		return fd;
	}
	fs->stats_file = (struct fs_stats_file){.dir_fd = fd, .name = name};
	return 0;
}

/*
 * Writes @size bytes to the new file @name.  Fails if another program has put a
 * file there meanwhile, such as a FIFO.  Returns 0 or an errno.
 */
static int write_new(int dir_fd, const char *name, const char *text, size_t size)
{
	ssize_t n;
	int fd, err;

	unlinkat(dir_fd, name, 0);
	fd = openat(dir_fd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	n = write(fd, text, size);
	err = n < 0 ? -errno : (size_t)n < size ? -ENOSPC : 0;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static int replace(const struct fs_stats_file *file, const char *text,
		   size_t size)
{
	B2F_OWN char *temporary = b2f_io_text("%s.new", file->name);
	int err;

	if (!temporary)
		return -ENOMEM;
	err = write_new(file->dir_fd, temporary, text, size);
	if (!err &&
	    renameat(file->dir_fd, temporary, file->dir_fd, file->name))
		err = -errno;
	return err;
}

/* The collector of node_exporter reads files named FILE.prom. */
static bool is_prometheus(const struct fs_stats_file *file)
{
	size_t n = strlen(file->name);

	return n > 5 && strcmp(file->name + n - 5, ".prom") == 0;
}

static void write_file(struct fs *fs)
{
	struct fs_stats_file *file = &fs->stats_file;
	enum fs_stats_form form = is_prometheus(file) ? FS_STATS_PROMETHEUS
						      : FS_STATS_JSON;
	B2F_OWN char *text = NULL;
	int n, err;

	file->nuses = fs_stats_uses(&fs->stats);
	file->age = 0;
	n = fs_stats_text(fs, form, &text);
	if (n < 0)
		return;
	/* For programs that read lines. */
	if (form == FS_STATS_JSON)
		text[n++] = '\n';
	err = replace(file, text, (size_t)n);
	if (err && !file->failed)
		fs_logger_write(fs->logger, B2F_LOG_WARNING, "%s: %s",
				fs->options.statsfile, b2f_strerror(err));
	file->failed = err != 0;
}

bool fs_stats_file_tick(struct fs *fs)
{
	struct fs_stats_file *file = &fs->stats_file;

	if (!file->name)
		return false;
	/* Write at the first tick, so that the user sees that it works. */
	if (file->nuses == 0 || (++file->age >= RENEW_S &&
				 fs_stats_uses(&fs->stats) != file->nuses))
		write_file(fs);
	return true;
}

void fs_stats_file_end(struct fs *fs)
{
	struct fs_stats_file *file = &fs->stats_file;

	if (!file->name)
		return;
	if (fs->tree)
		write_file(fs);
	close(file->dir_fd);
	free(file->name);
	file->name = NULL;
}
