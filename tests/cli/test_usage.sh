#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_usage.sh - help, versions, and command lines that make no sense
. "$(dirname "$0")/lib.sh"

commands="append cat compress convert decompress info ls recompress repair rm seal
	umount verify"

runs 0 --help
says '^Usage: bloscctl COMMAND'
for command in $commands; do
	says "^  $command "
done
runs 0 help
says '^Usage: bloscctl COMMAND'

for command in $commands; do
	runs 0 "$command" --help
	says "^Usage: bloscctl $command "
	errors 0
	runs 0 "$command" -h
	says "^Usage: bloscctl $command "
	runs 0 help "$command"
	says "^Usage: bloscctl $command "
done

runs 0 --version
says '^bloscctl [0-9]+\.[0-9]+\.[0-9]+$'
says '^lz4 [0-9.]+$'
says '^zstd [0-9.]+$'
says '^zlib [0-9.]+'
says '^codecs: blosclz lz4 lz4hc zlib zstd$'
says '^features: [+-]http [+-]s3$'

runs 2
says_on_stderr "^bloscctl: a command is missing; see 'bloscctl --help'$"
runs 2 inof
says_on_stderr "^bloscctl: there is no command 'inof'; did you mean 'info'\?$"
errors 1
runs 2 --chunks
says_on_stderr "there is no command '--chunks'"

for command in $commands; do
	runs 2 "$command" --nonsense
	says_on_stderr "^bloscctl: $command: there is no option --nonsense; see 'bloscctl $command --help'$"
	errors 1
	runs 2 "$command" -Z
	says_on_stderr "^bloscctl: $command: there is no option -Z; see 'bloscctl $command --help'$"
	errors 1
	runs 2 "$command" --hepl
	says_on_stderr "^bloscctl: $command: there is no option --hepl; did you mean --help\?$"
	errors 1
done
# Short options together, after a long one; missing and unwanted values.
runs 2 info --json -rZq
says_on_stderr "there is no option -Z;"
runs 2 info --json=3 x
says_on_stderr "^bloscctl: info: --json takes no value; see"
errors 1
runs 2 compress --codec
says_on_stderr "^bloscctl: compress: --codec needs a value; see"
runs 2 compress -o
says_on_stderr "^bloscctl: compress: -o needs a value; see"
errors 1
runs 2 compress --c x
says_on_stderr "^bloscctl: compress: several options begin with --c: --"
runs 2 compress --codec=snappy x
says_on_stderr "^bloscctl: --codec: 'snappy' is not zstd"
errors 1

for command in append cat convert decompress info recompress repair rm seal verify; do
	runs 2 "$command"
	says_on_stderr "^bloscctl: $command: a frame is missing; see 'bloscctl $command --help'$"
	errors 1
	case $command in append | recompress | repair | rm | seal) continue ;; esac
	for value in '' x 1x 1kk -1 ' 1' 9999999999999999999 9000000t; do
		runs 2 "$command" --frame-offset "$value" x
		says_on_stderr "^bloscctl: --frame-offset: '$value' is not a size$"
	done
done
runs 2 verify -r
says_on_stderr "a directory is missing"

for command in append cat compress convert decompress recompress repair seal \
	verify; do
	for value in x -1 1025; do
		runs 2 "$command" -T "$value" x
		says_on_stderr "^bloscctl: -T: '$value' is not a number of threads$"
		runs 2 "$command" --threads="$value" x
		says_on_stderr "^bloscctl: --threads: '$value' is not a number of threads$"
	done
done
runs 2 copy -T-1 x y
says_on_stderr "^bloscctl: -T: '-1' is not a number of threads$"
runs 2 copy --jobs=-1 x y
says_on_stderr "^bloscctl: --jobs: '-1' is not a number of threads$"
BLOSC_NTHREADS=x runs 2 compress x
says_on_stderr "^bloscctl: BLOSC_NTHREADS: 'x' is not a number of threads$"
runs 2 cat --offset abc x
says_on_stderr "^bloscctl: --offset: 'abc' is not a position$"
runs 2 cat --length -5 x
says_on_stderr "^bloscctl: --length: '-5' is not a size$"
runs 2 decompress -c -o a x
says_on_stderr "exclude each other"
runs 2 decompress -o a x y
says_on_stderr "-o takes one operand"
runs 2 decompress --rm --frame-offset 5 x
says_on_stderr "cannot remove a part of a file"

# A missing frame is reported once, by name.
for command in append cat convert decompress info ls recompress repair seal \
	verify; do
	run "$command" missing.b2frame
	says_on_stderr "^bloscctl: missing.b2frame: No such file or directory$"
	errors 1
	[ "$status" = $([ "$command" = verify ] && echo 2 || echo 1) ] ||
		die "$command: status $status"
done

# Control characters in names neither reach a terminal nor break a line.
run info $'a\nb\e[31m\x9b'
says_on_stderr '^bloscctl: a\\x0ab\\x1b\[31m\\x9b: No such file'
errors 1

# A failed write to stdout is a failure.
frames small.b2frame
for command in cat info ls; do
	status=0
	"$bloscctl" "$command" small.b2frame >/dev/full 2>.err || status=$?
	[ "$status" = 1 ] || die "$command > /dev/full: status $status"
	says_on_stderr '^bloscctl: standard output: No space left on device$'
	errors 1
done
# No file takes the number of a closed standard stream.
for command in cat info ls; do
	status=0
	"$bloscctl" "$command" small.b2frame >&- 2>.err || status=$?
	[ "$status" = 1 ] || die "$command with stdout closed: status $status"
	says_on_stderr '^bloscctl: standard output: Bad file descriptor$'
done
"$bloscctl" compress -o none.b2frame - <&- 2>.err && die "nothing to read"
grep -q 'input: Bad file descriptor' .err || die "$(cat .err)"
"$bloscctl" decompress -v small.b2frame <&- >&- 2>&- || die "closed streams"
same small small.b2frame.data

status=0
"$bloscctl" verify small.b2frame >/dev/full 2>.err || status=$?
[ "$status" = 2 ] || die "verify > /dev/full: status $status"
