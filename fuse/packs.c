/* SPDX-License-Identifier: BSD-3-Clause */
/* packs.c - stores that are one file, as directories */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wakeup.h"
#include "disk_frame.h"
#include "getattr.h"
#include "packs.h"
#include "view.h"

/* Packs that are open without being used, if many are looked at in a second. */
#define IDLE_MAX 64

static void free_pack(struct fs *fs, struct fs_pack *pack)
{
	if (!pack)
		return;
	if (pack->dir)
		fs_tree_forget(fs->tree, pack->dir, 1);
	for (size_t i = 0; pack->nodes && i < pack->nentries; i++)
		fs_pack_node_fini(fs, &pack->nodes[i]);
	b2f_pack_close(pack->pack);
	free(pack->path);
	free(pack->nodes);
	free(pack->label);
	free(pack->name);
	free(pack);
}

void fs_packs_fini(struct fs *fs)
{
	struct fs_pack *pack;

	while ((pack = fs->packs.first)) {
		fs->packs.first = pack->next;
		free_pack(fs, pack);
	}
}

struct fs_node *fs_packs_release(struct fs_node *root)
{
	struct fs_pack *pack = ((struct fs_member *)root)->pack;
	struct fs *fs = pack->fs;
	struct fs_pack **at = &fs->packs.first;

	pthread_mutex_lock(&fs->state_lock);
	while (*at != pack)
		at = &(*at)->next;
	*at = pack->next;
	fs->packs.nopen -= pack->pack && !pack->path;
	pthread_mutex_unlock(&fs->state_lock);
	free_pack(fs, pack);
	return NULL;
}

void fs_packs_put(struct fs_pack *pack)
{
	fs_node_put(&pack->nodes[0].head, 1);
}

/* Objects of one content have one stamp, wherever they are.  Takes a reference. */
static bool take_if(const struct fs_pack *pack, const char *path,
		    const struct b2f_frame_stamp *stamp)
{
	return b2f_frame_stamp_equal(&pack->stamp, stamp) &&
	       strcmp(pack->path ? pack->path : "", path ? path : "") == 0 &&
	       fs_node_try_ref(&pack->nodes[0].head);
}

/*
 * The pack of that very version, which is at @path in a bucket or NULL, with a
 * reference; or NULL.  Locked.
 */
static struct fs_pack *find_pack(struct fs *fs, const char *path,
				 const struct b2f_frame_stamp *stamp)
{
	struct fs_pack *pack = fs->packs.first;

	while (pack && !take_if(pack, path, stamp))
		pack = pack->next;
	return pack;
}

struct fs_pack *fs_packs_known(struct fs *fs, const char *path,
			       const struct b2f_frame_stamp *stamp)
{
	struct fs_pack *pack;

	pthread_mutex_lock(&fs->state_lock);
	pack = find_pack(fs, path, stamp);
	pthread_mutex_unlock(&fs->state_lock);
	return pack;
}

/* Opens the file @name, which has to be the version of @pack. */
static int open_version(struct fs *fs, const struct fs_pack *pack, int dirfd,
			const char *name, struct b2f_pack **out)
{
	const struct b2f_frame_options options = {
		.log = fs_logger_sink(fs->logger),
		.label = pack->label,
		.nofollow = true,
	};
	struct b2f_frame_stamp stamp;
	struct b2f_pack *opened = NULL;
	int err = b2f_pack_open(&options, dirfd, name, &opened);

	if (err)
		return err == -ENOENT ? -ESTALE : err;
	stamp = b2f_pack_stamp(opened);
	if (!b2f_frame_stamp_equal(&stamp, &pack->stamp)) {
		b2f_pack_close(opened);
		return -ESTALE;
	}
	*out = opened;
	return 0;
}

/* Opens the file again, by the name that it was found under. */
static int open_again(struct fs *fs, const struct fs_pack *pack,
		      struct b2f_pack **out)
{
	struct fs_pin pin = {0};
	int err = fs_tree_pin(fs->tree, pack->dir, &pin);

	if (!err)
		err = open_version(fs, pack, pin.fd, pack->name, out);
	fs_tree_unpin(fs->tree, &pin);
	return err;
}

/* Counts a user of @pack.  If it is not open, @opened moves there.  Locked. */
static bool use_opened(struct fs *fs, struct fs_pack *pack,
		       struct b2f_pack **opened)
{
	if (!pack->pack && *opened) {
		pack->pack = *opened;
		*opened = NULL;
		fs->packs.nopen++;
	}
	pack->nusers += pack->pack != NULL;
	return pack->pack;
}

