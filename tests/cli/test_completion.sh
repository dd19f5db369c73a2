#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bash completes commands, options and mount options as the help lists them.
. "$(dirname "$0")/lib.sh"

completions=$B2F_SOURCE/packaging/completions
PATH=$B2F_BUILD:$PATH
. "$completions/bloscfs.bash"
. "$completions/bloscctl.bash"
# compopt works at a prompt only.
compopt() { :; }

# completes WANT WORD...: the completions of the last word are WANT, in any
# order.
completes() {
	local want=$1 got

	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	"_$1" "$1"
	got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')
	[ "$got" = "$want " ] || die "$*: '$got', not '$want'"
}

touch a.b2frame
completes "compress convert copy" bloscctl co
completes "verify" bloscctl ve
completes "--offset=" bloscctl cat --off
completes "--codec= --contiguous" bloscctl compress --co
completes "a.b2frame" bloscctl info a
completes "blosclz lz4 lz4hc zlib zstd" bloscctl compress --codec =
completes "zlib zstd" bloscctl recompress --codec = z
completes "blp contiguous sparse" bloscctl compress --format =
completes "bitshuffle bytedelta none shuffle" bloscctl compress --filter =
completes "auto" bloscctl recompress --typesize =
completes "sha1 sha224 sha256 sha384 sha512" bloscctl convert --checksum = s
completes "blosclz lz4 lz4hc zlib zstd" bloscfs -o codec =
completes "bitshuffle bytedelta none shuffle" bloscfs -o filter =
completes "auto" bloscfs src mnt -o ro,typesize =
completes "zlib zstd" bloscfs -o ro,codec = z
completes "hidden list off" bloscfs -o npy =
completes "debug error info warning" bloscfs src mnt -o codec = zstd,loglevel =
completes "codec= commit=" bloscfs -o co
completes "1,clevel=" bloscfs -o typesize = 1,cle
completes "ro,allow_other" bloscfs -o ro,allow_o
completes "loglevel=" bloscfs -f -o logl
completes "noseal" bloscfs src mnt -o nos
completes "a.b2frame" bloscfs -f a

# Messages of a shell are shown when the test fails.
: >.out

# LeakSanitizer stops a process by SIGSTOP and waits for that; zsh sends SIGCONT to a
# child that still runs when another one ends, and then both wait for ever.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

# fish completes the same values.
for line in "bloscctl recompress --codec=z" "bloscfs -o ro,codec=z"; do
	got=$(fish --no-config -c "source $completions/${line%% *}.fish
		complete -C '$line'" 2>>.err | sed -E 's/.*=(z[a-z]+).*/\1/' | tr '\n' ' ')
	[ "$got" = "zlib zstd " ] || die "$line: '$got' in fish"
done
for line in "bloscctl compress --filter=n" "bloscfs -o ro,filter=n"; do
	got=$(fish --no-config -c "source $completions/${line%% *}.fish
		complete -C '$line'" 2>>.err | sed -E 's/.*=(n[a-z]+).*/\1/' | tr '\n' ' ')
	[ "$got" = "none " ] || die "$line: '$got' in fish"
done

# zsh, too.  Commands that exist at a prompt only are replaced by functions that
# print the words that zsh would offer.
cat >played.zsh <<'END'
compset() { word=${word##${~2}}; }
compadd() { print -rl -- ${(M)@[$@[(i)--]+1,-1]:#$word*}; }
_describe() { print -rl -- ${(M)${${(P)2}%%:*}:#$word*}; }
_files() { print -rl -- $word*(N); }
script=$1
shift
words=("$@")
CURRENT=$#
word=$words[CURRENT]
. $script
END

# offers WANT WORD...: zsh offers WANT for the last word, in any order.
offers() {
	local want=$1 got

	shift
	got=$(zsh -f played.zsh "$completions/$1.zsh" "$@" 2>>.err | sort -u | tr '\n' ' ')
	[ "$got" = "$want " ] || die "$*: '$got' in zsh, not '$want'"
}

offers "compress convert copy" bloscctl co
offers "--codec= --contiguous" bloscctl compress --co
offers "a.b2frame" bloscctl info a
offers "zlib zstd" bloscctl recompress --codec=z
offers "blp contiguous sparse" bloscctl compress --format=
offers "bitshuffle bytedelta none shuffle" bloscctl compress --filter=
offers "auto" bloscctl recompress --typesize=
offers "sha1 sha224 sha256 sha384 sha512" bloscctl convert --checksum=s
offers "zlib zstd" bloscfs -o ro,codec=z
offers "none" bloscfs -o filter=n
offers "hidden list off" bloscfs -o npy=
offers "codec= commit=" bloscfs -o ro,co
offers "debug error info warning" bloscfs src mnt -o codec=zstd,loglevel=
offers "noseal" bloscfs src mnt -o nos
