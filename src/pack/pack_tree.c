/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_tree.c - makes the tree of entries from paths, and their shown names
 *
 *   1. the leaves are sorted: all leaves below a directory follow each other
 *   2. each leaf makes a node, and nodes of directories that have none yet
 *   3. the nodes of each directory are sorted by name: duplicates are refused
 *   4. a frame loses its suffix if no other node has, or could have, that name
 *   5. the nodes are sorted again, by their shown names
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/names.h"
#include "blp/blp.h"
#include "index/index.h"
#include "pack/pack.h"
#include "store/zip.h"

/* Like strcmp(3), but a slash comes before all other bytes. */
static int by_path(const void *a, const void *b)
{
	const struct b2f_leaf *x = a, *y = b;
	const unsigned char *p = (const unsigned char *)x->path;
	const unsigned char *q = (const unsigned char *)y->path;

	while (*p && *p == *q)
		p++, q++;
	if (*p == *q)
		return 0;
	if (!*p || !*q)
		return *p ? 1 : -1;
	if (*p == '/' || *q == '/')
		return *p == '/' ? -1 : 1;
	return *p < *q ? -1 : 1;
}

static struct b2f_pack_node *parent_of(const struct b2f_pack *pack,
				       const struct b2f_pack_node *node)
{
	return &pack->nodes[node->entry.parent];
}

/* The nodes of the directories on the path to the last leaf. */
struct way {
	size_t nodes[B2F_PACK_DEPTH_MAX];
	size_t depth;
};

static struct b2f_pack_node *add_node(struct b2f_pack *pack, size_t parent)
{
	struct b2f_pack_node *node = &pack->nodes[pack->nnodes++];

	*node = (struct b2f_pack_node){.entry = {.parent = parent}};
	return node;
}

/* Is the name of @node the @n bytes at @part? */
static bool is_called(const struct b2f_pack_node *node, const char *part,
		      size_t n)
{
	return strlen(node->name) == n && memcmp(node->name, part, n) == 0;
}

static char *keep_text(struct b2f_pack *pack, const char *text, size_t n)
{
	char *copy = strndup(text, n);

	if (copy)
		pack->texts[pack->ntexts++] = copy;
	return copy;
}

static int add_dir(struct b2f_pack *pack, struct way *way, const char *path,
		   size_t begin, size_t end, struct b2f_why *why)
{
	struct b2f_pack_node *node;
	char *text;

	if (way->depth == B2F_PACK_DEPTH_MAX)
		return b2f_why_set(why, B2F_ETOOBIG, "%.100s: it is too deep",
				   path);
	text = keep_text(pack, path, end);
	if (!text)
		return -ENOMEM;
	node = add_node(pack, way->nodes[way->depth - 1]);
	node->entry.kind = B2F_PACK_DIR;
	node->entry.path = text;
	node->name = text + begin;
	way->nodes[way->depth++] = pack->nnodes - 1;
	return 0;
}

/* Makes the directories of @leaf, and its node. */
static int add_leaf(struct b2f_pack *pack, struct way *way,
		    const struct b2f_leaf *leaf, struct b2f_why *why)
{
	size_t begin = 0, depth = 1;
	struct b2f_pack_node *node;
	const char *slash;
	int err = 0;

	while (!err && (slash = strchr(leaf->path + begin, '/'))) {
		size_t end = (size_t)(slash - leaf->path);

		if (depth >= way->depth ||
		    !is_called(&pack->nodes[way->nodes[depth]],
			       leaf->path + begin, end - begin)) {
			way->depth = depth;
			err = add_dir(pack, way, leaf->path, begin, end, why);
		}
		depth++;
		begin = end + 1;
	}
	way->depth = depth;
	if (err)
		return err;
	if (!leaf->path[begin]) {
		pack->nodes[way->nodes[depth - 1]].member = leaf->member;
		return 0;
	}
	node = add_node(pack, way->nodes[depth - 1]);
	node->entry.kind = leaf->is_frame ? B2F_PACK_FRAME : B2F_PACK_FILE;
	node->entry.path = leaf->path;
	node->entry.size = leaf->member.size;
	node->entry.refused = leaf->refused;
	node->member = leaf->member;
	node->name = leaf->path + begin;
	return 0;
}

/* Room for as many nodes as there can be: each slash may be a directory. */
static int reserve(struct b2f_pack *pack, struct b2f_why *why)
{
	size_t max = 1 + pack->leaves.n;

	for (size_t i = 0; i < pack->leaves.n; i++)
		for (const char *p = pack->leaves.items[i].path; *p; p++)
			max += *p == '/';
	if (max > 2 * (size_t)B2F_PACK_ENTRIES_MAX)
		return b2f_why_set(why, B2F_ETOOBIG, "too many directories");
	pack->nodes = calloc(max, sizeof(*pack->nodes));
	pack->order = calloc(max, sizeof(*pack->order));
	/* One per node: a directory's path, or a frame's shown name. */
	pack->texts = calloc(max, sizeof(*pack->texts));
	return pack->nodes && pack->order && pack->texts ? 0 : -ENOMEM;
}

static int add_all(struct b2f_pack *pack, struct b2f_why *why)
{
	struct way way = {.depth = 1};
	struct b2f_pack_node *root = add_node(pack, 0);
	int err = 0;

	root->entry.path = root->entry.shown = root->name = "";
	for (size_t i = 0; i < pack->leaves.n && !err; i++)
		err = add_leaf(pack, &way, &pack->leaves.items[i], why);
	return err;
}

