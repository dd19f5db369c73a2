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

/* Fits, with what is above, on 24 lines. */
static const char common[] =
	", some of which are:\n"
	"\n"
	"  ro                     read-only\n"
	"  allow_other            other users may use the mount\n"
	"  cachesize=SIZE         decoded data to keep (512m, or 1/8 of memory)\n"
	"  direct_io              do not use the kernel's cache (no mmap)\n"
	"  sync                   closing a file makes it durable\n"
	"  codec=NAME, clevel=N   of new files (zstd, auto)\n"
	"\n"
	"All of them: bloscfs --help, man bloscfs.  Unmount: bloscctl umount MOUNTPOINT\n";

static const char options[] =
	":\n"
	"\n"
	"access\n"
	"  ro                    read-only\n"
	"  uid=N gid=N           owner of everything (numbers or names)\n"
	"  umask=N fmask=N dmask=N\n"
	"                        permission bits to take away (octal)\n"
	"  allow_other           other users may use the mount\n"
	"  allow_root            root may use the mount\n"
	"  auto_unmount          unmount also if bloscfs is killed\n"
	"cache (sizes take k, m, g, t, KiB, MiB, ...; times s, m, h)\n"
	"  cachesize=SIZE        decoded data to keep (512m, or 1/8 of memory)\n"
	"  workers=N             threads that decode (one for each core)\n"
	"  readahead=SIZE        how far to decode ahead (4m per worker; 0: not at all)\n"
	"  dirtysize=SIZE        written data to keep in memory (1/4 of cachesize)\n"
	"  writeback_cache       the kernel collects writes (many small ones "
	"get\n"
	"                        faster; changes by others are not seen at "
	"once)\n"
	"  direct_io             do not use the kernel's cache (no mmap)\n"
	"  attr_timeout=S        how long attributes may be out of date (1)\n"
	"  entry_timeout=S       how long names may be out of date (1)\n"
	"write\n"
	"  commit=S              seconds until written data are durable (5)\n"
	"  sync                  closing a file makes it durable\n"
	"  locking, nolocking    take part in C-Blosc2's locks: always, never\n"
	"                        (default: if a frame has a .b2lock)\n"
	"compression of new files\n"
	"  codec=NAME            blosclz, lz4, lz4hc, zlib or zstd (zstd)\n"
	"  clevel=N              0 to 9, or auto: 3, and 1 while writers wait (auto)\n"
	"  filter=NAME+...       none, or shuffle, bitshuffle, delta, bytedelta in the\n"
	"                        order in which they are applied (shuffle)\n"
	"  typesize=N            bytes of an item, or auto: by the first data (auto)\n"
	"  chunksize=SIZE        bytes that are compressed together (1m)\n"
	"  small=SIZE            largest new file that is stored as one file\n"
	"                        (64k; 0: none)\n"
	"  blocksize=SIZE        bytes that are decoded together, or auto (64k)\n"
	"integrity and view\n"
	"  seal, noseal          write checksums, or not (seal)\n"
	"  npy=hidden|list|off   x.npy, a view of an array x with a header: not\n"
	"                        listed, listed, or absent (hidden)\n"
	"  xattr=hidden|list|off user.blosc2.*, which describe a frame: not listed,\n"
	"                        listed, or no extended attributes at all (hidden)\n"
	"SOURCE as s3://BUCKET/PREFIX or a URL of a frame (read-only)\n"
	"  endpoint=URL          the server (AWS_ENDPOINT_URL, ~/.aws/config, "
	"AWS)\n"
	"  region=NAME           (AWS_REGION, ~/.aws/config, us-east-1)\n"
	"  profile=NAME          of ~/.aws (AWS_PROFILE, default)\n"
	"  pathstyle             the bucket in the path, not in the host's name\n"
	"  no_sign_request       take no keys: for public buckets\n"
	"  request_payer         pay for requests to buckets of others\n"
	"  sse=KIND              encrypt new objects: AES256, aws:kms\n"
	"  sse_kms_key=ID        with this key of the server\n"
	"  sse_c_key=FILE        encrypt all objects with the key in FILE\n"
	"  refresh=S             seconds for which an index counts as current (5)\n"
	"  retry=S               seconds to repeat a request that fails (180)\n"
	"  cachedir=DIR          keep compressed data there, for later mounts too\n"
	"  cachedirsize=SIZE     largest size of DIR (10g)\n"
	"daemon\n"
	"  loglevel=error|warning|info|debug\n"
	"  logfile=FILE          instead of stderr or syslog\n"
	"  statsfile=FILE        statistics as JSON, at most 10 s old; for Prometheus,\n"
	"                        if FILE ends with .prom\n"
	"  timeout=S             unmount after S seconds without use (0: never)\n"
	"  fsname=NAME           source that mount(8) lists\n"
	"  subtype=NAME          type that mount(8) lists, behind \"fuse.\"\n"
	"\n"
	"Unmount: bloscctl umount MOUNTPOINT\n";

void fs_usage_help(void)
{
	fputs(call, stdout);
	fputs(common, stdout);
}

void fs_usage_options(void)
{
	fputs(call, stdout);
	fputs(options, stdout);
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
	/* Requests come by read(2), and data are ours to decode. */
	printf("features: %s -io_uring -passthrough\n", b2f_features());
}
