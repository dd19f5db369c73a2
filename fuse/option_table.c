/* SPDX-License-Identifier: BSD-3-Clause */
/* option_table.c - the table of mount options */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mount_options.h"
#include "words/value.h"

/* The longest time: beyond that the kernel's jiffies would overflow. */
#define A_YEAR_S 3.2e7

enum option_kind {
	/* A bool that becomes true, or false. */
	SET,
	CLEAR,
	/* Accepted for mount(8), without effect. */
	IGNORED,
	/* Handed on to the kernel. */
	KERNEL,
	/* Like IGNORED, with a value. */
	IGNORED_VALUE,
	SIZE,
	/* A decimal number up to 2^32 - 2. */
	NUMBER,
	/* A number as above, or a name. */
	USER,
	GROUP,
	/* Permission bits, octal. */
	MASK,
	SECONDS,
	/* Without a fraction. */
	WHOLE_SECONDS,
	TEXT,
	/* A word of a list; stored as its position. */
	CHOICE,
	/* The name of a codec; stored as its code. */
	CODEC,
	/* Names of filters with + between them. */
	FILTERS,
	/* A number, or a size, or "auto", stored as 0. */
	AUTO_NUMBER,
	AUTO_SIZE,
	/* A number, or "auto", stored as FS_UNSET. */
	AUTO_LEVEL,
};

struct option_entry {
	const char *name;
	enum option_kind kind;
	/* Offset in struct fs_options; no meaning for IGNORED and KERNEL. */
	size_t field;
	const char *const *choices;
};

static const char *const view_words[] = {"hidden", "list", "off", NULL};
/* In the order of enum b2f_log_level. */
static const char *const level_words[] = {"error", "warning", "info", "debug",
					  NULL};

#define FIELD(name) offsetof(struct fs_options, name)

static const struct option_entry table[] = {
	{"ro", SET, FIELD(read_only), NULL},
	{"rw", CLEAR, FIELD(read_only), NULL},
	{"uid", USER, FIELD(access.user), NULL},
	{"gid", GROUP, FIELD(access.group), NULL},
	{"umask", MASK, FIELD(access.umask), NULL},
	{"fmask", MASK, FIELD(access.fmask), NULL},
	{"dmask", MASK, FIELD(access.dmask), NULL},
	{"allow_other", SET, FIELD(access.allow_other), NULL},
	{"allow_root", SET, FIELD(access.allow_root), NULL},
	/* Always on: without it, permissions would not be checked. */
	{"default_permissions", IGNORED, 0, NULL},
	{"auto_unmount", SET, FIELD(auto_unmount), NULL},
	{"cachesize", SIZE, FIELD(cache.cachesize), NULL},
	{"dirtysize", SIZE, FIELD(cache.dirtysize), NULL},
	{"workers", NUMBER, FIELD(workers), NULL},
	{"readahead", SIZE, FIELD(cache.readahead), NULL},
	{"direct_io", SET, FIELD(cache.direct_io), NULL},
	{"writeback_cache", SET, FIELD(cache.writeback_cache), NULL},
	{"attr_timeout", SECONDS, FIELD(cache.attr_timeout_s), NULL},
	{"entry_timeout", SECONDS, FIELD(cache.entry_timeout_s), NULL},
	{"commit", WHOLE_SECONDS, FIELD(commit), NULL},
	{"sync", SET, FIELD(sync), NULL},
	{"async", CLEAR, FIELD(sync), NULL},
	{"locking", SET, FIELD(locking), NULL},
	{"nolocking", SET, FIELD(nolocking), NULL},
	{"codec", CODEC, FIELD(create.codec), NULL},
	{"clevel", AUTO_LEVEL, FIELD(create.clevel), NULL},
	{"filter", FILTERS, FIELD(create.filters), NULL},
	{"typesize", AUTO_NUMBER, FIELD(create.typesize), NULL},
	{"chunksize", SIZE, FIELD(create.chunksize), NULL},
	{"small", SIZE, FIELD(create.small), NULL},
	{"blocksize", AUTO_SIZE, FIELD(create.blocksize), NULL},
	{"seal", CLEAR, FIELD(create.no_seal), NULL},
	{"noseal", SET, FIELD(create.no_seal), NULL},
	{"endpoint", TEXT, FIELD(bucket.endpoint), NULL},
	{"region", TEXT, FIELD(bucket.region), NULL},
	{"profile", TEXT, FIELD(bucket.profile), NULL},
	{"pathstyle", SET, FIELD(bucket.pathstyle), NULL},
	{"no_sign_request", SET, FIELD(bucket.no_sign_request), NULL},
	{"request_payer", SET, FIELD(bucket.request_payer), NULL},
	{"sse", TEXT, FIELD(bucket.sse), NULL},
	{"sse_kms_key", TEXT, FIELD(bucket.sse_kms_key), NULL},
	{"sse_c_key", TEXT, FIELD(bucket.sse_c_key), NULL},
	{"refresh", WHOLE_SECONDS, FIELD(bucket.refresh_s), NULL},
	{"retry", WHOLE_SECONDS, FIELD(bucket.retry_s), NULL},
	{"cachedir", TEXT, FIELD(bucket.cachedir), NULL},
	{"cachedirsize", SIZE, FIELD(bucket.cachedirsize), NULL},
	{"npy", CHOICE, FIELD(view.npy), view_words},
	{"xattr", CHOICE, FIELD(view.xattr), view_words},
	{"loglevel", CHOICE, FIELD(loglevel), level_words},
	{"logfile", TEXT, FIELD(logfile), NULL},
	{"statsfile", TEXT, FIELD(statsfile), NULL},
	{"timeout", WHOLE_SECONDS, FIELD(timeout_s), NULL},
	{"fsname", TEXT, FIELD(fsname), NULL},
	{"subtype", TEXT, FIELD(subtype), NULL},
	{"debug", SET, FIELD(debug), NULL},
	{"exec", KERNEL, 0, NULL},
	{"noexec", KERNEL, 0, NULL},
	{"suid", KERNEL, 0, NULL},
	{"nosuid", KERNEL, 0, NULL},
	{"dev", KERNEL, 0, NULL},
	{"nodev", KERNEL, 0, NULL},
	{"atime", KERNEL, 0, NULL},
	{"noatime", KERNEL, 0, NULL},
	{"dirsync", KERNEL, 0, NULL},
	/* libfuse does not know it, and the kernel keeps no atimes here. */
	{"nodiratime", IGNORED, 0, NULL},
	{"relatime", IGNORED, 0, NULL},
	{"norelatime", IGNORED, 0, NULL},
	{"strictatime", IGNORED, 0, NULL},
	{"lazytime", IGNORED, 0, NULL},
	{"defaults", IGNORED, 0, NULL},
	{"auto", IGNORED, 0, NULL},
	{"noauto", IGNORED, 0, NULL},
	{"user", IGNORED, 0, NULL},
	{"nouser", IGNORED, 0, NULL},
	{"users", IGNORED, 0, NULL},
	{"owner", IGNORED, 0, NULL},
	{"group", IGNORED, 0, NULL},
	{"nofail", IGNORED, 0, NULL},
	/* As in FUSE 2; a directory may hold files anyway. */
	{"nonempty", IGNORED, 0, NULL},
	{"_netdev", IGNORED, 0, NULL},
	{"quiet", IGNORED, 0, NULL},
	{"silent", IGNORED, 0, NULL},
	{"loud", IGNORED, 0, NULL},
	{"remount", SET, FIELD(remount), NULL},
	/* A changed file's pages are always dropped. */
	{"auto_cache", IGNORED, 0, NULL},
	/*
	 * The kernel lists these of each FUSE mount, and mount(8) repeats them
	 * to remount it.
	 */
	{"user_id", IGNORED_VALUE, 0, NULL},
	{"group_id", IGNORED_VALUE, 0, NULL},
	{"max_read", IGNORED_VALUE, 0, NULL},
	{"blksize", IGNORED_VALUE, 0, NULL},
};

