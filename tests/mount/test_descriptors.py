#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon without free descriptors still reads, and still ends."""
import contextlib
import errno
import os
import pathlib
import resource
import shutil
import signal
import subprocess

from mounting import Mount, in_threads, main, make, wait_until

LIMIT = 64
LIMITED = ("prlimit", f"--nofile={LIMIT}")


def open_all(paths):
    """Opens as many as possible."""
    files = []
    for path in paths:
        try:
            files.append(open(path, "rb", buffering=0))
        except OSError as e:
            assert e.errno == errno.EMFILE, e
            break
    return files


def close_all(files):
    for f in files:
        with contextlib.suppress(OSError):
            f.close()


def make_texts():
    for i in range(LIMIT):
        os.makedirs(f"src/{i}/deep")
        pathlib.Path(f"src/{i}/text").write_text("x")


def test_sigterm_needs_no_descriptor():
    make_texts()
    with Mount("src", "mnt") as m:
        files = open_all(f"mnt/{i}/text" for i in range(LIMIT))
        n = max(map(int, os.listdir(f"/proc/{m.pid}/fd"))) + 1
        resource.prlimit(m.pid, resource.RLIMIT_NOFILE, (n, n))
        # Fill up numbers that are not in use yet, so that none is free.
        for i in range(n - len(os.listdir(f"/proc/{m.pid}/fd"))):
            files.append(open(f"mnt/{i}/text", "rb", buffering=0))
        m.end(signal.SIGTERM)
        close_all(files)


def test_what_is_not_deleted_keeps_no_descriptor():
    make_texts()
    for i in range(LIMIT):
        os.link(f"src/{i}/text", f"src/{i}/link")
        os.link(f"src/{i}/text", f"src/{i}/over")
        pathlib.Path(f"src/{i}/new").write_text("y")
    with Mount("src", "mnt", wrap=LIMITED):
        for i in range(LIMIT):
            with contextlib.suppress(OSError):
                os.rmdir(f"mnt/{i}")
            os.unlink(f"mnt/{i}/link")
            # The kernel keeps the file, of which only this name goes.
            os.stat(f"mnt/{i}/text")
            os.rename(f"mnt/{i}/new", f"mnt/{i}/over")
        for i in range(LIMIT):
            assert pathlib.Path(f"mnt/{i}/text").read_text() == "x"
            assert pathlib.Path(f"mnt/{i}/over").read_text() == "y"


def test_what_is_open_can_be_read_with_no_descriptor_left():
    make_texts()
    raw = make("src/f0.b2frame", None)
    for i in range(1, 8):
        shutil.copytree("src/f0.b2frame", f"src/f{i}.b2frame")
    with Mount("src", "mnt", "-o", "direct_io", wrap=LIMITED):
        # Folders that are kept open because they might be needed again.
        for i in range(LIMIT):
            os.listdir(f"mnt/{i}/deep")
        frames = open_all(f"mnt/f{i}" for i in range(8))
        assert len(frames) == 8
        texts = open_all(f"mnt/{i}/text" for i in range(LIMIT))
        assert 10 < len(texts) < LIMIT, len(texts)
        results = []
        in_threads(8, lambda i: results.append(frames[i].read() == raw))
        assert results == [True] * 8, results
        close_all(frames + texts)
        # And there is room again.
        close_all(open_all(f"mnt/{i}/text" for i in range(10)))


def test_a_filesystem_mounted_in_source_can_be_unmounted():
    os.makedirs("src/sub")
    os.mkdir("other")
    pathlib.Path("other/text").write_text("x")
    with Mount("src", "mnt"):
        # The same filesystem, elsewhere.
        subprocess.run(["mount", "--bind", "other", "src/sub"], check=True)
        with open("mnt/sub/text", encoding="ascii") as f:
            assert f.read() == "x"
        wait_until(lambda: subprocess.run(
            ["umount", "src/sub"], stderr=subprocess.DEVNULL,
            check=False).returncode == 0, "it is unmounted", seconds=8)


main()
