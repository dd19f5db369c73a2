/* SPDX-License-Identifier: BSD-3-Clause */
/* server.c - connections to servers, and frames there */
#include "cli/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attributes.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/text.h"
#include "words/aws.h"

/* The keys, for the whole process, because some sources ask the user. */
static struct b2f_aws aws;

/* The user's options for servers, for the whole process. */
static struct user {
	struct b2f_aws_options given;
	/* The cache directory. */
	const char *cache_dir;
	uint64_t cache_bytes;
} user;

/* A row for a field of it. */
#define ROW(name_, value_, store_, field_, help_)                              \
	{                                                                      \
		.name = name_, .value = value_, .store = store_,               \
		.base = &user, .field = offsetof(struct user, field_),         \
		.help = help_                                                  \
	}

const struct cli_option cli_server_options[] = {
	ROW("no-sign-request", NULL, cli_option_set, given.no_keys,
	    "use no keys: for public buckets"),
	ROW("request-payer", NULL, cli_option_set, given.request_payer,
	    "pay for requests, as some owners require"),
	ROW("sse-c-key", "FILE", cli_option_text, given.sse_c_key,
	    "the server encrypts all objects with the key in FILE"),
	{0},
};

const struct cli_option cli_server_new_object_options[] = {
	ROW("sse", "KIND", cli_option_text, given.sse,
	    "the server encrypts new objects: AES256, aws:kms"),
	ROW("sse-kms-key", "ID", cli_option_text, given.sse_kms_key,
	    "the server encrypts them with its key ID"),
	{0},
};

const struct cli_option cli_server_reading_options[] = {
	ROW("cachedir", "DIR", cli_option_text, cache_dir,
	    "keep compressed data from servers in DIR"),
	ROW("cachedirsize", "SIZE", cli_option_size, cache_bytes,
	    "largest size of DIR (10g)"),
	{.shared = cli_server_options},
	{0},
};

/* Keys are those that the environment names. */
int cli_server_connect(const char *url, struct b2f_remote **out)
{
	struct b2f_remote_options options = {
		.log = &cli_message_log,
		.cache_dir = user.cache_dir,
		.cache_bytes = user.cache_bytes,
	};
	bool is_s3 = b2f_remote_is_s3(url);
	char reason[B2F_AWS_REASON];
	int err = is_s3 && !aws.region ? b2f_aws_read(&user.given, &aws, reason)
				       : 0;

	if (err) {
		b2f_aws_fini(&aws);
		return cli_refuse(err, "%s: %s", url, reason);
	}
	b2f_aws_fill(is_s3 ? &aws : NULL, url, &options);
	return cli_message_try(url, b2f_remote_new(&options, url, out));
}

/* The length of "s3://BUCKET". */
static size_t bucket_length(const char *url)
{
	size_t scheme = (size_t)(strstr(url, "://") + 3 - url);

	return scheme + strcspn(url + scheme, "/");
}

/* Says that @url cannot be written to, or why it cannot be used at all. */
static int refuse_web(const char *url)
{
	CLI_OWN_REMOTE struct b2f_remote *remote = NULL;
	int err = cli_server_connect(url, &remote);

	if (err)
		return err;
	return cli_refuse(-EROFS, "%s: web servers are not written to", url);
}

int cli_server_connect_above(const char *url, struct b2f_remote **out,
			     const char **path)
{
	B2F_OWN char *top = NULL;
	char *slash;

	if (!b2f_remote_is_s3(url))
		return refuse_web(url);
	top = cli_text_bare(url);
	slash = strrchr(top, '/');
	if (slash && (size_t)(slash - top) >= bucket_length(top))
		*slash = '\0';
	*path = url + strlen(top);
	/* "s3://" has no bucket, and loses its slashes. */
	return cli_server_connect(strchr(top, '/') ? top : url, out);
}

void cli_server_attributes(const struct b2f_remote_stat *version,
			     struct stat *st)
{
	b2f_remote_attributes(version, st);
	st->st_mode = S_IFREG | (0666 & ~cli_attributes_umask());
	st->st_uid = getuid();
	st->st_gid = getgid();
}

int cli_server_stat(const char *url, struct stat *out)
{
	CLI_OWN_REMOTE struct b2f_remote *remote = NULL;
	struct b2f_remote_stat st;
	bool sparse;
	int err = cli_server_connect(url, &remote);

	if (!err)
		err = b2f_remote_find(remote, "", &sparse, &st);
	if (err)
		return err;
	cli_server_attributes(&st, out);
	return 0;
}

int cli_server_open(const struct b2f_frame_options *how, const char *url,
		    struct b2f_frame **out)
{
	struct b2f_frame_options options = *how;
	CLI_OWN_REMOTE struct b2f_remote *remote = NULL;
	int err = cli_server_connect(url, &remote);

	if (err)
		return err;
	/* The query of a URL may be a signature. */
	options.label = b2f_remote_label(remote);
	return cli_message_try(
		options.label,
		b2f_remote_open_frame(remote, "", &options, out));
}