/* Options of other filesystems and tools, and their counterparts here. */
static const struct {
	const char *name;
	const char *instead;
} elsewhere[] = {
	{"blocks", "du --apparent-size adds up decompressed sizes"},
	{"checksum", "see seal and noseal"},
	{"endpoint_url", "it is called endpoint"},
	{"nonpy", "it is called npy=off"},
	{"offset", "'bloscctl cat --frame-offset' reads a frame inside a file"},
	{"retries", "it is called retry, and in seconds"},
	{"snapshot", "'bloscctl convert' makes a copy of one state"},
	{"subdir", "give SOURCE/DIRECTORY"},
	{"ttl", "it is called refresh"},
};

/* Says what is wrong with option @name. */
static int complain(const char *name, const char *problem)
{
	fprintf(stderr, "bloscfs: option %s: %s\n", name, problem);
	return -EINVAL;
}

/* Appends @word to a list with commas between its words. */
static int add_word(char **list, const char *word)
{
	char *joined = NULL;

	if (!*list)
		return b2f_value_text(word, list);
	if (asprintf(&joined, "%s,%s", *list, word) < 0)
		return -ENOMEM;
	free(*list);
	*list = joined;
	return 0;
}

static bool takes_value(enum option_kind kind)
{
	return kind >= IGNORED_VALUE;
}

static int parse_auto(const char *text, enum option_kind kind, int64_t *out)
{
	if (strcmp(text, "auto") == 0) {
		*out = kind == AUTO_LEVEL ? FS_UNSET : 0;
		return 0;
	}
	return kind == AUTO_SIZE
		       ? b2f_value_size(text, out)
		       : b2f_value_number(text, 10, UINT32_MAX - 1, out);
}

