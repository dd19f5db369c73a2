#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A mounted directory: names, collisions, files that are no frames.
. "$(dirname "$0")/lib.sh"

mkdir src mnt
make_frame one.b2frame one.raw nbytes=100000
make_frame flat.b2 flat.raw kind=contiguous nbytes=100000 seed=1
frame() { cp -r one.b2frame "src/$1"; }
flat() { cp flat.b2 "src/$1"; }

frame plain.b2frame
flat contiguous.b2f
frame no_suffix_sparse
flat no_suffix_flat
frame taken.b2frame
echo taken >src/taken
frame two.b2frame
flat two.b2
frame folder.b2nd
mkdir src/folder
frame .b2frame
frame ..b2frame
flat ...b2
frame double.b2nd.b2frame
echo text >src/text.b2frame
mkdir src/dir.b2frame
frame beside.b2frame
echo text >src/beside.b2f
frame .hidden.b2frame
frame "with space, and comma.b2frame"
mkdir -p src/nested/deeper
frame nested/deeper/inner.b2frame
echo passed >src/other
ln -s other src/link
ln -s nowhere src/broken
ln -s "$work/one.raw" src/outside
ln -s loop src/loop
mkfifo src/fifo
"$B2F_PYTHON" -c 'import socket; socket.socket(socket.AF_UNIX).bind("src/sock")'
mknod src/device c 1 3
mkdir -m 700 src/private
long=$(printf 'x%.0s' $(seq 255))
echo long >"src/$long"

start_fs src mnt -o ro
ls -A mnt | sort >names
sort >expected <<END
plain
contiguous
no_suffix_sparse
no_suffix_flat
taken
taken.b2frame
two.b2frame
two.b2
folder
folder.b2nd
.b2frame
..b2frame
...b2
double.b2nd
text.b2frame
dir.b2frame
beside
beside.b2f
.hidden
with space, and comma
nested
other
link
broken
outside
loop
fifo
sock
device
private
$long
END
diff expected names

for name in plain no_suffix_sparse taken.b2frame two.b2frame folder.b2nd \
	.b2frame ..b2frame double.b2nd beside .hidden \
	"with space, and comma" nested/deeper/inner; do
	cmp "mnt/$name" one.raw
	[ -f "mnt/$name" ] || fail "$name is no file"
done
for name in contiguous no_suffix_flat two.b2 ...b2; do
	cmp "mnt/$name" flat.raw
done

# Frames have one name only, and no other names exist.
for name in plain.b2frame contiguous.b2f two double.b2nd.b2frame double \
	nested/deeper/inner.b2frame plain.b2 text dir nothing; do
	[ ! -e "mnt/$name" ] || fail "$name must not be there"
done
# Each listed name can be found, and has the listed type and number.
"$B2F_PYTHON" - <<'END'
import os, stat
for top, dirs, files in os.walk("mnt"):
    for e in os.scandir(top):
        st = e.stat(follow_symlinks=False)
        assert st.st_ino == e.inode(), e.path
        assert e.is_dir(follow_symlinks=False) == stat.S_ISDIR(st.st_mode)
        assert e.is_symlink() == stat.S_ISLNK(st.st_mode), e.path
END

[ "$(cat mnt/taken)" = taken ] && [ "$(cat mnt/other)" = passed ] &&
	[ "$(cat mnt/link)" = passed ] && [ "$(cat "mnt/$long")" = long ] &&
	[ "$(cat mnt/text.b2frame mnt/beside.b2f | sort -u)" = text ] ||
	fail "a plain file"
[ "$(readlink mnt/broken)" = nowhere ] && [ -L mnt/loop ] || fail "links"
cmp mnt/outside one.raw
expect 1 cat mnt/loop
[ -p mnt/fifo ] && [ -S mnt/sock ] && [ -c mnt/device ] && [ -d mnt/folder ] ||
	fail "types"
