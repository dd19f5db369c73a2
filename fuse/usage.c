/* SPDX-License-Identifier: BSD-3-Clause */
/* usage.c - what -h and -V print */
#include <stdio.h>

#include "b2frame/names.h"
#include "b2frame/version.h"
#include "fuse_api.h"
#include "mount_options.h"

static const char call[] =
	"usage: bloscfs [options] SOURCE MOUNTPOINT\n"
	"\n"
	"Shows Blosc2 frames as plain files.  SOURCE is a frame, or a "
	"directory\n"
	"with frames in it, or a URL.  New files in a directory become frames.\n"
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
	"  cachesize=SIZE         decoded data to keep (512m, or 1/8 of memory)\n"
	"  direct_io              do not use the kernel's cache\n"
	"  sync                   closing a file makes it durable\n"
	"  codec=NAME, clevel=N   of new files (zstd, auto)\n"
	"\n"
	"All of them: bloscfs --help, man bloscfs.  Unmount: bloscctl umount MOUNTPOINT\n";

void fs_usage_help(void)
{
	fputs(call, stdout);
	fputs(common, stdout);
}

void fs_usage_options(void)
{
	fputs(call, stdout);
	fputs(":\n\n", stdout);
	fs_option_help(stdout);
	fputs("\nUnmount: bloscctl umount MOUNTPOINT\n", stdout);
}

void fs_usage_version(void)
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
