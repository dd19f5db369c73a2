#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_progress.sh - the progress bar: on a terminal, and only if a job takes a
# while
. "$(dirname "$0")/lib.sh"

frames huge.b2frame small.b2frame million.b2frame

bar='[0-9]+% \[#*\.*\] .*/s, [0-9]+:[0-9][0-9] left'

on_terminal "$bloscctl decompress -c huge.b2frame | head -c 1G >/dev/null"
says "huge\.b2frame +$bar"
on_terminal "$bloscctl verify million.b2frame"
says "million\.b2frame +$bar"
says 'million\.b2frame: ok, 1000000 chunks'

for option in --no-progress -q; do
	on_terminal "$bloscctl decompress $option -c huge.b2frame | head -c 512M >/dev/null"
	[ ! -s .out ] || die "decompress $option shows a bar"
done
on_terminal "$bloscctl verify -q million.b2frame"
[ ! -s .out ] || die "verify -q shows a bar"
# And no other command says anything with -q, though each has a last line.
cp -r small.b2frame mine.b2frame
seq 9999 >more
for args in "seal mine.b2frame" "repair mine.b2frame" \
	"convert -o one.b2f million.b2frame" "append mine.b2frame more" \
	"recompress -1 mine.b2frame" "copy mine.b2frame copied.b2frame" \
	"compress -f more" "decompress -f more.b2frame"; do
	on_terminal "$bloscctl ${args/ / -q }"
	[ ! -s .out ] || die "$args with -q: $(cat .out)"
done

# A quick job prints its last line only, and nothing without a terminal.
on_terminal "$bloscctl decompress small.b2frame"
tr -d '\r' <.out | grep -qxE 'small\.b2frame: 4\.4 KiB -> 641\.0 KiB, [0-9.]+ s, small' ||
	die "the end of a quick job"
[ "$(wc -l <.out)" = 1 ] || die "a quick job shows a bar"
on_terminal "$bloscctl compress -f small"
tr -d '\r' <.out | grep -qxE 'small: 641\.0 KiB -> [0-9.]+ KiB, [0-9.]+, [0-9.]+ s, small.b2frame' ||
	die "what compress did"
on_terminal "$bloscctl compress -fq small"
[ ! -s .out ] || die "compress -q says something"
"$bloscctl" decompress -c huge.b2frame 2>.err | head -c 512M >/dev/null
errors 0

# The percentage counts all passes, and encoding, and never falls.
head -c 24M /dev/urandom | base64 >numbers
on_terminal "$bloscctl compress -T1 --codec=zlib -9 --contiguous --rm numbers"
tr '\r' '\n' <.out | grep -oE '[0-9]+% \[' | tr -dc '0-9\n' >shares
sort -n shares | cmp -s - shares || die "it goes back: $(tr '\n' ' ' <shares)"
[ "$(head -n1 shares)" -lt 30 ] || die "it begins at $(head -n1 shares)"
[ "$(sort -u shares | wc -l)" -ge 4 ] || die "few steps: $(tr '\n' ' ' <shares)"

# The size of a pipe's data is not known before its end.
on_terminal "{ seq 200000; sleep 0.5; seq 200000; } | $bloscctl compress -o piped.b2frame -"
says 'standard input +[0-9.]+ [KM]iB, [0-9.]+ ([KM]i)?B/s'
