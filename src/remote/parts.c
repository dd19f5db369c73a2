/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.c - a large object, sent in parts (multipart upload) */
#include "remote/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "programs/curl.h"
#include "remote/object_sum.h"
#include "remote/put.h"
#include "remote/s3_error.h"

/* A server's limit of parts; and how many are sent at a time. */
#define PARTS_MAX  10000
#define FLIGHT_MAX 4

/*
 * In an object of up to PARTS_MAX parts, a part has a quarter of the limit for
 * one PUT.
 */
#define PER_WHOLE 4

/* Larger parts are multiples of this, bytes. */
#define STEP (UINT64_C(1) << 20)

/* Bytes read from a source at once. */
#define PIECE ((size_t)1 << 20)

struct part {
	char etag[B2F_REMOTE_ETAG_SIZE];
	uint32_t sum;
};

struct b2f_parts {
	struct b2f_remote *remote;
	/* The server's id of the upload, encoded for a URL. */
	char *id;
	struct part *parts;
	size_t n;
	uint64_t size;
	size_t part_size;
	/* The request body that joins the parts. */
	char *list;
	size_t list_size;
	char sum[B2F_OBJECT_SUM_TEXT];
	/* The bytes of parts under way, if they come from a source. */
	const struct b2f_put_spec *spec;
	uint8_t *buffers[FLIGHT_MAX];
	size_t nflights;
	char path[];
};

/*
 * Returns the URL of the upload, or of its part @number (not 0); malloc'ed, or
 * NULL.
 */
static char *url_of(const struct b2f_parts *parts, size_t number)
{
	B2F_OWN char *url = b2f_url_of(&parts->remote->url, parts->path);

	if (!url)
		return NULL;
	if (!parts->id)
		return b2f_io_text("%s?uploads=", url);
	return number ? b2f_io_text("%s?partNumber=%zu&uploadId=%s", url,
				    number, parts->id)
		      : b2f_io_text("%s?uploadId=%s", url, parts->id);
}

int b2f_parts_judge(const struct b2f_http_reply *reply,
		    struct b2f_remote_stat *now, struct b2f_why *why)
{
	struct b2f_s3_answer ok;
	int err = b2f_s3_confirm((const char *)reply->body, reply->size,
				 "CompleteMultipartUploadResult", &ok, why);

	/* Without an ETag, the object is looked at. */
	if (!err && ok.n < sizeof(now->etag))
		memcpy(now->etag, ok.text, ok.n + 1);
	return err;
}

static int begin(struct b2f_parts *parts, const char *note, struct b2f_why *why)
{
	struct b2f_s3_answer found = {.n = 0};
	struct b2f_http_request *request = NULL;
	const struct b2f_http_reply *reply = NULL;
	struct b2f_http_spec ask = {
		.method = B2F_HTTP_POST,
		.data = "",
		.note = note,
		.sums_parts = atomic_load(&parts->remote->keeps_sums),
	};
	int err = b2f_remote_ask(parts->remote, &ask, url_of(parts, 0),
				 &request, why);

	if (!err)
		reply = b2f_http_wait(request);
	if (!err && (!b2f_s3_find((const char *)reply->body, reply->size,
				  "UploadId", &found) ||
		     strcmp(found.root, "InitiateMultipartUploadResult") != 0 ||
		     found.n == 0))
		err = b2f_why_set(why, -EIO, "the server has no multipart "
					     "uploads");
	if (!err)
		parts->id = b2f_curl_escape(found.text);
	if (!err && !parts->id)
		err = -ENOMEM;
	b2f_http_drop(request);
	return err;
}

static size_t length_of(const struct b2f_parts *parts, size_t nth)
{
	return b2f_min_u64(parts->part_size,
			   parts->size - (uint64_t)nth * parts->part_size);
}

int b2f_parts_read(const struct b2f_remote_source *source, uint64_t off,
		   uint8_t *buf, size_t n)
{
	int err = 0;

	for (size_t at = 0; at < n && !err; at += PIECE)
		err = source->read(source->arg, off + at, buf + at,
				   b2f_min_u64(PIECE, n - at));
	return err;
}

/* Finds the bytes of part @nth; reads them from the source, if any. */
static int find_bytes(struct b2f_parts *parts, size_t nth, const uint8_t **out)
{
	const struct b2f_put_spec *spec = parts->spec;
	uint64_t off = (uint64_t)nth * parts->part_size;
	uint8_t **buffer = &parts->buffers[nth % parts->nflights];

	if (!spec->source) {
		*out = (const uint8_t *)spec->data + off;
		return 0;
	}
	if (!*buffer)
		*buffer = malloc(parts->part_size);
	if (!*buffer)
		return -ENOMEM;
	*out = *buffer;
	return b2f_parts_read(spec->source, off, *buffer,
			      length_of(parts, nth));
}

