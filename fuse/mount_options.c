/* SPDX-License-Identifier: BSD-3-Clause */
/* mount_options.c - parses the command line, and prints what -h and -V ask for
 */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/create.h"
#include "b2frame/names.h"
#include "b2frame/version.h"
#include "fuse_api.h"
#include "helper.h"
#include "mount_options.h"
#include "words/value.h"

/* Parses one word of a -o list, without its commas; changes @word. */
static int parse_word(struct fs_options *o, char *word)
{
	char *value;

	/* Comments of systemd and mount(8), which no filesystem gets. */
	if (!*word || strncmp(word, "x-", 2) == 0 ||
	    strncmp(word, "user=", 5) == 0 || strncmp(word, "comment=", 8) == 0)
		return 0;
	value = strchr(word, '=');
	if (value)
		*value++ = '\0';
	return fs_option_take(o, word, value);
}

/*
 * Parses a -o list.  A backslash before a comma or a backslash makes it an
 * ordinary character, so that a file name may contain both.
 */
static int parse_list(struct fs_options *o, const char *list)
{
	char *word = malloc(strlen(list) + 1);
	size_t n = 0;
	int err = 0;

	if (!word)
		return -ENOMEM;
	for (const char *p = list; !err; p++) {
		if (*p == ',' || *p == '\0') {
			word[n] = '\0';
			n = 0;
			err = parse_word(o, word);
			if (*p == '\0')
				break;
			continue;
		}
		if (*p == '\\' && (p[1] == ',' || p[1] == '\\'))
			p++;
		word[n++] = *p;
	}
	free(word);
	return err;
}

static int parse_operands(struct fs_options *o, int n, char **operands)
{
	if (o->help || o->long_help || o->version)
		return 0;
	if (n != 2) {
		fprintf(stderr, "bloscfs: %s; try 'bloscfs -h'\n",
			n > 2	 ? "more than SOURCE and MOUNTPOINT given"
			: n == 1 ? "MOUNTPOINT is missing"
				 : "SOURCE and MOUNTPOINT are missing");
		return -EINVAL;
	}
	if (b2f_value_text(operands[0], &o->source) ||
	    b2f_value_text(operands[1], &o->mountpoint))
		return -ENOMEM;
	b2f_value_hide_query(operands[0]);
	return 0;
}

/* Letters that set a bool; 'F', 'S' and 'H' stand for others. */
static const struct {
	char letter;
	size_t field;
} flags[] = {
	{'F', offsetof(struct fs_options, fake)},
	{'S', offsetof(struct fs_options, sloppy)},
	{'f', offsetof(struct fs_options, foreground)},
	{'d', offsetof(struct fs_options, debug)},
	{'s', offsetof(struct fs_options, single_thread)},
	{'v', offsetof(struct fs_options, verbose)},
	{'q', offsetof(struct fs_options, quiet)},
	{'h', offsetof(struct fs_options, help)},
	{'H', offsetof(struct fs_options, long_help)},
	{'V', offsetof(struct fs_options, version)},
};

static int parse_letter(struct fs_options *o, int letter)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (flags[i].letter == letter) {
			*(bool *)((char *)o + flags[i].field) = true;
			return 0;
		}
	}
	if (letter == 'N')
		return b2f_value_text(optarg, &o->mount_namespace);
	if (letter == 'o')
		return parse_list(o, optarg);
	/*
	 * mount(8) gives its helpers -n (no mtab) and -t TYPE; getopt has
	 * printed the problem of any other letter.
	 */
	return letter == 'n' || letter == 't' ? 0 : -EINVAL;
}

static int helper_letter(int letter)
{
	return letter == 'f' ? 'F' : letter == 's' ? 'S' : letter;
}

