#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times that stat(2) shows: those of changes, not of commits."""
import os
import pathlib
import time

import blosc2
import numpy as np

from mounting import main
from scratch import Scratch, make_contiguous

MNT, SRC = pathlib.Path("mnt"), pathlib.Path("src")
# The kernel keeps no attributes, and there is no timer.
FRESH = "attr_timeout=0,commit=600,chunksize=64k"


def tick():
    """Waits for longer than a tick of the filesystem's clock."""
    time.sleep(.05)


def ctime(path="mnt/x"):
    return os.stat(path).st_ctime_ns


def write(data, path="mnt/x", mode="wb"):
    with open(path, mode, buffering=0) as f:
        f.write(data)
        tick()
        shown = os.fstat(f.fileno())
        tick()
    return shown


def test_a_close_is_no_change():
    with Scratch(FRESH):
        for mode in "wb", "ab", "r+b":
            shown = write(os.urandom(300000), mode=mode)
            tick()
            assert ctime() == shown.st_ctime_ns, mode
            assert os.stat("mnt/x").st_mtime_ns == shown.st_mtime_ns
            assert ctime() >= shown.st_mtime_ns
            # Nor is forgetting an inode a change.
            with open("mnt/x", "rb") as f:
                f.read()
            assert ctime() == shown.st_ctime_ns, mode


def test_a_commit_that_was_not_looked_at_before():
    with Scratch(FRESH):
        with open("mnt/x", "wb", buffering=0) as f:
            f.write(b"x" * 100000)
            last = time.time_ns()
            time.sleep(.3)
        assert ctime() < last + 200_000_000


def test_the_timer_and_fsync_are_no_changes():
    with Scratch("attr_timeout=0,commit=1"):
        # The second file is a contiguous frame.
        for size in 100000, 1000:
            with open("mnt/x", "wb", buffering=0) as f:
                f.write(b"x" * size)
                tick()
                shown = ctime()
                time.sleep(2.5)
                assert ctime() == shown, size
                f.write(b"y")
                tick()
                shown = ctime()
                os.fsync(f.fileno())
                assert ctime() == shown, size
            time.sleep(1.5)
            assert ctime() == shown, size
            os.unlink("mnt/x")


def they_change():
    frame = blosc2.open("src/x.b2frame", mode="a")
    frame.vlmeta["by"] = "another"


def test_what_is_a_change():
    with Scratch(FRESH) as scratch:
        write(b"x" * 100000)
        changes = [
            lambda: os.chmod("mnt/x", 0o600),
            lambda: os.utime("mnt/x", (5, 5)),
            lambda: os.setxattr("mnt/x", "user.a", os.urandom(4)),
            lambda: os.truncate("mnt/x", 50),
            lambda: os.rename("mnt/x", "mnt/y"),
            lambda: os.rename("mnt/y", "mnt/x"),
            lambda: write(b"more", mode="ab"),
            # A change by another program counts, too.
            they_change,
        ]
        for is_open in False, True:
            f = open("mnt/x", "r+b", buffering=0) if is_open else None
            for i, change in enumerate(changes[:-1] if f else changes):
                if f:
                    f.write(b"pending")
                path = "mnt/y" if os.path.exists("mnt/y") else "mnt/x"
                before = ctime(path)
                tick()
                now = time.time_ns()
                tick()
                change()
                path = "mnt/y" if os.path.exists("mnt/y") else "mnt/x"
                assert before < now < ctime(path), (is_open, i)
                last = ctime(path)
            if f:
                tick()
                f.close()
                assert ctime() == last
        # After a remount it is the time on disk.
        scratch.remount()
        assert ctime() >= last


def atime_moves(path, moved):
    """Does a reader change the atime before and after a rename?"""
    result = []
    for _ in range(2):
        before = os.stat(path).st_atime_ns
        tick()
        path.read_bytes()
        result.append(os.stat(path).st_atime_ns > before)
        tick()
        path.rename(moved)
        path = moved
        tick()
    return result


def test_a_rename_lets_readers_change_the_atime():
    """If the backing filesystem is mounted with relatime."""
    with Scratch(FRESH):
        (SRC / "plain").write_bytes(b"plain")
        write(b"x" * 1000)
        tick()
        assert atime_moves(MNT / "x", MNT / "y")[1] == \
            atime_moves(SRC / "plain", SRC / "other")[1]


def test_a_look_is_no_access():
    """For each kind of file; its atime is so old that a read would change it."""
    old = time.time() - 3 * 86400
    with Scratch(FRESH, "entry_timeout=0"):
        write(b"x" * 1000)
        np.save(MNT / "array.npy", np.arange(1000))
        (SRC / "plain").write_bytes(b"plain")
        blosc2.asarray(np.arange(100), urlpath=str(SRC / "one.b2nd"))
        for name in "x", "array.npy", "plain", "one":
            os.utime(MNT / name, (old, old - 1))
            for _ in range(3):
                os.listdir(MNT)
                shown = os.stat(MNT / name).st_atime
                assert abs(shown - old) < 1, (name, shown - old)


def test_an_mtime_that_is_set_while_chunks_are_written():
    """Chunks of a contiguous frame, whose file has the mtime."""
    os.mkdir(SRC)
    make_contiguous(SRC / "x.b2frame")
    old = time.time_ns() - 10**12
    with Scratch(FRESH, wrap=("strace", "-f", "-o", "/dev/null", "-e",
                              "inject=utimensat:delay_exit=200000")):
        with open("mnt/x", "r+b", buffering=0) as f:
            f.write(os.urandom(16 << 20))
            os.utime("mnt/x", ns=(old, old))
            shown = [os.stat("mnt/x").st_mtime_ns]
        shown.append(os.stat("mnt/x").st_mtime_ns)
        assert shown == [old, old], [t - old for t in shown]


def test_an_atime_that_is_set_stays():
    """Sets times through a descriptor for writing, as touch, cp and rsync do; of new,
    small, contiguous and large files."""
    old = time.time() - 300 * 86400
    os.mkdir(SRC)
    make_contiguous(SRC / "contiguous.b2frame")
    with Scratch(FRESH) as scratch:
        for name, size in ("empty", 0), ("small", 100), ("large", 300000):
            write(os.urandom(size), f"mnt/{name}")
        for fresh in False, True:
            for name in "contiguous", "empty", "small", "large":
                path = f"mnt/{name}"
                content = pathlib.Path(path).read_bytes()
                if fresh:
                    path += ".copy"
                with open(path, "wb" if fresh else "r+b", buffering=0) as f:
                    f.write(content)
                    os.utime(f.fileno(), (old, old - 1))
                    shown = [os.fstat(f.fileno()).st_atime]
                    tick()
                    shown.append(os.fstat(f.fileno()).st_atime)
                for _ in range(3):
                    tick()
                    os.listdir(MNT)
                    shown.append(os.stat(path).st_atime)
                assert max(shown) - min(shown) < 1 and \
                    abs(shown[0] - old) < 1, (path, [x - old for x in shown])
        scratch.remount()
        for path in MNT.glob("*.copy"):
            shown = os.stat(path).st_atime
            assert abs(shown - old) < 1, (path, shown - old)


main()