/* The magic has only four bytes, so the suffix has to agree. */
static bool is_bloscpack(const char *name, const uint8_t *start, size_t size)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".blp") == 0 && b2f_blp_magic(start, size);
}

/* Does a frame, or a Bloscpack file, begin where @node does? */
static int find_kind(struct b2f_pack_node *node, struct b2f_why *why)
{
	uint8_t start[10];
	int err;

	if (node->entry.kind != B2F_PACK_FILE || node->entry.refused ||
	    node->entry.size < sizeof(start))
		return 0;
	err = b2f_pack_read_member(&node->member, 0, start, sizeof(start), why);
	if (!err && (b2f_frame_magic(start, sizeof(start)) ||
		     is_bloscpack(node->name, start, sizeof(start))))
		node->entry.kind = B2F_PACK_FRAME;
	return err;
}

/* The nodes that are sorted, by their shown names or their own. */
struct sorting {
	const struct b2f_pack_node *nodes;
	bool shown;
};

static const char *text_of(const struct b2f_pack_node *node, bool shown)
{
	return shown ? node->entry.shown : node->name;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;
	const struct b2f_pack_node *x = &s->nodes[*(const size_t *)a];
	const struct b2f_pack_node *y = &s->nodes[*(const size_t *)b];

	if (x->entry.parent != y->entry.parent)
		return x->entry.parent < y->entry.parent ? -1 : 1;
	return strcmp(text_of(x, s->shown), text_of(y, s->shown));
}

/* Sorts @pack->order, and notes where the children of each directory are. */
static void sort(struct b2f_pack *pack, bool shown)
{
	struct sorting s = {pack->nodes, shown};
	size_t n = pack->nnodes - 1;

	qsort_r(pack->order, n, sizeof(*pack->order), compare, &s);
	for (size_t i = 0; i < pack->nnodes; i++)
		pack->nodes[i].nchildren = 0;
	for (size_t i = n; i-- > 0;) {
		struct b2f_pack_node *dir =
			parent_of(pack, &pack->nodes[pack->order[i]]);

		dir->first = i;
		dir->nchildren++;
	}
}

static int check_names(const struct b2f_pack *pack, struct b2f_why *why)
{
	struct sorting s = {pack->nodes, false};

	for (size_t i = 1; i + 1 < pack->nnodes; i++) {
		const size_t *o = &pack->order[i];

		if (compare(o - 1, o, &s) == 0)
			return b2f_why_set(why, B2F_ECORRUPT,
					   "%.100s: the name occurs twice",
					   pack->nodes[*o].entry.path);
	}
	return 0;
}

/* The node of @dir with the name, or @shown name, @name; or NULL. */
static const struct b2f_pack_node *search(const struct b2f_pack *pack,
					  const struct b2f_pack_node *dir,
					  const char *name, bool shown)
{
	size_t low = dir->first, high = dir->first + dir->nchildren;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct b2f_pack_node *node =
			&pack->nodes[pack->order[middle]];
		int order = strcmp(name, text_of(node, shown));

		if (order == 0)
			return node;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Has, or could have, another node the name @stem in @node's directory? */
static bool is_taken(const struct b2f_pack *pack,
		     const struct b2f_pack_node *node, const char *stem)
{
	const struct b2f_pack_node *dir = parent_of(pack, node), *other;
	char name[B2F_ZIP_NAME_MAX + 16];

	if (is_dots(stem) || search(pack, dir, stem, false))
		return true;
	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES; i++) {
		snprintf(name, sizeof(name), "%s%s", stem, b2f_suffix_text(i));
		other = search(pack, dir, name, false);
		if (other && other != node &&
		    other->entry.kind == B2F_PACK_FRAME)
			return true;
	}
	return false;
}

static int choose_shown(struct b2f_pack *pack, struct b2f_pack_node *node)
{
	size_t n = node->entry.kind == B2F_PACK_FRAME
			   ? b2f_suffix_stem(node->name, NULL)
			   : 0;
	char *stem;

	node->entry.shown = node->name;
	if (n == 0)
		return 0;
	stem = keep_text(pack, node->name, n);
	if (!stem)
		return -ENOMEM;
	if (!is_taken(pack, node, stem))
		node->entry.shown = stem;
	return 0;
}

int b2f_pack_make_tree(struct b2f_pack *pack, struct b2f_why *why)
{
	struct b2f_leaves *leaves = &pack->leaves;
	int err = reserve(pack, why);

	if (err)
		return err;
	if (leaves->n > 1)
		qsort(leaves->items, leaves->n, sizeof(*leaves->items),
		      by_path);
	err = add_all(pack, why);
	for (size_t i = 1; i < pack->nnodes && !err; i++) {
		pack->order[i - 1] = i;
		err = find_kind(&pack->nodes[i], why);
	}
	if (err)
		return err;
	sort(pack, false);
	err = check_names(pack, why);
	for (size_t i = 1; i < pack->nnodes && !err; i++)
		err = choose_shown(pack, &pack->nodes[i]);
	if (!err)
		sort(pack, true);
	return err;
}

int b2f_pack_lookup(const struct b2f_pack *pack, size_t dir, const char *name,
		    size_t *out)
{
	const struct b2f_pack_node *node;

	if (pack->nodes[dir].entry.kind != B2F_PACK_DIR)
		return -ENOTDIR;
	node = search(pack, &pack->nodes[dir], name, true);
	if (!node)
		return -ENOENT;
	*out = (size_t)(node - pack->nodes);
	return 0;
}
