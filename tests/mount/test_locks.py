#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that hold the lock of C-Blosc2 (.b2lock) and do not let go."""
import concurrent.futures
import contextlib
import errno
import fcntl
import mmap
import os
import pathlib
import signal
import subprocess
import threading
import time

import blosc2
import numpy as np

from committing import mounted
from mounting import (BUILD, data, error_of, main, wait_until,
                      wait_until_stock)
from scratch import Scratch, bloscctl, stock_bytes

FIRST, SECOND = data(100000), data(120000)[::-1]
LOST = 8


def stock(name, suffix=".b2frame"):
    return stock_bytes(f"src/{name}{suffix}")


@contextlib.contextmanager
def sharing(path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_SH)
    try:
        yield
    finally:
        os.close(fd)


def locked(name):
    """Holds the lock as a hanging reader of C-Blosc2."""
    assert os.path.exists(f"src/{name}.b2frame/.b2lock")
    return sharing(f"src/{name}.b2frame/.b2lock")


def make(*names):
    for name in names:
        with open(f"mnt/{name}", "wb") as f:
            f.write(FIRST)


def test_other_files_are_committed():
    with mounted("locking", "commit=1") as mount:
        make("a", "b")
        with contextlib.ExitStack() as files:
            fds = [os.open(f"mnt/{name}", os.O_RDWR) for name in "ab"]
            files.callback(lambda: [os.close(fd) for fd in fds])
            with locked("a"):
                for fd in fds:
                    os.pwrite(fd, SECOND, 0)
                wait_until_stock(lambda: stock("b") == SECOND, "the timer")
                begin = time.monotonic()
                assert error_of(os.fsync, fds[0]) == errno.EAGAIN
                assert time.monotonic() - begin < 10
                assert stock("a") == FIRST
                mount.wait_for_log("another program holds .b2lock")
            # The data are stored at the next tick without a request.
            wait_until_stock(lambda: stock("a") == SECOND, "the next tick")
            os.fsync(fds[0])


def test_requests_are_answered():
    """More requests wait than the daemon has threads."""
    names = [f"f{i}" for i in range(14)]
    with mounted("locking", "commit=600"):
        make(*names, "other")
        with contextlib.ExitStack() as held:
            for name in names:
                held.enter_context(locked(name))
            fds = [os.open(f"mnt/{name}", os.O_RDWR) for name in names]
            for fd in fds:
                os.pwrite(fd, SECOND, 0)
            with concurrent.futures.ThreadPoolExecutor(14) as pool:
                asked = [pool.submit(error_of, os.fsync, fd) for fd in fds]
                with open("mnt/other", "r+b") as f:
                    f.write(SECOND)
                    os.fsync(f.fileno())
                got = {call.result(30) for call in asked}
            assert got == {errno.EAGAIN}, got
        for fd in fds:
            os.close(fd)
        assert all(stock(name) == SECOND for name in (*names, "other"))


def test_a_user_of_many_locks_does_not_stop_the_mount():
    """Each open of these files would wait 3 s in a thread of the daemon."""
    with mounted():
        make(*(f"f{i}" for i in range(24)), "other")
        held = [os.open(f"src/f{i}.b2frame", os.O_RDONLY) for i in range(24)]
        for fd in held:
            fcntl.flock(fd, fcntl.LOCK_EX)
        done = threading.Event()

        def ask(name):
            got = set()
            while not done.is_set():
                got.add(error_of(open, f"mnt/{name}", "r+b"))
            return got

        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            asked = [pool.submit(ask, f"f{i}") for i in range(24)]
            time.sleep(1)
            start = time.monotonic()
            for _ in range(3):
                assert pathlib.Path("mnt/other").read_bytes() == FIRST
            took = time.monotonic() - start
            done.set()
            assert all(call.result(30) == {errno.EBUSY} for call in asked)
        # If each of them had a thread, 18 s.
        assert took < 9, took
        for fd in held:
            os.close(fd)
        with open("mnt/f0", "r+b"):
            pass


