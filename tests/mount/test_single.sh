#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One frame: on a directory, on a file, and on itself.
. "$(dirname "$0")/lib.sh"

mkdir mnt
: >file
make_frame s.b2frame s.raw
make_frame c.b2nd c.raw kind=contiguous seed=1

# Every suffix is hidden; a name without one stays.
for suffix in .b2frame .b2f .b2 .b2nd .b2eframe .other ""; do
	for name in s.b2frame c.b2nd; do
		mv $name "data$suffix"
		start_fs "data$suffix" mnt
		shown=data
		[ "$suffix" != .other ] || shown=data.other
		[ "$(ls mnt)" = "$shown" ] || fail "name of data$suffix"
		cmp mnt/$shown ${name%%.*}.raw
		[ ! -e mnt/nothing ] || fail "there is nothing"
		[ "$(stat -c %a mnt)" = 555 ] || fail "mode of the folder"
		stop_fs mnt
		mv "data$suffix" $name
	done
done

for name in s.b2frame c.b2nd; do
	raw=${name%%.*}.raw
	start_fs $name file
	cmp file $raw
	[ -f file ] || fail "not a file"
	stat -f file >/dev/null
	stop_fs file
	[ ! -s file ] || fail "the file below has changed"

	for threads in "" -s; do
		start_fs $name $name $threads
		if [ -f $name ]; then
			cmp $name $raw
		else
			ls -la $name >/dev/null
			cmp $name/s $raw
			cp -a $name copy
			rm -r copy
		fi
		stop_fs $name
	done
done

# Both kinds of frames are written to, wherever they are shown.
overwrite() {
	printf '%s' "$2" | dd of="$1" bs=1 seek=12345 conv=notrunc status=none
	printf '%s' "$2" | dd of="$raw" bs=1 seek=12345 conv=notrunc status=none
	cmp "$1" "$raw"
}
for name in s.b2frame c.b2nd; do
	raw=${name%%.*}.raw
	start_fs $name mnt -o rw
	overwrite mnt/${name%%.*} "in a directory"
	stop_fs mnt
	start_fs $name file -o rw
	overwrite file "on a file"
	stop_fs file
	start_fs $name $name -o rw
	if [ -f $name ]; then
		overwrite $name "on itself"
	else
		overwrite $name/s "on itself"
	fi
	stop_fs $name
	"$B2F_BUILD/bloscctl" cat $name | cmp -s - $raw || fail "$name"
done

# By the given name, by a link, and from another directory.
mkdir dir
ln -s ../s.b2frame dir/link.b2frame
(cd dir && exec "$bloscfs" link.b2frame ../mnt)
[ "$(ls mnt)" = link ] || fail "name of a link"
cmp mnt/link s.raw
umount mnt
start_fs s.b2frame/. mnt
[ "$(ls mnt)" = s ] || fail "name of a dot"
stop_fs mnt

# A tree over itself, over something in itself, and single-threaded.
mkdir -p t/sub/mnt t/sub/deep
mv s.b2frame t/sub/
touch t/sub/mnt/below
for threads in "" -s; do
	start_fs t t $threads
	cmp t/sub/s s.raw
	[ "$(ls t/sub/deep t/sub/mnt | wc -l)" -gt 0 ] || fail "list"
	stop_fs t
	start_fs t t/sub/mnt $threads
	cmp t/sub/mnt/sub/s s.raw
	[ "$(ls t/sub/mnt/sub/mnt)" = below ] || fail "the mount sees itself"
	timeout 20 find t/sub/mnt >/dev/null || fail "find does not end"
	timeout 20 ls -lR t/sub/mnt >/dev/null
	[ ! -e t/sub/mnt/sub/mnt/sub ] || fail "the mount is in itself"
	stop_fs t/sub/mnt
done
