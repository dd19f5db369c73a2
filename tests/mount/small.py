# SPDX-License-Identifier: BSD-3-Clause
"""small - a mount whose small files are one file each"""
import contextlib
import os
import pathlib
import random
import subprocess

from mounting import is_traced, wait_until
from scratch import check_stock, litter

SMALL = "small=64k"
LIMIT = 64 << 10
FRAME = pathlib.Path("src/f.b2frame")


def noise(n, seed=0):
    return random.Random(seed).randbytes(n)


def append(data, path="mnt/f"):
    with open(path, "ab", buffering=0) as f:
        assert f.write(data) == len(data)


def check(want, is_one_file, path=FRAME):
    """The data that C-Blosc2 reads, and whether the frame is one file."""
    check_stock(path, want)
    assert path.is_file() == is_one_file
    assert not litter(path), litter(path)


def hidden():
    """Leftovers in SOURCE that a mount should have deleted."""
    return [x for x in os.listdir("src") if x.startswith(".bloscfs-deleted-")]


@contextlib.contextmanager
def traced(scratch, calls, what):
    """Traces the daemon, to act on it at a system call."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-p",
         str(scratch.mount.pid), "-e", f"trace={calls}",
         "-e", f"inject={calls}:{what}"])
    try:
        wait_until(lambda: is_traced(scratch.mount.pid), "strace")
        yield
    finally:
        # strace waits until a daemon that it killed has been reaped: poll() reaps.
        scratch.mount.process.poll()
        tracer.kill()
        tracer.wait()
