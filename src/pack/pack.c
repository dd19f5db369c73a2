/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.c - opens and reads packs, files that hold frames by names */
#include "pack/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "b2frame/error.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "frame/frame.h"
#include "store/zip.h"
#include "store/zip_end.h"

#define ZIP_SUFFIX   ".b2z"
#define EMBED_SUFFIX ".b2e"

/* Bytes that are summed at once. */
#define PIECE ((size_t)1 << 20)

/*
 * At most so many EmbedStores of a ZIP file become directories: each has its
 * index in memory while the pack is open.  python-blosc2 makes one.
 */
#define NEMBEDS_MAX 64

/* A part of a file as the store of a contiguous frame. */
struct extent {
	struct b2f_store base;
	struct b2f_store *whole;
	uint64_t off;
	uint64_t size;
};

static struct extent *extent_of(struct b2f_store *store)
{
	return (struct extent *)store;
}

static int extent_open(struct b2f_store *store, int64_t id,
		       struct b2f_object *out, struct b2f_why *why)
{
	struct extent *extent = extent_of(store);
	struct b2f_object object = {.fd = -1};
	int err;

	extent->whole->quiet = store->quiet;
	err = extent->whole->ops->open(extent->whole, id, &object, why);
	if (err)
		return err;
	if (!b2f_range_fits(extent->off, extent->size, object.size)) {
		b2f_object_close(&object);
		return b2f_why_set(
			why, B2F_ECORRUPT, "the file ends before byte %llu",
			(unsigned long long)(extent->off + extent->size));
	}
	object.store = store;
	object.size = extent->size;
	*out = object;
	return 0;
}

/* The object in the whole store, cut at the end of the part. */
static struct b2f_object in_whole(const struct b2f_object *object)
{
	const struct extent *extent = extent_of(object->store);
	struct b2f_object inner = *object;

	inner.store = extent->whole;
	inner.size = extent->off + extent->size;
	return inner;
}

static int extent_read(const struct b2f_object *object, uint64_t off, void *buf,
		       size_t n, struct b2f_why *why)
{
	const struct extent *extent = extent_of(object->store);
	const struct b2f_object inner = in_whole(object);

	if (!b2f_range_fits(off, n, extent->size))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "its part of the file ends at byte %llu",
				   (unsigned long long)extent->size);
	return inner.store->ops->read(&inner, extent->off + off, buf, n, why);
}

static void extent_expect(const struct b2f_object *object, uint64_t off,
			  uint64_t n)
{
	const struct extent *extent = extent_of(object->store);
	const struct b2f_object inner = in_whole(object);

	if (inner.store->ops->expect)
		inner.store->ops->expect(&inner, extent->off + off, n);
}

static void extent_close(struct b2f_object *object)
{
	struct b2f_object inner = in_whole(object);

	b2f_object_close(&inner);
}

static int extent_stat(struct b2f_store *store, int64_t id, struct stat *out)
{
	(void)id;
	return b2f_store_stat_index(extent_of(store)->whole, out);
}

static void extent_free(struct b2f_store *store)
{
	b2f_store_free(extent_of(store)->whole);
	free(store);
}

/*
 * Makes a read-only store of the @size bytes at @off of the contiguous store
 * @whole, which it clones.  Reads stay inside these bytes.  Free *@out with
 * b2f_store_free().
 *
 * Returns 0, B2F_ECORRUPT (@whole has fewer bytes), -ENOMEM or an errno.
 */
static int new_extent(struct b2f_store *whole, uint64_t off, uint64_t size,
		      struct b2f_store **out, struct b2f_why *why);

static int extent_clone(struct b2f_store *store, struct b2f_store **out,
			struct b2f_why *why)
{
	const struct extent *extent = extent_of(store);

	return new_extent(extent->whole, extent->off, extent->size, out, why);
}

static const struct b2f_store_ops extent_ops = {
	.open = extent_open,
	.read = extent_read,
	.close = extent_close,
	.expect = extent_expect,
	.stat = extent_stat,
	.free = extent_free,
	.clone = extent_clone,
};

static int new_extent(struct b2f_store *whole, uint64_t off, uint64_t size,
		      struct b2f_store **out, struct b2f_why *why)
{
	struct extent *extent;
	int err;

