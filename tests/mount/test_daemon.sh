#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# In the background: ready when the command returns, log, signals, unmounting.
. "$(dirname "$0")/lib.sh"

mkdir mnt src
make_frame src/a.b2frame a.raw nbytes=20000000

# Starts a daemon in the background, and finds its pid in the log.
start_daemon() {
	: >log
	"$bloscfs" src mnt -o logfile=log,loglevel=info "$@"
	# It answers at once, even with a path that was relative.
	cmp mnt/a a.raw
	wait_until grep -q ' is mounted on ' log || fail "no log"
	pid=$(sed -nE 's/.* bloscfs\[([0-9]+)\] .*/\1/p' log | tail -1)
	pids+=("$pid")
	[ "$(readlink "/proc/$pid/cwd")" = / ] || fail "working directory"
	[ "$(ps -o tty= -p "$pid")" = '?' ] || fail "terminal"
	[ "$(readlink "/proc/$pid/fd/2")" = /dev/null ] || fail "stderr"
}

# A caller may have closed its standard descriptors.
timeout 20 "$bloscfs" src mnt <&- >&- 2>&- || fail "closed descriptors: $?"
cmp mnt/a a.raw
umount mnt

# The daemon closes the caller's other descriptors.
mkdir beside
exec 7>lock 9<beside
start_daemon
for fd in "/proc/$pid/fd/"*; do
	case $(readlink "$fd") in
	"$work/lock" | "$work/beside")
		fail "an inherited descriptor: ${fd##*/}" ;;
	esac
done
exec 7>&- 9<&-
umount mnt
wait_gone "$pid"
grep -q 'is unmounted' log || fail "end is not in the log"

for signal in TERM INT HUP; do
	for threads in "" -s; do
		start_daemon $threads
		kill -$signal "$pid"
		wait_gone "$pid" || fail "SIG$signal"
		[ -z "$(mounts)" ] || fail "still mounted after SIG$signal"
		grep -q ending log || fail "the signal is not in the log"
	done
	start_fs src mnt -v
	kill -$signal "$pid"
	wait "$pid" || fail "SIG$signal in the foreground: exit $?"
	[ -z "$(mounts)" ] || fail "still mounted"
done

# With a file open: TERM ends the daemon all the same.
start_daemon
exec 5<mnt/a
dd bs=100 count=1 status=none <&5 >/dev/null
umount mnt 2>/dev/null && fail "unmounted with an open file"
cmp mnt/a a.raw
kill -TERM "$pid"
wait_gone "$pid" || fail "an open file keeps the daemon"
[ -z "$(mounts)" ] || fail "still mounted"
# Cached pages may still be read, but nothing hangs.
timeout 10 cat <&5 >rest 2>/dev/null || [ $? -eq 1 ] || fail "read hangs"
cmp -n "$(stat -c %s rest)" -i 0:100 rest a.raw || fail "wrong rest"
exec 5<&-

# After a lazy unmount the reader goes on, and the daemon ends with the last
# close.
start_daemon
exec 5<mnt/a
umount -l mnt
[ -z "$(mounts)" ] || fail "not detached"
cmp a.raw - <&5
is_gone "$pid" && fail "ended too early"
exec 5<&-
wait_gone "$pid" || fail "does not end"

# Statistics, as often as asked, at any level.
start_daemon
kill -USR1 "$pid"
wait_until grep -q 'statistics: lookups' log
grep -Eq 'hits [0-9]+, misses [1-9]' log || fail "no misses counted"
cat mnt/a >/dev/null
kill -USR2 "$pid"
kill -PIPE "$pid"
cmp mnt/a a.raw
umount mnt
wait_gone "$pid"
start_fs src mnt -q
kill -USR1 "$pid"
wait_until grep -q 'statistics: lookups' log || fail "quiet statistics"
stop_fs mnt

# A mount that follows at once.
for i in 1 2 3 4 5 6 7 8; do
	"$bloscfs" src mnt
	cmp -n 1000 mnt/a a.raw
	umount mnt
done

# A log without a reader must not stop readers of files.
cp -r src/a.b2frame src/bad.b2frame
rm src/bad.b2frame/0000000*
mkfifo slow
exec 6<>slow
"$bloscfs" -f -d src mnt 2>slow &
pid=$!
pids+=("$pid")
wait_until mountpoint -q mnt
for i in $(seq 20); do
	timeout 10 cat mnt/a >/dev/null || fail "blocked by the log"
	timeout 10 ls mnt >/dev/null
done
umount mnt
exec 6>&-
wait_gone "$pid"

# The same message a thousand times is one line and a count.
start_fs src mnt
for i in $(seq 30); do
	cat mnt/bad >/dev/null 2>&1 && fail "bad is readable"
done
stop_fs mnt
[ "$(grep -c 'bad.b2frame: chunk 0 ' log)" -lt 10 ] || fail "repeated"
grep -q 'last message repeated [0-9]* times$' log || fail "no count"
# Two reads are two messages; the second comes in time, if not at once then later.
for i in $(seq 5); do
	start_fs src mnt -o direct_io
	head -c 1 mnt/bad 2>/dev/null && fail "bad is readable"
	head -c 1 mnt/bad 2>/dev/null && fail "bad is readable"
	stop_fs mnt
	if grep -q 'last message repeated once$' log; then break; fi
done
grep -q 'last message repeated once$' log || fail "no word for one repetition"
