/* SPDX-License-Identifier: BSD-3-Clause */
/* s3_list.c - one page of a listing of an object store */
#include "remote/s3_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "programs/curl.h"

/* Limit of items: servers send a thousand per page. */
#define ITEMS_MAX 100000

/* The longest text of interest: a key, three bytes for each of its own. */
#define TEXT_MAX 4096

struct parser {
	struct b2f_s3_page *page;
	int err;
	bool seen;
	bool truncated;
	/* Keys are encoded as in a URL. */
	bool encoded;
	struct b2f_s3_item item;
};

static void set_string(struct parser *p, const char *text, char **out)
{
	bool fits = text && strlen(text) < TEXT_MAX;

	free(*out);
	*out = fits ? strdup(text) : NULL;
	if (!*out && !p->err)
		p->err = fits ? -ENOMEM : B2F_ECORRUPT;
}

static void set_size(struct parser *p, const char *text)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || n > INT64_MAX)
		p->err = B2F_ECORRUPT;
	p->item.st.size = n;
}

/* "2026-11-22T15:42:01.000Z" */
static int64_t parse_time(const char *text)
{
	struct tm tm = {0};

	return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
}

/* Takes a field of an item, which @is_prefix or not. */
static void end_field(struct parser *p, bool is_prefix, const char *name,
		      const char *text)
{
	struct b2f_remote_stat *st = &p->item.st;

	p->item.is_prefix = is_prefix;
	if (strcmp(name, is_prefix ? "Prefix" : "Key") == 0)
		set_string(p, text, &p->item.key);
	else if (strcmp(name, "Size") == 0)
		set_size(p, text ? text : "");
	else if (!text)
		return;
	else if (strcmp(name, "LastModified") == 0)
		st->mtime = parse_time(text);
	else if (strcmp(name, "ETag") == 0 && strlen(text) < sizeof(st->etag))
		strcpy(st->etag, text);
}

static void end_item(struct parser *p)
{
	struct b2f_s3_page *page = p->page;
	struct b2f_s3_item *items;

	if (!p->item.key || page->n == ITEMS_MAX)
		p->err = p->err ? p->err : B2F_ECORRUPT;
	if (p->err)
		return;
	items = b2f_grown(page->items, &page->room, page->n + 1, sizeof(*items));
	if (!items) {
		p->err = -ENOMEM;
		return;
	}
	page->items = items;
	items[page->n++] = p->item;
	p->item = (struct b2f_s3_item){.key = NULL};
}

static void take_element(void *arg, const struct b2f_xml_element *element)
{
	const char *name = element->name, *text = element->text;
	bool is_prefix = strcmp(element->item, "CommonPrefixes") == 0;
	bool is_item = is_prefix || strcmp(element->item, "Contents") == 0;
	struct parser *p = arg;

	/* After an error, the rest of the page is ignored. */
	if (p->err || strcmp(element->root, "ListBucketResult") != 0)
		return;
	p->seen = true;
	if (element->depth == 3 && is_item)
		end_field(p, is_prefix, name, text);
	else if (element->depth == 2 && is_item)
		end_item(p);
	else if (element->depth != 2)
		return;
	else if (strcmp(name, "NextContinuationToken") == 0)
		set_string(p, text, &p->page->token);
	else if (text && strcmp(name, "IsTruncated") == 0)
		p->truncated = strcmp(text, "true") == 0;
	else if (text && strcmp(name, "EncodingType") == 0)
		p->encoded = strcmp(text, "url") == 0;
}

/* "a%2Fb+c" as "a/b c" */
static int decode_key(struct b2f_s3_item *item)
{
	const struct b2f_curl *curl = b2f_curl();
	char *plain, *own;
	int n = 0;

	for (char *c = item->key; *c; c++)
		if (*c == '+')
			*c = ' ';
	plain = curl->easy_unescape(NULL, item->key, 0, &n);
	own = plain ? strdup(plain) : NULL;
	curl->free(plain);
	if (!own)
		return -ENOMEM;
	free(item->key);
	item->key = own;
	return strlen(own) == (size_t)n ? 0 : B2F_ECORRUPT;
}

static int finish(struct parser *p, struct b2f_why *why)
{
	struct b2f_s3_page *page = p->page;
	int err = p->err;

	if (!p->seen || (p->truncated && (!page->token || !*page->token)))
		err = B2F_ECORRUPT;
	if (!p->truncated) {
		free(page->token);
		page->token = NULL;
	}
	for (size_t i = 0; i < page->n && p->encoded && !err; i++)
		err = decode_key(&page->items[i]);
	if (err == B2F_ECORRUPT)
		return b2f_why_set(why, err,
				   "the server's listing is malformed");
	return err;
}

int b2f_s3_page_parse(const uint8_t *xml, size_t n, struct b2f_s3_page *out,
		      struct b2f_why *why)
{
	struct parser p = {.page = out};
	int err;

	*out = (struct b2f_s3_page){.items = NULL};
	err = b2f_xml_parse(xml, n, take_element, &p);
	if (!err)
		err = finish(&p, why);
	else if (err == B2F_ECORRUPT)
		err = b2f_why_set(why, err,
				  "the server's listing is incomplete, or no "
				  "listing");
	free(p.item.key);
	return err;
}

void b2f_s3_page_fini(struct b2f_s3_page *page)
{
	for (size_t i = 0; i < page->n; i++)
		free(page->items[i].key);
	free(page->items);
	free(page->token);
	*page = (struct b2f_s3_page){.items = NULL};
}