	if (size > UINT64_MAX - off)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a part of a file that has no end");
	extent = calloc(1, sizeof(*extent));
	if (!extent)
		return -ENOMEM;
	err = b2f_store_clone(whole, &extent->whole, why);
	if (err) {
		free(extent);
		return err;
	}
	extent->base.ops = &extent_ops;
	extent->off = off;
	extent->size = size;
	*out = &extent->base;
	return 0;
}

static bool ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && strcmp(name + n - m, suffix) == 0;
}

bool b2f_pack_is_name(const char *name)
{
	return ends_in(name, ZIP_SUFFIX) || ends_in(name, EMBED_SUFFIX);
}

/* Memory for the index of an EmbedStore. */
#define EMBED_INDEX_MAX (UINT64_C(16) << 20)

/* Sets *@is: do the metalayers name an EmbedStore?  Takes @store over. */
static int look_embed(struct b2f_store *store, bool *is)
{
	/* A frame that says otherwise is no EmbedStore. */
	struct b2f_reserve few = {.max = EMBED_INDEX_MAX};
	const struct b2f_frame_options quiet = {.reserve = &few};
	struct b2f_frame *frame = NULL;
	int err = b2f_frame_open_store(&quiet, store, "", &frame);

	*is = !err && b2f_embed_is(frame);
	b2f_frame_close(frame);
	return b2f_is_format_error(err) ? 0 : err;
}

int b2f_pack_look(int dirfd, const char *name, bool *is)
{
	struct b2f_object object = {.fd = -1};
	struct b2f_store *store = NULL;
	int err;

	*is = false;
	if (!b2f_pack_is_name(name))
		return 0;
	err = b2f_store_open(dirfd, name, false, &store, NULL);
	if (err == B2F_ENOTFRAME || err == -ELOOP || err == -ENXIO)
		return 0;
	if (err || b2f_store_is_sparse(store)) {
		b2f_store_free(store);
		return err;
	}
	b2f_store_be_quiet(store);
	if (ends_in(name, EMBED_SUFFIX))
		return look_embed(store, is);
	err = b2f_object_open(store, B2F_OBJECT_INDEX, &object, NULL);
	if (!err)
		err = b2f_zip_end_look(&object, is);
	b2f_object_close(&object);
	b2f_store_free(store);
	return b2f_is_format_error(err) ? 0 : err;
}

int b2f_leaves_add(struct b2f_leaves *leaves, const struct b2f_leaf *leaf,
		   struct b2f_why *why)
{
	struct b2f_leaf *items;

	if (leaves->n == B2F_PACK_ENTRIES_MAX) {
		free(leaf->path);
		return b2f_why_set(why, B2F_ETOOBIG, "too many entries");
	}
	items = b2f_grown(leaves->items, &leaves->room, leaves->n + 1,
			  sizeof(*items));
	if (!items) {
		free(leaf->path);
		return -ENOMEM;
	}
	leaves->items = items;
	items[leaves->n++] = *leaf;
	return 0;
}

/* Makes @pack the owner of @store, even if that fails. */
static int add_source(struct b2f_pack *pack, struct b2f_store *store)
{
	struct b2f_store **sources =
		realloc(pack->sources,
			(pack->nsources + 1) * sizeof(*pack->sources));

	if (!sources) {
		b2f_store_free(store);
		return -ENOMEM;
	}
	pack->sources = sources;
	sources[pack->nsources++] = store;
	return 0;
}

/* Adds the entries of the EmbedStore @store, which it takes over. */
static int add_embed(struct b2f_pack *pack, struct b2f_store *store,
		     const char *prefix, struct b2f_why *why)
{
	const struct b2f_frame_options options = {.log = pack->log,
						  .label = pack->label,
						  .join_objects = true,
						  .reserve = pack->reserve};
	struct b2f_frame *frame = NULL;
	struct b2f_store *source = NULL;
	int err = b2f_frame_open_store(&options, store, "", &frame);

	if (err)
		return err;
	err = b2f_embed_store(frame, &source);
	if (!err)
		err = add_source(pack, source);
	if (!err)
		err = b2f_embed_add(frame, source, prefix, &pack->leaves, why);
	b2f_frame_close(frame);
	return err;
}