def test_the_end_waits_a_moment():
    with mounted("locking", "commit=600") as mount:
        make("a", "b")
        fds = [os.open(f"mnt/{name}", os.O_RDWR) for name in "ab"]
        with locked("a"):
            for fd in fds:
                os.pwrite(fd, SECOND, 0)
            os.kill(mount.pid, signal.SIGTERM)
            wait_until_stock(lambda: stock("b") == SECOND, "the other file")
        assert mount.process.wait(30) == 0, mount.log()
        mount.ended = True
    assert stock("a") == SECOND
    for fd in fds:
        error_of(os.close, fd)


def test_the_end_says_what_is_lost():
    with mounted("locking", "commit=600") as mount:
        make("a", "b")
        fds = [os.open(f"mnt/{name}", os.O_RDWR) for name in "ab"]
        with locked("a"):
            for fd in fds:
                os.pwrite(fd, SECOND, 0)
            mount.end(signal.SIGTERM, LOST)
        assert "a.b2frame: changes are lost: another program holds .b2lock" in \
            mount.log()
    assert stock("a") == FIRST and stock("b") == SECOND
    for fd in fds:
        error_of(os.close, fd)


def in_forms():
    """A frame of each form, by its name in the mount."""
    with open("plain", "wb") as f:
        f.write(FIRST)
    pathlib.Path("src").mkdir()
    for form, suffix in ("sparse", ".b2frame"), ("contiguous", ".b2f"):
        bloscctl("compress", "-q", f"--format={form}", "plain", "-o",
                 f"src/{form}{suffix}")
    with mounted():
        for name in "small", "empty":
            with open(f"mnt/{name}", "wb") as f:
                f.write(FIRST[:3000])
    return sorted(os.listdir("src"))


def test_a_frame_that_is_written_to_is_not_taken_away():
    """Other programs are kept out: changes in the memory of a mount would be lost."""
    names = in_forms()
    bloscctl("compress", "-q", "--contiguous", "plain")
    assert len(names) == 4, names
    with mounted("commit=600"), contextlib.ExitStack() as files:
        fds = {}
        for name in names:
            fds[name] = os.open(f"mnt/{name.split('.')[0]}", os.O_RDWR)
            files.callback(os.close, fds[name])
            os.pwrite(fds[name], SECOND[:2000], 0)
        for name, fd in fds.items():
            path = f"src/{name}"
            for args in (("decompress", "--rm", "-fo", "out", path),
                         ("convert", "--rm", "-fo", "new", path),
                         ("recompress", "-f", path),
                         ("compress", "-fo", path, "plain"),
                         ("convert", "-fo", path, "plain.b2f")):
                run = subprocess.run([BUILD / "bloscctl", *args],
                                     capture_output=True, text=True)
                assert run.returncode == 1, (name, args)
                assert "another process is writing to it" in run.stderr, run
            os.fsync(fd)
            assert os.pread(fd, 2000, 0) == SECOND[:2000]
    assert sorted(os.listdir("src")) == names
    for name in names:
        assert stock(name.split(".")[0], pathlib.Path(name).suffix)[:2000] == \
            SECOND[:2000], name


def add_arrays():
    """A sparse frame, a contiguous one, and plain data with a view."""
    items = np.arange(6000.).reshape(100, 60)
    for name, contiguous in ("grid", False), ("flat", True):
        blosc2.asarray(items, urlpath=f"src/{name}.b2nd", mode="w",
                       contiguous=contiguous)
    blosc2.save_array(items, "src/tensor.b2frame", mode="w")
    return ["grid", "grid.npy", "flat", "flat.npy", "tensor.npy"]


def read_and_map(path):
    """A reader that keeps the file open and mapped."""
    fd = os.open(path, os.O_RDONLY)
    view = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    assert view[2500] == os.pread(fd, 1, 2500)[0]
    return fd, view


def test_a_reader_keeps_no_lock():
    """After the last writer has left, other mounts and programs can write."""
    names = [name.split(".")[0] for name in in_forms() if "empty" not in name]
    names += add_arrays()
    with mounted("commit=600"), Scratch(path="other"), \
            contextlib.ExitStack() as files:
        for i in range(2):
            for name in names:
                path = f"mnt/{name}"
                with open(path, "r+b") as f:
                    fd, view = read_and_map(path)
                    files.callback(os.close, fd)
                    files.callback(view.close)
                    f.seek(2000)
                    f.write(SECOND[i:i + 99])
                wait_until(lambda: error_of(write_other, name, i) == 0, name)
                wait_until(lambda: os.pread(fd, 99, 2100) == b"o" * 98 +
                           bytes([i]), name)
                assert os.pread(fd, 99, 2000) == SECOND[i:i + 99], name
                assert view[2000:2099] == SECOND[i:i + 99], name
        # The program that appends takes no lock of a mount.
        for name in "sparse.b2frame",:
            bloscctl("append", "-q", f"src/{name}", "plain")
    bloscctl("verify", "-q", "-r", "src")


