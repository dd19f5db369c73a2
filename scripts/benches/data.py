# SPDX-License-Identifier: BSD-3-Clause
"""data - what is measured with: contents, frames of them, caches, memory"""
import os
import pathlib
import shutil
import time

import blosc2
import numpy as np

MIB = 1 << 20
CORES = len(os.sched_getaffinity(0))
SIDE = 1000


def walk(n):
    """A random walk of float64, rounded to 1/64: shrinks to a third."""
    steps = np.random.default_rng(1).normal(0, 1, n)
    return np.round(np.cumsum(steps) * 64) / 64


def sensor(n):
    """A sine with noise, float64: shrinks to three quarters."""
    noise = np.round(np.random.default_rng(1).normal(0, 20, n)) / 64
    return np.sin(np.arange(n) / 1000) * 100 + noise


CONTENTS = {"medium": sensor, "low": np.arange, "walk": walk}


def pieces(kind):
    """64 MiB in pieces of 1 MiB; longer contents repeat them."""
    raw = CONTENTS[kind](64 * MIB // 8).tobytes()
    return [raw[i:i + MIB] for i in range(0, len(raw), MIB)]


def matrix(nbytes):
    """Float64, twice as many rows as columns, whole chunks of SIDE x SIDE."""
    columns = max(1, round((nbytes / 8 / 2) ** 0.5 / SIDE)) * SIDE
    rows = max(1, round(nbytes / 8 / columns / SIDE)) * SIDE
    some = walk(SIDE * columns).reshape(SIDE, columns)
    return np.tile(some, (rows // SIDE, 1))


def cparams(codec, nthreads=CORES):
    return {"codec": blosc2.Codec[codec.upper()], "clevel": 5, "typesize": 8,
            "nthreads": nthreads, "filters": [blosc2.Filter.SHUFFLE]}


def append(path, parts, size, codec):
    """A sparse frame of @size bytes by C-Blosc2."""
    schunk = blosc2.SChunk(chunksize=MIB, urlpath=str(path), contiguous=False,
                           cparams=cparams(codec))
    for i in range(size // MIB):
        schunk.append_data(parts[i % len(parts)])


def write(path, parts, size):
    """As dd with bs=1M conv=fsync."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for i in range(size // MIB):
        os.write(fd, parts[i % len(parts)])
    os.fsync(fd)
    os.close(fd)


def sync_files(path):
    """With fsync, all files of the directory @path and itself."""
    for name in [*(e.path for e in os.scandir(path)), path]:
        fd = os.open(name, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


class Set:
    """A directory with the same files twice: raw in plain/, frames in src/."""

    def __init__(self, top, kind, codec, size):
        self.top = pathlib.Path(top) / f"{kind}-{codec}"
        self.kind, self.codec, self.size = kind, codec, size
        self.plain, self.src = self.top / "plain", self.top / "src"
        self.shape = None
        if not self.top.exists():
            self.plain.mkdir(parents=True)
            self.src.mkdir()
            getattr(self, f"make_{kind}", self.make_stream)()
            os.sync()
        self.files = sorted(os.listdir(self.plain))

    def make_stream(self):
        parts = pieces(self.kind)
        write(self.plain / "data", parts, self.size)
        append(self.src / "data.b2frame", parts, self.size, self.codec)

    def make_four(self):
        parts = pieces("medium")
        for i in range(4):
            write(self.plain / f"{i}", parts, self.size // 4)
            append(self.src / f"{i}.b2frame", parts, self.size // 4,
                   self.codec)

    def make_array(self):
        a = matrix(self.size)
        a.tofile(self.plain / "data")
        blosc2.asarray(a, urlpath=str(self.src / "data.b2nd"), mode="w",
                       contiguous=False, chunks=(SIDE, SIDE),
                       cparams=cparams(self.codec))

    def make_names(self):
        """Many small files; the size counts them."""
        rng = np.random.default_rng(7)
        for i in range(self.size):
            text = f"{i} is a number, " * int(rng.integers(1, 500))
            folder = self.plain / f"{i // 100}"
            folder.mkdir(exist_ok=True)
            (folder / f"{i}.txt").write_text(text)

    def make_none(self):
        """What is only written to needs no content."""


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")


def warm(top):
    """Has the kernel cache the file @top, or all files below it."""
    buffer = bytearray(MIB)
    for path in [top] if top.is_file() else top.rglob("*"):
        if path.is_file():
            with open(path, "rb", buffering=0) as f:
                while f.readinto(buffer):
                    pass


def free_memory():
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def hold_memory(nbytes):
    """Lets a virtual machine's host provide so much, and frees it again.

    Memory that has been free for a while is the host's; without this chance
    decides which of two samples has to wait until it comes back.
    """
    np.full(nbytes // 8, 1.0)


def timed(action, *args):
    start = time.perf_counter()
    action(*args)
    return time.perf_counter() - start


def remove(*paths):
    for path in paths:
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            pathlib.Path(path).unlink(missing_ok=True)