static struct b2f_member member_of(const struct b2f_pack *pack,
				   const struct b2f_zip_member *m)
{
	return (struct b2f_member){
		.source = pack->sources[0],
		.off = m->off,
		.size = m->size,
		/* The CRC-32 is of the uncompressed bytes. */
		.has_crc32 = !m->refused,
		.crc32 = m->crc32,
	};
}

/*
 * Makes a directory of the EmbedStore @m in the ZIP file.  A member that is no
 * EmbedStore stays a file.
 */
static int add_embed_member(struct b2f_pack *pack,
			    const struct b2f_zip_member *m, bool *added,
			    struct b2f_why *why)
{
	struct b2f_store *part = NULL;
	struct b2f_leaf dir = {.member = member_of(pack, m)};
	int err = new_extent(pack->sources[0], m->off, m->size, &part, why);

	if (!err)
		err = look_embed(part, added);
	if (err || !*added)
		return err;
	if (asprintf(&dir.path, "%s/", m->name) < 0)
		return -ENOMEM;
	err = b2f_leaves_add(&pack->leaves, &dir, why);
	if (!err)
		err = new_extent(pack->sources[0], m->off, m->size, &part, why);
	/* The list may move while it grows, the path does not. */
	return err ? err : add_embed(pack, part, dir.path, why);
}

static int add_member(struct b2f_pack *pack, struct b2f_zip_member *m,
		      struct b2f_why *why)
{
	struct b2f_leaf leaf = {.refused = m->refused};
	bool added = false;
	int err = 0;

	if (!m->is_dir && !m->refused && pack->nsources <= NEMBEDS_MAX &&
	    ends_in(m->name, EMBED_SUFFIX))
		err = add_embed_member(pack, m, &added, why);
	if (err || added)
		return err;
	if (asprintf(&leaf.path, "%s%s", m->name, m->is_dir ? "/" : "") < 0)
		return -ENOMEM;
	if (!m->is_dir)
		leaf.member = member_of(pack, m);
	return b2f_leaves_add(&pack->leaves, &leaf, why);
}

static int add_zip(struct b2f_pack *pack, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	struct b2f_zip zip = {0};
	int err = b2f_object_open(pack->sources[0], B2F_OBJECT_INDEX, &object,
				  why);

	if (!err)
		err = b2f_zip_parse(&object, &zip, why);
	b2f_object_close(&object);
	for (size_t i = 0; i < zip.n && !err; i++)
		err = add_member(pack, &zip.members[i], why);
	b2f_zip_fini(&zip);
	return err;
}

/* Reads all of @pack from @store, which it takes over. */
static int read_all(struct b2f_pack *pack, struct b2f_store *store,
		    const char *path, struct b2f_why *why)
{
	int err = b2f_store_begin_index(store, &pack->stamp);

	if (err || b2f_store_is_sparse(store)) {
		b2f_store_free(store);
		return err ? err
			   : b2f_why_set(why, B2F_ENOTFRAME,
					 "a directory is no pack");
	}
	if (ends_in(path, EMBED_SUFFIX)) {
		err = add_embed(pack, store, "", why);
	} else {
		err = add_source(pack, store);
		if (!err)
			err = add_zip(pack, why);
	}
	return err ? err : b2f_pack_make_tree(pack, why);
}

int b2f_pack_open_store(const struct b2f_frame_options *options,
			struct b2f_store *store, const char *path,
			struct b2f_pack **out)
{
	const char *label = options->label ? options->label : path;
	struct b2f_pack *pack = calloc(1, sizeof(*pack));
	struct b2f_why why = {""};
	int err;

	if (pack)
		pack->label = strdup(label);
	if (!pack || !pack->label) {
		b2f_store_free(store);
		free(pack);
		return -ENOMEM;
	}
	pack->log = options->log;
	pack->reserve = options->reserve;
	err = read_all(pack, store, path, &why);
	if (err) {
		b2f_log_failure(options->log, label, err, &why);
		b2f_pack_close(pack);
		return err;
	}
	*out = pack;
	return 0;
}

