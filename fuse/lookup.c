/* SPDX-License-Identifier: BSD-3-Clause */
/* lookup.c - finds the node of a name in a directory */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aside.h"
#include "getattr.h"
#include "links.h"
#include "entry.h"
#include "view.h"

/* Finds the only name in the directory around a single frame. */
static int find_single(const struct fs_entry *entry, struct fs_found *out)
{
	const struct fs *fs = entry->fs;
	struct fs_found found;
	int err;

	if (strcmp(entry->name, fs->source.shown) != 0)
		return -ENOENT;
	err = fs_probe_open(fs->tree, entry->pin.fd, fs->source.name,
			    &found.probe);
	if (err)
		return err;
	snprintf(found.name, sizeof(found.name), "%s", fs->source.name);
	*out = found;
	return 0;
}

static int find(const struct fs_entry *entry, struct fs_found *out)
{
	const struct fs_place place = fs_entry_place(entry);
	int err = fs_resolve_find(&place, entry->name, out);

	if (err || !entry->changes)
		return err;
	/* Before a change, put back a file that lies aside. */
	err = fs_aside_settle(entry, out);
	if (err)
		fs_probe_close(&out->probe);
	return err > 0 ? fs_resolve_find(&place, entry->name, out) : err;
}

int fs_lookup_find(const struct fs_entry *entry, struct fs_found *out)
{
	int err = -ENOENT;

	if (entry->pin.node->kind == FS_KIND_SINGLE)
		err = find_single(entry, out);
	else if (!fs_unlinked_is_hidden(entry->name))
		err = find(entry, out);
	if (!err)
		err = fs_links_look(entry->fs, entry->pin.fd, out);
	if (!err && fs_links_hides_aside(entry->fs, entry->pin.fd, out->name)) {
		fs_probe_close(&out->probe);
		err = -ENOENT;
	}
	return err == -ENOENT && strlen(entry->name) > FS_NAME_MAX
		       ? -ENAMETOOLONG
		       : err;
}

int fs_lookup_check_free(const struct fs_entry *entry)
{
	struct fs_found found;
	int err = fs_lookup_find(entry, &found);

	if (err)
		return err == -ENOENT ? 0 : err;
	fs_probe_close(&found.probe);
	return -EEXIST;
}

/* Is @probe an array that is not shown as a .npy file itself? */
static bool may_be_viewed(const struct fs_probe *probe)
{
	return probe->kind == FS_KIND_FRAME && probe->sizes.has_npy_header &&
	       !probe->sizes.is_npy;
}

/* Finds the frame whose view @entry names.  Close @out->probe. */
static int find_viewed(const struct fs_entry *entry, struct fs_found *out)
{
	struct fs_entry frame = *entry;
	char stem[FS_NAME_SIZE];
	int err;

	if (!fs_view_stem(entry->fs, entry->name, stem))
		return -ENOENT;
	frame.name = stem;
	err = fs_lookup_find(&frame, out);
	if (err || may_be_viewed(&out->probe))
		return err;
	fs_probe_close(&out->probe);
	return -ENOENT;
}

bool fs_lookup_has_view(const struct fs_entry *entry)
{
	struct fs_found found;

	if (find_viewed(entry, &found))
		return false;
	fs_probe_close(&found.probe);
	return true;
}

/* A close notes the attributes before it lowers the counts. */
static bool is_idle(const struct fs_state *state)
{
	return state->nhandles == 0 && !state->frame && !state->opening &&
	       state->nclosing == 0;
}

void fs_lookup_made_again(struct fs_node *inode)
{
	struct fs_backed *node = (struct fs_backed *)inode;
	struct fs_state *state = &node->state;
	struct fs *fs = inode->volume->fs;
	struct stat st;

	if (!fs->options.cache.writeback_cache ||
	    (!atomic_load(&inode->told_sizes) &&
	     fs_getattr(fs, node, &st) == 0 &&
	     st.st_size == atomic_load(&inode->told_size)))
		return;
	B2F_HOLD(&fs->state_lock);
	state->seen.resized = true;
	state->renewed |= is_idle(state);
}

