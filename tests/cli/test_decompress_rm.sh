#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_decompress_rm.sh - bloscctl decompress --rm: nothing is ever lost
. "$(dirname "$0")/lib.sh"

mkdir full
(cd full && frames small.b2frame flat.b2frame zlib.b2frame at_offset.bin)

# fresh NAME...: a copy of each frame, and no output.
fresh() {
	local name

	for name; do
		rm -rf "$name" "${name%.b2frame}"
		cp -r "full/$name" "$name"
	done
}

fresh small.b2frame flat.b2frame
touch small.b2frame/.b2lock
touch small.b2frame/000000FF.chunk
runs 0 decompress --rm small.b2frame flat.b2frame
is_silent
absent small.b2frame flat.b2frame
same small full/small.b2frame.data
same flat full/flat.b2frame.data

# -k cancels --rm; the last one counts.
fresh small.b2frame
runs 0 decompress --rm -k small.b2frame
exists small.b2frame
runs 0 decompress -f -k --rm small.b2frame
absent small.b2frame

# No result goes where a chunk may be: it would be removed with the frame.
fresh small.b2frame
for command in decompress convert; do
	for place in 00000000.chunk 0000000f.chunk; do
		runs 1 "$command" -f --rm -o "small.b2frame/$place" small.b2frame
		says_on_stderr "^bloscctl: small.b2frame/$place: its directory is a"
		errors 1
	done
done
runs 0 verify small.b2frame

# The output is durable before the source is removed: file, name, removal. (The
# leak sanitizer cannot work below strace.)
fresh small.b2frame
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 strace -f -o trace -e trace=fsync,rename,renameat2,unlink,unlinkat,rmdir \
	"$bloscctl" decompress --rm small.b2frame
sed -i -E '/ = -1 /d; s/unlinkat(.*AT_REMOVEDIR)/rmdir\1/' trace
sed -nE 's/^[0-9]+ +(fsync|rename|unlink|rmdir).*/\1/p' trace | uniq >order
# (The first rmdir removes the directory in which the file was made.)
printf '%s\n' fsync rename fsync rmdir unlink rmdir >want
same order want
grep -m1 unlink trace | grep -q chunks.b2frame || die "the index did not go first"

# kept REASON FRAME: --rm writes the output, but keeps FRAME and says why.
kept() {
	runs 1 decompress -f --rm "$2"
	says_on_stderr "^bloscctl: $2: not removed: $1"
	errors 1
	exists "$2"
	same "${2%.b2frame}" "full/small.b2frame.data"
}

for stray in notes.txt 000000aa.chunk 000000001.chunk 80000000.chunk \
	chunks.b2frame.tmp; do
	fresh small.b2frame
	touch "small.b2frame/$stray"
	kept 'it holds other files too' small.b2frame
	exists small.b2frame/{chunks.b2frame,00000000.chunk,$stray}
done
fresh small.b2frame
mkdir small.b2frame/000000AA.chunk
kept 'it holds other files too' small.b2frame
fresh small.b2frame
ln -s /etc/passwd small.b2frame/000000AA.chunk
kept 'it holds other files too' small.b2frame

fresh small.b2frame
rm -f link.b2frame
ln -s small.b2frame link.b2frame
runs 1 decompress --rm link.b2frame
says_on_stderr 'link.b2frame: not removed: it is a symbolic link'
exists link.b2frame small.b2frame/chunks.b2frame
rm link.b2frame

fresh flat.b2frame
echo more >>flat.b2frame
runs 1 decompress --rm flat.b2frame
says_on_stderr 'flat.b2frame: not removed: the file holds more than a frame'
exists flat.b2frame

# Data written to a pipe may be lost.
fresh small.b2frame
runs 0 decompress --rm -c small.b2frame
exists small.b2frame
runs 0 decompress --rm -o /dev/null small.b2frame
says_on_stderr 'not removed: /dev/null is no regular file'
exists small.b2frame

# A frame that does not decode stays.
fresh zlib.b2frame
flip zlib.b2frame/00000002.chunk 20000
runs 1 decompress --rm zlib.b2frame
exists zlib.b2frame/00000002.chunk
absent zlib
# A frame whose output cannot be written stays.
fresh small.b2frame
mkdir small
runs 1 decompress -f --rm small.b2frame
exists small.b2frame/chunks.b2frame
rmdir small
echo precious >small
runs 1 decompress --rm small.b2frame
exists small.b2frame/chunks.b2frame
no_litter