[ "$(stat -c %t:%T mnt/device)" = 1:3 ] || fail "device numbers"
[ "$(stat -c %a mnt/private)" = 700 ] || fail "mode"
# The kernel serves a FIFO: bytes written to it come out of it.
(timeout 5 sh -c 'echo through >mnt/fifo' &)
[ "$(timeout 5 cat mnt/fifo)" = through ] || fail "fifo"

# Foreign changes are visible at once by name, or after a second.
frame late.b2frame
cmp mnt/late one.raw
rm -r src/late.b2frame
sleep 1.2
[ ! -e mnt/late ] || fail "late is gone"
mv src/nested/deeper src/moved
sleep 1.2
cmp mnt/moved/inner one.raw
[ ! -e mnt/nested/deeper ] || fail "deeper was moved"
echo rather >src/plain
sleep 1.2
[ "$(cat mnt/plain)" = rather ] || fail "plain is another file now"
cmp mnt/plain.b2frame one.raw

# SEEK_HOLE and SEEK_DATA of other files are those of the backing file.
truncate -s 1m src/holes
printf x | dd of=src/holes bs=1 seek=500000 conv=notrunc status=none
"$B2F_PYTHON" - <<'END'
import os
def where(path):
    with open(path, "rb") as f:
        return [os.lseek(f.fileno(), o, w) for w in (os.SEEK_DATA, os.SEEK_HOLE)
                for o in (0, 400000, 499999)]
assert where("src/holes") == where("mnt/holes")
END
cmp src/holes mnt/holes

[ "$(stat -f -c %l mnt)" = $(($(stat -f -c %l src) - 8)) ] || fail "namemax"
[ "$(stat -f -c %b mnt)" = "$(stat -f -c %b src)" ] || fail "statfs"
grep -F " $work/mnt " /proc/mounts | grep -q ' fuse.bloscfs ro,' ||
	fail "not read-only"
stop_fs mnt

start_fs src mnt -o uid=12,gid=34,umask=027,dmask=077
[ "$(stat -c %u:%g:%a mnt/moved/inner)" = 12:34:640 ] || fail "uid, umask"
[ "$(stat -c %u:%g:%a mnt/moved)" = 12:34:700 ] || fail "dmask"
stop_fs mnt

# A frame's directory that users may not enter.
for mode in 700 711 750 751 755 000; do
	frame "mode$mode.b2frame"
	chmod 644 "src/mode$mode.b2frame/chunks.b2frame"
	chmod "$mode" "src/mode$mode.b2frame"
done
frame stranger.b2frame
chmod 666 src/stranger.b2frame/chunks.b2frame
chown 12:34 src/stranger.b2frame/chunks.b2frame
chmod 711 src/stranger.b2frame
frame closed.b2frame
chown 12:34 src/closed.b2frame/chunks.b2frame
chmod 700 src/closed.b2frame
start_fs src mnt -o allow_other
[ "$(stat -c %a mnt/mode{700,711,750,751,755,000} | xargs)" = \
	"600 644 640 644 644 0" ] || fail "modes of frames"
[ "$(stat -c %a mnt/stranger mnt/closed | xargs)" = "666 0" ] ||
	fail "modes of frames with two owners"
chmod 755 "$work"
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
as_nobody cmp mnt/mode711 one.raw
as_nobody cat mnt/mode700 >/dev/null 2>&1 && fail "mode700 is readable"
as_nobody cat mnt/closed >/dev/null 2>&1 && fail "closed is readable"
cmp mnt/mode700 one.raw
cmp mnt/mode000 one.raw
stop_fs mnt

# Another filesystem inside, whose inode numbers may be the same.
mkdir src/inside other
mount -t tmpfs none src/inside
cp -r one.b2frame src/inside/a.b2frame
cp flat.b2 src/inside/b.b2
start_fs src mnt
cmp mnt/inside/a one.raw
cmp mnt/inside/b flat.raw
[ "$(find mnt -type f -printf '%i\n' | sort | uniq -d | wc -l)" = 0 ] ||
	fail "two files with one number"
stop_fs mnt
umount src/inside