def is_free(name):
    """Can another mount write to the frame?"""
    fd = os.open(f"src/{name}.b2frame", os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def test_a_writer_that_leaves_beside_a_lock_keeps_none():
    """A reader keeps the frame open; the lock cannot be had when it leaves."""
    with mounted("locking", "small=0"):
        make("a")
        with open("mnt/a", "rb") as reader:
            assert reader.read(10) == FIRST[:10]
            fd = os.open("mnt/a", os.O_RDWR)
            lock = os.open("src/a.b2frame/.b2lock", os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.close(fd)
            time.sleep(1)
            os.close(lock)
            wait_until(lambda: is_free("a"), "the end of the writer")


def beside(path):
    """Holds the lock file beside the contiguous frame @path; makes it."""
    return sharing(f"{path}.b2lock")


def test_a_lock_file_that_is_older_than_the_frame():
    """The mount knows the names in src after a few files, but not in src/d."""
    with mounted("small=64k", "commit=600"):
        os.mkdir("mnt/d")
        make(*(f"f{i}" for i in range(20)))
        for name in "new", "d/new":
            with beside(f"src/{name}.b2frame"):
                fd = os.open(f"mnt/{name}", os.O_WRONLY | os.O_CREAT)
                os.write(fd, b"new")
                assert error_of(os.fsync, fd) == errno.EAGAIN
                assert os.path.isfile(f"src/{name}.b2frame")
            os.fsync(fd)
            os.close(fd)
            assert stock(name) == b"new"


def test_a_lock_file_that_is_younger_than_the_frame():
    """The next writer of a file that stays open takes part in the lock."""
    with mounted("small=64k", "commit=600"):
        make(*(f"f{i}" for i in range(20)))
        with open("mnt/new", "wb") as f:
            f.write(b"new")
            f.flush()
            reader = open("mnt/new", "rb")
        with reader, beside("src/new.b2frame"):
            wait_until(lambda: is_free("new"), "its writer's end")
            assert reader.read() == b"new"
            fd = os.open("mnt/new", os.O_WRONLY | os.O_APPEND)
            os.write(fd, b"er")
            assert error_of(os.fsync, fd) == errno.EAGAIN
        os.fsync(fd)
        os.close(fd)
        assert stock("new") == b"newer"


def test_no_other_writer_has_a_new_file_first():
    """It is locked as soon as its name is there, until it is closed."""
    os.mkdir("src")
    mount = mounted("small=64k", "commit=600")
    mount.args[:0] = ["strace", "-f", "-qq", "-o", "calls", "-e", "trace=linkat,flock",
                      "-e", "inject=linkat,flock:delay_exit=300000"]
    with mount, concurrent.futures.ThreadPoolExecutor() as pool:
        for i in range(3):
            made = pool.submit(os.open, f"mnt/new{i}", os.O_WRONLY | os.O_CREAT)
            wait_until(lambda: os.path.exists(f"src/new{i}.b2frame"), "the new file")
            assert not is_free(f"new{i}")
            while not made.done():
                assert not is_free(f"new{i}")
            os.write(made.result(), b"new")
            assert not is_free(f"new{i}")
            os.close(made.result())
            wait_until(lambda: is_free(f"new{i}"), "the end of the writer")
            assert stock(f"new{i}") == b"new"
        # A program that does not write keeps no other from it.
        os.close(os.open("mnt/empty", os.O_RDONLY | os.O_CREAT))
        reader = os.open("mnt/read", os.O_RDONLY | os.O_CREAT)
        assert is_free("empty") and is_free("read")
        os.close(reader)


def write_other(name, i):
    fd = os.open(f"other/{name}", os.O_RDWR)
    try:
        os.pwrite(fd, b"o" * 98 + bytes([i]), 2100)
        os.fsync(fd)
    finally:
        os.close(fd)


main()
