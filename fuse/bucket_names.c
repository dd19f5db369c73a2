/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_names.c - the names in one directory of an object store, as shown */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bucket_names.h"
#include "programs/io.h"
#include "suffix.h"

/* Bounds a hostile listing to some 100 MB. */
#define NAMES_MAX (1 << 20)

static void free_name(struct fs_bucket_name *name)
{
	free(name->stored);
	free(name->stem);
	free(name->etag);
}

void fs_bucket_names_ref(struct fs_bucket_names *names)
{
	atomic_fetch_add(&names->nrefs, 1);
}

void fs_bucket_names_put(struct fs_bucket_names *names)
{
	if (!names || atomic_fetch_sub(&names->nrefs, 1) != 1)
		return;
	for (size_t i = 0; i < names->n; i++)
		free_name(&names->list[i]);
	free(names->list);
	free(names->keys);
	free(names);
}

struct fs_bucket_names *fs_bucket_names_new(void)
{
	struct fs_bucket_names *names = calloc(1, sizeof(*names));

	if (names)
		atomic_init(&names->nrefs, 1);
	return names;
}

/* Adds @name with copies of the texts; @stem may be NULL. */
static int append(struct fs_bucket_names *names, struct fs_bucket_name name,
		  const char *stored, const char *stem, const char *etag)
{
	struct fs_bucket_name *list = b2f_grown(names->list, &names->room,
						names->n + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	names->list = list;
	name.stored = strdup(stored);
	name.stem = stem ? strdup(stem) : NULL;
	name.etag = strdup(etag);
	name.shown = name.stem ? name.stem : name.stored;
	if (!name.stored || !name.etag || (stem && !name.stem)) {
		free_name(&name);
		return -ENOMEM;
	}
	names->list[names->n++] = name;
	return 0;
}

int fs_bucket_names_add(struct fs_bucket_names *names, const char *shown,
			const char *stored, bool is_dir)
{
	const struct fs_bucket_name name = {.is_dir = is_dir};
	bool has_stem = strcmp(shown, stored) != 0;

	return append(names, name, stored, has_stem ? shown : NULL, "");
}

/* Can @name be the name of a file?  Some keys of a store cannot. */
static bool is_possible(const char *name)
{
	return *name && strlen(name) < FS_NAME_SIZE && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0 && !strchr(name, '/');
}

static int add(void *arg, const struct b2f_remote_entry *entry)
{
	const struct fs_bucket_name name = {.is_dir = entry->is_dir,
					    .size = entry->st.size,
					    .mtime = entry->st.mtime};
	struct fs_bucket_names *names = arg;
	char stem[FS_NAME_SIZE];
	bool has_stem;

	if (names->n + names->nhidden == NAMES_MAX)
		return B2F_ETOOBIG;
	if (!is_possible(entry->name)) {
		names->nhidden++;
		return 0;
	}
	has_stem = fs_suffix_stem(entry->name, stem);
	return append(names, name, entry->name, has_stem ? stem : NULL,
		      entry->st.etag);
}

/* Sorts by stored name; a directory before an object of the same name. */
static int compare_stored(const void *a, const void *b)
{
	const struct fs_bucket_name *x = a, *y = b;
	int order = strcmp(x->stored, y->stored);

	return order ? order : y->is_dir - x->is_dir;
}

static int compare_shown(const void *a, const void *b)
{
	const struct fs_bucket_name *x = a, *y = b;

	return strcmp(x->shown, y->shown);
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* If a key is both an object and a prefix, show only the directory. */
static void drop_twins(struct fs_bucket_names *names)
{
	size_t kept = 0;

	qsort(names->list, names->n, sizeof(*names->list), compare_stored);
	for (size_t i = 0; i < names->n; i++) {
		if (kept && strcmp(names->list[kept - 1].stored,
				   names->list[i].stored) == 0)
			free_name(&names->list[i]);
		else
			names->list[kept++] = names->list[i];
	}
	names->nhidden += names->n - kept;
	names->n = kept;
}

/* Does the sorted list @keys have @key only once? */
static bool is_alone(const char *key, const char *const *keys, size_t n)
{
	const char *const *at =
		bsearch(&key, keys, n, sizeof(*keys), compare_keys);

	return at && (at == keys || strcmp(at[-1], key) != 0) &&
	       (at + 1 == keys + n || strcmp(at[1], key) != 0);
}

/* Takes suffixes off where no shown name becomes ambiguous. */
static int choose_shown(struct fs_bucket_names *names)
{
	const char **keys = calloc(2 * names->n + 1, sizeof(*keys));
	size_t n = 0;

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < names->n; i++) {
		keys[n++] = names->list[i].stored;
		if (names->list[i].stem)
			keys[n++] = names->list[i].stem;
	}
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < names->n; i++) {
		struct fs_bucket_name *name = &names->list[i];

		name->shown = name->stem && is_alone(name->stem, keys, n)
				      ? name->stem
				      : name->stored;
	}
	names->keys = keys;
	names->nkeys = n;
	return 0;
}

int fs_bucket_names_read(struct b2f_remote *place, const char *path,
			 struct fs_bucket_names **out)
{
	struct fs_bucket_names *names = fs_bucket_names_new();
	int err = names ? 0 : -ENOMEM;

	if (!err)
		err = b2f_remote_list(place, path, add, names);
	if (!err && names->n) {
		drop_twins(names);
		err = choose_shown(names);
	}
	if (!err && names->n)
		qsort(names->list, names->n, sizeof(*names->list),
		      compare_shown);
	if (err)
		fs_bucket_names_put(names);
	else
		*out = names;
	return err;
}

bool fs_bucket_names_has_key(const struct fs_bucket_names *names,
			     const char *key)
{
	return names->nkeys && bsearch(&key, names->keys, names->nkeys,
				       sizeof(*names->keys), compare_keys);
}

const struct fs_bucket_name *
fs_bucket_names_find(const struct fs_bucket_names *names, const char *shown)
{
	const struct fs_bucket_name key = {.shown = shown};

	if (!names->n)
		return NULL;
	return bsearch(&key, names->list, names->n, sizeof(*names->list),
		       compare_shown);
}