static struct fs_options defaults(void)
{
	const struct b2f_settings new_files = b2f_settings_default();
	struct fs_options o = {
		.access.user = FS_UNSET,
		.access.group = FS_UNSET,
		.access.umask = FS_UNSET,
		.access.fmask = FS_UNSET,
		.access.dmask = FS_UNSET,
		.cache.readahead = FS_UNSET,
		.loglevel = FS_UNSET,
		.cache.attr_timeout_s = 1,
		.cache.entry_timeout_s = 1,
		.commit = 5,
		.bucket.refresh_s = 5,
		.bucket.retry_s = 180,
		.create.codec = new_files.codec,
		.create.clevel = FS_UNSET,
		.create.blocksize = FS_UNSET,
		.create.chunksize = 1 << 20,
		.create.small = FS_SMALL,
	};

	memcpy(o.create.filters, new_files.filters, sizeof(o.create.filters));
	return o;
}

int fs_mount_options_parse(int argc, char **argv, struct fs_options *out)
{
	static char program[] = "bloscfs";
	static const struct option longs[] = {
		{"help", no_argument, NULL, 'H'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0}};
	const char *letters = "fdsvqhVno:t:";
	int letter, err = 0;

	*out = defaults();
	out->helper = argc > 0 && fs_helper_is(argv[0]);
	if (out->helper)
		letters = "fdsvqhVno:t:N:";
	/* getopt's messages begin with argv[0]. */
	if (argc > 0)
		argv[0] = program;
	while (!err &&
	       (letter = getopt_long(argc, argv, letters, longs, NULL)) != -1)
		err = parse_letter(out, out->helper ? helper_letter(letter)
						    : letter);
	if (!err)
		err = parse_operands(out, argc - optind, argv + optind);
	return err;
}

void fs_mount_options_fini(struct fs_options *options)
{
	fs_option_fini(options);
	free(options->source);
	free(options->mountpoint);
	free(options->kernel);
	free(options->own);
	free(options->mount_namespace);
	*options = (struct fs_options){0};
}

static const char call[] =
	"usage: bloscfs [options] SOURCE MOUNTPOINT\n"
	"\n"
	"Shows Blosc2 frames as plain files.  SOURCE is a frame, or a "
	"directory\n"
	"with frames in it, or a URL.  New files in a directory become "
	"frames.\n"
	"\n"
	"  -f           stay in the foreground\n"
	"  -d           like -f, and log every request\n"
	"  -s           one thread\n"
	"  -v, -q       more messages; errors only\n"
	"  -V           versions\n"
	"  -h, --help   this text; with all options\n"
	"  -o OPT,...   options";

/* Fits on 24 lines, with the text above. */
static const char common[] =
	", some of which are:\n"
	"\n"
	"  ro                     read-only\n"
	"  allow_other            other users may use the mount\n"
	"  cachesize=SIZE         decoded data to keep (512m, or 1/8 of "
	"memory)\n"
	"  direct_io              do not use the kernel's cache\n"
	"  sync                   closing a file makes it durable\n"
	"  codec=NAME, clevel=N   of new files (zstd, auto)\n"
	"\n"
	"All of them: bloscfs --help, man bloscfs.  Unmount: bloscctl umount "
	"MOUNTPOINT\n";

void fs_mount_options_usage(bool has_options)
{
	fputs(call, stdout);
	if (!has_options) {
		fputs(common, stdout);
		return;
	}
	fputs(":\n\n", stdout);
	fs_option_help(stdout);
	fputs("\nUnmount: bloscctl umount MOUNTPOINT\n", stdout);
}

void fs_mount_options_version(void)
{
	printf("bloscfs %s\n", B2F_VERSION);
	printf("libfuse %s (built for %d.%d)\n", fuse_pkgversion(),
	       FUSE_MAJOR_VERSION, FUSE_MINOR_VERSION);
	printf("lz4 %s\n", b2f_codec_lz4_version());
	printf("zstd %s\n", b2f_codec_zstd_version());
	printf("zlib %s\n", b2f_codec_zlib_version());
	printf("codecs: %s\n", b2f_codecs());
	/* Requests are read with read(2). */
	printf("features: %s -io_uring +passthrough\n", b2f_features());
}
