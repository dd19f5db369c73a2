/* SPDX-License-Identifier: BSD-3-Clause */
/* test_remote_parts.c - URLs, listings, and refusals of servers */
#include <criterion/criterion.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "remote/gone.h"
#include "remote/note.h"
#include "remote/s3_error.h"
#include "remote/s3_list.h"
#include "remote/url.h"

static const struct b2f_remote_options plain = {.log = NULL};

static void check_url(const struct b2f_remote_options *options,
		      const char *text, const char *path, const char *expected)
{
	struct b2f_why why = {""};
	struct b2f_url url;
	char *made;

	cr_assert_eq(b2f_url_parse(text, options, &url, &why), 0, "%s: %s",
		     text, why.text);
	made = b2f_url_of(&url, path);
	cr_assert_str_eq(made, expected);
	free(made);
	b2f_url_fini(&url);
}

Test(remote_parts, url_of_an_object_has_its_key_encoded)
{
	const struct b2f_remote_options local = {
		.endpoint = "http://127.0.0.1:7070/"};
	const struct b2f_remote_options host = {
		.endpoint = "https://x.org", .host_style = true};
	const struct b2f_remote_options below = {
		.endpoint = "http://127.0.0.1:7070/a/b%20c/"};
	const struct b2f_remote_options west = {.region = "eu-west-1"};
	const struct b2f_remote_options path = {.path_style = true};

	check_url(&local, "s3://bucket/a b", "c+d/e%f",
		  "http://127.0.0.1:7070/bucket/a%20b/c%2Bd/e%25f");
	check_url(&local, "s3://bucket", "\xc3\xa4~", 
		  "http://127.0.0.1:7070/bucket/%C3%A4~");
	check_url(&local, "s3://bucket//", "",
		  "http://127.0.0.1:7070/bucket/");
	check_url(&below, "s3://bucket/a", "b c",
		  "http://127.0.0.1:7070/a/b%20c/bucket/a/b%20c");
	check_url(&host, "s3://bucket/a/", "b", "https://bucket.x.org/a/b");
	check_url(&west, "s3://bucket/a", "",
		  "https://bucket.s3.eu-west-1.amazonaws.com/a");
	check_url(&west, "s3://my.bucket/a", "",
		  "https://s3.eu-west-1.amazonaws.com/my.bucket/a");
	check_url(&path, "s3://bucket/a", "",
		  "https://s3.us-east-1.amazonaws.com/bucket/a");
	check_url(&plain, "https://x.org:81/a%20b/", "c d",
		  "https://x.org:81/a%20b/c%20d");
	check_url(&plain, "http://x.org/a?token=1#f", "",
		  "http://x.org/a?token=1");
}

/* libcurl gets no memory. */
static bool is_used_up;

static void *get(size_t n)
{
	return is_used_up ? NULL : malloc(n);
}

static void *get_more(void *old, size_t n)
{
	return is_used_up ? NULL : realloc(old, n);
}

static char *get_copy(const char *text)
{
	return is_used_up ? NULL : strdup(text);
}

static void *get_zeros(size_t n, size_t size)
{
	return is_used_up ? NULL : calloc(n, size);
}

Test(remote_parts, without_memory_there_is_no_url)
{
	struct b2f_url url;

	cr_assert_eq(curl_global_init_mem(CURL_GLOBAL_DEFAULT, get, free,
					  get_more, get_copy, get_zeros),
		     CURLE_OK);
	cr_assert_eq(b2f_url_parse("s3://bucket/a", &plain, &url, NULL), 0);
	is_used_up = true;
	cr_assert_null(b2f_url_of(&url, "b"));
	cr_assert_null(b2f_url_source(&url, "b"));
	cr_assert_null(b2f_url_of_list(&url, "a/", NULL, ""));
	is_used_up = false;
	b2f_url_fini(&url);
}

Test(remote_parts, label_hides_what_follows_the_path)
{
	struct b2f_url url;

	cr_assert_eq(b2f_url_parse("http://x.org/a?X-Amz-Signature=1", &plain,
				   &url, NULL),
		     0);
	cr_assert_str_eq(url.label, "http://x.org/a");
	b2f_url_fini(&url);
}