int fs_packs_use(struct fs *fs, struct fs_pack *pack)
{
	struct b2f_pack *opened = NULL;
	bool is_open;
	int err;

	pthread_mutex_lock(&fs->state_lock);
	is_open = use_opened(fs, pack, &opened);
	pthread_mutex_unlock(&fs->state_lock);
	if (is_open) {
		err = pack->path ? 0 : b2f_pack_check(pack->pack);
		if (err)
			fs_packs_unuse(fs, pack);
		return err;
	}
	err = open_again(fs, pack, &opened);
	if (err)
		return err;
	pthread_mutex_lock(&fs->state_lock);
	use_opened(fs, pack, &opened);
	pthread_mutex_unlock(&fs->state_lock);
	/* Another thread has been faster. */
	b2f_pack_close(opened);
	return 0;
}

/* Takes what was open out of a pack that was not used since @before_s. */
static struct b2f_pack *take_idle(struct fs *fs, time_t before_s)
{
	struct fs_pack *oldest = NULL;
	struct b2f_pack *opened = NULL;

	pthread_mutex_lock(&fs->state_lock);
	for (struct fs_pack *p = fs->packs.first; p; p = p->next)
		if (p->pack && !p->path && p->nusers == 0 &&
		    p->idle_s <= before_s &&
		    (!oldest || p->idle_s < oldest->idle_s))
			oldest = p;
	if (oldest) {
		opened = oldest->pack;
		oldest->pack = NULL;
		fs->packs.nopen--;
	}
	pthread_mutex_unlock(&fs->state_lock);
	return opened;
}

void fs_packs_unuse(struct fs *fs, struct fs_pack *pack)
{
	bool crowded, idle;

	pthread_mutex_lock(&fs->state_lock);
	idle = --pack->nusers == 0;
	if (idle)
		pack->idle_s = fs_clock_s();
	crowded = fs->packs.nopen > IDLE_MAX;
	pthread_mutex_unlock(&fs->state_lock);
	if (idle && crowded)
		b2f_pack_close(take_idle(fs, fs_clock_s()));
	if (idle)
		fs_wakeup_call(&fs->wakeup, false);
}

bool fs_packs_tick(struct fs *fs)
{
	struct b2f_pack *opened;
	bool more;

	while ((opened = take_idle(fs, fs_clock_s() - 1)))
		b2f_pack_close(opened);
	pthread_mutex_lock(&fs->state_lock);
	/* The pack of the mount stays. */
	more = fs->packs.nopen >
	       (!fs->bucket && fs->nodes.root->volume == &fs->packs.volume);
	pthread_mutex_unlock(&fs->state_lock);
	return more;
}

/* Attributes of a file as they are, and as they are shown. */
struct look {
	struct stat st;
	struct stat shown;
};

/* Looks at @name; -ENOENT: it is no plain file. */
static int look_at(struct fs *fs, int dirfd, const char *name, struct look *out)
{
	struct fs_probe probe = {.kind = FS_KIND_OTHER};
	int err = fs_tree_look_at(fs->tree, dirfd, name, &probe.fd, &probe.st,
				  &probe.born_ns);

	if (err)
		return err;
	out->st = probe.st;
	fs_getattr_of_probe(fs, &probe, &out->shown);
	close(probe.fd);
	return S_ISREG(probe.st.st_mode) ? 0 : -ENOENT;
}

/* A pack that is still to be opened; NULL: no memory. */
static struct fs_pack *new_pack(struct fs *fs, struct fs_backed *dir,
				const char *name, const struct look *look)
{
	struct fs_pack *pack = calloc(1, sizeof(*pack));

	if (!pack)
		return NULL;
	pack->fs = fs;
	pack->st = look->shown;
	pack->stamp = b2f_frame_stamp_of(&look->st);
	if (dir) {
		fs_node_ref(&dir->head);
		pack->dir = dir;
	}
	pack->name = strdup(name);
	if (pack->name && dir)
		(void)!fs_disk_frame_label(fs, dir, name, &pack->label);
	else if (pack->name)
		pack->label = strdup(fs->source.path);
	if (pack->label)
		return pack;
	free_pack(fs, pack);
	return NULL;
}

