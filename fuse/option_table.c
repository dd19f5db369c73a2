/* SPDX-License-Identifier: BSD-3-Clause */
/* option_table.c - the table of mount options */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mount_options.h"
#include "programs/io.h"
#include "words/value.h"

/* The longest time: a longer one would overflow the kernel's jiffies. */
#define A_YEAR_S 3.2e7

enum option_kind {
	/* Set a bool to true, or to false. */
	SET,
	CLEAR,
	/* Accepted for mount(8); has no effect. */
	IGNORED,
	/* Handed on to the kernel. */
	KERNEL,
	/* Like IGNORED, but with a value. */
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
	/* A word of a list; stored as its position in the list. */
	CHOICES,
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
	/* Its value and text in --help; NULL leaves the option out. */
	const char *value;
	const char *help;
};

#define FIELD(name) offsetof(struct fs_options, name)

#define ROW(name_, kind_, field_, value_, help_)                               \
	{                                                                      \
		.name = name_, .kind = kind_, .field = FIELD(field_),          \
		.value = value_, .help = help_                                 \
	}
#define CHOICE(name_, field_, choices_, help_)                                 \
	{                                                                      \
		.name = name_, .kind = CHOICES, .field = FIELD(field_),        \
		.choices = choices_, .help = help_                             \
	}
#define OTHER(name_, kind_) {.name = name_, .kind = kind_}
/* A heading of --help above the rows below. */
#define HEADING(text) {.name = "", .kind = IGNORED, .help = text}

static const char *const view_words[] = {"hidden", "list", "off", NULL};
/* In the order of enum b2f_log_level. */
static const char *const level_words[] = {"error", "warning", "info", "debug",
					  NULL};

