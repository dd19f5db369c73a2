#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_decompress.sh - bloscctl decompress
. "$(dirname "$0")/lib.sh"

frames small.b2frame flat.b2frame empty.b2frame holes.b2frame at_offset.bin \
	zlib.b2frame

# The output has the name without the suffix, in the same directory.
mkdir folder
for suffix in b2frame b2f b2 b2nd b2eframe; do
	cp -r small.b2frame "folder/x.$suffix"
	runs 0 decompress "folder/x.$suffix"
	is_silent
	same folder/x small.b2frame.data
	rm -r folder/x "folder/x.$suffix"
done
cp flat.b2frame folder/y.b2frame
cp -r small.b2frame folder/z.b2frame
runs 0 decompress folder/y.b2frame folder/z.b2frame/
same folder/y flat.b2frame.data
same folder/z small.b2frame.data
exists folder/y.b2frame folder/z.b2frame
for name in nosuffix .b2frame x.b2frame.old; do
	cp flat.b2frame "folder/$name"
	runs 1 decompress "folder/$name"
	says_on_stderr "^bloscctl: folder/$name: its name has no suffix"
	errors 1
done

# -o and -c.
runs 0 decompress -o out small.b2frame
same out small.b2frame.data
runs 0 decompress --output=out2 small.b2frame
same out2 small.b2frame.data
runs 0 decompress -c small.b2frame
same .out small.b2frame.data
runs 0 decompress -o - small.b2frame
same .out small.b2frame.data
runs 0 decompress --stdout small.b2frame flat.b2frame
cat small.b2frame.data flat.b2frame.data >both
same .out both
runs 0 decompress -o /dev/null small.b2frame
[ -c /dev/null ] || die "/dev/null was replaced"
mkfifo pipe
cat pipe >from_pipe &
runs 0 decompress -o pipe small.b2frame
wait $!
same from_pipe small.b2frame.data
runs 0 decompress -o folder small.b2frame
same folder/small small.b2frame.data
runs 1 decompress -o missing/out small.b2frame
says_on_stderr '^bloscctl: missing/out: No such file or directory$'
errors 1
runs 0 decompress --frame-offset 1000 -o inner at_offset.bin
same inner at_offset.bin.data
runs 0 decompress empty.b2frame
[ -f empty ] && [ ! -s empty ] || die "empty is not an empty file"

# Nothing is overwritten without -f.
echo precious >small
runs 1 decompress small.b2frame
says_on_stderr '^bloscctl: .*small: it exists already; -f overwrites it$'
errors 1
[ "$(cat small)" = precious ] || die "it was overwritten"
runs 1 decompress -o small flat.b2frame
[ "$(cat small)" = precious ] || die "it was overwritten"
runs 0 decompress -f small.b2frame
same small small.b2frame.data
runs 1 decompress -f -o flat.b2frame flat.b2frame
says_on_stderr 'this run has made it, or reads it'
runs 1 decompress -f -o small.b2frame/chunks.b2frame small.b2frame
says_on_stderr 'its directory is a frame'
# A link stays a link; its target is replaced.
echo old >target
ln -s target link
runs 1 decompress -o link small.b2frame
runs 0 decompress -f -o link small.b2frame
[ -L link ] || die "the link was replaced"
same target small.b2frame.data
no_litter

# The output gets mode and time of the index.
chmod 640 small.b2frame/chunks.b2frame
touch -d 2001-02-03T04:05:06.789Z small.b2frame/chunks.b2frame
runs 0 decompress -f small.b2frame
[ "$(stat -c '%a %.3Y' small)" = '640 981173106.789' ] ||
	die "mode, time: $(stat -c '%a %.3Y' small)"
chmod 4755 flat.b2frame
runs 0 decompress flat.b2frame
[ "$(stat -c %a flat)" = 755 ] || die "mode of flat: $(stat -c %a flat)"

# Holes of the frame are holes of the file, so are long runs of zeros.
runs 0 decompress holes.b2frame
same holes holes.b2frame.data
[ "$(($(stat -c '%b*%B' holes)))" -lt 1900000 ] ||
	die "holes takes $(($(stat -c '%b*%B' holes))) bytes"
runs 0 decompress -f --no-sparse --sparse holes.b2frame
[ "$(stat -c %b holes)" -lt "$(($(stat -c %s holes) / 512))" ] || die "--sparse"
runs 0 decompress -f --no-sparse holes.b2frame
same holes holes.b2frame.data
[ "$(($(stat -c '%b*%B' holes)))" -ge 8388608 ] || die "there are holes"

# -v reports the result; -q and the default print nothing.
runs 0 decompress -f -v small.b2frame
says_on_stderr '^bloscctl: small\.b2frame: 4\.4 KiB -> 641\.0 KiB, [0-9.]+ s, small$'
runs 0 decompress -f -q small.b2frame
is_silent

# decompress -c refuses a terminal.
on_terminal "$bloscctl decompress -c small.b2frame"
[ "$status" = 1 ] || die "terminal: status $status"
says 'standard output is a terminal'
on_terminal "$bloscctl decompress -o - small.b2frame"
[ "$status" = 1 ] || die "terminal: status $status"

# Damage leaves nothing behind, and does not stop the others.
rm -f zlib small flat
cp -r zlib.b2frame bad.b2frame
flip bad.b2frame/00000002.chunk 20000
runs 1 decompress bad.b2frame zlib.b2frame
absent bad
says_on_stderr '^bloscctl: bad\.b2frame: chunk 2 \(00000002\.chunk\): '
errors 1
same zlib zlib.b2frame.data
echo precious >bad
runs 1 decompress -f bad.b2frame
[ "$(cat bad)" = precious ] || die "damage replaced a good file"

# What replaces a file is on the disk first.
echo old >small
ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o calls -e trace=fsync,renameat \
	"$bloscctl" decompress -f small.b2frame
sed -E 's/^[0-9]+ +([a-z]+).*/\1/' calls | tail -n 3 | paste -sd ' ' |
	grep -qx 'fsync renameat fsync' || die "$(cat calls)"
no_litter
