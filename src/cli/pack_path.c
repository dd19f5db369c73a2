/* SPDX-License-Identifier: BSD-3-Clause */
/* pack_path.c - frames in stores that are one file (.b2z, .b2e), by path */
#include "cli/pack_path.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/remote.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/server.h"
#include "cli/text.h"

/* Is @path a store? Follows a link. */
static bool is_pack(const char *path)
{
	B2F_OWN char *real = NULL;
	bool is = false;

	if (!b2f_pack_is_name(path))
		return false;
	real = realpath(path, NULL);
	return real && !b2f_pack_look(AT_FDCWD, real, &is) && is;
}

/* For a URL the suffixes tell; a .b2e is a frame, too. */
static char *split_url(const char *url, bool whole, const char **key)
{
	size_t n = cli_text_store(url);

	*key = url + n + strspn(url + n, "/");
	return n && (**key || url[n - 1] == 'z' || whole)
		       ? cli_need_part(url, n)
		       : NULL;
}

char *cli_pack_path_split(const char *path, bool whole, const char **key)
{
	char *file, *slash;
	struct stat st;
	int ret;

	if (b2f_remote_is_url(path))
		return split_url(path, whole, key);
	file = cli_need_copy(path);
	ret = stat(path, &st);
	/* If the path leads into a file, look at its parents. */
	while (ret && errno == ENOTDIR && (slash = strrchr(file, '/')) &&
	       slash > file) {
		*slash = '\0';
		ret = stat(file, &st);
		whole = true;
	}
	if (ret || !whole || !S_ISREG(st.st_mode) || !is_pack(file)) {
		free(file);
		return NULL;
	}
	*key = path + strlen(file);
	*key += strspn(*key, "/");
	return file;
}

bool cli_pack_path_leads_in(const char *path, bool whole)
{
	const char *key;
	B2F_OWN char *file = b2f_remote_is_url(path)
				     ? NULL
				     : cli_pack_path_split(path, whole, &key);

	return file != NULL;
}

static int open_remote(const char *url, const struct b2f_frame_options *options,
		       struct b2f_pack **out)
{
	CLI_OWN_REMOTE struct b2f_remote *remote = NULL;
	int err = cli_server_connect(url, &remote);

	return err ? err
		   : cli_message_try(url, b2f_remote_open_pack(remote, "",
							       options, out));
}

int cli_pack_path_open_pack(const struct cli_at *file, struct b2f_pack **out)
{
	const struct b2f_frame_options options = {
		.log = &cli_message_log,
		.label = file->path,
		.nofollow = !cli_at_is_named(file),
	};

	if (file->kind == CLI_KIND_URL)
		return open_remote(file->path, &options, out);
	return cli_message_try(
		file->path, b2f_pack_open(&options, file->dir, file->name, out));
}

int cli_pack_path_find(const struct b2f_pack *pack, const char *file,
		       const char *key, size_t *out)
{
	int err = b2f_pack_find(pack, key, out);

	if (err == -ENOENT || err == -ENOTDIR)
		cli_message_error("%s: there is no %s in it", file, key);
	else
		cli_message_errno(file, err);
	return err;
}

static int open_in(const struct b2f_frame_options *options,
		   const struct b2f_pack *pack, const char *file,
		   const char *key, struct b2f_frame **out)
{
	size_t entry = 0;
	int err = cli_pack_path_find(pack, file, key, &entry);

	if (!err && b2f_pack_entry(pack, entry)->kind == B2F_PACK_DIR) {
		err = B2F_ENOTFRAME;
		cli_message_error("%s: it is a directory of frames: name one "
				  "in it (ls -r lists them)",
				  options->label);
	} else if (!err) {
		err = cli_message_try(
			options->label,
			b2f_pack_open_frame(pack, entry, options, out));
	}
	return err;
}

int cli_pack_path_open(const struct b2f_frame_options *options,
		       const struct cli_at *file, const char *key,
		       struct b2f_frame **out)
{
	struct b2f_pack *pack = NULL;
	int err = cli_pack_path_open_pack(file, &pack);

	if (!err)
		err = open_in(options, pack, file->path, key, out);
	b2f_pack_close(pack);
	return err;
}
