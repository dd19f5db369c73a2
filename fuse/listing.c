/* SPDX-License-Identifier: BSD-3-Clause */
/* listing.c - lists an open directory */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aside.h"
#include "dir.h"
#include "fs.h"
#include "getattr.h"
#include "links.h"
#include "listing.h"
#include "packs.h"
#include "programs/directory.h"
#include "programs/home.h"
#include "view.h"

/* The result of one getdents64(2). */
struct page {
	/* The ordinals of its first entry, and of the entry behind its last. */
	int64_t first;
	int64_t end;
	size_t nbytes;
	_Alignas(struct dirent64) char data[64 << 10];
};

/*
 * The entries of a backing directory by their ordinals.  The directory's own
 * positions can be any numbers, and are all 0 on some FUSE servers: they only
 * serve to read on if a reader goes far back.  The last two pages are kept,
 * because the kernel goes back over entries that did not fit into an answer,
 * and none may be left out if others are removed meanwhile.  Zero-initialize
 * it.
 */
struct pages {
	/* The ordinal of the current entry. */
	int64_t pos;
	struct page pages[2];
	/* The page read last; the descriptor is at its end. */
	unsigned int last;
	/* The page with the entry @pos, and where in it that begins. */
	unsigned int current;
	size_t start;
	/* Where pages begin, in order; not of the first one. */
	struct pages_mark *marks;
	size_t nmarks;
};

/* A position from which a page can be read again. */
struct pages_mark {
	int64_t first;
	/* The backing directory's position; never 0. */
	off_t off;
};

static const struct dirent64 *entry_at(const struct page *page, size_t at)
{
	return at < page->nbytes ? (const void *)(page->data + at) : NULL;
}

/* Returns the entry; NULL: the page ends here. */
static const struct dirent64 *pages_entry(const struct pages *pages)
{
	return entry_at(&pages->pages[pages->current], pages->start);
}

/* The entry behind @d in its page, or NULL. */
static const struct dirent64 *pages_after(const struct pages *pages,
					  const struct dirent64 *d)
{
	const struct page *page = &pages->pages[pages->current];

	return entry_at(page,
			(size_t)((const char *)d - page->data) + d->d_reclen);
}

/* The ordinal behind the last entry of the page. */
static int64_t pages_end(const struct pages *pages)
{
	return pages->pages[pages->current].end;
}

static void turn_to(struct pages *pages, unsigned int page)
{
	pages->current = page;
	pages->start = 0;
	pages->pos = pages->pages[page].first;
}

/* Notes that the page with the entry @first begins at @off. */
static void add_mark(struct pages *pages, int64_t first, off_t off)
{
	struct pages_mark *marks = pages->marks;
	size_t n = pages->nmarks;

	/* Without usable positions, pages are counted from the beginning. */
	if (off == 0 || (n > 0 && marks[n - 1].first >= first))
		return;
	/* Room for 1, 2, 4 ... of them. */
	if ((n & (n - 1)) == 0) {
		marks = realloc(marks, (n ? 2 * n : 1) * sizeof(*marks));
		if (!marks)
			return;
		pages->marks = marks;
	}
	marks[n] = (struct pages_mark){.first = first, .off = off};
	pages->nmarks++;
}

/* Reads the page that begins with the entry @first, where the descriptor is. */
static int read_page(struct pages *pages, int fd, int64_t first)
{
	bool at_end = pages->pages[pages->last].nbytes == 0;
	unsigned int next = at_end ? pages->last : !pages->last;
	struct page *page = &pages->pages[next];
	ssize_t n = getdents64(fd, page->data, sizeof(page->data));
	const struct dirent64 *d;
	off_t off = 0;

	if (n < 0)
		return -errno;
	page->nbytes = (size_t)n;
	page->first = page->end = first;
	pages->last = next;
	turn_to(pages, next);
	for (d = entry_at(page, 0); d; d = pages_after(pages, d)) {
		page->end++;
		off = d->d_off;
	}
	add_mark(pages, page->end, off);
	return 0;
}

/* Goes to the beginning of a page at or before @pos, and reads it. */
static int seek(struct pages *pages, int fd, int64_t pos)
{
	struct pages_mark mark = {0};
	struct page *other;
	int err;

	/* A listing from the beginning forgets the old pages. */
	if (pos == 0)
		pages->nmarks = 0;
	for (size_t i = pages->nmarks; i > 0 && !mark.first; i--)
		if (pages->marks[i - 1].first <= pos)
			mark = pages->marks[i - 1];
	if (lseek(fd, mark.off, SEEK_SET) < 0)
		return -errno;
	err = read_page(pages, fd, mark.first);
	/* Its position does not lie before the page. */
	other = &pages->pages[!pages->last];
	other->first = other->end = 0;
	return err;
}

static bool has_pos(const struct page *page, int64_t pos)
{
	return page->first <= pos && pos < page->end;
}

