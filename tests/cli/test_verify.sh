#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_verify.sh - bloscctl verify
. "$(dirname "$0")/lib.sh"

frames small.b2frame flat.b2frame zlib.b2frame array.b2nd mixed.b2frame \
	empty.b2frame meta.b2frame at_offset.bin

runs 0 verify small.b2frame flat.b2frame empty.b2frame
says '^small\.b2frame: ok, 11 chunks, 641\.0 KiB, 11 unsealed$'
says '^flat\.b2frame: ok, 11 chunks, 641\.0 KiB$'
says '^empty\.b2frame: ok, 0 chunks, 0 B$'
errors 0
runs 0 verify -T 1 small.b2frame
runs 0 verify -q small.b2frame
is_silent
runs 0 verify -v mixed.b2frame
says 'ok, 5 chunks, 320\.0 KiB, .* stored, ratio .*, 1 in the index alone$'
runs 0 verify --frame-offset 1000 at_offset.bin
says '^at_offset\.bin: ok, 3 chunks'

# verify -r checks every frame of a tree, and nothing else.
mkdir -p tree/a/b
cp -r small.b2frame tree/a
cp array.b2nd tree/a/b
cp flat.b2frame tree/noname
cp -r mixed.b2frame tree
echo hello >tree/text
ln -s /nonexistent tree/link
runs 0 verify -r tree
# Nor frames that a mount is about to delete.
cp -r small.b2frame tree/a/.bloscfs-deleted-new-1
truncate -s 20 tree/a/.bloscfs-deleted-new-1/chunks.b2frame
printf 'tree/%s\n' a/b/array.b2nd a/small.b2frame mixed.b2frame noname >want
cut -d: -f1 .out >got
same got want
(cd tree && "$bloscctl" verify -r .) | cut -d: -f1 >got
sed -i s,^tree/,, want
same got want
mkdir nothing
runs 0 verify -r nothing
says_on_stderr 'nothing: there is no frame in it'

# damage WHAT REGEX: after the command WHAT small.b2frame is damaged, and the
# message matches.
damage() {
	rm -rf bad.b2frame
	cp -r "${3:-small.b2frame}" bad.b2frame
	eval "$1"
	runs 1 verify bad.b2frame
	says '^bad\.b2frame: damaged'
	says_on_stderr "^bloscctl: bad\.b2frame: $2"
	errors 1
}
damage 'rm bad.b2frame/00000003.chunk' 'chunk 3 \(00000003\.chunk\): '
says '^bad\.b2frame: damaged, 11 chunks, 577\.0 KiB sound, 10 unsealed, 1 damaged$'
damage ': >bad.b2frame/00000003.chunk' 'chunk 3 '
damage 'truncate -s 100 bad.b2frame/00000000.chunk' 'chunk 0 '
damage 'rm bad.b2frame/00000003.chunk; ln -s /dev/zero bad.b2frame/00000003.chunk' \
	'chunk 3 '
damage 'rm bad.b2frame/00000003.chunk; mkdir bad.b2frame/00000003.chunk' \
	'chunk 3 '
damage 'cp bad.b2frame/00000000.chunk bad.b2frame/0000000A.chunk' \
	'chunk 10 \(0000000A\.chunk\): the chunk has 65536 bytes'
damage 'flip bad.b2frame/00000001.chunk 30000' 'chunk 1 ' zlib.b2frame
damage 'truncate -s -1 bad.b2frame/chunks.b2frame' ''
damage 'truncate -s 50 bad.b2frame/chunks.b2frame' ''
damage ': >bad.b2frame/chunks.b2frame' ''
damage 'truncate -s -1 bad.b2frame' '' flat.b2frame

# Each damage is one line, and all are found.
rm -rf bad.b2frame
cp -r small.b2frame bad.b2frame
rm bad.b2frame/0000000{2,4,6}.chunk
runs 1 verify bad.b2frame
errors 3
says ', 3 damaged$'
runs 1 verify -q bad.b2frame small.b2frame
errors 3
says '^bad\.b2frame: damaged'
if grep -q '^small' .out; then die "-q tells of sound frames"; fi

# Orphaned chunk files are no damage.
cp small.b2frame/00000000.chunk small.b2frame/00000077.chunk
: >small.b2frame/00000078.chunk
touch small.b2frame/.b2lock
runs 0 verify small.b2frame

# --deep reports orphans, and frames that C-Blosc2 would not open.
runs 0 verify --deep small.b2frame flat.b2frame
says '^small\.b2frame: ok, .*, 2 files that no index names \([0-9.]+ (KiB|B)\)$'
says '^flat\.b2frame: ok, 11 chunks, 641\.0 KiB$'
runs 0 verify --deep --json small.b2frame
says '"nleftovers": 2'
says '"suits_c_blosc2": true'
mkdir deep
"$B2F_PYTHON" - <<'END' || die "C-Blosc2 has another limit"
import blosc2
s = blosc2.SChunk(chunksize=1000, urlpath="deep/f.b2frame", mode="w",
                  contiguous=False, cparams={"typesize": 1})
for i in range(40):
    s.append_data(bytes([65 + i]) * 1000)