int b2f_pack_open(const struct b2f_frame_options *options, int dirfd,
		  const char *path, struct b2f_pack **out)
{
	const char *label = options->label ? options->label : path;
	struct b2f_store *store = NULL;
	struct b2f_why why = {""};
	int err = b2f_store_open(dirfd, path, !options->nofollow, &store, &why);

	if (err)
		return b2f_log_failure(options->log, label, err, &why);
	return b2f_pack_open_store(options, store, label, out);
}

void b2f_pack_close(struct b2f_pack *pack)
{
	if (!pack)
		return;
	for (size_t i = 0; i < pack->leaves.n; i++)
		free(pack->leaves.items[i].path);
	for (size_t i = 0; i < pack->ntexts; i++)
		free(pack->texts[i]);
	for (size_t i = 0; i < pack->nsources; i++)
		b2f_store_free(pack->sources[i]);
	free(pack->leaves.items);
	free(pack->texts);
	free(pack->sources);
	free(pack->nodes);
	free(pack->order);
	free(pack->label);
	free(pack);
}

struct b2f_frame_stamp b2f_pack_stamp(const struct b2f_pack *pack)
{
	return pack->stamp;
}

int b2f_pack_check(const struct b2f_pack *pack)
{
	struct b2f_frame_stamp now;
	int err = b2f_store_stamp_index(pack->sources[0], &now);

	if (err)
		return err;
	/* A rename or removal of the file changes no content. */
	return b2f_frame_stamp_same_data(&pack->stamp, &now, false) ? 0
								    : -ESTALE;
}

size_t b2f_pack_count(const struct b2f_pack *pack)
{
	return pack->nnodes;
}

const struct b2f_pack_entry *b2f_pack_entry(const struct b2f_pack *pack,
					    size_t i)
{
	return &pack->nodes[i].entry;
}

size_t b2f_pack_nchildren(const struct b2f_pack *pack, size_t dir)
{
	return pack->nodes[dir].nchildren;
}

size_t b2f_pack_child(const struct b2f_pack *pack, size_t dir, size_t i)
{
	return pack->order[pack->nodes[dir].first + i];
}

/* Finds the node at @path by shown names; modifies @path. */
static int walk(const struct b2f_pack *pack, char *path, size_t *out)
{
	char *state = NULL;
	size_t node = 0;
	int err = 0;

	for (char *part = strtok_r(path, "/", &state); part && !err;
	     part = strtok_r(NULL, "/", &state))
		err = b2f_pack_lookup(pack, node, part, &node);
	if (!err)
		*out = node;
	return err;
}

/* A copy of @path without slashes at both ends; malloc'ed. */
static char *trim(const char *path)
{
	size_t n;

	path += strspn(path, "/");
	n = strlen(path);
	while (n > 0 && path[n - 1] == '/')
		n--;
	return strndup(path, n);
}

int b2f_pack_find(const struct b2f_pack *pack, const char *path, size_t *out)
{
	B2F_OWN char *wanted = trim(path);
	B2F_OWN char *copy = wanted ? strdup(wanted) : NULL;
	int err = copy ? walk(pack, copy, out) : -ENOMEM;

	for (size_t i = 0; err == -ENOENT && i < pack->nnodes; i++) {
		if (strcmp(pack->nodes[i].entry.path, wanted) == 0) {
			*out = i;
			err = 0;
		}
	}
	return err;
}

static int report(const struct b2f_pack *pack, const struct b2f_pack_node *node,
		  int err, const char *text)
{
	b2f_log(pack->log, B2F_LOG_ERROR, "%s/%s: %s", pack->label,
		node->entry.path, *text ? text : b2f_strerror(err));
	return err;
}

/* Can the bytes of @node be read? */
static int check_readable(const struct b2f_pack *pack,
			  const struct b2f_pack_node *node)
{
	if (node->entry.kind == B2F_PACK_DIR)
		return -EISDIR;
	if (!node->entry.refused)
		return 0;
	b2f_log(pack->log, B2F_LOG_WARNING, "%s/%s: not readable: %s",
		pack->label, node->entry.path, node->entry.refused);
	return B2F_EUNSUPPORTED;
}

