#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# No call can write, and SOURCE does not change.
. "$(dirname "$0")/lib.sh"

mkdir mnt src src/dir
make_frame src/a.b2frame a.raw
echo text >src/text
ln -s text src/link
touch file
find src -printf '%p %s %T@ %C@ %m\n' | sort >before
find src -type f -exec md5sum {} + | sort >>before

cat >try.py <<'END'
import errno, os, sys

def refused(what, *args, want=errno.EROFS, **kw):
    try:
        what(*args, **kw)
    except OSError as e:
        # For an existing name EEXIST may come first.
        assert e.errno == want, (what, args, e)
    else:
        raise AssertionError(f"{what} {args} was allowed")

m = sys.argv[1]
for f in "a", "text":
    p = f"{m}/{f}"
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC,
                  os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_CREAT):
        refused(os.open, p, flags)
    refused(os.truncate, p, 3)
    refused(os.chmod, p, 0o600)
    refused(os.chown, p, 1, 1)
    refused(os.utime, p)
    refused(os.unlink, p)
    refused(os.rename, p, f"{m}/new")
    refused(os.link, p, f"{m}/new")
    refused(os.setxattr, p, "user.x", b"1")
    refused(os.removexattr, p, "user.x")
    assert not os.access(p, os.W_OK)
refused(os.open, f"{m}/new", os.O_WRONLY | os.O_CREAT)
refused(os.mkdir, f"{m}/new")
refused(os.rmdir, f"{m}/dir")
refused(os.symlink, "x", f"{m}/new")
refused(os.mkfifo, f"{m}/new")
refused(os.mknod, f"{m}/new")
refused(os.rename, f"{m}/dir", f"{m}/new")
fd = os.open(f"{m}/a", os.O_RDONLY)
refused(os.write, fd, b"x", want=errno.EBADF)
refused(os.fchmod, fd, 0o600)
END
start_fs src mnt -o ro
"$B2F_PYTHON" try.py mnt
# cp -a and ls -l ask for extended attributes.
ls -l mnt >/dev/null
cp -a mnt/a copy
cmp copy a.raw
# Root can remove the flag of the mount; the daemon still refuses.
if mount -o remount,rw "$work/mnt" 2>/dev/null; then
	"$B2F_PYTHON" try.py mnt
fi
stop_fs mnt

start_fs src/a.b2frame file -o ro
expect 1 bash -c 'echo x >>file'
grep -qi 'read-only' out || fail "not EROFS"
stop_fs file

# A SOURCE that cannot be written to is reported once, and the mount is
# read-only.
mkdir small && mount -t tmpfs -o size=8m none small && cp -r src/. small
mount -o remount,ro small
start_fs small mnt
[ "$(grep -c "read-only" log)" = 1 ] || fail "said: $(cat log)"
"$B2F_PYTHON" try.py mnt
stop_fs mnt
start_fs small/a.b2frame mnt
expect 1 bash -c 'echo x >>mnt/a'
grep -qi 'read-only' out || fail "not EROFS"
stop_fs mnt
umount small

find src -printf '%p %s %T@ %C@ %m\n' | sort >after
find src -type f -exec md5sum {} + | sort >>after
diff before after
