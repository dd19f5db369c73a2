#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sixteen readers at once, of the same frames and of different ones."""
import os
import random

from mounting import SANITIZED, Mount, in_threads, main, make

READERS = 16
ROUNDS = 30 if SANITIZED else 120


def read_all(seed, contents):
    """Reads, maps, lists and reopens at random, and compares."""
    rng = random.Random(seed)
    names = sorted(contents)
    for _ in range(ROUNDS):
        name = rng.choice(names)
        raw = contents[name]
        what = rng.randrange(6)
        if what == 0:
            with open(f"mnt/{name}", "rb") as f:
                assert f.read() == raw
        elif what == 1:
            assert set(names) <= set(os.listdir("mnt"))
            assert os.path.getsize(f"mnt/{name}") == len(raw)
        elif what == 2:
            # Drop cached pages, so that reads reach the daemon.
            fd = os.open(f"mnt/{name}", os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            assert os.pread(fd, len(raw), 0) == raw
            os.close(fd)
        else:
            fd = os.open(f"mnt/{name}", os.O_RDONLY)
            for _ in range(10):
                off = rng.randrange(len(raw))
                size = rng.choice([1, 4096, 100000])
                assert os.pread(fd, size, off) == raw[off:off + size]
            os.close(fd)


def run(*options):
    os.makedirs("src", exist_ok=True)
    contents = {}
    for i in range(6):
        kind = "contiguous" if i % 2 else "sparse"
        contents[f"f{i}"] = make(f"src/f{i}.b2frame", None, kind=kind, seed=i,
                                 nbytes=1500000 + i, chunk=1 << 17)
    with Mount("src", "mnt", "-o", ",".join(options) or "ro"):
        in_threads(READERS, lambda i: read_all(i, contents))


def test_with_the_kernels_cache():
    run()


def test_without_it():
    run("direct_io", "attr_timeout=0", "entry_timeout=0")


def test_with_a_cache_that_is_far_too_small():
    run("cachesize=512k", "direct_io")


main()