# The compressed size is at byte 39 of the index, behind a marker.
for told, opens in (71, True), (70, False):
    with open("deep/f.b2frame/chunks.b2frame", "r+b") as f:
        f.seek(39)
        f.write(told.to_bytes(8, "big"))
    try:
        blosc2.open("deep/f.b2frame")[:]
        opened = True
    except (RuntimeError, ValueError, blosc2.exceptions.MissingOperands):
        opened = False
    assert opened == opens, told
END
runs 1 verify deep/f.b2frame
says ', index tells of 70 stored bytes instead of 1640$'
runs 1 verify --deep -r deep
says '^deep/f\.b2frame: damaged, .*, C-Blosc2 cannot open it$'
# Ids grow with each insertion; nothing else is wrong with the frame.
"$B2F_PYTHON" - <<'END'
import blosc2
s = blosc2.SChunk(chunksize=100, urlpath="ids.b2frame", mode="w",
                  contiguous=False, cparams={"typesize": 1})
s.append_data(bytes(range(100)))
for _ in range(200):
    s.insert_data(0, bytes(range(100)), True)
    s.delete_chunk(1)
END
runs 0 verify ids.b2frame
runs 1 verify --deep ids.b2frame
# Chunks without files have no ids that could be too large.
"$B2F_PYTHON" - <<'END'
import blosc2
for shape in 0, 10, 1000:
    blosc2.zeros(shape, dtype="i4", chunks=(10,), urlpath=f"zeros-{shape}.b2nd",
                 mode="w", contiguous=False)
END
runs 0 verify --deep zeros-*.b2nd

# A frame that cannot be checked gives 2; damage (1) wins over it.
runs 2 verify missing.b2frame
runs 2 verify small.b2frame missing.b2frame
says '^small\.b2frame: ok'
says '^missing\.b2frame: not checked$'
runs 1 verify missing.b2frame bad.b2frame
runs 1 verify bad.b2frame missing.b2frame
runs 2 verify tree
says_on_stderr '^bloscctl: tree: a directory; add -r for what is in it$'
runs 2 verify tree/text
errors 1
runs 2 verify -r missing
errors 1
# In a tree a suffix tells that a file should be a frame.
cp tree/text tree/lost.b2frame
runs 2 verify -r tree
says '^tree/lost\.b2frame: not checked$'
rm tree/lost.b2frame
# A store has such a suffix, too; a frame that lost its index still has chunks.
mkdir -p tree/store.b2nd/sub tree/store.b2/sub.b2frame
cp -r small.b2frame tree/store.b2nd/sub
runs 0 verify -r tree
says '^tree/store\.b2nd/sub/small\.b2frame: ok'
cp -r small.b2frame tree/store.b2/lost.b2frame
rm tree/store.b2/lost.b2frame/chunks.b2frame
runs 2 verify -r tree
says '^tree/store\.b2/lost\.b2frame: not checked$'
rm -r tree/store.b2 tree/store.b2nd
cp -r bad.b2frame tree/a
runs 1 verify -r tree
says '^tree/a/bad\.b2frame: damaged'
says '^tree/noname: ok'

# A codec that is not built in.
cp -r zlib.b2frame plugin.b2frame
"$B2F_PYTHON" - <<'END'
for n in range(4):
    with open(f"plugin.b2frame/0000000{n}.chunk", "r+b") as f:
        head = bytearray(f.read(32))
        head[2] = head[2] & 0x1f | 6 << 5
        head[0x16] = 35
        f.seek(0)
        f.write(head)
END
runs 2 verify plugin.b2frame
says '^plugin\.b2frame: not checked, .*, 4 unsupported$'
says_on_stderr 'codec 35 \(zfp-rate\), a plugin, is not built in'
errors 4

# A frame without permission to read, as another user than root.
as_nobody=()
[ "$(id -u)" != 0 ] || as_nobody=(setpriv --reuid=65534 --clear-groups)
chmod 755 .
cp "$bloscctl" mine
bloscctl=./mine
"${as_nobody[@]}" "$bloscctl" --version >.out || die "cannot run it"
# refused REGEX: verify of secret.b2frame ends with 2, and the message matches.
refused() {
	status=0
	"${as_nobody[@]}" "$bloscctl" verify secret.b2frame \
		>.out 2>.err || status=$?
	[ "$status" = 2 ] || die "no permission: status $status"
	says_on_stderr "^bloscctl: secret\.b2frame: $1Permission denied$"
	errors 1
}
cp -r small.b2frame secret.b2frame
chmod 0 secret.b2frame/00000002.chunk
refused 'chunk 2 \(00000002\.chunk\): (open: )?'
says '^secret\.b2frame: not checked, 11 chunks, .*, 1 not readable$'
chmod 0 secret.b2frame/chunks.b2frame
refused '(open: )?'
rm -r secret.b2frame

# A name cannot forge the line of another frame.
bloscctl=$B2F_BUILD/bloscctl
mkdir forged
cp -r small.b2frame "forged/x
good.b2frame: ok"
runs 0 verify -r forged
says '^forged/x\\x0agood\.b2frame: ok: ok, '
grep -q '^good' .out && die "a forged line"
:

# Nor does a name hide a frame from verify silently.
cp -r small.b2frame forged/.bloscctl-0123456789abcdef
runs 0 verify -r forged
says_on_stderr 'forged/\.bloscctl-0123456789abcdef: skipped'
