#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_signals.sh - a decompress that is stopped leaves nothing behind
. "$(dirname "$0")/lib.sh"

frames huge.b2frame

# has_temp: the temporary file exists.
has_temp() {
	[ -n "$(find . -name '.bloscctl-*')" ]
}

# has_begun: there are many chunk files, or one large file.
has_begun() {
	[ "$(find . -path '*/.bloscctl-*/*' | wc -l)" -ge 200 ] ||
		[ -n "$(find . -path '*/.bloscctl-*/*' -size +8M)" ]
}

# start ARGUMENT...: runs bloscctl in the background, as $pid.  A shell's background
# jobs ignore INT; Python's children do not.
start() {
	"$B2F_PYTHON" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$bloscctl" "$@" <&0 &
	pid=$!
}

# until_it COMMAND: waits until that succeeds, and something is being made.
until_it() {
	for _ in $(seq 500); do
		! "$1" || break
		sleep 0.01
	done
	has_temp || die "it never began"
}

# dies WHAT: the signal $signal ends it, and nothing is left behind.
dies() {
	kill -s "$signal" "$pid"
	status=0
	wait "$pid" 2>/dev/null || status=$?
	[ "$status" = $((128 + $(kill -l "$signal"))) ] ||
		die "$1: $signal: status $status"
	no_litter
}

for signal in INT TERM HUP QUIT; do
	echo precious >out
	start decompress -f --no-sparse -o out huge.b2frame
	until_it has_temp
	dies decompress
	[ "$(cat out)" = precious ] || die "$signal: out was replaced"
done

# The same for a compress, of both kinds: a frame is many files.
for options in "-o new.b2frame" "-f -o old.b2frame" "--contiguous -o new.b2f"; do
	rm -rf old.b2frame
	mkdir old.b2frame
	cp -r huge.b2frame/. old.b2frame
	for signal in INT TERM HUP QUIT; do
		# shellcheck disable=SC2086
		start compress --chunksize=64k $options \
			< <(head -c 2G /dev/urandom)
		until_it has_begun
		dies "$options"
		absent new.b2frame new.b2f
		[ "$("$bloscctl" info old.b2frame)" = \
			"$("$bloscctl" info huge.b2frame | sed s/^huge/old/)" ] ||
			die "$options: $signal: the old frame was replaced"
	done
done

# Files are made faster than they are removed; the removal has to end all the
# same.
has_many() {
	[ "$(find . -path '*/.bloscctl-*/*' | wc -l)" -ge 20 ]
}
strace --seccomp-bpf -f -qq -o /dev/null -e trace=unlinkat \
	-e inject=unlinkat:delay_enter=2000 \
	bash -c 'echo $$ >pid; exec "$@" < <(head -c 1G /dev/urandom)' \
	bash "$bloscctl" compress --chunksize=16k -o new.b2frame &
tracer=$!
until_it has_many
kill -s TERM "$(cat pid)"
status=0
wait "$tracer" 2>/dev/null || status=$?
[ "$status" = 143 ] || die "slow removal: status $status"
no_litter
absent new.b2frame

# ls and verify do not take the leftovers of a kill for a frame.
"$bloscctl" compress --chunksize=64k -o new.b2frame \
	< <(head -c 2G /dev/urandom) &
pid=$!
until_it has_many
kill -s KILL "$pid"
wait "$pid" 2>/dev/null || :
has_temp || die "a kill left nothing"
run ls -r
! grep -q bloscctl- .out || die "ls shows what was left"
run verify -r .
! grep -q bloscctl- .out || die "verify looks at what was left"
grep -q "bloscctl-.*: skipped" .err || die "verify says nothing of it"