Test(remote_parts, url_that_makes_no_sense_is_refused)
{
	static const char *const bad[] = {
		"ftp://x/y",	    "s3://",	     "s3:///key",
		"s3://a",	    "http://",	     "http:///x",
		"http://me:pw@x/y", "http://x/\r\nY: 1", "s3://bucket\n/x",
		"s3://buc ket/x",   "x",
	};
	struct b2f_url url;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_eq(b2f_url_parse(bad[i], &plain, &url, NULL), -EINVAL,
			     "%s", bad[i]);
		b2f_url_fini(&url);
	}
}

Test(remote_parts, endpoint_that_makes_no_sense_is_refused)
{
	static const char *const bad[] = {"x.org", "s3://x", "http://",
					  "http://a b", "http://u:p@x",
					  "http://x/\r\n", "http://x/a b",
					  "http://x/?a", "http://x#a"};
	struct b2f_remote_options options = {.log = NULL};
	struct b2f_url url;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		options.endpoint = bad[i];
		cr_assert_eq(b2f_url_parse("s3://bucket/x", &options, &url,
					   NULL),
			     -EINVAL, "%s", bad[i]);
		b2f_url_fini(&url);
	}
}

static int parse(const char *xml, struct b2f_s3_page *page)
{
	return b2f_s3_page_parse((const uint8_t *)xml, strlen(xml), page, NULL);
}

static const char listing[] =
	"<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\">"
	"<IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>"
	"<NextContinuationToken>a&amp;b</NextContinuationToken>"
	"<Contents><Key>p/a%2Bb+c%C3%A4</Key><Size>123</Size>"
	"<ETag>&quot;e1&quot;</ETag><Owner><ID>Key</ID></Owner>"
	"<LastModified>2026-11-22T15:42:01.000Z</LastModified></Contents>"
	"<CommonPrefixes><Prefix>p/d/</Prefix></CommonPrefixes>"
	"</ListBucketResult>";

Test(remote_parts, listing_is_read)
{
	struct b2f_s3_page page;

	cr_assert_eq(parse(listing, &page), 0);
	cr_assert_eq(page.n, 2);
	cr_assert_str_eq(page.token, "a&b");
	cr_assert_str_eq(page.items[0].key, "p/a+b c\xc3\xa4");
	cr_assert_str_eq(page.items[0].st.etag, "\"e1\"");
	cr_assert_eq(page.items[0].st.size, 123);
	cr_assert_eq(page.items[0].st.mtime, 1795362121);
	cr_assert(!page.items[0].is_prefix);
	cr_assert(page.items[1].is_prefix);
	cr_assert_str_eq(page.items[1].key, "p/d/");
	b2f_s3_page_fini(&page);
}

Test(remote_parts, half_a_listing_is_refused)
{
	struct b2f_s3_page page;

	for (size_t n = 0; n < sizeof(listing) - 1; n++) {
		cr_assert_eq(b2f_s3_page_parse((const uint8_t *)listing, n,
					       &page, NULL),
			     B2F_ECORRUPT, "%zu", n);
		b2f_s3_page_fini(&page);
	}
}

Test(remote_parts, listing_that_makes_no_sense_is_refused)
{
	static const char *const bad[] = {
		"<html/>",
		"<ListBucketResult><IsTruncated>true</IsTruncated>"
		"</ListBucketResult>",
		"<ListBucketResult><Contents><Size>1</Size></Contents>"
		"</ListBucketResult>",
		"<ListBucketResult><Contents><Key>a</Key><Size>-x</Size>"
		"</Contents></ListBucketResult>",
		"<ListBucketResult><EncodingType>url</EncodingType><Contents>"
		"<Key>a%00b</Key></Contents></ListBucketResult>",
	};
	struct b2f_s3_page page;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_eq(parse(bad[i], &page), B2F_ECORRUPT, "%s", bad[i]);
		b2f_s3_page_fini(&page);
	}
}

