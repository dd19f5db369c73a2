/* SPDX-License-Identifier: BSD-3-Clause */
/* links.c - sparse frames with several names (hard links) */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aside.h"
#include "dir.h"
#include "links.h"
#include "maker.h"
#include "programs/directory.h"
#include "programs/home.h"
#include "setattr.h"

/* Seconds; a younger leftover may be about to become a home. */
#define AGE_S 60

int fs_links_lock(const struct fs_entry *entry)
{
	int lock = fs_aside_lock(entry->pin.fd);

	pthread_mutex_lock(&entry->fs->named_homes.lock);
	return lock;
}

void fs_links_unlock(struct fs *fs, int lock)
{
	pthread_mutex_unlock(&fs->named_homes.lock);
	fs_dir_close(lock);
}

/* A frame and its place. */
struct place {
	int fd;
	const char *home;
};

/* Adds a slot for @d to the frame @arg, if @d is one of its names. */
static int adopt(void *arg, int dirfd, const struct dirent *d)
{
	const struct place *place = arg;
	int is;

	if (!b2f_directory_may_be_link(d->d_type) ||
	    strcmp(d->d_name, place->home) == 0)
		return 0;
	is = b2f_home_leads_to(dirfd, d->d_name, place->home);
	return is > 0 ? b2f_home_add(place->fd, d->d_name) : is;
}

/*
 * Empties slots that repeat no name.  Returns how many are left, or more if it
 * cannot be told: then the frame stays at its home.
 */
static unsigned int heal(int dirfd, const struct place *place)
{
	char name[FS_NAME_SIZE];
	unsigned int i = 0;

	while (b2f_home_slot(place->fd, i, name)) {
		int is = b2f_home_leads_to(dirfd, name, place->home);

		if (is < 0 || (is == 0 && b2f_home_drop(place->fd, i)))
			return B2F_HOME_SLOTS;
		i += is > 0;
	}
	return i;
}

/*
 * heal() before a frame leaves its home.  A mount leaves no frame in a home
 * with fewer than two names; if the slots say so, a name was just removed, or
 * another program has changed names: then read the whole directory.
 */
static unsigned int heal_all(int dirfd, struct place *place)
{
	unsigned int n = heal(dirfd, place);

	if (n > 1)
		return n;
	return b2f_directory_each(dirfd, ".", adopt, place)
		       ? B2F_HOME_SLOTS
		       : b2f_home_count(place->fd);
}

int fs_links_look(struct fs *fs, int dirfd, struct fs_found *found)
{
	struct fs_probe *probe = &found->probe;
	const struct place place = {.fd = probe->fd, .home = probe->home};

	if (b2f_home_is_aside(probe->home))
		return 0;
	if (probe->home[0]) {
		pthread_mutex_lock(&fs->named_homes.lock);
		if (fs->read_write) {
			/* The name and the frame may have been removed. */
			if (b2f_home_leads_to(dirfd, found->name,
					      place.home) > 0)
				(void)!b2f_home_add(place.fd, found->name);
			(void)!heal(dirfd, &place);
		}
		probe->nlinks = b2f_home_count(place.fd);
		pthread_mutex_unlock(&fs->named_homes.lock);
	} else if (b2f_home_is(found->name) &&
		   fs_links_hides(fs, dirfd, found->name)) {
		fs_probe_close(probe);
		return -ENOENT;
	}
	return 0;
}

