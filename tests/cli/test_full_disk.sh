#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_full_disk.sh - no space for the output
#
# The small disk lives in a mount namespace, so that nothing stays mounted.
if [ -z "${B2F_IN_NAMESPACE-}" ]; then
	root=()
	[ "$(id -u)" = 0 ] || root=(--map-root-user)
	B2F_IN_NAMESPACE=1 exec unshare --mount --propagation private \
		"${root[@]}" bash "$0"
fi
# A daemon of another test would live as long as the copy of its mount.
umount --lazy --all --types fuse.bloscfs 2>/dev/null || :
. "$(dirname "$0")/lib.sh"

frames big.b2frame
mkdir disk
mount -t tmpfs -o size=1m tmpfs disk
trap 'umount "$work/disk"; rm -rf "$work"' EXIT

for options in "" --rm "-f --no-sparse"; do
	# shellcheck disable=SC2086
	runs 1 decompress $options -o disk/out big.b2frame
	says_on_stderr '^bloscctl: disk/out: No space left on device$'
	errors 1
	[ -z "$(ls -A disk)" ] || die "left behind: $(ls -A disk)"
	exists big.b2frame/chunks.b2frame
done
echo precious >disk/out
runs 1 decompress -f -o disk/out big.b2frame
[ "$(cat disk/out)" = precious ] || die "the old file is gone"
"$bloscctl" cat big.b2frame 2>.err >disk/out && die "cat did not fail"
says_on_stderr '^bloscctl: standard output: No space left on device$'
errors 1