static int make_nodes(struct fs_pack *pack)
{
	pack->nentries = b2f_pack_count(pack->pack);
	pack->nodes = calloc(2 * pack->nentries, sizeof(*pack->nodes));
	for (size_t i = 0; pack->nodes && i < 2 * pack->nentries; i++) {
		fs_node_init(&pack->nodes[i].head, &pack->fs->packs.volume,
			     i ? &pack->nodes[0].head : NULL);
		pack->nodes[i].pack = pack;
		/*
		 * The file's number, and numbers that no filesystem gives out.
		 */
		pack->nodes[i].ino = pack->st.st_ino +
				     ((uint64_t)(i % pack->nentries) << 36);
	}
	return pack->nodes ? 0 : -ENOMEM;
}

/*
 * Makes @pack, which is open, known, or takes the one that another thread has
 * made; with a reference, and in use.
 */
static struct fs_pack *publish(struct fs *fs, struct fs_pack *pack)
{
	struct fs_pack *known;

	pthread_mutex_lock(&fs->state_lock);
	known = find_pack(fs, pack->path, &pack->stamp);
	if (known) {
		use_opened(fs, known, &pack->pack);
	} else {
		pack->nusers = 1;
		pack->next = fs->packs.first;
		fs->packs.first = pack;
		fs->packs.nopen += !pack->path;
	}
	pthread_mutex_unlock(&fs->state_lock);
	if (!known)
		return pack;
	free_pack(fs, pack);
	return known;
}

/*
 * Opens @name in @dir (NULL: it is to be the root of the mount), which was just
 * looked at, with a reference, and in use.
 */
static int open_pack(struct fs *fs, struct fs_backed *dir, int dirfd,
		     const char *name, const struct look *look,
		     struct fs_pack **out)
{
	struct fs_pack *pack = new_pack(fs, dir, name, look);
	int err = -ENOMEM;

	if (pack)
		err = open_version(fs, pack, dirfd, name, &pack->pack);
	if (!err)
		err = make_nodes(pack);
	if (err)
		free_pack(fs, pack);
	else
		*out = publish(fs, pack);
	return err;
}

/* The numbers of what is in a pack in a bucket, by @number_of. */
static int number_nodes(struct fs_pack *pack,
			uint64_t (*number_of)(const char *path))
{
	size_t n = pack->nentries;

	for (size_t i = 0; i < n; i++) {
		const char *inside = b2f_pack_entry(pack->pack, i)->path;
		char *path = NULL;

		if (asprintf(&path, "%s%s%s", pack->path,
			     *pack->path && *inside ? "/" : "", inside) < 0)
			return -ENOMEM;
		pack->nodes[i].ino = pack->nodes[n + i].ino = number_of(path);
		free(path);
	}
	return 0;
}

int fs_packs_adopt(struct fs *fs, const struct fs_pack_found *found,
		   struct fs_pack **out)
{
	struct fs_pack *pack = calloc(1, sizeof(*pack));
	int err;

	if (!pack) {
		b2f_pack_close(found->pack);
		return -ENOMEM;
	}
	pack->fs = fs;
	pack->pack = found->pack;
	pack->stamp = b2f_pack_stamp(found->pack);
	pack->st = found->st;
	pack->path = strdup(found->path);
	if (asprintf(&pack->label, "%s%s%s", found->label,
		     *found->path ? "/" : "", found->path) < 0)
		pack->label = NULL;
	err = pack->path && pack->label ? make_nodes(pack) : -ENOMEM;
	if (!err)
		err = number_nodes(pack, found->number_of);
	if (err) {
		free_pack(fs, pack);
		return err;
	}
	*out = publish(fs, pack);
	fs_packs_unuse(fs, *out);
	return 0;
}

int fs_packs_look(struct fs *fs, int dirfd, const char *name)
{
	struct look look;
	bool is = false;
	int err;

	if (!b2f_pack_is_name(name))
		return 0;
	/* Not past a mount point of our own; see fs_tree_open_at(). */
	err = look_at(fs, dirfd, name, &look);
	if (!err)
		err = b2f_pack_look(dirfd, name, &is);
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		return err;
	return !err && is;
}

/* Was the version @stamp tried in vain before?  If it was @now, notes it. */
static bool has_failed(struct fs *fs, const struct b2f_frame_stamp *stamp,
		       bool now)
{
	bool failed;

	pthread_mutex_lock(&fs->state_lock);
	failed = b2f_frame_stamp_equal(&fs->packs.failed, stamp);
	if (now)
		fs->packs.failed = *stamp;
	pthread_mutex_unlock(&fs->state_lock);
	return failed;
}