static const struct option_entry table[] = {
	HEADING("access"),
	ROW("ro", SET, read_only, NULL, "read-only"),
	ROW("rw", CLEAR, read_only, NULL, NULL),
	ROW("uid", USER, access.user, "N",
	    "owner of everything, a number or a name"),
	ROW("gid", GROUP, access.group, "N",
	    "group of everything, a number or a name"),
	ROW("umask", MASK, access.umask, "N",
	    "permission bits to take away (octal)"),
	ROW("fmask", MASK, access.fmask, "N",
	    "permission bits to take away from files"),
	ROW("dmask", MASK, access.dmask, "N",
	    "permission bits to take away from directories"),
	ROW("allow_other", SET, access.allow_other, NULL,
	    "other users may use the mount"),
	ROW("allow_root", SET, access.allow_root, NULL,
	    "root may use the mount"),
	/* Always on: without it, permissions would not be checked. */
	OTHER("default_permissions", IGNORED),
	ROW("auto_unmount", SET, auto_unmount, NULL,
	    "unmount also if bloscfs is killed"),
	HEADING("cache (sizes take k, m, g, t, KiB, MiB, ...; times s, m, h)"),
	ROW("cachesize", SIZE, cache.cachesize, "SIZE",
	    "decoded data to keep (512m, or 1/8 of memory)"),
	ROW("workers", NUMBER, workers, "N",
	    "threads that encode and decode (one per core)"),
	ROW("readahead", SIZE, cache.readahead, "SIZE",
	    "how far to decode ahead (4m per worker; 0: not at all)"),
	ROW("dirtysize", SIZE, cache.dirtysize, "SIZE",
	    "written data to keep in memory (1/4 of cachesize)"),
	ROW("writeback_cache", SET, cache.writeback_cache, NULL,
	    "the kernel collects writes (many small ones get\n"
	    "faster; changes by others are not seen at once)"),
	ROW("direct_io", SET, cache.direct_io, NULL,
	    "do not use the kernel's cache (mmap from Linux 6.6 on)"),
	ROW("passthrough", CLEAR, cache.no_passthrough, NULL,
	    "the kernel itself reads and writes files that are\n"
	    "no frames, where it can (default)"),
	ROW("nopassthrough", SET, cache.no_passthrough, NULL,
	    "the daemon reads and writes these files"),
	ROW("attr_timeout", SECONDS, cache.attr_timeout_s, "S",
	    "how long attributes may be out of date (1)"),
	ROW("entry_timeout", SECONDS, cache.entry_timeout_s, "S",
	    "how long names may be out of date (1)"),
	HEADING("write"),
	ROW("commit", WHOLE_SECONDS, commit, "S",
	    "seconds until written data are durable (5);\n"
	    "0: only by fsync, and when the mount ends"),
	ROW("sync", SET, sync, NULL, "closing a file makes it durable"),
	ROW("async", CLEAR, sync, NULL, NULL),
	ROW("locking", SET, locking, NULL,
	    "always take part in C-Blosc2's locks\n"
	    "(default: if a frame has a .b2lock)"),
	ROW("nolocking", SET, nolocking, NULL,
	    "never take part in these locks"),
	HEADING("compression of new files"),
	ROW("codec", CODEC, create.codec, "NAME",
	    "blosclz, lz4, lz4hc, zlib or zstd (zstd)"),
	ROW("clevel", AUTO_LEVEL, create.clevel, "N",
	    "0 to 9, or auto: 3, and 1 while writers wait (auto)"),
	ROW("filter", FILTERS, create.filters, "NAME+...",
	    "none, or shuffle, bitshuffle, bytedelta in the order\n"
	    "in which they are applied (shuffle)"),
	ROW("typesize", AUTO_NUMBER, create.typesize, "N",
	    "bytes of an item, or auto: by the first data (auto)"),
	ROW("chunksize", SIZE, create.chunksize, "SIZE",
	    "bytes that are compressed together (1m)"),
	ROW("small", SIZE, create.small, "SIZE",
	    "largest new file that is stored as one file\n"
	    "(64k; 0: none)"),
	ROW("blocksize", AUTO_SIZE, create.blocksize, "SIZE",
	    "bytes that are decoded together, or auto (64k)"),
	HEADING("integrity and view"),
	ROW("seal", CLEAR, create.no_seal, NULL, "write checksums (default)"),
	ROW("noseal", SET, create.no_seal, NULL, "write none"),
	CHOICE("npy", view.npy, view_words,
	       "x.npy, a view of an array x with a header: not\n"
	       "listed, listed, or absent (hidden)"),
	CHOICE("xattr", view.xattr, view_words,
	       "user.blosc2.*, which describe a frame: not listed,\n"
	       "listed, or no extended attributes at all (hidden)"),
	HEADING("SOURCE as s3://BUCKET/PREFIX, or as the URL of a frame "
		"(read-only)"),
	ROW("endpoint", TEXT, bucket.given.endpoint, "URL",
	    "the server (AWS_ENDPOINT_URL, ~/.aws/config, AWS)"),
	ROW("region", TEXT, bucket.given.region, "NAME",
	    "its region (AWS_REGION, ~/.aws/config, us-east-1)"),
	ROW("profile", TEXT, bucket.given.profile, "NAME",
	    "a profile in ~/.aws (AWS_PROFILE, default)"),
	ROW("pathstyle", SET, bucket.pathstyle, NULL,
	    "put the bucket into the path, not into the host name"),
	ROW("no_sign_request", SET, bucket.given.no_keys, NULL,
	    "use no keys: for public buckets"),
	ROW("request_payer", SET, bucket.given.request_payer, NULL,
	    "pay for requests, as some owners of buckets require"),
	ROW("sse", TEXT, bucket.given.sse, "KIND",
	    "the server encrypts new objects: AES256, aws:kms"),
	ROW("sse_kms_key", TEXT, bucket.given.sse_kms_key, "ID",
	    "the server encrypts them with its key ID"),
	ROW("sse_c_key", TEXT, bucket.given.sse_c_key, "FILE",
	    "the server encrypts all objects with the key in FILE"),
	ROW("refresh", WHOLE_SECONDS, bucket.refresh_s, "S",
	    "seconds for which an index counts as current (5)"),
	ROW("retry", WHOLE_SECONDS, bucket.retry_s, "S",
	    "seconds to repeat a request that fails (180)"),
	ROW("cachedir", TEXT, bucket.cachedir, "DIR",
	    "keep compressed data there, for later mounts too"),
	ROW("cachedirsize", SIZE, bucket.cachedirsize, "SIZE",
	    "largest size of DIR (10g)"),
	HEADING("daemon"),
	CHOICE("loglevel", loglevel, level_words, "\nwhat to log (warning)"),
	ROW("logfile", TEXT, logfile, "FILE", "instead of stderr or syslog"),
	ROW("statsfile", TEXT, statsfile, "FILE",
	    "statistics as JSON, at most 10 s old; for Prometheus,\n"
	    "if FILE ends with .prom"),
	ROW("timeout", WHOLE_SECONDS, timeout_s, "S",
	    "unmount after S seconds without use (0: never)"),
	ROW("fsname", TEXT, fsname, "NAME", "source that mount(8) lists"),
	ROW("subtype", TEXT, subtype, "NAME",
	    "type that mount(8) lists, behind \"fuse.\""),
	ROW("debug", SET, debug, NULL, NULL),
	OTHER("exec", KERNEL),
	OTHER("noexec", KERNEL),
	OTHER("suid", KERNEL),
	OTHER("nosuid", KERNEL),
	OTHER("dev", KERNEL),
	OTHER("nodev", KERNEL),
	OTHER("atime", KERNEL),
	OTHER("noatime", KERNEL),
	OTHER("dirsync", KERNEL),
	/* libfuse does not know it, and the mount keeps no atimes. */
	OTHER("nodiratime", IGNORED),
	OTHER("relatime", IGNORED),
	OTHER("norelatime", IGNORED),
	OTHER("strictatime", IGNORED),
	OTHER("lazytime", IGNORED),
	OTHER("defaults", IGNORED),
	OTHER("auto", IGNORED),
	OTHER("noauto", IGNORED),
	OTHER("user", IGNORED),
	OTHER("nouser", IGNORED),
	OTHER("users", IGNORED),
	OTHER("owner", IGNORED),
	OTHER("group", IGNORED),
	OTHER("nofail", IGNORED),
	/* An option of FUSE 2; here any directory may be the mountpoint. */
	OTHER("nonempty", IGNORED),
	OTHER("_netdev", IGNORED),
	OTHER("quiet", IGNORED),
	OTHER("silent", IGNORED),
	OTHER("loud", IGNORED),
	ROW("remount", SET, remount, NULL, NULL),
	/* The mount always drops the pages of a changed file. */
	OTHER("auto_cache", IGNORED),
	/*
	 * The kernel lists these options of each FUSE mount, and mount(8)
	 * repeats them in a remount.
	 */
	OTHER("user_id", IGNORED_VALUE),
	OTHER("group_id", IGNORED_VALUE),
	OTHER("max_read", IGNORED_VALUE),
	OTHER("blksize", IGNORED_VALUE),
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
	{"retries", "it is called retry, a time in seconds"},
	{"snapshot", "'bloscctl convert' makes a copy of one state"},
	{"subdir", "give SOURCE/DIRECTORY"},
	{"ttl", "it is called refresh"},
};

