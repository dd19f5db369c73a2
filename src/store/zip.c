/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zip.c - the members of a ZIP file
 *
 *   members, each behind a local header
 *   central directory: an entry per member        -- parse_directory()
 *   end records: where the directory is           -- zip_end.c
 */
#include "store/zip.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cursor.h"
#include "base/sorted.h"
#include "store/zip_end.h"

#define SIGN_LOCAL	UINT32_C(0x04034b50)
#define SIGN_ENTRY	UINT32_C(0x02014b50)
#define LOCAL_SIZE	30
/* Longest path; longer ones are no keys of a store. */
#define PATH_BYTES_MAX	2000
#define EXTRA_ZIP64	1
#define FLAG_ENCRYPTED	0x0001
#define FLAG_MASKED	0x2000
#define METHOD_STORED	0
#define METHOD_DEFLATED 8
#define MADE_BY_UNIX	3
#define MODE_TYPE	0170000
#define MODE_LINK	0120000

/* An entry of the central directory. */
struct entry {
	uint16_t made_by;
	uint16_t flags;
	uint16_t method;
	uint32_t crc32;
	uint64_t stored;
	uint64_t nbytes;
	uint16_t name_len;
	uint16_t extra_len;
	uint16_t comment_len;
	uint16_t disk;
	uint32_t attributes;
	uint64_t header_off;
	const uint8_t *name;
	const uint8_t *extra;
};

/* Reads the next number of a ZIP64 field, if @value says that there is one. */
static void widen(struct b2f_cursor *cur, uint64_t *value)
{
	if (*value == UINT32_MAX)
		*value = b2f_cursor_le64(cur);
}

/*
 * Reads the extra field, which has the numbers beyond 32 bits, in this order.
 */
static bool read_extra(struct entry *e)
{
	struct b2f_cursor cur = b2f_cursor_at(e->extra, e->extra_len);
	bool wide = e->nbytes == UINT32_MAX || e->stored == UINT32_MAX ||
		    e->header_off == UINT32_MAX;

	while (wide && b2f_cursor_left(&cur) > 0) {
		uint16_t id = b2f_zip_take16(&cur), size = b2f_zip_take16(&cur);
		const uint8_t *field = b2f_cursor_take(&cur, size);
		struct b2f_cursor in = b2f_cursor_at(field, size);

		if (!field)
			return false;
		if (id != EXTRA_ZIP64)
			continue;
		widen(&in, &e->nbytes);
		widen(&in, &e->stored);
		widen(&in, &e->header_off);
		return b2f_cursor_ok(&in);
	}
	return !wide;
}

static int take_entry(struct b2f_cursor *cur, struct entry *e,
		      struct b2f_why *why)
{
	bool sign = b2f_cursor_le32(cur) == SIGN_ENTRY;

	e->made_by = b2f_zip_take16(cur);
	b2f_cursor_skip(cur, 2);
	e->flags = b2f_zip_take16(cur);
	e->method = b2f_zip_take16(cur);
	/* Time and date. */
	b2f_cursor_skip(cur, 4);
	e->crc32 = b2f_cursor_le32(cur);
	e->stored = b2f_cursor_le32(cur);
	e->nbytes = b2f_cursor_le32(cur);
	e->name_len = b2f_zip_take16(cur);
	e->extra_len = b2f_zip_take16(cur);
	e->comment_len = b2f_zip_take16(cur);
	e->disk = b2f_zip_take16(cur);
	b2f_cursor_skip(cur, 2);
	e->attributes = b2f_cursor_le32(cur);
	e->header_off = b2f_cursor_le32(cur);
	e->name = b2f_cursor_take(cur, e->name_len);
	e->extra = b2f_cursor_take(cur, e->extra_len);
	b2f_cursor_skip(cur, e->comment_len);
	if (!b2f_cursor_ok(cur) || !sign)
		return b2f_zip_corrupt(why, "its directory is damaged");
	if (!read_extra(e))
		return b2f_zip_corrupt(why, "the ZIP64 field of a member is damaged");
	if (e->flags & FLAG_MASKED)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "the directory of the ZIP file is encrypted");
	if (e->disk)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "a ZIP file in several parts");
	return 0;
}

