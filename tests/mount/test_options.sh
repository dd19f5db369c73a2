#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The command line: errors with one line and the right exit code, names with
# commas, spaces and backslashes, and the options that change something.
. "$(dirname "$0")/lib.sh"

mkdir mnt src
make_frame src/a.b2frame a.raw
echo text >text

# refused STATUS WORD ARG...: fails with one line that has WORD, and mounts
# nothing.
refused() {
	local want=$1 word=$2

	shift 2
	expect "$want" "$bloscfs" "$@"
	[ "$(wc -l <out)" -eq 1 ] || {
		cat out >&2
		fail "more than one line: $*"
	}
	grep -qF -- "$word" out || {
		cat out >&2
		fail "'$word' is not named: $*"
	}
	grep -q '^bloscfs: ' out || fail "no 'bloscfs:' in front: $*"
	[ -z "$(mounts)" ] || fail "mounted: $*"
}

for f in "" -f; do
	refused 1 SOURCE $f
	refused 1 MOUNTPOINT $f src
	refused 1 "more than" $f src mnt mnt
	refused 1 nonsense $f src mnt -o ro,nonsense,noauto
	refused 1 nonsense $f src mnt -o nonsense=3
	for wrong in commit=x commit=1.5 commit=5d codec=snappy codec=ndlz codec= clevel=10 clevel=-1 \
		filter=blur filter=shuffle+ filter= filter=trunc_prec \
		typesize=x typesize=300 chunksize=0 chunksize=3g \
		chunksize=1k,blocksize=2k dirtysize=x writeback_cache=1 \
		locking,nolocking; do
		name=${wrong##*,}
		refused 1 "${name%%=*}" $f src mnt -o $wrong
	done
	refused 1 cachesize $f src mnt -o cachesize
	for size in 12q 1mm 1mb 1MiBs 1iB -1 "" 0x10 9999999999999999999 9999999999g; do
		refused 1 cachesize $f src mnt -o "cachesize=$size"
	done
	refused 1 umask $f src mnt -o umask=8
	refused 1 uid $f src mnt -o uid=no-such-user
	refused 1 gid $f src mnt -o gid=no-such-group
	refused 1 'did you mean cachesize?' $f src mnt -o cachsize=1m
	refused 1 'did you mean nosuid?' $f src mnt -o nosiud
	refused 1 'npy=off' $f src mnt -o nonpy
	refused 1 'SOURCE/DIRECTORY' $f src mnt -o subdir=x
	refused 1 'hidden, list or off' $f src mnt -o npy=maybe
	refused 1 'blosclz, lz4' $f src mnt -o codec=snappy
	refused 1 'as 5, 5s' $f src mnt -o commit=5d
	refused 1 'octal' $f src mnt -o umask=9
	refused 1 'SOURCE is no URL' $f src mnt -o no_sign_request
	refused 1 loglevel $f src mnt -o loglevel=loud
	refused 1 npy $f src mnt -o npy=maybe
	refused 1 attr_timeout $f src mnt -o attr_timeout=-1
	refused 1 allow_other $f src mnt -o allow_other=1
	refused 1 z $f -z src mnt
	refused 3 nowhere $f nowhere mnt
	refused 3 "No such file" $f nowhere mnt
	refused 3 text $f text mnt
	refused 3 fifo $f fifo mnt
	refused 2 nopoint $f src nopoint
	refused 2 text $f src text
	refused 5 nodir $f src mnt -o logfile=nodir/log
	refused 5 nodir $f src mnt -o statsfile=nodir/stats
	refused 5 nodir $f src mnt -o statsfile=nodir/
	refused 1 timeout $f src mnt -o timeout=x
	[ -e fifo ] || mkfifo fifo
done
refused 2 fifo src fifo

# The refusal of a damaged frame names the damage.
cp -r src/a.b2frame bad.b2frame
truncate -s 20 bad.b2frame/chunks.b2frame
refused 3 bad.b2frame bad.b2frame mnt
: >bad.b2frame/chunks.b2frame
refused 3 bad.b2frame bad.b2frame mnt
rm bad.b2frame/chunks.b2frame
mkdir bad.b2frame/chunks.b2frame
refused 3 bad.b2frame bad.b2frame mnt

expect 0 "$bloscfs" -V
for name in bloscfs libfuse lz4 zstd zlib; do
	grep -q "^$name [0-9]" out || fail "version of $name"
done
grep -qx "codecs: blosclz lz4 lz4hc zlib zstd" out || fail "codecs"
grep -qxE "features: [+-]http [+-]s3 -io_uring [+]passthrough" out ||
	fail "features"
expect 0 "$bloscfs" --version
expect 0 "$bloscfs" -h
grep -q cachesize out || fail "help"
[ "$(wc -l <out)" -le 24 ] || fail "-h is more than one screen"
[ "$(wc -L <out)" -le 80 ] || fail "-h is wider than a screen"
expect 0 "$bloscfs" --help
grep -q statsfile= out || fail "--help has not all options"

# No /dev/fuse: a mount namespace of its own hides it.
cat >nodev.sh <<'END'
mount -t tmpfs none /dev && exec "$0" src mnt
END
expect 4 unshare -m sh -c "$(cat nodev.sh)" "$bloscfs"
grep -q /dev/fuse out || fail "/dev/fuse is not named"
grep -q 'docker run --device /dev/fuse --cap-add SYS_ADMIN' out ||
	fail "what a container needs is not told: $(cat out)"
# A container that has the device, but may not open it.
cat >barred.sh <<'END'
mount -t tmpfs none /dev && mknod -m 0 /dev/fuse c 10 229 &&
	exec setpriv --bounding-set=-all --inh-caps=-all "$0" src mnt
END
expect 4 unshare -m sh -c "$(cat barred.sh)" "$bloscfs"
grep -q '/dev/fuse: Permission denied .*docker run --device /dev/fuse' out ||
	fail "a device that may not be opened: $(cat out)"
# Root of a container that may not mount.
if [ "$(id -u)" = 0 ]; then
	expect 4 setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin \
		"$bloscfs" src mnt
	grep -q 'CAP_SYS_ADMIN (in a container: docker run --device' out ||
		fail "what a container needs is not told: $(cat out)"
fi
[ "$(wc -l <out)" -eq 1 ] || fail "more than one line"

# No fusermount3, and not root.
chmod 755 "$work"
cat >nohelper.sh <<'END'
for dir in /usr/bin /usr/local/bin /bin; do
	[ ! -e $dir/fusermount3 ] || mount --bind /dev/null $dir/fusermount3
done
mount -t tmpfs none mnt && chmod 777 mnt
exec setpriv --reuid 12345 --clear-groups "$0" src mnt
END
cp "$bloscfs" copy_of_bloscfs
expect 4 unshare -m sh -c "$(cat nohelper.sh)" "$work/copy_of_bloscfs"
grep -q "package fuse3" out || fail "the package is not named"

# Options that mount(8) hands on, behind the operands.
start_fs src mnt -o rw,noexec,nosuid,nodev,auto,noauto,nofail,_netdev,users \
	-o x-systemd.automount,user=me,defaults,quiet,relatime,nodiratime
cmp mnt/a a.raw
grep -F " $work/mnt " /proc/mounts | grep -q 'rw,.*noexec' || fail noexec
grep -q 'read-only' log && fail "read-only: $(cat log)"
stop_fs mnt

# Names.
for odd in 'with space' 'with,comma' 'back\slash' 'a,b\,c\\ d' "quote'" 'ü' \
	$'new\nline'; do
	mkdir "$odd" "m$odd"
	cp -r src/a.b2frame "$odd/x.b2frame"
	"$bloscfs" "$odd" "m$odd"
	cmp "m$odd/x" a.raw
	[ "$(findmnt -n -o SOURCE "$work/m$odd" 2>/dev/null || :)" != none ]
	umount "m$odd"
	touch "file $odd"
	"$bloscfs" "$odd/x.b2frame" "file $odd"
	cmp "file $odd" a.raw
	umount "file $odd"
done
start_fs src mnt -o 'fsname=one\,two three,subtype=other'
grep -q '^one,two\\040three .* fuse.other ' /proc/mounts || fail fsname
stop_fs mnt

# Everything that is accepted at least mounts and reads.
for o in cachesize=1m cachesize=64M,workers=1 workers=3,readahead=0 \
	readahead=4m direct_io attr_timeout=0,entry_timeout=0 \
	attr_timeout=0.5,entry_timeout=100 npy=off,xattr=list \
	loglevel=debug allow_other allow_root default_permissions \
	cachesize=64MiB,readahead=512KIB commit=5s commit=1m codec=ZSTD \
	filter=BitShuffle uid=daemon,gid=daemon nonempty,silent \
	auto_cache,max_read=131072,user_id=0,group_id=0 dirsync \
	commit=0 commit=60,sync async dirtysize=1m seal noseal locking \
	nolocking writeback_cache codec=lz4,clevel=1 filter=none \
	filter=shuffle+bytedelta,typesize=8 typesize=auto \
	chunksize=64k,blocksize=4k blocksize=auto auto_unmount; do
	start_fs src mnt -o "$o"
	cmp mnt/a a.raw
	cmp mnt/a a.raw
	[ "$o" = auto_unmount ] || stop_fs mnt
done
# Killed with auto_unmount, it leaves nothing behind.
kill -9 "$pid"
wait "$pid" || :
wait_until eval '[ -z "$(mounts)" ]' || fail auto_unmount
