#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Frames on standard input, short command names, and misspelled words.
. "$(dirname "$0")/lib.sh"

seq 100000 >n
"$bloscctl" compress --contiguous -q -o n.b2f n

# through ARGUMENT...: bloscctl gives the same for the frame by a pipe and as a
# file.
through() {
	cat n.b2f | "$bloscctl" "$@" >by_pipe || die "$*: a pipe"
	"$bloscctl" "$@" <n.b2f >by_file || die "$*: a file"
	same by_pipe by_file
}

through cat -
same by_file n
through cat --offset=5 --length=7 -
[ "$(wc -c <by_file)" = 7 ] || die "not 7 bytes"
through decompress -
same by_file n
through verify -
grep -q ok by_file || die "verify says nothing"
through info --json -
grep -q '"nbytes": 588895' by_file || die "info"
cat n.b2f | "$bloscctl" decompress -q -o out -
same out n
# A signal ends neither a read of a pipe nor a write of its temporary file.
# (The leak sanitizer cannot work below strace.)
mkfifo fifo
cat n.b2f >fifo &
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 strace -f -qq -o /dev/null \
	-P "$PWD/fifo" -e trace=read -e inject=read:error=EINTR:when=1+2 \
	"$bloscctl" cat - <fifo >out || die "interrupted"
wait
same out n
# Standard input is read from its position on.
{
	head -c 0 >/dev/null
	IFS= read -r line
	"$bloscctl" cat -
} < <(echo line && cat n.b2f) | cmp - n || die "behind a line"

runs 2 decompress --rm -
says_on_stderr "standard input"
runs 1 cat -
says_on_stderr "^bloscctl: standard input: "
status=0
head -c 3000 n.b2f | "$bloscctl" verify - >.out 2>.err || status=$?
[ "$status" = 1 ] || die "a damaged frame: $status"
[ -z "$(find . -name '*.npy' -o -name '-*')" ] || die "files were left"

# Short names.
runs 0 c -q --contiguous -o c.b2f n
runs 0 t c.b2f
runs 0 i c.b2f
runs 0 l .
runs 0 d -q -o d c.b2f
same d n

# Misspelled words.
runs 2 comprss n
says_on_stderr "did you mean 'compress'\?"
runs 2 nonsense n
says_on_stderr "bloscctl --help"
runs 2 compress -19 n
says_on_stderr "^bloscctl: -19: "
runs 2 compress "" -12 n
runs 0 compress -q -o level.b2frame -9 -T1 n
exists level.b2frame

# The environment of C-Blosc2, below what options say.
BLOSC_CLEVEL=9 BLOSC_COMPRESSOR=lz4hc BLOSC_SHUFFLE=BITSHUFFLE \
	BLOSC_TYPESIZE=2 BLOSC_BLOCKSIZE=8192 BLOSC_NTHREADS=1 \
	runs 0 compress -q -f -o env.b2frame n
runs 0 info env.b2frame
says 'codec +lz4hc, level 9,'
says 'filters +bitshuffle$'
says 'items +2 bytes$'
says 'blocks +8\.0 KiB'
BLOSC_CLEVEL=9 BLOSC_COMPRESSOR=lz4hc \
	runs 0 compress -q -f -1 --codec=zlib -o env.b2frame n
runs 0 info env.b2frame
says 'codec +zlib, level 1,'
BLOSC_CLEVEL=ten runs 2 compress -f -o env.b2frame n
says_on_stderr "^bloscctl: BLOSC_CLEVEL: 'ten' is not a level, 0 to 9$"
BLOSC_SHUFFLE=1 runs 2 compress -f -o env.b2frame n
says_on_stderr "^bloscctl: BLOSC_SHUFFLE: '1' is not NOSHUFFLE, "