/* Stores the @value of @entry; NULL for those that take none. */
static int apply(struct fs_options *o, const struct option_entry *entry,
		 const char *value)
{
	void *field = (char *)o + entry->field;

	switch (entry->kind) {
	case SET:
	case CLEAR:
		*(bool *)field = entry->kind == SET;
		return 0;
	case IGNORED:
	case IGNORED_VALUE:
		return 0;
	case KERNEL:
		return add_word(&o->kernel, entry->name);
	case SIZE:
		return b2f_value_size(value, field);
	case NUMBER:
		return b2f_value_number(value, 10, UINT32_MAX - 1, field);
	case USER:
		return b2f_value_user(value, field);
	case GROUP:
		return b2f_value_group(value, field);
	case MASK:
		return b2f_value_number(value, 8, 0777, field);
	case SECONDS:
		return b2f_value_seconds(value, "smh", A_YEAR_S, field);
	case WHOLE_SECONDS:
		return b2f_value_whole_seconds(value, "smh", A_YEAR_S,
					       field);
	case TEXT:
		return *value ? b2f_value_text(value, field) : -EINVAL;
	case CHOICE:
		return b2f_value_choice(value, entry->choices, field);
	case CODEC:
		return b2f_value_codec(value, field);
	case FILTERS:
		return b2f_value_filters(value, field, NULL);
	case AUTO_NUMBER:
	case AUTO_SIZE:
	case AUTO_LEVEL:
		return parse_auto(value, entry->kind, field);
	}
	return -EINVAL;
}

static const struct option_entry *find_entry(const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

/* Names the option that @name is most like, if it is like any. */
static int complain_unknown(const char *name)
{
	struct b2f_nearest nearest = {name, strlen(name) < 4 ? 2 : 3, NULL};

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		if (strcmp(elsewhere[i].name, name) == 0) {
			fprintf(stderr, "bloscfs: option %s: unknown; %s\n",
				name, elsewhere[i].instead);
			return -EINVAL;
		}
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		b2f_value_nearest(&nearest, table[i].name);
	if (!nearest.found)
		return complain(name, "unknown");
	fprintf(stderr, "bloscfs: option %s: unknown; did you mean %s?\n",
		name, nearest.found);
	return -EINVAL;
}

/* Describes a value of @kind; "" for kinds that every user knows. */
static const char *wanted(enum option_kind kind)
{
	switch (kind) {
	case SIZE:
		return ": a size, as 64m or 1GiB";
	case AUTO_SIZE:
		return ": a size, as 64k, or auto";
	case NUMBER:
		return ": a number";
	case AUTO_NUMBER:
	case AUTO_LEVEL:
		return ": a number, or auto";
	case USER:
		return ": a user, by name or number";
	case GROUP:
		return ": a group, by name or number";
	case MASK:
		return ": octal digits, as 022";
	case SECONDS:
		return ": a time, as 0.5, 5s or 2m";
	case WHOLE_SECONDS:
		return ": whole seconds, as 5, 5s or 2m";
	case CODEC:
		return ": blosclz, lz4, lz4hc, zlib or zstd";
	case FILTERS:
		return ": none, or a list of shuffle, bitshuffle, delta and "
		       "bytedelta with + between them";
	case SET:
	case CLEAR:
	case IGNORED:
	case IGNORED_VALUE:
	case KERNEL:
	case TEXT:
	case CHOICE:
		return "";
	}
	return "";
}

/* Says, in one line, that @value is none for @entry, and which there are. */
static int complain_value(const struct option_entry *entry, const char *value)
{
	const char *const *words = entry->choices;

	fprintf(stderr, "bloscfs: option %s: wrong value '%s'%s", entry->name,
		value, wanted(entry->kind));
	for (size_t i = 0; words && words[i]; i++)
		fprintf(stderr, "%s%s",
			i == 0 ? ": " : words[i + 1] ? ", " : " or ", words[i]);
	fputc('\n', stderr);
	return -EINVAL;
}

/* Can a remount not change @entry? */
static bool is_own(const struct option_entry *entry)
{
	if (entry->kind == IGNORED || entry->kind == IGNORED_VALUE ||
	    entry->kind == KERNEL)
		return false;
	return entry->field != FIELD(read_only) &&
	       entry->field != FIELD(remount);
}

static int note_own(struct fs_options *o, const char *name, const char *value)
{
	char *word = NULL;
	int err;

	if (asprintf(&word, "%s%s%s", name, value ? "=" : "",
		     value ? value : "") < 0)
		return -ENOMEM;
	err = add_word(&o->own, word);
	free(word);
	return err;
}

int fs_option_take(struct fs_options *o, const char *name, const char *value)
{
	const struct option_entry *entry = find_entry(name);
	int err;

	if (!entry)
		return o->sloppy ? 0 : complain_unknown(name);
	if (takes_value(entry->kind) && !value)
		return complain(name, "needs a value");
	if (!takes_value(entry->kind) && value)
		return complain(name, "takes no value");
	err = apply(o, entry, value);
	if (!err && is_own(entry))
		err = note_own(o, name, value);
	return err == -EINVAL ? complain_value(entry, value ? value : "") : err;
}
