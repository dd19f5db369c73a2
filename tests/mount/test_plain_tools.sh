#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# cat, dd, cp, tar and others read the plain bytes.
. "$(dirname "$0")/lib.sh"

mkdir src mnt out
make_frame src/sparse.b2frame sparse.raw
make_frame src/contiguous.b2f contiguous.raw kind=contiguous seed=1
make_frame src/holes.b2frame holes.raw nbytes=4194304 zeros=3:9
make_frame src/zeros.b2 zeros.raw nbytes=1048576 zeros=0:4
make_frame src/empty.b2nd empty.raw nbytes=0
make_frame src/byte.b2frame byte.raw nbytes=1
start_fs src mnt

check_file() {
	local name=$1 raw=$1.raw size skip

	cmp "mnt/$name" "$raw"
	cat "mnt/$name" | cmp - "$raw"
	size=$(stat -c %s "$raw")
	[ "$(stat -c %s "mnt/$name")" = "$size" ] || fail "size of $name"
	dd if="mnt/$name" bs=4097 status=none | cmp - "$raw"
	for skip in 1 262143; do
		cmp <(tail -c +$skip "mnt/$name") <(tail -c +$skip "$raw")
	done
	cmp <(head -c 70001 "mnt/$name") <(head -c 70001 "$raw")
	cmp <(tail -c 70001 "mnt/$name") <(tail -c 70001 "$raw")
	dd if="mnt/$name" iflag=direct bs=64k status=none 2>/dev/null |
		cmp - "$raw"
}

check_copies() {
	local name=$1 raw=$1.raw

	cp "mnt/$name" out/plain && cmp out/plain "$raw"
	cp --sparse=always "mnt/$name" out/always && cmp out/always "$raw"
	cp --sparse=never "mnt/$name" out/never && cmp out/never "$raw"
	cp --reflink=auto "mnt/$name" out/auto && cmp out/auto "$raw"
	rm -f out/*
}

for name in sparse contiguous holes zeros empty byte; do
	check_file $name
	check_copies $name
done

cp -a mnt out/copy
tar -C mnt -cf plain.tar .
tar -C mnt -cSf holes.tar .
mkdir out/plain out/holes
tar -C out/plain -xf plain.tar
tar -C out/holes -xf holes.tar
for name in sparse contiguous holes zeros empty byte; do
	for dir in copy plain holes; do
		cmp out/$dir/$name $name.raw
	done
done
[ "$(stat -c %a:%U:%Y out/copy/sparse)" = \
	"$(stat -c %a:%U:%Y src/sparse.b2frame/chunks.b2frame)" ] ||
	fail "mode, owner, time"

# A file with data has blocks, or tar -S would take it for zeros.
[ "$(stat -c %b mnt/byte)" -ge 8 ] || fail "blocks of byte"
[ "$(stat -c %b mnt/empty)" -eq 0 ] || fail "blocks of empty"
[ "$(stat -c %b mnt/sparse)" -lt "$(stat -c %b sparse.raw)" ] ||
	fail "blocks are not those of the stored bytes"
[ "$(stat -c %h mnt/sparse)" -eq 1 ] || fail "links"
[ "$(stat -c %i mnt/sparse)" = "$(stat -c %i src/sparse.b2frame)" ] ||
	fail "inode number"
stop_fs mnt
