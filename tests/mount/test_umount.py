#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl umount: when it returns, all that was written is stored."""
import contextlib
import ctypes
import mmap
import os
import pathlib
import signal
import subprocess
import time

from mounting import BUILD, main, mountpoints, wait_until
from scratch import Scratch, bloscctl, stock_bytes

MNT, SRC = pathlib.Path("mnt"), pathlib.Path("src")
MIB = 1 << 20
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3,
                      ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


@contextlib.contextmanager
def in_background(*options):
    """Ends with no mount left; what is in it has to unmount."""
    SRC.mkdir(exist_ok=True)
    MNT.mkdir(exist_ok=True)
    subprocess.run([BUILD / "bloscfs", "-o",
                    ",".join(("logfile=log", *options)), SRC, MNT], check=True)
    yield
    assert str(MNT.absolute()) not in mountpoints(pathlib.Path.cwd())


def write_mapped(want):
    """Nothing is written back before the last close.

    Python's own maps keep a descriptor, whose close is a commit.
    """
    with open(MNT / "x", "r+b") as f:
        f.truncate(len(want))
        at = libc.mmap(None, len(want), mmap.PROT_READ | mmap.PROT_WRITE,
                       mmap.MAP_SHARED, f.fileno(), 0)
    ctypes.memmove(at, want, len(want))
    assert libc.munmap(at, len(want)) == 0


def helper(name):
    """As umount(8) finds it, by a name of its own."""
    path = pathlib.Path(name).absolute()
    path.symlink_to(BUILD / "bloscctl")
    return path


def has_ended(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True
    return "State:\tZ" in status


def run(*args, status=0):
    done = subprocess.run([*map(str, args)], capture_output=True, text=True)
    assert done.returncode == status, (args, done)
    return done.stderr


def test_what_was_mapped_is_stored_when_it_returns():
    umount = helper("umount.fuse.bloscfs")
    for i in range(6):
        want = os.urandom(2 * MIB) + bytes([i]) * 2 * MIB
        with in_background("commit=600", "clevel=9"):
            (MNT / "x").touch()
            write_mapped(want)
            if i % 2:
                bloscctl("umount", MNT)
            else:
                run(umount, MNT.absolute(), "-n", "-t", "fuse.bloscfs")
            assert stock_bytes(SRC / "x.b2frame") == want, i


def test_what_is_written_back_after_the_flush_is_committed_at_once():
    """Though a reader keeps the file open."""
    with Scratch("commit=600"):
        (MNT / "x").write_bytes(bytes(MIB))
        with open(MNT / "x", "rb") as reader:
            write_mapped(b"after" * 200000)
            wait_until(lambda: stock_bytes(SRC / "x.b2frame")[:5] == b"after",
                       "the commit", 10)
            assert reader.read(5) == b"after"


def test_what_cannot_be_unmounted():
    MNT.mkdir()
    assert "no bloscfs is mounted" in run(BUILD / "bloscctl", "umount", MNT,
                                          status=1)
    assert "No such file" in run(BUILD / "bloscctl", "umount", "none",
                                 status=1)
    run(BUILD / "bloscctl", "umount", status=2)
    with Scratch():
        (MNT / "x").write_bytes(b"x")
        assert "no bloscfs is mounted" in run(BUILD / "bloscctl", "umount",
                                              MNT / "x", status=1)
        with open(MNT / "x", "rb"):
            assert "busy" in run(BUILD / "bloscctl", "umount", MNT, status=1)
        # One that is in use goes lazily, and its end is not waited for.
        with open(MNT / "x", "rb") as f:
            run(BUILD / "bloscctl", "umount", "-l", MNT)
            assert not mountpoints(pathlib.Path.cwd())
            assert f.read() == b"x"
        subprocess.run(["mount", "-t", "tmpfs", "none", MNT], check=True)


def knows_exit_codes():
    return tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 15)


def test_a_loss_is_told_of():
    SRC.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", SRC],
                   check=True)
    try:
        with in_background("commit=600"):
            with contextlib.suppress(OSError), open(MNT / "x", "wb") as f:
                f.write(os.urandom(4 * MIB))
            said = run(BUILD / "bloscctl", "umount", MNT,
                       status=int(knows_exit_codes()))
            assert "could not store all" in said or not knows_exit_codes()
    finally:
        subprocess.run(["umount", SRC], check=True)


def test_a_daemon_that_has_died():
    with in_background("commit=600"):
        pid = int(os.getxattr(MNT, "user.bloscfs.pid"))
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: has_ended(pid), "its end")
        assert "has died" in run(BUILD / "bloscctl", "umount", MNT, status=1)


def test_a_daemon_that_does_not_end():
    """One that hangs is not waited for longer than wanted."""
    with in_background("xattr=off"):
        assert "not waited for" in run(BUILD / "bloscctl", "umount", MNT)
    with in_background():
        fd = os.open(MNT, os.O_PATH)
        start = time.monotonic()
        pid = int(os.getxattr(MNT, "user.bloscfs.pid"))
        # Beside the mount there is another one of the same filesystem.
        pathlib.Path("other").mkdir()
        subprocess.run(["mount", "--bind", MNT, "other"], check=True)
        os.close(fd)
        assert "has not ended" in run(BUILD / "bloscctl", "umount",
                                      "--timeout=1", MNT, status=1)
        assert .9 < time.monotonic() - start < 30
        run(BUILD / "bloscctl", "umount", "other")
        assert has_ended(pid)


main()
