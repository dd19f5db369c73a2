#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_progress.sh - the bar: on a terminal, and only if it takes a while
. "$(dirname "$0")/lib.sh"

frames huge.b2frame small.b2frame million.b2frame

bar='[0-9]+% \[#*\.*\] .*/s'

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

# Quick jobs show nothing, nor does what is no terminal.
on_terminal "$bloscctl decompress small.b2frame"
[ ! -s .out ] || die "a quick job shows a bar"
"$bloscctl" decompress -c huge.b2frame 2>.err | head -c 512M >/dev/null
errors 0