/* Would a part of a path lead elsewhere, or is it no valid file name? */
static bool is_bad_part(const char *part, size_t n)
{
	return n == 0 || n > B2F_ZIP_NAME_MAX ||
	       (n == 1 && part[0] == '.') ||
	       (n == 2 && part[0] == '.' && part[1] == '.');
}

static bool is_good_path(const char *name, size_t n)
{
	const char *end = name + n;

	if (memchr(name, '\0', n))
		return false;
	for (;;) {
		const char *slash = memchr(name, '/', (size_t)(end - name));
		size_t part = (size_t)((slash ? slash : end) - name);

		if (is_bad_part(name, part))
			return false;
		if (!slash)
			return true;
		name = slash + 1;
	}
}

static int take_name(const struct entry *e, struct b2f_zip_member *m,
		     struct b2f_why *why)
{
	size_t n = e->name_len;
	char *name;

	if (n > PATH_BYTES_MAX)
		return b2f_zip_corrupt(why, "a member has a name that is too long");
	name = malloc(n + 1);
	if (!name)
		return -ENOMEM;
	memcpy(name, e->name, n);
	m->is_dir = n > 1 && name[n - 1] == '/';
	n -= m->is_dir;
	name[n] = '\0';
	if (!is_good_path(name, n)) {
		free(name);
		return b2f_zip_corrupt(why, "a member has a name that no file of a "
				    "store can have");
	}
	m->name = name;
	return 0;
}

static const char *find_refusal(const struct entry *e)
{
	if (e->flags & FLAG_ENCRYPTED)
		return "it is encrypted";
	if (e->method == METHOD_DEFLATED)
		return "it is deflated, not stored";
	if (e->method != METHOD_STORED)
		return "it is compressed by the ZIP file, not stored";
	if (e->made_by >> 8 == MADE_BY_UNIX &&
	    (e->attributes >> 16 & MODE_TYPE) == MODE_LINK)
		return "it is a symbolic link";
	return NULL;
}

/* Finds the bytes of @m behind its local header, which must agree with @e. */
static int locate(const struct b2f_object *object, const struct b2f_zip_end *end,
		  const struct entry *e, struct b2f_zip_member *m,
		  struct b2f_why *why)
{
	uint8_t raw[LOCAL_SIZE + PATH_BYTES_MAX];
	struct b2f_cursor cur = b2f_cursor_at(raw, LOCAL_SIZE);
	uint64_t limit = end->directory_off, need = LOCAL_SIZE + e->name_len;
	uint16_t flags, method, name_len, extra_len;
	bool sign;
	int err;

	if (!b2f_range_fits(e->header_off, need, limit))
		return b2f_zip_corrupt(why, "a member is outside of the file");
	err = b2f_object_read(object, e->header_off, raw, (size_t)need, why);
	if (err)
		return err;
	sign = b2f_cursor_le32(&cur) == SIGN_LOCAL;
	b2f_cursor_skip(&cur, 2);
	flags = b2f_zip_take16(&cur);
	method = b2f_zip_take16(&cur);
	b2f_cursor_seek(&cur, LOCAL_SIZE - 4);
	name_len = b2f_zip_take16(&cur);
	extra_len = b2f_zip_take16(&cur);
	if (!sign || name_len != e->name_len || method != e->method ||
	    (flags ^ e->flags) & FLAG_ENCRYPTED ||
	    memcmp(raw + LOCAL_SIZE, e->name, name_len) != 0)
		return b2f_zip_corrupt(why, "a member and its directory entry differ");
	m->header_off = e->header_off;
	m->off = e->header_off + need + extra_len;
	m->size = e->stored;
	if (!b2f_range_fits(m->off, m->size, limit))
		return b2f_zip_corrupt(why, "a member is outside of the file");
	if (!m->refused && e->stored != e->nbytes)
		return b2f_zip_corrupt(why, "a stored member has two sizes");
	return 0;
}

