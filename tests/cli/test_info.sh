#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_info.sh - bloscctl info
. "$(dirname "$0")/lib.sh"

frames small.b2frame flat.b2frame empty.b2frame meta.b2frame array.b2nd \
	mixed.b2frame at_offset.bin million.b2frame

# json EXPRESSION: it is true for the printed JSON, as x.
json() {
	"$B2F_PYTHON" -c 'import json, sys
x = json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), x' .out "$1" || die "not true: $1"
}

runs 0 info small.b2frame
errors 0
says '^small\.b2frame$'
says '^  storage +sparse'
says '^  decoded +641\.0 KiB \(656360 bytes\)$'
says '^  stored +.*, ratio [0-9]+\.[0-9][0-9]$'
says '^  chunks +11 of 64\.0 KiB \(65536 bytes\)$'
says '^  items +8 bytes$'
says '^  codec +zstd, level 5, blocks split'
says '^  filters +shuffle$'
says '^  metalayers +0; of variable length: 0$'

runs 0 info flat.b2frame
says '^  storage +contiguous'
runs 0 info empty.b2frame
says '^  decoded +0 bytes$'
says '^  chunks +0'
says 'ratio -$'

runs 0 info array.b2nd
says '^  array +shape \(20, 30\), chunks \(10, 10\), blocks \(5, 5\)$'
says '^  dtype +<f4$'
says '^  metalayers +1: b2nd;'

# A frame inside a file.
runs 0 info --frame-offset 1000 at_offset.bin
says '\(196608 bytes\)'
runs 1 info at_offset.bin
errors 1
runs 1 info --frame-offset 1t at_offset.bin
says_on_stderr '^bloscctl: at_offset.bin: the file ends before byte'

# Metalayers.
runs 0 info --meta meta.b2frame
says '^  meta +6 bytes  title: "water"$'
says '^  meta +1 bytes  answer: 42$'
says '^  meta +15 bytes  deep: \{"a": \[1, -2, 0\.5\]\}$'
says '^  vlmeta .* unit: "kelvin\\x1b\[31m"$'
says '^  vlmeta +5003 bytes  long: "x{160}"\.\.\.$'
says "^  vlmeta .* blob: h'000102[0-9a-f]+\.\.\.'$"
says '^  vlmeta .* yes: true$'
says '^  vlmeta .* nothing: null$'

# Chunks.
runs 0 info --chunks mixed.b2frame
says '^ +0  compressed  00000000\.chunk +65536 .* zstd +shuffle$'
says '^ +1  stored +00000001\.chunk +65536 +65568 +1\.00 '
says '^ +2  zeros +index +65536$'
runs 0 info --chunks flat.b2frame
says '^ +0  compressed  97 '

# JSON: one frame is an object, several are an array.
runs 0 info --json small.b2frame
json 'x["nbytes"] == 656360 and x["nchunks"] == 11'
json 'x["storage"] == "sparse" and x["codec"] == "zstd"'
json '"chunks" not in x'
runs 0 info --json --chunks mixed.b2frame
json '[c["kind"] for c in x["chunks"]][:3] == ["compressed", "stored", "zeros"]'
runs 0 info --json small.b2frame array.b2nd
json '[y["frame"] for y in x] == ["small.b2frame", "array.b2nd"]'
json 'x[1]["array"]["shape"] == [20, 30]'
runs 0 info --json meta.b2frame
json 'bytes.fromhex(x["metalayers"][0]["hex"]) == b"\xa5water"'

# A bad frame does not hide the others.
runs 1 info --json small.b2frame missing flat.b2frame
json 'len(x) == 3 and "No such file" in x[1]["error"]'
errors 1
runs 1 info --json missing missing
json '[y["source"] for y in x] == ["missing", "missing"]'
runs 1 info small.b2frame missing flat.b2frame
says '^flat\.b2frame$'
errors 1
runs 1 info /dev/null
errors 1
mkdir folder
runs 1 info folder
says_on_stderr '^bloscctl: folder: a directory; add -r for what is in it$'

# A missing chunk is a line in the table and one on stderr.
rm mixed.b2frame/00000001.chunk
runs 0 info mixed.b2frame
runs 1 info --chunks mixed.b2frame
says '^ +1  unreadable$'
says '^ +4  compressed '
says_on_stderr '^bloscctl: mixed\.b2frame: chunk 1 \(00000001\.chunk\): '
errors 1
runs 1 info --json --chunks mixed.b2frame
json '"error" in x["chunks"][1] and x["chunks"][4]["nbytes"] == 65536'

# A truncated index.
truncate -s 150 small.b2frame/chunks.b2frame
runs 1 info small.b2frame
says_on_stderr '^bloscctl: small\.b2frame: '
errors 1

# A frame of a million chunks: opening it reads no chunk; they are listed while
# they are read.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 strace -f -qq -o .calls -e trace=openat,pread64,read,newfstatat,statx \
	"$bloscctl" info million.b2frame >.out 2>.err
says '^  chunks +1000000 of 128 bytes$'
[ "$(wc -l <.calls)" -lt 1000 ] || die "$(wc -l <.calls) calls"
"$bloscctl" info --chunks million.b2frame 2>.err | head -n 100 >.out || :
[ "$(wc -l <.out)" = 100 ] || die "not 100 lines"
errors 0

# A name with control characters is escaped on a terminal only.
odd=$'od\e[31md.b2frame'
mv flat.b2frame "$odd"
runs 0 info "$odd"
grep -qF "$odd" .out || die "the name is not as it is"
on_terminal "$bloscctl info od*d.b2frame"
grep -qF 'od\x1b[31md.b2frame' .out || die "the name is not escaped"
