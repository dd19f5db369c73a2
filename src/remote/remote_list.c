/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_list.c - the names in a directory of an object store */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/remote_priv.h"
#include "remote/s3_list.h"

/* Largest page of a listing, bytes. */
#define PAGE_ROOM ((size_t)16 << 20)

/* A listing with so many consecutive pages without a name never ends. */
#define BLANKS_MAX 1000

/*
 * Returns the last part of @item's key, in place; NULL: the key is not a name
 * in this directory.  Consoles put an empty object to represent a directory.
 */
static const char *name_of(struct b2f_s3_item *item, size_t nprefix)
{
	size_t n = strlen(item->key);

	if (n < nprefix || (n == nprefix && !item->st.size))
		return NULL;
	if (item->is_prefix && n > nprefix && item->key[n - 1] == '/')
		item->key[n - 1] = '\0';
	return strchr(item->key + nprefix, '/') ? NULL : item->key + nprefix;
}

/* Calls @fn for the names of @page; *@nblanks: pages since the last name. */
static int visit_page(struct b2f_s3_page *page, size_t nprefix,
		      b2f_remote_list_fn *fn, void *arg, unsigned int *nblanks)
{
	int err = 0;

	++*nblanks;
	for (size_t i = 0; i < page->n && !err; i++) {
		struct b2f_s3_item *item = &page->items[i];
		struct b2f_remote_entry entry = {
			.name = name_of(item, nprefix),
			.is_dir = item->is_prefix,
			.st = item->st,
		};

		if (!entry.name)
			continue;
		*nblanks = 0;
		err = fn(arg, &entry);
	}
	return err;
}

/* A listing of the keys that begin with @prefix and are greater than @after. */
struct listing {
	char *prefix;
	char *after;
};

static int get_page(struct b2f_remote *remote, const struct listing *listing,
		    const char *token, struct b2f_s3_page *out,
		    struct b2f_why *why)
{
	struct b2f_http_spec ask = {
		.method = B2F_HTTP_GET, .lists = true, .room = PAGE_ROOM};
	struct b2f_http_request *request = NULL;
	const struct b2f_http_reply *reply;
	int err = b2f_remote_ask(remote, &ask,
				 b2f_url_of_list(&remote->url, listing->prefix,
						 token, listing->after),
				 &request, why);

	if (!err) {
		reply = b2f_http_wait(request);
		err = b2f_s3_page_parse(reply->body, reply->size, out, why);
	}
	b2f_http_drop(request);
	return err;
}

static int list_keys(struct b2f_remote *remote, const struct listing *listing,
		     b2f_remote_list_fn *fn, void *arg, struct b2f_why *why)
{
	unsigned int nblanks = 0;
	char *token = NULL;
	int err, done = 0;

	do {
		struct b2f_s3_page page = {.items = NULL};

		err = get_page(remote, listing, token, &page, why);
		if (!err)
			done = visit_page(&page, strlen(listing->prefix), fn, arg,
					  &nblanks);
		if (!err && !done && page.token &&
		    (nblanks == BLANKS_MAX ||
		     (token && strcmp(token, page.token) == 0)))
			err = b2f_why_set(why, B2F_ECORRUPT,
					  "the server's listing has no end");
		free(token);
		token = page.token;
		page.token = NULL;
		b2f_s3_page_fini(&page);
	} while (!err && !done && token);
	free(token);
	return err ? err : done;
}

static int begin(const struct b2f_remote *remote, const char *path,
		 const char *after, struct listing *out)
{
	B2F_OWN char *key = b2f_url_key(&remote->url, path);

	/* "" lists the whole bucket. */
	out->prefix = key ? b2f_io_text("%s%s", key, *key ? "/" : "") : NULL;
	out->after = out->prefix ? b2f_io_text("%s%s",
					       *after ? out->prefix : "", after)
				 : NULL;
	if (out->after)
		return 0;
	free(out->prefix);
	return -ENOMEM;
}

int b2f_remote_list_after(struct b2f_remote *remote, const char *path,
			  const char *after, b2f_remote_list_fn *fn, void *arg,
			  struct b2f_why *why)
{
	struct listing listing;
	struct b2f_why other;
	int err;

	if (!remote->url.s3)
		return B2F_EUNSUPPORTED;
	err = begin(remote, path, after, &listing);
	if (err)
		return err;
	err = list_keys(remote, &listing, fn, arg, why ? why : &other);
	free(listing.prefix);
	free(listing.after);
	return err;
}

int b2f_remote_list(struct b2f_remote *remote, const char *path,
		    b2f_remote_list_fn *fn, void *arg)
{
	struct b2f_why why = {""};
	int err = b2f_remote_list_after(remote, path, "", fn, arg, &why);

	return why.text[0] ? b2f_remote_report(remote, path, err, &why) : err;
}
