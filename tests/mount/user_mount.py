#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""user_mount - mounts src on mnt as the current user, and uses it

For test_owners; bloscfs is in the current folder.
"""
import errno
import os
import stat
import subprocess
import time


def error_of(call, *args):
    try:
        call(*args)
    except OSError as e:
        return e.errno
    return 0


def check_file(mode):
    """The creator of a file may write to it, whatever its mode is."""
    name = f"mnt/{mode:o}"
    fd = os.open(name, os.O_CREAT | os.O_RDWR, mode)
    os.write(fd, b"written")
    os.fsync(fd)
    os.write(fd, b" twice")
    os.close(fd)
    st = os.stat(name)
    assert (st.st_uid, stat.S_IMODE(st.st_mode)) == (os.getuid(), mode)
    os.rename(name, "mnt/moved")
    os.chmod("mnt/moved", 0o600)
    with open("mnt/moved", "r+b") as f:
        assert f.read() == b"written twice"
        os.chmod("mnt/moved", mode)
        f.write(b" thrice")
        os.unlink("mnt/moved")


def check_others():
    """Whoever may write to root's file may set its size."""
    os.mkdir("src/roots")
    for name in os.listdir("roots"):
        os.rename(f"roots/{name}", f"src/roots/{name}")
    for name in "mnt/roots/frame", "mnt/roots/plain":
        for _ in range(2):
            before = os.stat(name).st_mtime_ns
            os.truncate(name, 10)
            assert os.stat(name).st_mtime_ns > before
            with open(name, "r+b") as f:
                f.truncate(10)
        for _ in range(2):
            open(name, "wb").close()
        os.unlink(name)
    os.rmdir("mnt/roots")


def check_unreadable():
    """Who may not read a file may still rename it over another one."""
    for name in "src/old.txt", "src/new.txt":
        open(name, "x").close()
    os.chmod("src/new.txt", 0)
    os.rename("mnt/new.txt", "mnt/old.txt")
    os.unlink("mnt/old.txt")


def check_folders():
    os.makedirs("mnt/d/e")
    open("mnt/d/e/f", "x").close()
    os.chmod("mnt/d", 0o500)
    assert error_of(os.mkdir, "mnt/d/g") == errno.EACCES
    assert error_of(os.rename, "mnt/d/e", "mnt/e") == errno.EACCES
    assert error_of(os.chown, "mnt/d", 0, -1) == errno.EPERM
    os.chmod("mnt/d", 0o700)
    os.rename("mnt/d/e", "mnt/e")
    assert os.listdir("mnt/e") == ["f"]


def make_closed():
    """Frames that the daemon may not read, and a readable frame."""
    for kind, name in ("--contiguous", "flat.b2f"), ("--plain", "dir.b2frame"):
        subprocess.run(["./bloscctl", "compress", "-q", kind, "-o",
                        f"src/{name}", "bloscctl"], check=True)
        os.chmod(f"src/{name}", 0)


def check_closed():
    """Names stay the same while modes change."""
    assert sorted(os.listdir("mnt")) == ["dir", "flat"], os.listdir("mnt")
    for name, frame, mode in (("flat", "flat.b2f", 0o600),
                              ("dir", "dir.b2frame", 0o700)):
        assert stat.S_ISREG(os.stat(f"mnt/{name}").st_mode)
        assert error_of(open, f"mnt/{name}", "rb") == errno.EACCES
        os.chmod(f"src/{frame}", mode)
        time.sleep(1.2)
        assert os.listdir("mnt").count(name) == 1
        with open(f"mnt/{name}", "rb") as f, open("bloscctl", "rb") as g:
            assert f.read() == g.read()
        os.unlink(f"mnt/{name}")


make_closed()
daemon = subprocess.Popen(["./bloscfs", "-f", "src", "mnt"])
try:
    while not os.path.ismount("mnt"):
        assert daemon.poll() is None
        time.sleep(.05)
    check_closed()
    for file_mode in 0o644, 0o444, 0o400, 0o200, 0:
        check_file(file_mode)
    check_others()
    check_unreadable()
    check_folders()
finally:
    if subprocess.run(["./bloscctl", "umount", "mnt"], check=False).returncode:
        subprocess.run(["fusermount3", "-u", "mnt"], check=True)
        raise AssertionError("bloscctl umount")
    assert daemon.wait(10) == 0