/* Has a file that is not open changed, so that the kernel needs a new inode? */
static bool must_renew(struct fs *fs, struct fs_backed *node,
		       const struct fs_probe *probe)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(
		node->kind == FS_KIND_FRAME ? &probe->index : &probe->st);
	struct fs_state *state = &node->state;
	bool renew = false;

	if (!fs->options.cache.writeback_cache ||
	    (node->kind != FS_KIND_FRAME && !S_ISREG(probe->st.st_mode)))
		return false;
	B2F_HOLD(&fs->state_lock);
	if (is_idle(state))
		renew = fs_cache_state_must_renew(&state->seen, &stamp);
	state->renewed |= renew;
	return renew;
}

static int get_node(const struct fs_entry *entry, const struct fs_found *found,
		    struct fs_backed **out)
{
	struct fs_tree *tree = entry->fs->tree;
	struct fs_backed *dir = entry->pin.node, *node;
	const struct fs_backed key = fs_found_key(found);
	const char *name = fs_found_entry(found);
	int err = fs_tree_get(tree, dir, name, &key, &node);

	/* The new node is asked, too, which notes its version. */
	while (!err && must_renew(entry->fs, node, &found->probe)) {
		node->retired = true;
		fs_tree_forget(node);
		err = fs_tree_get(tree, dir, name, &key, &node);
	}
	if (!err)
		*out = node;
	return err;
}

int fs_lookup_node(const struct fs_entry *entry, const struct fs_found *found,
		   struct fuse_entry_param *answer)
{
	struct fs_backed *node;
	int err = get_node(entry, found, &node);

	if (err)
		return err;
	*answer = fs_node_answer(&node->head);
	err = fs_getattr_of_found(entry->fs, node, &found->probe,
				  &answer->attr);
	if (err)
		fs_tree_forget(node);
	return err;
}

/* fs_lookup_node() for the view of @found. */
static int view_node(const struct fs_entry *entry, const struct fs_found *found,
		     struct fuse_entry_param *answer)
{
	struct fs *fs = entry->fs;
	struct fs_backed *frame, *node;
	struct stat attr;
	int err = get_node(entry, found, &frame);

	if (err)
		return err;
	err = fs_getattr_of_found(fs, frame, &found->probe, &attr);
	if (!err)
		err = fs_view_head_attr(fs, frame, &attr);
	if (!err)
		err = fs_view_get(fs, entry->pin.node, fs_found_entry(found),
				  frame, &node);
	fs_tree_forget(frame);
	if (err)
		return err == B2F_EUNSUPPORTED ? -ENOENT : err;
	*answer = fs_node_answer(&node->head);
	answer->attr = attr;
	/* The kernel does not see that the view disappears with the frame. */
	answer->entry_timeout = 0;
	return 0;
}

int fs_lookup_listed(const struct fs_entry *entry, struct fs_found *found,
		     struct fuse_entry_param *answer)
{
	const struct fs *fs = entry->fs;
	int err = found->probe.failure;

	if (found->probe.kind != FS_KIND_FRAME)
		return fs_lookup_answer(entry, answer);
	/* For other files the look has already told the sizes. */
	if (found->probe.sparse)
		err = fs_probe_sizes(fs->tree, entry->pin.fd, found->name,
				     &found->probe);
	if (!err)
		err = fs_links_look(entry->fs, entry->pin.fd, found);
	return err ? err : fs_lookup_node(entry, found, answer);
}

int fs_lookup_answer(const struct fs_entry *entry,
		     struct fuse_entry_param *answer)
{
	struct fs_found found;
	int err = fs_lookup_find(entry, &found);
	bool is_view = err == -ENOENT;

	if (is_view)
		err = find_viewed(entry, &found);
	if (err)
		return err;
	err = is_view ? view_node(entry, &found, answer)
		      : fs_lookup_node(entry, &found, answer);
	fs_probe_close(&found.probe);
	return err;
}
