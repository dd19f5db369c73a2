#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_cat.sh - bloscctl cat
. "$(dirname "$0")/lib.sh"

frames small.b2frame flat.b2frame empty.b2frame holes.b2frame mixed.b2frame \
	at_offset.bin huge.b2frame zlib.b2frame

for frame in small.b2frame flat.b2frame empty.b2frame holes.b2frame; do
	runs 0 cat $frame
	same .out $frame.data
	errors 0
	runs 0 cat -T 1 $frame
	same .out $frame.data
done
runs 0 cat ./small.b2frame/
same .out small.b2frame.data
ln -s small.b2frame link
runs 0 cat link
same .out small.b2frame.data

# Several frames follow each other; a missing one does not stop them.
cat small.b2frame.data holes.b2frame.data >both
runs 0 cat small.b2frame holes.b2frame
same .out both
runs 1 cat small.b2frame missing holes.b2frame
same .out both
errors 1

# range OFFSET LENGTH FIRST N: cat gives N bytes from FIRST on.
range() {
	runs 0 cat --offset="$1" --length="$2" small.b2frame
	tail -c +$(($3 + 1)) small.b2frame.data | head -c "$4" >want
	same .out want
}
range 0 0 0 0
range 0 1 0 1
range 65535 2 65535 2
range 65536 64k 65536 65536
range 100k 1K 102400 1024
range 100kib 1KiB 102400 1024
range 656359 100 656359 1
range 656360 1 656360 0
range 10m 1 656360 0
range 8388607t 1 656360 0
range -1 10 656359 1
range -70000 3 586360 3
range -1t 5 0 5
range 1 1t 1 656359
runs 0 cat --offset 656000 small.b2frame
tail -c 360 small.b2frame.data >want
same .out want

runs 0 cat --frame-offset=1000 at_offset.bin
same .out at_offset.bin.data
runs 0 cat --frame-offset=1000 --offset=5 --length=7 at_offset.bin
[ "$(wc -c <.out)" = 7 ] || die "not 7 bytes"

# cat writes to a terminal only with -f.
on_terminal "$bloscctl cat small.b2frame"
[ "$status" = 1 ] || die "terminal: status $status"
says 'standard output is a terminal; -f writes to it'
on_terminal "$bloscctl cat -f --length 16 small.b2frame"
[ "$status" = 0 ] || die "terminal with -f: status $status"

# A closed pipe ends it at once, without a message.
set +o pipefail
"$bloscctl" cat huge.b2frame 2>.err | head -c 10 >.out
[ "$(wc -c <.out)" = 10 ] || die "not 10 bytes"
errors 0
# Children of Python ignore SIGPIPE, and get EPIPE.
"$B2F_PYTHON" - "$bloscctl" <<'END' || die "EPIPE"
import signal, subprocess, sys
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
p = subprocess.Popen([sys.argv[1], "cat", "huge.b2frame", "huge.b2frame"],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     restore_signals=False)
p.stdout.read(10)
p.stdout.close()
assert p.stderr.read() == b""
assert p.wait() == 1
END

# The bytes before the damage are printed, then one message; status 1.
rm small.b2frame/00000005.chunk
runs 1 cat small.b2frame
says_on_stderr '^bloscctl: small\.b2frame: chunk 5 \(00000005\.chunk\): '
errors 1
head -c 327680 small.b2frame.data >want
head -c "$(wc -c <.out)" want | cmp - .out || die "wrong bytes before damage"
runs 0 cat --offset 400k small.b2frame
tail -c +409601 small.b2frame.data >want
same .out want

flip zlib.b2frame/00000002.chunk 20000
runs 1 cat zlib.b2frame
says_on_stderr '^bloscctl: zlib\.b2frame: chunk 2 \(00000002\.chunk\): '
runs 0 cat --length 128k zlib.b2frame
