# SPDX-License-Identifier: BSD-3-Clause
"""data - the data of the measurements: contents, their frames, caches, memory"""
import copy
import functools
import os
import pathlib
import shutil
import subprocess
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


def noise(n):
    """A slope with noise, float64 of three decimals: shrinks to a third."""
    steps = np.random.default_rng(1).normal(0, 1, n)
    return np.round(np.linspace(0, 1000, n) + steps, 3)


def float32(n):
    """A random walk of float32, rounded to 1/8: shrinks to a quarter."""
    steps = np.random.default_rng(1).normal(0, 1, 2 * n)
    return (np.round(np.cumsum(steps) * 8) / 8).astype("f4")


def int16(n):
    """A sine with noise as a sound card gives it: shrinks to two thirds."""
    steps = np.random.default_rng(1).normal(0, 60, 4 * n)
    return (np.sin(np.arange(4 * n) / 300) * 8000 + steps).astype("i2")


def text(n):
    """The log of a server: shrinks to a quarter."""
    rng = np.random.default_rng(1)
    words = np.array("open close read write request worker queue cache index "
                     "chunk frame".split())
    count = 20000
    lines = zip(words[rng.integers(0, len(words), (count, 3))],
                rng.integers(0, 100000, (count, 2)))
    page = "".join(
        f"2026-11-23 12:{i // 600 % 60:02}:{i // 10 % 60:02} INFO "
        f"{' '.join(said)} {a} took {b / 1000} ms\n"
        for i, (said, (a, b)) in enumerate(lines)).encode()
    return np.frombuffer((page * (8 * n // len(page) + 1))[:8 * n], "u1")


CONTENTS = {"medium": sensor, "low": np.arange, "walk": walk, "noise": noise,
            "float32": float32, "int16": int16, "text": text}
TYPESIZES = {"float32": 4, "int16": 2, "text": 1}


@functools.lru_cache(1)
def pieces(kind):
    """64 MiB in pieces of 1 MiB; longer contents repeat them."""
    raw = CONTENTS[kind](64 * MIB // 8).tobytes()
    return [raw[i:i + MIB] for i in range(0, len(raw), MIB)]


def matrix_columns(nbytes):
    """For an array of float64 with twice as many rows, in tiles of SIDE."""
    return max(1, round((nbytes / 16) ** 0.5 / SIDE)) * SIDE


def matrix(nbytes):
    columns = matrix_columns(nbytes)
    rows = max(1, round(nbytes / 8 / columns / SIDE)) * SIDE
    some = walk(SIDE * columns).reshape(SIDE, columns)
    return np.tile(some, (rows // SIDE, 1))


def cparams(codec, nthreads=CORES, clevel=5, typesize=8):
    return {"codec": blosc2.Codec[codec.upper()], "clevel": clevel,
            "typesize": typesize, "nthreads": nthreads,
            "filters": [blosc2.Filter.SHUFFLE]}


def append(path, parts, size, params):
    """A sparse frame of @size bytes by C-Blosc2."""
    schunk = blosc2.SChunk(chunksize=MIB, urlpath=str(path), contiguous=False,
                           cparams=params)
    for i in range(size // MIB):
        schunk.append_data(parts[i % len(parts)])


def write(path, parts, size, step=MIB):
    """Like dd with bs=@step conv=fsync."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for i in range(size // MIB):
        piece = memoryview(parts[i % len(parts)])
        for off in range(0, MIB, step):
            os.write(fd, piece[off:off + step])
    os.fsync(fd)
    os.close(fd)


def sync_files(path):
    """Syncs all files of the directory @path, and itself."""
    for name in [*(e.path for e in os.scandir(path)), path]:
        fd = os.open(name, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def write_files(top, contents):
    """Files of @contents, a hundred in each directory."""
    for i, content in enumerate(contents):
        folder = top / f"{i // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}.txt").write_bytes(content)


class Set:
    """A directory with the same files twice: raw in plain/, frames in src/.

    @kind is "new-" and a content if no file exists at first.  @place is the directory
    for files that columns store.
    """

    def __init__(self, top, kind, codec, size):
        self.top = pathlib.Path(top) / f"{kind}-{codec}-{size}"
        self.kind, _, self.content = kind.partition("-")
        self.codec, self.size = codec, size
        self.use(self.top)
        if not self.top.exists():
            self.plain.mkdir(parents=True)
            self.src.mkdir()
            getattr(self, f"make_{self.kind}", self.make_stream)()
            os.sync()
        self.files = sorted(os.listdir(self.plain))
        self.parts = pieces(self.content) if self.kind == "new" else None

    def use(self, place):
        self.place = place
        self.plain, self.src = place / "plain", place / "src"

    def on(self, place):
        """The same work in the empty directory @place."""
        other = copy.copy(self)
        other.use(place)
        other.plain.mkdir()
        other.src.mkdir()
        return other

    def cparams(self, codec=None, nthreads=CORES, clevel=5):
        return cparams(codec or self.codec, nthreads, clevel,
                       TYPESIZES.get(self.content, 8))

    def make_stream(self):
        parts = pieces(self.kind)
        write(self.plain / "data", parts, self.size)
        append(self.src / "data.b2frame", parts, self.size, self.cparams())

    def make_four(self):
        parts = pieces("medium")
        for i in range(4):
            write(self.plain / f"{i}", parts, self.size // 4)
            append(self.src / f"{i}.b2frame", parts, self.size // 4,
                   self.cparams())

    def make_array(self):
        """Makes an array in chunks of SIDE x SIDE, or of python-blosc2's choice."""
        a = matrix(self.size)
        a.tofile(self.plain / "data")
        chunks = None if self.content == "default" else (SIDE, SIDE)
        blosc2.asarray(a, urlpath=str(self.src / "data.b2nd"), mode="w",
                       contiguous=False, chunks=chunks,
                       cparams=self.cparams())

    def make_chunks(self):
        """Makes a frame of chunks of 4 KiB, and a sparse plain file."""
        from library import distinct_chunks
        distinct_chunks(str(self.src / "data.b2frame"), self.size,
                        self.content == "mixed")
        with open(self.plain / "data", "wb") as f:
            f.truncate(4096 * self.size)

    def make_opened(self):
        """Files in one directory; small or sparse frames of them."""
        frame = self.top / "frame.b2frame"
        is_small = self.content == "small"
        blosc2.SChunk(chunksize=4096, data=b"x" * 4096, urlpath=str(frame),
                      contiguous=is_small, cparams=self.cparams())
        for i in range(self.size):
            (self.plain / f"{i}").write_bytes(b"x" * 4096)
            (shutil.copy if is_small else shutil.copytree)(
                frame, self.src / f"{i}.b2frame")

    def make_names(self):
        """Many small files; the size counts them."""
        rng = np.random.default_rng(7)
        write_files(self.plain, (
            (f"{i} is a number, " * int(rng.integers(1, 500))).encode()
            for i in range(self.size)))

    def make_tar(self):
        """An archive of files of 4 KiB."""
        raw = b"".join(pieces(self.content)[:16])
        write_files(self.top / "packed", (
            raw[off:off + 4096]
            for off in range(0, 4096 * self.size, 4096)))
        subprocess.run(["tar", "cf", self.top / "names.tar", "-C",
                        self.top / "packed", "."], check=True)

    def make_new(self):
        """A file that is only written needs no content."""


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
    """Has the host of a virtual machine provide that much memory, and frees it again.

    The host takes back memory that has been free for a while; without this call chance
    decides which of two samples has to wait for it.
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