static int add_member(const struct b2f_object *object, const struct b2f_zip_end *end,
		      const struct entry *e, struct b2f_zip *zip,
		      struct b2f_why *why)
{
	struct b2f_zip_member m = {.crc32 = e->crc32,
				   .refused = find_refusal(e)};
	struct b2f_why cause = {""};
	int err = take_name(e, &m, why);

	if (err)
		return err;
	err = locate(object, end, e, &m, &cause);
	if (err) {
		b2f_why_set(why, err, "%.80s: %.100s", m.name, cause.text);
		free(m.name);
		return err;
	}
	zip->members[zip->n++] = m;
	return 0;
}

static int parse_directory(const struct b2f_object *object,
			   const struct b2f_zip_end *end, const uint8_t *raw,
			   struct b2f_zip *zip, struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, (size_t)end->directory_size);
	struct entry e;
	int err = 0;

	for (uint64_t i = 0; i < end->n && !err; i++) {
		err = take_entry(&cur, &e, why);
		if (!err)
			err = add_member(object, end, &e, zip, why);
	}
	if (!err && b2f_cursor_left(&cur) > 0)
		return b2f_zip_corrupt(why, "its directory is longer than it "
					    "claims");
	return err;
}

static int by_name(const void *a, const void *b)
{
	const struct b2f_zip_member *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void sort(struct b2f_zip *zip, int (*compare)(const void *, const void *))
{
	if (zip->n > 1)
		qsort(zip->members, zip->n, sizeof(*zip->members), compare);
}

/* Sorts the members by name, after checking that they do not overlap. */
static int check_members(struct b2f_zip *zip, struct b2f_why *why)
{
	const struct b2f_zip_member *m;

	sort(zip, b2f_compare_u64);
	for (size_t i = 1; i < zip->n; i++) {
		m = &zip->members[i - 1];
		if (m[1].header_off < m->off + m->size)
			return b2f_why_set(why, B2F_ECORRUPT,
					   "ZIP file: %.60s and %.60s overlap",
					   m->name, m[1].name);
	}
	sort(zip, by_name);
	for (size_t i = 1; i < zip->n; i++) {
		m = &zip->members[i - 1];
		if (strcmp(m->name, m[1].name) == 0)
			return b2f_why_set(why, B2F_ECORRUPT,
					   "ZIP file: it has %.100s twice",
					   m->name);
	}
	return 0;
}

int b2f_zip_parse(const struct b2f_object *object, struct b2f_zip *out,
		  struct b2f_why *why)
{
	struct b2f_zip zip = {0};
	struct b2f_zip_end end = {0};
	B2F_OWN uint8_t *raw = NULL;
	int err = b2f_zip_end_find(object, &end, why);

	if (err)
		return err;
	raw = malloc(end.directory_size ? (size_t)end.directory_size : 1);
	zip.members = calloc(end.n ? (size_t)end.n : 1, sizeof(*zip.members));
	err = raw && zip.members
		      ? b2f_object_read(object, end.directory_off, raw,
					(size_t)end.directory_size, why)
		      : -ENOMEM;
	if (!err)
		err = parse_directory(object, &end, raw, &zip, why);
	if (!err)
		err = check_members(&zip, why);
	if (err)
		b2f_zip_fini(&zip);
	else
		*out = zip;
	return err;
}

void b2f_zip_fini(struct b2f_zip *zip)
{
	for (size_t i = 0; i < zip->n; i++)
		free(zip->members[i].name);
	free(zip->members);
	*zip = (struct b2f_zip){0};
}
