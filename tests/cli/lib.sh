# SPDX-License-Identifier: BSD-3-Clause
# lib.sh - shared by the shell tests of bloscctl; source it
#
# The test runs in a fresh directory that is removed at the end.
set -eu

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/build.sh"
bloscctl=$B2F_BUILD/bloscctl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset POSIXLY_CORRECT
export LC_ALL=C.UTF-8 TZ=UTC

die() {
	echo "${BASH_SOURCE[-1]##*/}: $*" >&2
	if [ -e "$work/.out" ]; then
		echo "--- stdout" >&2
		head -c 2000 "$work/.out" | cat -v >&2
		echo "--- stderr" >&2
		head -c 2000 "$work/.err" | cat -v >&2
	fi
	exit 1
}

# frames NAME...: makes the frames of these names here (see frames.py).
frames() {
	"$B2F_PYTHON" "$here/frames.py" "$@"
}

# run ARGUMENT...: runs bloscctl; its output goes to .out and .err.
run() {
	status=0
	"$bloscctl" "$@" >"$work/.out" 2>"$work/.err" </dev/null || status=$?
}

# runs STATUS ARGUMENT...: run that has to end with STATUS.
runs() {
	local want=$1

	shift
	run "$@"
	[ "$status" = "$want" ] || die "$*: status $status, not $want"
}

# says REGEX, says_on_stderr REGEX: a line of the output matches.
says() {
	grep -qE -- "$1" "$work/.out" || die "stdout lacks: $1"
}

says_on_stderr() {
	grep -qE -- "$1" "$work/.err" || die "stderr lacks: $1"
}

# errors N: stderr has N lines.
errors() {
	[ "$(wc -l <"$work/.err")" = "$1" ] || die "not $1 lines on stderr"
}

# is_silent: stdout and stderr are empty.
is_silent() {
	[ ! -s "$work/.out" ] || die "there is something on stdout"
	[ ! -s "$work/.err" ] || die "there is something on stderr"
}

# same A B: the files are equal.
same() {
	cmp "$1" "$2" || die "$1 and $2 differ"
}

# absent PATH...: none exists.
absent() {
	local path

	for path; do
		[ ! -e "$path" ] && [ ! -L "$path" ] || die "$path exists"
	done
}

exists() {
	local path

	for path; do
		[ -e "$path" ] || die "$path is missing"
	done
}

# no_litter [DIR]: no temporary file was left.
no_litter() {
	local found

	found=$(find "${1:-.}" -name '.bloscctl-*')
	[ -z "$found" ] || die "left behind: $found"
}

# on_terminal COMMAND: runs the shell command with a terminal as stdin, stdout
# and stderr; its output goes to .out.
on_terminal() {
	status=0
	: >"$work/.err"
	script -qec "$1" /dev/null >"$work/.out" </dev/null || status=$?
}

# flip FILE OFFSET: flips a bit of the byte there.
flip() {
	"$B2F_PYTHON" - "$1" "$2" <<-'END'
		import sys
		with open(sys.argv[1], "r+b") as f:
		    f.seek(int(sys.argv[2]))
		    byte = f.read(1)[0]
		    f.seek(int(sys.argv[2]))
		    f.write(bytes([byte ^ 0x10]))
	END
}
