# SPDX-License-Identifier: BSD-3-Clause
"""committing - mounts whose commits are observed, for the Python tests"""
import os
import pathlib
import time

from mounting import Mount, tmpfs, wait_until

CHUNK = 1 << 16


def mounted(*options, source="src", path="mnt"):
    os.makedirs(source, exist_ok=True)
    return Mount(source, path, "-o", ",".join(("chunksize=64k", *options)))


class Traced:
    """A mount whose syncs are counted."""

    def __init__(self, *options, inject=()):
        self.mount = mounted(*options)
        faults = [arg for fault in inject for arg in ("-e", f"inject={fault}")]
        calls = ["fsync", "syncfs", "fdatasync", "sync_file_range", "rename",
                 "pwritev2", "fallocate", *(fault.split(":")[0] for fault in inject)]
        self.mount.args[:0] = ["strace", *faults, "-f", "-qq", "-o", "trace", "-e",
                               f"trace={','.join(calls)}"]

    def __enter__(self):
        self.mount.__enter__()
        return self

    def __exit__(self, *exception):
        self.mount.__exit__(*exception)

    def count(self, *names):
        lines = pathlib.Path("trace").read_text().split("\n")
        calls = [line.split(None, 1)[1].replace("fdatasync", "fsync")
                 for line in lines if " " in line]
        return sum(c.startswith(f"{n}(") for c in calls for n in names)

    def during(self, call, *names):
        before = self.count(*names)
        call()
        time.sleep(.2)
        return self.count(*names) - before

    def wait_for_rest(self):
        """Waits until nothing has been synced for longer than commit=1."""
        wait_until(lambda: not self.during(lambda: time.sleep(1.5), "fsync",
                                           "syncfs"), "the end of all syncs")


def write(path, content=b"written"):
    with open(path, "wb") as f:
        f.write(content)


def append(path, content):
    with open(path, "ab") as f:
        f.write(content)


def rewrite(path):
    with open(path, "r+b") as f:
        f.write(b"anew")


def fsync(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def small_disk(size="4m"):
    return tmpfs("src", f"size={size}")


def incompressible(n, seed=0):
    import random
    return random.Random(seed).randbytes(n)
