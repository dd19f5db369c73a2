/* SPDX-License-Identifier: BSD-3-Clause */
/* found.c - the files and frames below a directory */
#include "cli/found.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"

/* Neither a frame nor a file nor a directory that is gone into. */
static void refuse(struct cli_found *found, const struct cli_walk_entry *entry)
{
	cli_message_error("%s: it is %s, which is left out", entry->path,
			  S_ISLNK(entry->st->st_mode) ? "a symbolic link"
						      : "no regular file");
	found->refused = -EINVAL;
}

static void free_items(struct cli_found_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(items[i].path);
		free(items[i].below);
		free(items[i].name);
		free(items[i].key);
	}
	free(items);
}

/* Doubles when @n is a power of two. */
static struct cli_found_item *add_item(struct cli_found_item **items, size_t *n)
{
	struct cli_found_item *more = *items;

	if ((*n & (*n - 1)) == 0)
		more = realloc(more, (*n ? 2 * *n : 1) * sizeof(*more));
	if (!more)
		return NULL;
	*items = more;
	more[*n] = (struct cli_found_item){.path = NULL};
	return &more[(*n)++];
}

static void add(struct cli_found *found, struct cli_found_item **items, size_t *n,
		const struct cli_walk_entry *entry)
{
	const char *below = entry->below ? entry->below : "";
	struct cli_found_item *item = add_item(items, n);

	if (!item) {
		found->err = -ENOMEM;
		return;
	}
	item->kind = entry->at.kind;
	item->path = strdup(entry->path);
	item->below = strdup(below);
	item->name = strdup(entry->at.name);
	if (entry->at.key)
		item->key = strdup(entry->at.key);
	if (!item->path || !item->below || !item->name ||
	    (entry->at.key && !item->key))
		found->err = -ENOMEM;
}

void cli_found_collect(void *arg, const struct cli_walk_entry *entry)
{
	struct cli_found *found = arg;
	bool wanted = entry->peek.is_frame;

	if (found->all && !wanted && !S_ISDIR(entry->st->st_mode) &&
	    !S_ISREG(entry->st->st_mode))
		refuse(found, entry);
	if (found->all)
		wanted = wanted || S_ISREG(entry->st->st_mode);
	else if (found->files)
		wanted = !wanted && S_ISREG(entry->st->st_mode);
	if (wanted && !(found->once && entry->again))
		add(found, &found->items, &found->n, entry);
	if (found->all && !wanted && S_ISDIR(entry->st->st_mode))
		add(found, &found->dirs, &found->ndirs, entry);
}

void cli_found_fini(struct cli_found *found)
{
	free_items(found->items, found->n);
	free_items(found->dirs, found->ndirs);
}