static int start_part(void *arg, size_t nth, struct b2f_http_request **out)
{
	struct b2f_parts *parts = arg;
	struct part *part = &parts->parts[nth];
	struct b2f_http_spec ask = {
		.method = B2F_HTTP_PUT,
		.size = length_of(parts, nth),
		.is_part = true,
	};
	char sum[B2F_OBJECT_SUM_TEXT];
	const uint8_t *bytes = NULL;
	int err = find_bytes(parts, nth, &bytes);

	if (err)
		return err;
	ask.data = bytes;
	if (atomic_load(&parts->remote->keeps_sums)) {
		part->sum = b2f_object_sum(0, bytes, ask.size);
		b2f_object_sum_write(part->sum, sum);
		ask.sum = sum;
	}
	return b2f_remote_start(parts->remote, &ask, url_of(parts, nth + 1),
				out);
}

static int end_part(void *arg, size_t nth, const struct b2f_http_reply *reply,
		    struct b2f_why *why)
{
	struct b2f_parts *parts = arg;

	if (reply->err)
		return reply->err;
	if (!*reply->st.etag)
		return b2f_why_set(why, -EIO,
				   "the server sends no ETag for a part");
	memcpy(parts->parts[nth].etag, reply->st.etag, sizeof(reply->st.etag));
	return 0;
}

static int send_all(struct b2f_parts *parts, const struct b2f_put_spec *spec,
		    struct b2f_why *why)
{
	int err;

	parts->spec = spec;
	err = b2f_http_row(parts->n, parts->nflights, start_part, end_part,
			   parts, why);
	for (size_t i = 0; i < parts->nflights; i++)
		free(parts->buffers[i]);
	return err;
}

static void write_part(FILE *f, const struct part *part, size_t number,
		       bool has_sum)
{
	char sum[B2F_OBJECT_SUM_TEXT];

	b2f_object_sum_write(part->sum, sum);
	fprintf(f, "<Part>");
	if (has_sum)
		fprintf(f, "<ChecksumCRC32>%s</ChecksumCRC32>", sum);
	fprintf(f, "<PartNumber>%zu</PartNumber><ETag>", number);
	for (const char *c = part->etag; *c; c++)
		fprintf(f, strchr("\"&<>", *c) ? "&#%d;" : "%c", *c);
	fprintf(f, "</ETag></Part>");
}

static int make_list(struct b2f_parts *parts)
{
	FILE *f = open_memstream(&parts->list, &parts->list_size);
	bool has_sums = atomic_load(&parts->remote->keeps_sums);
	uint32_t sum = 0;

	if (!f)
		return -ENOMEM;
	fprintf(f, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/"
		   "doc/2006-03-01/\">");
	for (size_t i = 0; i < parts->n; i++) {
		write_part(f, &parts->parts[i], i + 1, has_sums);
		sum = b2f_object_sum_join(sum, parts->parts[i].sum,
					  length_of(parts, i));
	}
	fprintf(f, "</CompleteMultipartUpload>");
	if (has_sums)
		b2f_object_sum_write(sum, parts->sum);
	return fclose(f) ? -ENOMEM : 0;
}

/* Chooses the size of parts, and how many are sent at a time. */
static int lay_out(struct b2f_parts *parts)
{
	uint64_t whole = parts->remote->put_bytes;
	uint64_t part = b2f_max_u64(whole / PER_WHOLE, 1);

	if (parts->size > part * PARTS_MAX)
		part = (parts->size / PARTS_MAX / STEP + 1) * STEP;
	parts->part_size = part;
	parts->n = (size_t)((parts->size + part - 1) / part);
	parts->nflights = b2f_max_u64(
		b2f_min_u64(FLIGHT_MAX, whole / part), 1);
	parts->parts = calloc(parts->n, sizeof(*parts->parts));
	return parts->parts ? 0 : -ENOMEM;
}

int b2f_parts_send(struct b2f_remote *remote, const struct b2f_put_spec *spec,
		   const char *note, struct b2f_parts **out,
		   struct b2f_why *why)
{
	struct b2f_parts *parts =
		calloc(1, sizeof(*parts) + strlen(spec->path) + 1);
	int err;

	if (!parts)
		return -ENOMEM;
	parts->remote = remote;
	parts->size = spec->size;
	strcpy(parts->path, spec->path);
	err = lay_out(parts);
	if (!err)
		err = begin(parts, note, why);
	if (!err)
		err = send_all(parts, spec, why);
	if (!err)
		err = make_list(parts);
	if (err)
		b2f_parts_end(parts, false);
	else
		*out = parts;
	return err;
}

int b2f_parts_complete(const struct b2f_parts *parts, const char *if_match,
		       const char *if_none_match, struct b2f_http_request **out)
{
	struct b2f_http_spec ask = {
		.method = B2F_HTTP_POST,
		.data = parts->list,
		.size = parts->list_size,
		.if_match = if_match,
		.if_none_match = if_none_match,
		.sums_parts = *parts->sum != '\0',
		.sum = *parts->sum ? parts->sum : NULL,
		.is_part = true,
		.once = true,
	};

	return b2f_remote_start(parts->remote, &ask, url_of(parts, 0), out);
}

void b2f_parts_end(struct b2f_parts *parts, bool done)
{
	if (!parts)
		return;
	/* Parts are billed until then; a rule of the bucket removes others. */
	if (parts->id && !done)
		b2f_remote_tidy(parts->remote, url_of(parts, 0));
	free(parts->id);
	free(parts->parts);
	free(parts->list);
	free(parts);
}
