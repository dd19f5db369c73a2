#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bloscfs as mount(8) runs it, and through mount(8) itself: options, exit
# status, remount, namespaces; timers and signals of its caller.
. "$(dirname "$0")/lib.sh"

mkdir mnt src
make_frame src/a.b2frame a.raw
ln -s "$bloscfs" mount.bloscfs
helper=$work/mount.bloscfs

# fails STATUS WORD ARG...: it fails so, and mounts nothing.
fails() {
	local want=$1 word=$2

	shift 2
	expect "$want" timeout 20 "$@"
	grep -qF -- "$word" out || fail "'$word' is not said: $(cat out)"
	[ -z "$(mounts)" ] || fail "mounted: $*"
}

# Faked: all is checked, nothing is mounted.
expect 0 timeout 20 "$helper" "$work/src" "$work/mnt" -f -n -v -o rw,noauto
[ -z "$(mounts)" ] || fail "a faked mount"
fails 1 nonsense "$helper" src mnt -f -o nonsense
expect 0 timeout 20 "$helper" src mnt -s -f -o nonsense,rw
fails 32 nowhere "$helper" nowhere mnt -o rw
fails 32 nopoint "$helper" src nopoint -t bloscfs -o rw
fails 1 MOUNTPOINT "$helper" src

# remount changes options of the mount itself; all others stay.
flags() {
	awk -v dir="$work/mnt" '$2 == dir { print $4 }' /proc/mounts
}

"$helper" "$work/src" "$work/mnt" -n -o rw,nosuid,noexec
cmp mnt/a a.raw
"$helper" "$work/src" "$work/mnt" -o remount,ro
[[ $(flags) == ro,nosuid,nodev,noexec,* ]] || fail "remount,ro: $(flags)"
touch mnt/new 2>/dev/null && fail "a read-only mount is written to"
"$helper" "$work/src" "$work/mnt" -o "$(flags),remount,rw,exec"
[[ $(flags) == rw,nosuid,nodev,* && $(flags) != *noexec* ]] ||
	fail "remount,rw: $(flags)"
echo text >mnt/new
# Fixed options may be repeated, as mount(8) does with lines of fstab.
for asked in cachesize=64m uid=5 npy=list; do
	expect 32 "$helper" "$work/src" "$work/mnt" -o "remount,rw,$asked"
	grep -q "cannot change $asked" out || fail "remount,$asked: $(cat out)"
done
umount mnt
"$helper" src mnt -o rw,cachesize=64m,npy=list,allow_root
"$helper" "$work/src" "$work/mnt" -o \
	"$(flags),remount,ro,npy=list,cachesize=64m,allow_other"
[[ $(flags) == ro,* ]] || fail "remount of what is so already: $(flags)"
expect 32 "$helper" "$work/src" "$work/mnt" -o remount,cachesize=65m
umount mnt
"$bloscfs" src mnt -o ro
expect 32 "$helper" src mnt -o remount,rw
grep -q 'mounted read-only' out || fail "remount,rw of a read-only mount"
umount mnt
fails 32 'no bloscfs' "$helper" src mnt -o remount,ro

# mount(8) runs helpers in /sbin; a namespace puts ours there.
cat >by_mount.sh <<'END'
set -e
sbin=$(readlink -f /sbin)
mkdir up
mount -t tmpfs none up
mkdir up/upper up/work
mount -t overlay none \
	-o "lowerdir=$sbin,upperdir=up/upper,workdir=up/work" "$sbin"
cp -P mount.bloscfs "$sbin"
ln -s mount.bloscfs "$sbin/mount.fuse.bloscfs"
timeout 20 mount -f -t bloscfs "$PWD/src" "$PWD/mnt"
! grep -q "$PWD/mnt" /proc/mounts
timeout 20 mount -s -t bloscfs "$PWD/src" "$PWD/mnt" -o nonsense,nodev
cmp mnt/a a.raw
timeout 20 mount -o remount,cachesize=65m "$PWD/mnt" 2>said && exit 1
grep -q 'cannot change cachesize=65m' said
timeout 20 mount -o remount,ro "$PWD/mnt"
grep " $PWD/mnt " /proc/mounts | grep -q ' ro,'
umount "$PWD/mnt"
# The fstab lines of the manual page, with paths of this test.
sed -n "s,^/data/x.b2frame *\S*,$PWD/src/a.b2frame $PWD/mx,p
	s,^/data/store *\S*,$PWD/src $PWD/ms,p" "$B2F_SOURCE/docs/bloscfs.1" >fstab
[ "$(wc -l <fstab)" = 2 ]
mkdir mx ms
chmod 755 .
for at in mx ms; do
	timeout 20 mount -T fstab "$PWD/$at"
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		cmp "$at/a" a.raw
	umount "$PWD/$at"
done
END
expect 0 unshare -m bash by_mount.sh

# Another mount namespace.
unshare -m sleep 60 &
other=$!
wait_until eval '[ "$(readlink /proc/$other/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ]'
"$helper" "$work/src" "$work/mnt" -N "$other"
[ -z "$(mounts)" ] || fail "mounted in this namespace"
nsenter -t "$other" -m cmp "$work/mnt/a" "$work/a.raw"
nsenter -t "$other" -m umount "$work/mnt"
kill "$other"
fails 32 /proc/ "$helper" src mnt -N 999999999

# A timer set by the caller does not end the mount; QUIT does.
"$B2F_PYTHON" -c 'import os, signal, sys
signal.alarm(1)
os.execv(sys.argv[1], sys.argv[1:])' "$bloscfs" -f -v src mnt 2>log &
pid=$!
pids+=("$pid")
wait_until is_mounted "$work/mnt"
sleep 1.2
cmp mnt/a a.raw || fail "ended by SIGALRM"
kill -QUIT "$pid"
wait "$pid" || fail "SIGQUIT: status $?"
[ -z "$(mounts)" ] || fail "still mounted after SIGQUIT"
grep -q 'is unmounted' log || fail "the end is not in the log"

# After a failed mount no message tells of an unmount.
expect 3 "$bloscfs" -v nowhere mnt
! grep -q unmounted out || fail "unmounted, though it never was mounted"