/* Gets the pack @name with a reference, in use; as fs_packs_look(). */
static int get_pack(struct fs *fs, struct fs_backed *dir, int dirfd,
		    const char *name, struct fs_pack **out)
{
	struct b2f_frame_stamp stamp;
	struct fs_pack *pack;
	struct look look;
	int is = fs_packs_look(fs, dirfd, name), err;

	if (is != 1)
		return is;
	err = look_at(fs, dirfd, name, &look);
	if (err)
		return err == -ENOENT ? 0 : err;
	stamp = b2f_frame_stamp_of(&look.st);
	pack = fs_packs_known(fs, NULL, &stamp);
	err = pack ? fs_packs_use(fs, pack) : 0;
	if (pack && !err) {
		*out = pack;
		return 1;
	}
	/* Its directory has another name now: that is another pack. */
	if (pack)
		fs_packs_put(pack);
	if (pack && err != -ESTALE)
		return err;
	if (has_failed(fs, &stamp, false))
		return 0;
	err = open_pack(fs, dir, dirfd, name, &look, out);
	if (!err)
		return 1;
	if (fs_pack_node_is_final(err))
		has_failed(fs, &stamp, true);
	return fs_pack_node_is_final(err) ? 0 : err;
}

int fs_packs_open_root(struct fs *fs)
{
	int dirfd = fs->tree->root->fd;
	struct fs_pack *pack = NULL;
	struct look look;
	size_t entry = 0;
	int err = look_at(fs, dirfd, fs->source.name, &look);

	if (!err)
		err = open_pack(fs, NULL, dirfd, fs->source.name, &look, &pack);
	/* It was there when the source was looked at. */
	if (!err &&
	    (b2f_pack_find(pack->pack, fs->source.inside, &entry) ||
	     b2f_pack_entry(pack->pack, entry)->kind != B2F_PACK_DIR))
		err = -ESTALE;
	/* The mount refers to it, and uses it, until its end. */
	if (!err)
		fs->nodes.root = &pack->nodes[entry].head;
	return err;
}

int fs_packs_answer(struct fs *fs, struct fs_member *node,
		    struct fuse_entry_param *answer)
{
	struct stat st;
	int err = fs_pack_node_getattr(fs, node, &st);

	if (err)
		return err;
	*answer = fs_node_answer(&node->head);
	answer->attr = st;
	fs_node_ref(&node->head);
	return 0;
}

int fs_packs_enter(struct fs *fs, struct fs_backed *dir, int dirfd,
		   const char *name, struct fuse_entry_param *answer)
{
	struct fs_pack *pack = NULL;
	int is = get_pack(fs, dir, dirfd, name, &pack), err;

	if (is != 1)
		return is;
	err = fs_packs_answer(fs, &pack->nodes[0], answer);
	fs_packs_unuse(fs, pack);
	fs_packs_put(pack);
	return err ? err : 1;
}

int fs_packs_look_inside(struct fs *fs, struct fs_backed *dir, int dirfd,
			 const char *name, bool *empty)
{
	struct fs_pack *pack = NULL;
	int is = get_pack(fs, dir, dirfd, name, &pack);

	if (is != 1)
		return is;
	*empty = pack->nentries == 1;
	fs_packs_unuse(fs, pack);
	fs_packs_put(pack);
	return 1;
}

/* Finds the frame that @name would be the view of. */
static int find_view(struct fs *fs, struct fs_pack *pack, size_t dir,
		     const char *name, size_t *out)
{
	char stem[FS_NAME_SIZE];
	int err = fs_view_stem(name, stem)
			  ? b2f_pack_lookup(pack->pack, dir, stem, out)
			  : -ENOENT;

	if (!err && !fs_pack_node_has_view(fs, pack, *out))
		err = -ENOENT;
	return err;
}

int fs_packs_lookup(struct fs *fs, struct fs_member *dir, const char *name,
		    struct fuse_entry_param *answer)
{
	struct fs_pack *pack = dir->pack;
	size_t entry, parent = fs_pack_node_entry(dir);
	bool is_view = false;
	int err = b2f_pack_lookup(pack->pack, parent, name, &entry);

	if (err == -ENOENT) {
		is_view = true;
		err = find_view(fs, pack, parent, name, &entry);
	}
	if (err)
		return err;
	return fs_packs_answer(fs, fs_pack_node_of(pack, entry, is_view), answer);
}