/* Goes to the page of @pos, or to one before it. */
static int find_page(struct pages *pages, int fd, int64_t pos)
{
	const struct page *last = &pages->pages[pages->last];
	const struct page *other = &pages->pages[!pages->last];

	if (pos == 0)
		return seek(pages, fd, 0);
	/* At the end; new entries may have come. */
	if (pos == last->end && last->nbytes == 0)
		return read_page(pages, fd, pos);
	/* Mostly it is the next one. */
	if (pos >= pages->pos && has_pos(&pages->pages[pages->current], pos))
		return 0;
	if (has_pos(last, pos) || pos == last->end)
		turn_to(pages, pages->last);
	else if (has_pos(other, pos))
		turn_to(pages, !pages->last);
	else
		return seek(pages, fd, pos);
	return 0;
}

/*
 * Goes to the entry @pos of the directory @fd; 0 after others reads it again.
 * Returns 1, 0 (the directory ends before) or an errno.
 */
static int pages_go(struct pages *pages, int fd, int64_t pos)
{
	int err = find_page(pages, fd, pos);

	while (!err) {
		const struct dirent64 *d = pages_entry(pages);

		if (d && pages->pos == pos)
			return 1;
		if (d) {
			pages->start += d->d_reclen;
			pages->pos++;
		} else if (pages->pages[pages->current].nbytes == 0) {
			return 0;
		} else if (pages->current != pages->last) {
			turn_to(pages, pages->last);
		} else {
			err = read_page(pages, fd, pages->pos);
		}
	}
	return err;
}

/* How many frames to look at before a listing goes on. */
#define AHEAD_MAX 256

struct fs_listing {
	int fd;
	dev_t dev;
	ino_t ino;
	struct pages pages;
	/* Up to these ordinals frames were looked at, and files glanced at. */
	int64_t ahead;
	int64_t glanced;
	/* The request has called fs_known_enter(). */
	bool entered;
	/* For the current entry; see fs_listing_get(). */
	bool names_only;
	/* Files aside, once the listing has met one; see fs_aside_find(). */
	bool has_asides;
	struct fs_name_set asides;
};

static int open_dir(struct fs *fs, struct fs_backed *node,
		    struct fs_listing *listing)
{
	FS_PIN(pin);
	struct stat st;
	int err = fs_tree_pin(fs->tree, node, &pin);

	if (err)
		return err;
	listing->fd = openat(pin.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (listing->fd < 0 || fstat(listing->fd, &st))
		return -errno;
	listing->dev = st.st_dev;
	listing->ino = st.st_ino;
	return 0;
}

int fs_listing_new(struct fs *fs, struct fs_backed *node,
		   struct fs_listing **out)
{
	struct fs_listing *listing = calloc(1, sizeof(*listing));
	int err;

	if (!listing)
		return -ENOMEM;
	listing->fd = -1;
	err = open_dir(fs, node, listing);
	if (err)
		fs_listing_free(listing);
	else
		*out = listing;
	return err;
}

void fs_listing_free(struct fs_listing *listing)
{
	if (!listing)
		return;
	fs_dir_close(listing->fd);
	free(listing->pages.marks);
	fs_name_set_fini(&listing->asides);
	free(listing);
}

void fs_listing_begin(struct fs_listing *listing)
{
	listing->entered = false;
}

static struct fs_place place_of(struct fs *fs, const struct fs_listing *listing)
{
	return (struct fs_place){
		.tree = fs->tree,
		.dirfd = listing->fd,
		.known = &fs->known,
		.dev = listing->dev,
		.ino = listing->ino,
	};
}

/* Can a backing file of the type @type be a frame? */
static bool may_be_frame(unsigned char type)
{
	return type == DT_DIR || type == DT_REG || type == DT_UNKNOWN ||
	       type == DT_LNK;
}

/*
 * Does inotify report every change that matters for the frame's name?  It does
 * not if the frame is unreadable or has other names.
 */
static bool is_told_of(const struct fs_probe *frame)
{
	return frame->kind == FS_KIND_FRAME && !frame->sparse &&
	       frame->has_header && !frame->home[0] && frame->st.st_nlink == 1;
}

/* Names of a listing that the workers look at in groups. */
struct ahead {
	struct fs_tree *tree;
	int dirfd;
	/* At most AHEAD_MAX. */
	size_t max;
	size_t nnames;
	struct fs_glance names[AHEAD_MAX];
};

static size_t group_end(const struct ahead *ahead, size_t i)
{
	size_t end = (i + 1) * FS_GLANCES;

	return end < ahead->nnames ? end : ahead->nnames;
}

static int glance(void *arg, size_t i)
{
	struct ahead *ahead = arg;
	size_t first = i * FS_GLANCES;

	fs_probe_glance(ahead->tree, ahead->dirfd, &ahead->names[first],
			group_end(ahead, i) - first);
	return 0;
}

/* Has the workers call @fn for each group. */
static void run(struct fs *fs, int (*fn)(void *arg, size_t i),
		struct ahead *ahead)
{
	size_t n = (ahead->nnames + FS_GLANCES - 1) / FS_GLANCES;

