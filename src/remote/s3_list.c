/* SPDX-License-Identifier: BSD-3-Clause */
/* s3_list.c - one page of a listing of an object store */
#include "remote/s3_list.h"

#include <errno.h>
#include <expat.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "programs/curl.h"

/* Limit of items: servers send a thousand per page. */
#define ITEMS_MAX 100000

/* The longest text of interest: a key, three bytes for each of its own. */
#define TEXT_MAX 4096

/* The parser's position in ListBucketResult. */
enum part { OUTSIDE, RESULT, CONTENTS, PREFIXES };

struct parser {
	struct b2f_s3_page *page;
	int err;
	unsigned int depth;
	enum part part;
	bool seen;
	bool truncated;
	/* Keys are encoded as in a URL. */
	bool encoded;
	/* Text of the innermost element. */
	char text[TEXT_MAX];
	size_t ntext;
	bool too_long;
	struct b2f_s3_item item;
};

static void enter(void *arg, const char *name, const char **attributes)
{
	struct parser *p = arg;

	(void)attributes;
	p->depth++;
	p->ntext = 0;
	p->too_long = false;
	if (p->depth == 1 && strcmp(name, "ListBucketResult") == 0) {
		p->part = RESULT;
		p->seen = true;
	} else if (p->depth == 2 && p->part == RESULT) {
		if (strcmp(name, "Contents") == 0)
			p->part = CONTENTS;
		else if (strcmp(name, "CommonPrefixes") == 0)
			p->part = PREFIXES;
	}
}

static void take_text(void *arg, const char *text, int len)
{
	struct parser *p = arg;
	size_t n = (size_t)len;

	if (n >= TEXT_MAX - p->ntext) {
		p->too_long = true;
		return;
	}
	memcpy(p->text + p->ntext, text, n);
	p->ntext += n;
}

static void set_string(struct parser *p, char **out)
{
	free(*out);
	*out = p->too_long ? NULL : strdup(p->text);
	if (!*out && !p->err)
		p->err = p->too_long ? B2F_ECORRUPT : -ENOMEM;
}

static void set_size(struct parser *p)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(p->text, &end, 10);
	if (errno || end == p->text || *end || n > INT64_MAX)
		p->err = B2F_ECORRUPT;
	p->item.st.size = n;
}

/* "2026-11-22T15:42:01.000Z" */
static int64_t parse_time(const char *text)
{
	struct tm tm = {0};

	return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
}

static void end_field(struct parser *p, const char *name)
{
	struct b2f_remote_stat *st = &p->item.st;

	p->item.is_prefix = p->part == PREFIXES;
	if (strcmp(name, p->part == PREFIXES ? "Prefix" : "Key") == 0)
		set_string(p, &p->item.key);
	else if (strcmp(name, "Size") == 0)
		set_size(p);
	else if (strcmp(name, "LastModified") == 0)
		st->mtime = parse_time(p->text);
	else if (strcmp(name, "ETag") == 0 && p->ntext < sizeof(st->etag))
		memcpy(st->etag, p->text, p->ntext + 1);
}

static void end_item(struct parser *p)
{
	struct b2f_s3_page *page = p->page;
	struct b2f_s3_item *items;

	p->part = RESULT;
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

static void leave(void *arg, const char *name)
{
	struct parser *p = arg;

	p->text[p->ntext] = '\0';
	if (p->err) {
		/* Ignore the rest of the page. */
	} else if (p->depth == 3 && p->part >= CONTENTS) {
		end_field(p, name);
	} else if (p->depth == 2 && p->part >= CONTENTS) {
		end_item(p);
	} else if (p->depth == 2 && p->part == RESULT) {
		if (strcmp(name, "IsTruncated") == 0)
			p->truncated = strcmp(p->text, "true") == 0;
		else if (strcmp(name, "NextContinuationToken") == 0)
			set_string(p, &p->page->token);
		else if (strcmp(name, "EncodingType") == 0)
			p->encoded = strcmp(p->text, "url") == 0;
	}
	p->ntext = 0;
	p->depth--;
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
	B2F_OWN struct parser *p = calloc(1, sizeof(*p));
	XML_Parser parser = p ? XML_ParserCreate(NULL) : NULL;
	int err;

	*out = (struct b2f_s3_page){.items = NULL};
	if (!parser)
		return -ENOMEM;
	p->page = out;
	XML_SetUserData(parser, p);
	XML_SetElementHandler(parser, enter, leave);
	XML_SetCharacterDataHandler(parser, take_text);
	if (n > INT32_MAX ||
	    XML_Parse(parser, (const char *)xml, (int)n, 1) != XML_STATUS_OK)
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "the server's listing is incomplete, or no "
				  "listing");
	else
		err = finish(p, why);
	XML_ParserFree(parser);
	free(p->item.key);
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