Test(remote_parts, refusal_is_told_by_its_code_alone)
{
	static const char body[] =
		"<Error><Code>SignatureDoesNotMatch</Code>"
		"<Message>AKIDSECRET</Message>"
		"<AWSAccessKeyId>AKIDSECRET</AWSAccessKeyId></Error>";
	char code[B2F_S3_CODE_SIZE];
	struct b2f_why why = {""};

	b2f_s3_error_code(body, sizeof(body) - 1, code);
	cr_assert_str_eq(code, "SignatureDoesNotMatch");
	cr_assert_eq(b2f_s3_error_explain(code, &why), -EACCES);
	cr_assert_null(strstr(why.text, "AKID"));
	/* Cut off, as a long answer is. */
	b2f_s3_error_code(body, 45, code);
	cr_assert_str_eq(code, "SignatureDoesNotMatch");
	b2f_s3_error_code("<html>no</html>", 15, code);
	cr_assert_str_eq(code, "");
	cr_assert_eq(b2f_s3_error_explain("Strange", &why), 0);
}

/* Parses @text, and writes it again. */
static const char *told_again(const char *text, size_t size)
{
	static char out[B2F_GONE_SIZE];
	const struct b2f_ids none = {0};
	struct b2f_gone gone = {.n = 0};

	cr_assert_eq(b2f_gone_read(&gone, text), 0);
	cr_assert_eq(b2f_gone_write(&gone, &none, 0, out, size), 0);
	b2f_gone_fini(&gone);
	return out;
}

Test(remote_parts, chunks_that_are_gone_are_told_by_runs_and_times)
{
	static const char text[] =
		"next=00000010;marks=0123456789ABCDEF;gone=@10,1+2,5,@20,A+1,0,";
	struct b2f_note note;

	b2f_note_read(text, &note);
	cr_assert_eq(note.next_id, 0x10);
	cr_assert_eq(note.nmarks, 1);
	/* 1 to 3 and 9; then 10 to 12. */
	cr_assert_str_eq(told_again(text, B2F_GONE_SIZE),
			 ";gone=@10,1+2,5,@20,A+2,");
	/* The same chunk twice: since the first time. */
	cr_assert_str_eq(told_again(";gone=@20,5,@10,4+1,", B2F_GONE_SIZE),
			 ";gone=@10,4+1,");
	cr_assert_str_eq(told_again("next=00000010;marks=0123456789ABCDEF", 99),
			 "");
}

Test(remote_parts, nonsense_about_chunks_that_are_gone_is_left_out)
{
	static const char *const texts[] = {
		";gone=@10,3,x", ";gone=@10,3,4+,", ";gone=@10,3,80000000,",
		";gone=@10,3,4+7FFFFFFF,", ";gone=@10,3,123456789,",
		";gone=@10,3,0+7FFFFFF0,0+7FFFFFF0,", ";gone=@10,3,@",
		";gone=@10,3,1", ";gone=@10,3,FFFFFFFF,FFFFFFFF+FFFFFFFF,",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_assert_str_eq(told_again(texts[i], B2F_GONE_SIZE),
				 ";gone=@10,3,", "%s", texts[i]);
	/* A chunk without a time is never due. */
	cr_assert_str_eq(told_again(";gone=3,", 99), ";gone=@FFFFFFFF,3,");
}

Test(remote_parts, the_oldest_chunks_that_are_gone_are_told_if_there_is_no_room)
{
	static char out[B2F_GONE_SIZE];
	struct b2f_gone gone = {.n = 0};
	struct b2f_ids ids = {0};
	uint64_t until = 0;

	for (uint64_t i = 0; i < 2000; i++) {
		ids.n = 0;
		cr_assert_eq(b2f_ids_add(&ids, 4000 - 2 * i), 0);
		cr_assert_eq(b2f_gone_add(&gone, &ids, 2 * (i / 10)), 0);
	}
	ids.n = 0;
	cr_assert_eq(b2f_gone_write(&gone, &ids, 0, out, sizeof(out)), 0);
	cr_assert_lt(strlen(out), sizeof(out));
	b2f_gone_fini(&gone);
	cr_assert_eq(b2f_gone_read(&gone, out), 0);
	cr_assert_gt(gone.n, 100);
	for (size_t i = 0; i < gone.n; i++)
		until = gone.chunks[i].since_s > until ? gone.chunks[i].since_s
						       : until;
	cr_assert_leq(until, 2 * (gone.n / 10));
	ids.n = 0;
	cr_assert_eq(b2f_gone_take(&gone, 2, SIZE_MAX, &ids), 0);
	cr_assert_eq(ids.n, 20);
	cr_assert(b2f_gone_is_due(&gone, 4) && !b2f_gone_is_due(&gone, 3));
	b2f_ids_fini(&ids);
	b2f_gone_fini(&gone);
}
