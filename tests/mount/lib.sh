# SPDX-License-Identifier: BSD-3-Clause
# lib.sh - mounts for shell tests: source it, then use the functions below.
#
# Works in a directory of its own ($work). At the end it removes that directory
# with every mount below it and every daemon that was started here; any that is
# left by then is a failure.
set -euo pipefail

export PATH=$PATH:/usr/sbin:/sbin LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/build.sh"
bloscfs=$B2F_BUILD/bloscfs
work=$(mktemp -dt bloscfs-test.XXXXXX)
pids=()
cd "$work"

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# Mountpoints below $work, the newest first.
mounts() {
	awk -v dir="$work/" 'index($5, dir) == 1 { print $5 }' \
		/proc/self/mountinfo | tac
}

cleanup() {
	local status=$? pid path

	set +e
	cd /
	for path in $(mounts); do
		echo "left behind: mount $path" >&2
		status=1
		umount -l "$path"
	done
	for pid in "${pids[@]}"; do
		if [ -d "/proc/$pid" ] &&
			[ "$(readlink "/proc/$pid/exe")" = "$bloscfs" ]; then
			wait_gone "$pid" && continue
			echo "left behind: process $pid" >&2
			status=1
			kill -9 "$pid"
		fi
	done
	rm -rf "$work"
	exit "$status"
}
trap cleanup EXIT

# wait_until COMMAND...: waits until it succeeds, ten seconds at most.
wait_until() {
	local i

	for i in $(seq 1200); do
		if "$@" >/dev/null 2>&1; then
			return 0
		fi
		sleep 0.05
	done
	echo "waited in vain for: $*" >&2
	return 1
}

is_gone() {
	[ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"
}

wait_gone() {
	wait_until is_gone "$1"
}

is_mounted() {
	grep -qF " $1 " /proc/self/mountinfo
}

# start_fs SOURCE MOUNTPOINT [OPTION...]: in the foreground, messages to
# $work/log; sets $pid.
start_fs() {
	local source=$1 mountpoint=$2 before

	shift 2
	before=$(grep -cF " $(realpath "$mountpoint") " /proc/self/mountinfo || :)
	echo "# $source $mountpoint $*" >>"$work/log"
	"$bloscfs" -f "$@" "$source" "$mountpoint" 2>>"$work/log" &
	pid=$!
	pids+=("$pid")
	wait_until mounted_more "$mountpoint" "$before" || {
		cat "$work/log" >&2
		fail "no mount on $mountpoint"
	}
	fds_before=$(count_fds "$pid")
}

mounted_more() {
	is_gone "$pid" && return 1
	[ "$(grep -cF " $(realpath "$1") " /proc/self/mountinfo)" -gt "$2" ] &&
		stat "$1"
}

# Descriptors of a process, except for directories, which are kept on purpose.
count_fds() {
	local fd n=0

	for fd in /proc/"$1"/fd/*; do
		[ -d "$fd" ] || n=$((n + 1))
	done
	echo "$n"
}

same_fds() {
	[ "$(count_fds "$1")" -le "$2" ]
}

# stop_fs MOUNTPOINT: unmounts the last mount of start_fs; its daemon must have
# closed all files and end with 0.
stop_fs() {
	local status=0

	wait_until same_fds "$pid" "$fds_before" || {
		ls -l "/proc/$pid/fd" >&2
		fail "files left open"
	}
	wait_until umount "$1" || fail "umount $1"
	wait "$pid" || status=$?
	[ "$status" -eq 0 ] || {
		cat "$work/log" >&2
		fail "bloscfs ended with $status"
	}
}

# expect STATUS COMMAND...: runs it; output goes to $work/out.
expect() {
	local want=$1 got=0

	shift
	timeout 30 "$@" >"$work/out" 2>&1 || got=$?
	[ "$got" -eq "$want" ] || {
		cat "$work/out" >&2
		fail "exit $got, not $want: $*"
	}
}

# make_frame PATH NAME [sparse|contiguous] [KEY=VALUE...]: a frame and its
# plain bytes, NAME.raw.  Keys: n (doubles), zeros=A:B (chunks), chunk.
make_frame() {
	"$B2F_PYTHON" "$here/make_frame.py" "$@"
}