int b2f_pack_open_frame(const struct b2f_pack *pack, size_t i,
			const struct b2f_frame_options *options,
			struct b2f_frame **out)
{
	const struct b2f_pack_node *node = &pack->nodes[i];
	struct b2f_frame_options all = *options;
	struct b2f_store *part = NULL;
	struct b2f_why why = {""};
	int err = check_readable(pack, node);

	if (err)
		return err;
	if (node->entry.kind != B2F_PACK_FRAME)
		return report(pack, node, B2F_ENOTFRAME,
			      "it is no Blosc2 frame");
	err = new_extent(node->member.source, node->member.off,
			 node->member.size, &part, &why);
	if (err)
		return report(pack, node, err, why.text);
	if (!all.reserve)
		all.reserve = pack->reserve;
	return b2f_frame_open_store(&all, part, node->entry.path, out);
}

int b2f_pack_read_member(const struct b2f_member *member, uint64_t off,
			 void *buf, size_t n, struct b2f_why *why)
{
	B2F_OWN_OBJECT struct b2f_object object = {.fd = -1};
	int err =
		b2f_object_open(member->source, B2F_OBJECT_INDEX, &object, why);

	return err ? err
		   : b2f_object_read(&object, member->off + off, buf, n, why);
}

static int compare(const struct b2f_member *member, uLong sum,
		   struct b2f_why *why)
{
	if (sum == member->crc32)
		return 0;
	return b2f_why_set(why, B2F_ECORRUPT,
			   "damaged: its CRC-32 is %08lx, that in the ZIP file "
			   "%08lx",
			   sum, (unsigned long)member->crc32);
}

/* Compares the bytes with their checksum in the ZIP file, if there is one. */
static int check_sum(const struct b2f_member *member, const void *bytes,
		     struct b2f_why *why)
{
	if (!member->has_crc32)
		return 0;
	return compare(member, crc32_z(0, bytes, (size_t)member->size), why);
}

/* Checks @member, read piece by piece into @buf, which has PIECE bytes. */
static int sum_pieces(const struct b2f_member *member,
		      const struct b2f_object *object, uint8_t *buf,
		      struct b2f_why *why)
{
	uLong sum = crc32(0, NULL, 0);
	uint64_t done = 0;
	int err = 0;

	while (done < member->size && !err) {
		size_t n = (size_t)b2f_min_u64(member->size - done, PIECE);

		err = b2f_object_read(object, member->off + done, buf, n, why);
		sum = err ? sum : crc32_z(sum, buf, n);
		done += n;
	}
	return err ? err : compare(member, sum, why);
}

/* Like check_sum(), but reads the bytes. */
static int read_sum(const struct b2f_member *member, struct b2f_why *why)
{
	B2F_OWN_OBJECT struct b2f_object object = {.fd = -1};
	B2F_OWN uint8_t *buf = NULL;
	int err;

	if (!member->has_crc32)
		return 0;
	buf = malloc(PIECE);
	if (!buf)
		return -ENOMEM;
	err = b2f_object_open(member->source, B2F_OBJECT_INDEX, &object, why);
	return err ? err : sum_pieces(member, &object, buf, why);
}

ssize_t b2f_pack_read(const struct b2f_pack *pack, size_t i, uint64_t off,
		      void *buf, size_t n)
{
	const struct b2f_pack_node *node = &pack->nodes[i];
	struct b2f_why why = {""};
	int err = check_readable(pack, node);

	if (err)
		return err;
	off = b2f_min_u64(off, node->member.size);
	n = (size_t)b2f_min_u64(n, node->member.size - off);
	err = b2f_pack_read_member(&node->member, off, buf, n, &why);
	if (!err && n == node->member.size)
		err = check_sum(&node->member, buf, &why);
	return err ? report(pack, node, err, why.text) : (ssize_t)n;
}

int b2f_pack_check_sum(const struct b2f_pack *pack, size_t i)
{
	const struct b2f_pack_node *node = &pack->nodes[i];
	struct b2f_why why = {""};
	int err = read_sum(&node->member, &why);

	return err ? report(pack, node, err, why.text) : 0;
}
