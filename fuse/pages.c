/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.c - the entries of a backing directory by their ordinals */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "pages.h"

/* From where a page can be read once more. */
struct fs_pages_mark {
	int64_t first;
	/* The backing directory's position; never 0. */
	off_t off;
};

void fs_pages_fini(struct fs_pages *pages)
{
	free(pages->marks);
}

static const struct dirent64 *entry_at(const struct fs_page *page, size_t at)
{
	return at < page->nbytes ? (const void *)(page->data + at) : NULL;
}

const struct dirent64 *fs_pages_entry(const struct fs_pages *pages)
{
	return entry_at(&pages->pages[pages->current], pages->start);
}

const struct dirent64 *fs_pages_after(const struct fs_pages *pages,
				      const struct dirent64 *d)
{
	const struct fs_page *page = &pages->pages[pages->current];

	return entry_at(page, (size_t)((const char *)d - page->data) +
				      d->d_reclen);
}

int64_t fs_pages_end(const struct fs_pages *pages)
{
	return pages->pages[pages->current].end;
}

static void turn_to(struct fs_pages *pages, unsigned int page)
{
	pages->current = page;
	pages->start = 0;
	pages->pos = pages->pages[page].first;
}

/* Notes that the page with the entry @first begins at @off. */
static void add_mark(struct fs_pages *pages, int64_t first, off_t off)
{
	struct fs_pages_mark *marks = pages->marks;
	size_t n = pages->nmarks;

	/* Without positions, pages are counted off from the begin. */
	if (off == 0 || (n > 0 && marks[n - 1].first >= first))
		return;
	/* Room for 1, 2, 4 ... of them. */
	if ((n & (n - 1)) == 0) {
		marks = realloc(marks, (n ? 2 * n : 1) * sizeof(*marks));
		if (!marks)
			return;
		pages->marks = marks;
	}
	marks[n] = (struct fs_pages_mark){.first = first, .off = off};
	pages->nmarks++;
}

/* Reads the page that begins with the entry @first, where the descriptor is. */
static int read_page(struct fs_pages *pages, int fd, int64_t first)
{
	bool at_end = pages->pages[pages->last].nbytes == 0;
	unsigned int next = at_end ? pages->last : !pages->last;
	struct fs_page *page = &pages->pages[next];
	ssize_t n = getdents64(fd, page->data, sizeof(page->data));
	const struct dirent64 *d;
	off_t off = 0;

	if (n < 0)
		return -errno;
	page->nbytes = (size_t)n;
	page->first = page->end = first;
	pages->last = next;
	turn_to(pages, next);
	for (d = entry_at(page, 0); d; d = fs_pages_after(pages, d)) {
		page->end++;
		off = d->d_off;
	}
	add_mark(pages, page->end, off);
	return 0;
}

/* Goes to the begin of a page from which @pos can be reached, and reads it. */
static int seek(struct fs_pages *pages, int fd, int64_t pos)
{
	struct fs_pages_mark mark = {0};
	struct fs_page *other;
	int err;

	/* A listing that begins anew knows nothing of the one before. */
	if (pos == 0)
		pages->nmarks = 0;
	for (size_t i = pages->nmarks; i > 0 && !mark.first; i--)
		if (pages->marks[i - 1].first <= pos)
			mark = pages->marks[i - 1];
	if (lseek(fd, mark.off, SEEK_SET) < 0)
		return -errno;
	err = read_page(pages, fd, mark.first);
	/* It does not lie in front of the page. */
	other = &pages->pages[!pages->last];
	other->first = other->end = 0;
	return err;
}

static bool has(const struct fs_page *page, int64_t pos)
{
	return page->first <= pos && pos < page->end;
}

/* Goes to the page of @pos, or to one before it. */
static int find_page(struct fs_pages *pages, int fd, int64_t pos)
{
	const struct fs_page *last = &pages->pages[pages->last];
	const struct fs_page *other = &pages->pages[!pages->last];

	if (pos == 0)
		return seek(pages, fd, 0);
	/* At the end; there may be more by now. */
	if (pos == last->end && last->nbytes == 0)
		return read_page(pages, fd, pos);
	/* Mostly it is the next one. */
	if (pos >= pages->pos && has(&pages->pages[pages->current], pos))
		return 0;
	if (has(last, pos) || pos == last->end)
		turn_to(pages, pages->last);
	else if (has(other, pos))
		turn_to(pages, !pages->last);
	else
		return seek(pages, fd, pos);
	return 0;
}

int fs_pages_go(struct fs_pages *pages, int fd, int64_t pos)
{
	int err = find_page(pages, fd, pos);

	while (!err) {
		const struct dirent64 *d = fs_pages_entry(pages);

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