/* Deletes the link to itself @home, unless a link(2) is about to use it. */
static void delete_leftover(struct fs *fs, int dirfd, const char *home)
{
	struct stat st;
	B2F_HOLD(&fs->named_homes.lock);

	if (b2f_home_leads_to(dirfd, home, home) > 0 &&
	    fstatat(dirfd, home, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    time(NULL) - st.st_ctim.tv_sec > AGE_S)
		unlinkat(dirfd, home, 0);
}

/* Notes that the home that @d leads to has a name. */
static int note_target(void *arg, int dirfd, const struct dirent *d)
{
	char home[FS_NAME_SIZE];

	if (b2f_directory_may_be_link(d->d_type) &&
	    b2f_home_of(dirfd, d->d_name, home) &&
	    strcmp(home, d->d_name) != 0 &&
	    b2f_home_accepts(dirfd, d->d_name, home) > 0)
		(void)!fs_name_set_add(arg, fs_name_hash(home));
	return 0;
}

/* Is @homes still valid for the directory @st? */
static bool is_known(const struct fs_named_homes *homes, const struct stat *st)
{
	struct b2f_frame_stamp now = b2f_frame_stamp_of(st);

	return b2f_frame_stamp_equal(&homes->stamp, &now) &&
	       (homes->is_sure || time(NULL) == homes->since_s);
}

/*
 * Reads the directory, unless it is known.  It is read once for all homes and
 * files aside, because any user can make thousands of them without a name.
 * Locked.
 */
static int know(struct fs_named_homes *homes, int dirfd)
{
	struct stat st;
	int err;

	if (fstat(dirfd, &st))
		return -errno;
	if (is_known(homes, &st))
		return 0;
	fs_name_set_fini(&homes->names);
	homes->stamp = b2f_frame_stamp_of(&st);
	homes->since_s = time(NULL);
	homes->is_sure = b2f_frame_stamp_is_settled(&homes->stamp);
	fs_aside_find(dirfd, &homes->asides);
	err = b2f_directory_each(dirfd, ".", note_target, &homes->names);
	/* The next look reads it again. */
	if (err)
		homes->stamp = (struct b2f_frame_stamp){0};
	return err;
}

bool fs_links_hides_aside(struct fs *fs, int dirfd, const char *name)
{
	struct fs_named_homes *homes = &fs->named_homes;
	bool is_alone;

	if (!b2f_home_is_aside(name))
		return false;
	pthread_mutex_lock(&homes->lock);
	/* Otherwise a mount may just be moving it. */
	is_alone = !know(homes, dirfd) && homes->is_sure &&
		   fs_aside_is_alone(&homes->asides, name);
	pthread_mutex_unlock(&homes->lock);
	return !is_alone && fs_aside_hides(dirfd, name);
}

/*
 * Has the frame at @home a name?  Looks at the slots, then at the directory.
 * True if that cannot be read: a home with names would be shown.
 */
static bool has_name(struct fs *fs, int dirfd, const char *home)
{
	struct fs_named_homes *homes = &fs->named_homes;

	if (b2f_home_slots_have_name(dirfd, home, NULL) > 0)
		return true;
	B2F_HOLD(&homes->lock);
	return know(homes, dirfd) ||
	       fs_name_set_has(&homes->names, fs_name_hash(home));
}

bool fs_links_hides(struct fs *fs, int dirfd, const char *name)
{
	if (!b2f_home_is(name))
		return false;
	if (b2f_home_leads_to(dirfd, name, name) <= 0)
		return has_name(fs, dirfd, name);
	if (fs->read_write)
		delete_leftover(fs, dirfd, name);
	return true;
}

static int purge(void *arg, int dirfd, const struct dirent *d)
{
	(void)arg;
	if (b2f_home_is(d->d_name) &&
	    b2f_home_leads_to(dirfd, d->d_name, d->d_name) > 0)
		unlinkat(dirfd, d->d_name, 0);
	return 0;
}

void fs_links_purge_at(struct fs *fs, int dirfd)
{
	B2F_HOLD(&fs->named_homes.lock);

	(void)!b2f_directory_each(dirfd, ".", purge, NULL);
}

uint64_t fs_links_ino(int dirfd, const char *name, unsigned char type,
		      uint64_t ino)
{
	char home[FS_NAME_SIZE];
	struct stat st;

	if (b2f_directory_may_be_link(type) && b2f_home_of(dirfd, name, home) &&
	    fstatat(dirfd, home, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return st.st_ino;
	return ino;
}

/* Notes that the frame @st is @name in @entry now. */
static void note_moved(const struct fs_entry *entry, const char *name,
		       const struct stat *st)
{
	struct fs_tree *tree = entry->fs->tree;
	struct fs_backed like = {.kind = FS_KIND_FRAME,
				 .sparse = true,
				 .dev = st->st_dev,
				 .ino = st->st_ino};
	struct fs_backed *node = fs_tree_find(tree, &like, false);

	/* Without memory the kernel looks up the name again. */
	if (node)
		(void)!fs_tree_move(tree, node, entry->pin.node, name);
	fs_tree_forget(node);
}

/*
 * Gives the frame at @place its only name, which its only slot repeats.  Checks
 * the slot, because the frame's owner can write any name to it.
 */
static bool move_back(const struct fs_entry *entry, const struct place *place)
{
	char name[FS_NAME_SIZE];
	struct stat st;

	if (!b2f_home_slot(place->fd, 0, name) || fstat(place->fd, &st) ||
	    b2f_home_leads_to(entry->pin.fd, name, place->home) <= 0 ||
	    fs_aside_return(entry->pin.fd, name, place->home))
		return false;
	note_moved(entry, name, &st);
	fs_links_forget(place->fd);
	return true;
}

static struct place place_of(const struct fs_found *found)
{
	return (struct place){.fd = found->probe.fd, .home = found->probe.home};
}

bool fs_links_prepare(const struct fs_entry *entry,
		      const struct fs_found *found)
{
	struct place place = place_of(found);
	char name[FS_NAME_SIZE];

	if (heal_all(entry->pin.fd, &place) != 1 ||
	    !b2f_home_slot(place.fd, 0, name))
		return false;
	/* If the removed name has no slot, there are two names. */
	return strcmp(name, found->name) == 0 && move_back(entry, &place);
}

void fs_links_settle(const struct fs_entry *entry, const struct fs_found *found)
{
	struct place place = place_of(found);

	if (heal_all(entry->pin.fd, &place) == 1)
		(void)!move_back(entry, &place);
}

void fs_links_touch(struct fs *fs, struct fs_backed *node, int fd)
{
	struct fs_setattr meta = fs_setattr_none();
	struct stat index;

	if (!node || fs_probe_index(fd, true, &index))
		return;
	meta.has_times = true;
	meta.times[0] = index.st_atim;
	meta.times[1].tv_nsec = UTIME_OMIT;
	(void)!fs_setattr_frame(fs, node, fd, &meta);
	fs_durable_note_changed(fs, node, fd);
}

void fs_links_forget(int fd)
{
	while (b2f_home_count(fd) > 0 && b2f_home_drop(fd, 0) == 0)
		;
}

int fs_links_remove(const struct fs_entry *entry, const struct fs_found *found)
{
	/* Another mount may have moved the frame to its last name. */
	int err = b2f_home_check_name(entry->pin.fd, found->name,
				      found->probe.home);

	if (err)
		return err;
	if (fs_links_prepare(entry, found))
		return 1;
	if (unlinkat(entry->pin.fd, found->name, 0))
		return -errno;
	fs_links_settle(entry, found);
	return 0;
}

/* Copies the backing name of @node, which must be in @entry's directory. */
static int find_entry(const struct fs_entry *entry, struct fs_backed *node,
		      char name[FS_NAME_SIZE])
{
	FS_PIN(parent);
	int err;

	if (node->kind != FS_KIND_FRAME || node->is_root)
		return -EPERM;
	err = fs_tree_pin_parent(entry->fs->tree, node, &parent, name);
	/* Programs expect EPERM rather than EXDEV: then they rename. */
	return !err && node->sparse && parent.node != entry->pin.node ? -EPERM
								      : err;
}

/* Finds the backing name of the new link to the frame @backing. */
static int find_name(const struct fs_entry *entry, const char *backing,
		     char out[FS_NAME_SIZE])
{
	const struct fs_place place = fs_entry_place(entry);
	char stem[FS_NAME_SIZE];
	int err = fs_backing_name_of_frame(
		&place, entry->name,
		fs_suffix_for(entry->name, fs_suffix_of(backing)), out);

	/* Only a link with the suffix of a frame is recognized as a name. */
	if (!err && !fs_suffix_stem(out, stem))
		err = -EEXIST;
	return err;
}

/* Moves a frame to a new home and makes @backing its first name. */
static int move_home(const struct fs_entry *entry, const char *backing, int fd,
		     const struct stat *st, char home[FS_NAME_SIZE])
{
	char stem[FS_NAME_SIZE];
	int err;

	if (!fs_suffix_stem(backing, stem))
		return -EPERM;
	err = b2f_home_new(home);
	if (!err)
		err = fs_maker_link(entry->pin.fd, home, home, st);
	if (err)
		return err;
	err = b2f_home_add(fd, backing);
	if (err)
		unlinkat(entry->pin.fd, home, 0);
	else
		err = fs_aside_exchange(entry->pin.fd, backing, st, home);
	if (err)
		fs_links_forget(fd);
	else
		note_moved(entry, home, st);
	return err == -EINVAL || err == -EXDEV ? -EPERM : err;
}

/*
 * Makes @name a link to the sparse frame @fd, stored as @backing.  In a
 * directory with the sticky bit the owner of a link may take the name away: the
 * frame's owner, not the caller.
 */
static int add_name(const struct fs_entry *entry, const char *backing, int fd,
		    const char *name)
{
	char home[FS_NAME_SIZE];
	struct place place = {.fd = fd, .home = home};
	struct stat st;
	int err = 0;

	if (fstat(fd, &st))
		return -errno;
	/* An open frame stays pinned when another mount moves it. */
	if (!fs_dir_has(entry->pin.fd, backing, &st))
		return -ESTALE;
	snprintf(home, sizeof(home), "%s", backing);
	if (!b2f_home_is(backing))
		err = move_home(entry, backing, fd, &st, home);
	if (err)
		return err;
	err = b2f_home_add(fd, name);
	if (!err)
		err = fs_maker_link(entry->pin.fd, home, name, &st);
	if (err && heal_all(entry->pin.fd, &place) == 1)
		(void)!move_back(entry, &place);
	return err;
}

static int add_file_name(const struct fs_entry *entry, const struct fs_pin *pin,
			 const char *name)
{
	struct stat before;
	char path[FS_DIR_PATH_SIZE];

	if (fstat(pin->fd, &before) ||
	    linkat(entry->fs->tree->proc_fd, fs_dir_number(pin->fd, path),
		   entry->pin.fd, name, AT_SYMLINK_FOLLOW))
		return -errno;
	fs_setattr_note_ctime(entry->fs, pin->node, pin->fd, &before);
	return 0;
}

int fs_links_add(const struct fs_entry *entry, struct fs_backed *node)
{
	char backing[FS_NAME_SIZE], name[FS_NAME_SIZE];
	FS_PIN(pin);
	int err = find_entry(entry, node, backing);

	if (!err)
		err = find_name(entry, backing, name);
	if (!err)
		err = fs_tree_pin(entry->fs->tree, node, &pin);
	if (err)
		return err;
	err = node->sparse ? add_name(entry, backing, pin.fd, name)
			   : add_file_name(entry, &pin, name);
	if (!err && node->sparse)
		fs_links_touch(entry->fs, node, pin.fd);
	else if (!err)
		fs_durable_note_changed(entry->fs, node, pin.fd);
	return err;
}