	(void)!b2f_runtime_for(fs->runtime, n, fn, ahead);
}

/* Returns what known.c notes of @d, in a listing that asks for names alone. */
static struct fs_known_name known_name(struct fs *fs,
				       const struct fs_listing *listing,
				       const struct dirent64 *d)
{
	if (d->d_type != DT_REG || !listing->names_only)
		return (struct fs_known_name){.is_known = false};
	return fs_known_look(&fs->known, listing->dev, listing->ino, d->d_name);
}

/*
 * Collects @d and later names of the page that may be frames, and of which that
 * is not known yet; @dirs: also directories.  Returns the ordinal of the next
 * such name, or of the end of the page.
 */
static int64_t gather(struct fs *fs, const struct fs_listing *listing,
		      const struct dirent64 *d, bool dirs, struct ahead *ahead)
{
	const struct pages *pages = &listing->pages;
	int64_t pos = pages->pos;
	char stem[FS_NAME_SIZE];

	for (; d; d = pages_after(pages, d), pos++) {
		if (!(d->d_type == DT_REG || (dirs && d->d_type == DT_DIR)) ||
		    !fs_suffix_stem(d->d_name, stem) ||
		    known_name(fs, listing, d).has_stem)
			continue;
		if (ahead->nnames == ahead->max)
			break;
		ahead->names[ahead->nnames++].name = d->d_name;
	}
	return pos;
}

/*
 * Finds which of the files @d and later in the page are shown by their stems.
 * @as_of: as for fs_known_note_stem().
 */
static void glance_ahead(struct fs *fs, struct fs_listing *listing,
			 const struct dirent64 *d, uint64_t as_of)
{
	struct ahead ahead = {
		.tree = fs->tree, .dirfd = listing->fd, .max = AHEAD_MAX};

	if (listing->pages.pos < listing->glanced)
		return;
	listing->glanced = gather(fs, listing, d, false, &ahead);
	run(fs, glance, &ahead);
	for (size_t i = 0; i < ahead.nnames; i++)
		if (ahead.names[i].is_frame)
			fs_known_note_stem(&fs->known, listing->dev,
					   listing->ino, ahead.names[i].name,
					   as_of);
}

/* Is the file @d known to be shown by its stem?  *@as_of: for noting that. */
static bool has_stem(struct fs *fs, struct fs_listing *listing,
		     const struct dirent64 *d, uint64_t *as_of)
{
	struct fs_known_name known = known_name(fs, listing, d);

	if (known.is_known && !known.has_stem) {
		glance_ahead(fs, listing, d, known.as_of);
		known = known_name(fs, listing, d);
	}
	*as_of = known.as_of;
	return known.has_stem;
}

/* Finds how @d is shown, and opens it if it is a frame. */
static int resolve(struct fs *fs, struct fs_listing *listing,
		   const struct dirent64 *d, struct fs_probe *frame,
		   char shown[FS_NAME_SIZE])
{
	const struct fs_place place = place_of(fs, listing);
	uint64_t as_of;
	int err;

	if (!fs_suffix_stem(d->d_name, shown))
		return 0;
	if (!listing->entered)
		fs_known_enter(&fs->known, place.dev, place.ino, place.dirfd,
			       true);
	listing->entered = true;
	if (has_stem(fs, listing, d, &as_of)) {
		frame->kind = FS_KIND_FRAME;
		return 0;
	}
	err = fs_resolve_shown(&place, d->d_name, d->d_type == DT_REG, frame,
			       shown);
	if (err)
		frame->kind = FS_KIND_OTHER;
	if (d->d_type == DT_REG && listing->names_only && !err &&
	    is_told_of(frame) && strcmp(shown, d->d_name) != 0)
		fs_known_note_stem(&fs->known, place.dev, place.ino, d->d_name,
				   as_of);
	return err;
}

/* May something remain to be done for @name, which lies aside? */
static bool is_aside(struct fs_listing *listing, const char *name)
{
	if (!b2f_home_is_aside(name))
		return false;
	if (!listing->has_asides)
		fs_aside_find(listing->fd, &listing->asides);
	listing->has_asides = true;
	return !fs_aside_is_alone(&listing->asides, name);
}

/*
 * Is @d shown, and not a file or link aside (aside.h)?  Tidies up after mounts
 * that were killed.  *@type: unknown for a name of another file.
 */
static bool show_link(struct fs *fs, struct fs_listing *listing,
		      const struct dirent64 *d, unsigned char *type)
{
	bool aside = is_aside(listing, d->d_name);
	enum b2f_home_link kind = B2F_HOME_NO_LINK;
	char home[FS_NAME_SIZE];

	if (b2f_directory_may_be_link(d->d_type))
		kind = b2f_home_link(listing->fd, d->d_name, -1, home);
	if (fs->read_write &&
	    (aside || kind == B2F_HOME_DOOMED || kind == B2F_HOME_UNTIL))
		fs_aside_finish(fs, listing->fd, d->d_name);
	*type = kind == B2F_HOME_NO_LINK ? d->d_type : DT_UNKNOWN;
	return kind != B2F_HOME_DOOMED &&
	       !(aside && fs_aside_hides(listing->fd, d->d_name));
}

/* Translates one entry.  Returns 1, 0 if it was removed, or an errno. */
static int show(struct fs *fs, struct fs_listing *listing,
		const struct dirent64 *d, struct fs_listed *out)
{
	struct fs_probe *frame = &out->frame.probe;
	ino_t ino;
	int err;

	if (fs_unlinked_is_hidden(d->d_name)) {
		if (fs->read_write)
			fs_unlinked_purge_found(fs, listing->fd, d->d_name);
		return 0;
	}
	if (fs_links_hides(fs, listing->fd, d->d_name) ||
	    !show_link(fs, listing, d, &out->type))
		return 0;
	ino = fs_tree_shown_ino(fs->tree, listing->dev, d->d_ino);
	out->ino = fs_getattr_ino(
		fs, listing->dev,
		fs_links_ino(listing->fd, d->d_name, d->d_type, ino));
	out->next_pos = listing->pages.pos + 1;
	frame->fd = -1;
	frame->kind = FS_KIND_OTHER;
	frame->was_read = false;
	snprintf(out->name, sizeof(out->name), "%s", d->d_name);
	snprintf(out->frame.name, sizeof(out->frame.name), "%s", d->d_name);
	if (!may_be_frame(d->d_type) || strcmp(d->d_name, ".") == 0 ||
	    strcmp(d->d_name, "..") == 0)
		return 1;
	err = resolve(fs, listing, d, frame, out->name);
	if (err == -ENOENT)
		return 0;
	if (fs_probe_is_shortage(err))
		return err;
	/* A file that may not be looked at is shown as itself. */
	if (err && !(fs_probe_is_failure(err) &&
		     fs_suffix_stem(d->d_name, out->name)))
		snprintf(out->name, sizeof(out->name), "%s", d->d_name);
	/* Only a file that is surely no pack is shown as a file. */
	if (!err && fs_packs_look(fs, listing->fd, d->d_name)) {
		fs_probe_close(frame);
		frame->kind = FS_KIND_OTHER;
		out->type = DT_UNKNOWN;
		return 1;
	}
	/* A directory without a suffix may be a frame, too. */
	if (frame->kind == FS_KIND_FRAME)
		out->type = DT_REG;
	else if (d->d_type == DT_DIR)
		out->type = DT_UNKNOWN;
	return 1;
}

static int look(void *arg, size_t i)
{
	const struct ahead *ahead = arg;
	struct fs_probe probe;

	/* First the disk reads all files of the group. */
	(void)!glance(arg, i);
	for (size_t k = i * FS_GLANCES; k < group_end(ahead, i); k++)
		/*
		 * The sizes that are found stay in the table; files without are
		 * looked at again.
		 */
		if (!fs_probe_open(ahead->tree, ahead->dirfd,
				   ahead->names[k].name, &probe))
			fs_probe_close(&probe);
	return 0;
}

void fs_listing_look_ahead(struct fs *fs, struct fs_listing *listing)
{
	/* Few for a frame among known ones; more if it was the next one. */
	struct ahead ahead = {.tree = fs->tree,
			      .dirfd = listing->fd,
			      .max = listing->pages.pos == listing->ahead
					     ? AHEAD_MAX
					     : FS_GLANCES};
	const struct dirent64 *d = pages_entry(&listing->pages);

	/* Looked at ahead, but not kept: an invalid frame, or too young. */
	if (listing->pages.pos < listing->ahead) {
		listing->ahead = pages_end(&listing->pages);
		return;
	}
	listing->ahead = gather(fs, listing, d, true, &ahead);
	run(fs, look, &ahead);
}

int fs_listing_get(struct fs *fs, struct fs_listing *listing, int64_t pos,
		   bool names_only, struct fs_listed *out)
{
	listing->names_only = names_only;
	if (pos == 0) {
		listing->ahead = listing->glanced = 0;
		listing->has_asides = false;
	}
	for (;; pos++) {
		int result = pages_go(&listing->pages, listing->fd, pos);

		if (result <= 0)
			return result;
		result = show(fs, listing, pages_entry(&listing->pages), out);
		if (result != 0)
			return result;
	}
}
