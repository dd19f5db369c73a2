#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_signals.sh - a decompress that is stopped leaves nothing behind
. "$(dirname "$0")/lib.sh"

frames huge.b2frame

# has_temp: the temporary file is there.
has_temp() {
	[ -n "$(find . -name '.bloscctl-*')" ]
}

for signal in INT TERM HUP; do
	echo precious >out
	# A shell's background jobs ignore INT; Python's children do not.
	"$B2F_PYTHON" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' \
		"$bloscctl" decompress -f --no-sparse -o out huge.b2frame &
	pid=$!
	for _ in $(seq 500); do
		! has_temp || break
		sleep 0.01
	done
	has_temp || die "it never began"
	kill -s "$signal" "$pid"
	status=0
	wait "$pid" 2>/dev/null || status=$?
	[ "$status" = $((128 + $(kill -l "$signal"))) ] ||
		die "$signal: status $status"
	no_litter
	[ "$(cat out)" = precious ] || die "$signal: out was replaced"
done