static int complain(const char *name, const char *problem)
{
	fprintf(stderr, "bloscfs: option %s: %s\n", name, problem);
	return -EINVAL;
}

/* Appends @word to a list with commas between its words. */
static int add_word(char **list, const char *word)
{
	char *joined;

	if (!*list)
		return b2f_value_text(word, list);
	joined = b2f_io_text("%s,%s", *list, word);
	if (!joined)
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

/* Stores @value for @entry; NULL if the option takes none. */
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
	case CHOICES:
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
	for (size_t i = 0; *name && i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

/* Complains about an unknown option, and names the one that it is most like. */
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
		if (*table[i].name)
			b2f_value_nearest(&nearest, table[i].name);
	if (!nearest.found)
		return complain(name, "unknown");
	fprintf(stderr, "bloscfs: option %s: unknown; did you mean %s?\n",
		name, nearest.found);
	return -EINVAL;
}

/* Describes a value of a kind that not every user knows. */
static const char *const wanted[] = {
	[SIZE] = ": a size, as 64m or 1GiB",
	[NUMBER] = ": a number",
	[USER] = ": a user, by name or number",
	[GROUP] = ": a group, by name or number",
	[MASK] = ": octal digits, as 022",
	[SECONDS] = ": a time, as 0.5, 5s or 2m",
	[WHOLE_SECONDS] = ": whole seconds, as 5, 5s or 2m",
	[CODEC] = ": blosclz, lz4, lz4hc, zlib or zstd",
	[FILTERS] = ": none, or a list of shuffle, bitshuffle and bytedelta "
		    "with + between them",
	[AUTO_NUMBER] = ": a number, or auto",
	[AUTO_SIZE] = ": a size, as 64k, or auto",
	[AUTO_LEVEL] = ": a number, or auto",
};

static void put_choices(FILE *out, const char *const *words, const char *comma,
			const char *last)
{
	for (size_t i = 0; words && words[i]; i++)
		fprintf(out, "%s%s", i == 0 ? "" : words[i + 1] ? comma : last,
			words[i]);
}

/* Prints in one line that @value is invalid, and the valid values. */
static int complain_value(const struct option_entry *entry, const char *value)
{
	fprintf(stderr, "bloscfs: option %s: wrong value '%s'%s%s", entry->name,
		value, wanted[entry->kind] ? wanted[entry->kind] : "",
		entry->choices ? ": " : "");
	put_choices(stderr, entry->choices, ", ", " or ");
	fputc('\n', stderr);
	return -EINVAL;
}

/* Is @entry an option that only a new mount can change? */
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
	B2F_OWN char *word = b2f_io_text("%s%s%s", name, value ? "=" : "",
					 value ? value : "");

	return word ? add_word(&o->own, word) : -ENOMEM;
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

void fs_option_fini(struct fs_options *o)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].kind == TEXT)
			free(*(char **)((char *)o + table[i].field));
}

/* "  name=VALUE            what it does", and further lines below that. */
static void put_entry(FILE *out, const struct option_entry *entry)
{
	char label[64] = "";
	FILE *to = fmemopen(label, sizeof(label), "w");

	if (!to)
		return;
	fprintf(to, "  %s%s%s", entry->name, takes_value(entry->kind) ? "=" : "",
		entry->value ? entry->value : "");
	put_choices(to, entry->choices, "|", "|");
	fclose(to);
	fprintf(out, *entry->help ? "%-23s " : "%s", label);
	for (const char *c = entry->help; *c; c++) {
		fputc(*c, out);
		if (*c == '\n')
			fprintf(out, "%24s", "");
	}
	fputc('\n', out);
}

void fs_option_help(FILE *out)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].help && *table[i].name)
			put_entry(out, &table[i]);
		else if (table[i].help)
			fprintf(out, "%s\n", table[i].help);
	}
}
