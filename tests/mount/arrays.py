# SPDX-License-Identifier: BSD-3-Clause
"""arrays - random arrays in a mount, compared with numpy

python-blosc2 makes each array.  The mount is read and written beside a numpy array, the
model, and python-blosc2 reads the result.
"""
import pathlib
import random

import blosc2
import numpy as np

from scratch import stored_bytes

DTYPES = ["|b1", "|i1", "|u1", "<i2", ">u2", "<i4", ">i4", "<u8", "<f2", "<f4",
          ">f8", "<f8", "<c8", ">c16", "|S1", "|S7", "<U3", ">U2", "|V5",
          "<M8[us]", ">M8[D]", "<m8[ns]", "|S300",
          np.dtype([("a", "<i4"), ("b", "<f8")]),
          np.dtype([("x", "u1"), ("y", "<f4", (2,)), ("z", ">i2")]),
          np.dtype([("p", "<i2"), ("q", [("r", "i1"), ("s", "<U2")])]),
          np.dtype({"names": ["a", "b"], "formats": ["i1", "<f8"]}, align=True)]
CODECS = [blosc2.Codec.LZ4, blosc2.Codec.ZSTD, blosc2.Codec.BLOSCLZ,
          blosc2.Codec.ZLIB, blosc2.Codec.LZ4HC]
# Elements of a small and of an occasional large array.
SMALL, LARGE = 3000, 120000


def random_bytes(rng, n):
    """Random items: zeros, runs, noise or a mixture."""
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(n)
    if kind == 1:
        return rng.randbytes(n)
    if kind == 2:
        return (bytes(range(256)) * (n // 256 + 1))[:n]
    half = n // 2
    return bytes(half) + rng.randbytes(n - half)


def random_array(rng):
    dtype = np.dtype(rng.choice(DTYPES))
    ndim = rng.randrange(7)
    limit = LARGE if rng.randrange(20) == 0 else SMALL
    shape, n = [], 1
    for _ in range(ndim):
        side = rng.randint(0, 40) if rng.randrange(12) == 0 else \
            rng.randint(1, max(1, min(40, limit // n)))
        shape.append(side)
        n *= max(side, 1)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    array = np.frombuffer(random_bytes(rng, size), np.uint8)
    if dtype == np.bool_:
        array = array & 1
    # Not every four bytes are a character, nor every word a sensible date.
    return array.view(dtype).reshape(shape) if size else np.zeros(shape, dtype)


def random_layout(rng, shape):
    """Random chunks and blocks, or none."""
    if not shape or rng.randrange(4) == 0 or 0 in shape:
        return {}
    chunks = [rng.randint(1, side + (rng.randrange(5) == 0)) for side in shape]
    blocks = [rng.randint(1, side) for side in chunks]
    return {"chunks": chunks, "blocks": blocks}


def as_bytes(array):
    return np.ascontiguousarray(array).tobytes()


def make(rng, array, path, contiguous):
    """Stores @array as @path; not element by element, as numpy cannot compare
    or copy code points that are no characters."""
    options = dict(
        urlpath=str(path), mode="w", contiguous=contiguous,
        **random_layout(rng, array.shape),
        cparams={"codec": rng.choice(CODECS), "clevel": rng.randint(0, 9),
                 "filters": [rng.choice([blosc2.Filter.NOFILTER,
                                         blosc2.Filter.SHUFFLE,
                                         blosc2.Filter.BITSHUFFLE])]})
    if array.ndim == 0:
        # A single item is not always a numpy object any more.
        blosc2.asarray(array, **options)
        return
    result = blosc2.empty(array.shape, dtype=array.dtype, **options)
    if array.size:
        result[...] = array
    del result


def check_ranges(rng, path, want, count):
    with open(path, "rb", buffering=0) as f:
        for _ in range(count):
            start = rng.randint(0, len(want))
            size = rng.choice([1, 7, 100, 5000, len(want)])
            f.seek(start)
            got = b""
            while len(got) < size:
                more = f.read(size - len(got))
                if not more:
                    break
                got += more
            assert got == want[start:start + size], (path, start, size)


def write_ranges(rng, path, want, count, head=0):
    """Writes at random places of a file with the data @want behind @head bytes, which
    stay; returns the new data."""
    want = bytearray(want)
    with open(path, "r+b", buffering=0) as f:
        for _ in range(count if want else 0):
            start = rng.randrange(len(want))
            size = min(rng.choice([1, 3, 64, 1000, 20000]), len(want) - start)
            new = random_bytes(rng, size)
            f.seek(head + start)
            assert f.write(new) == size
            want[start:start + size] = new
    return bytes(want)


class Case:
    """An array in the directory src, shown in mnt."""

    def __init__(self, seed, src):
        self.rng = random.Random(seed)
        self.array = random_array(self.rng)
        if self.array.dtype == np.bool_:
            # The test writes other bytes than 0 and 1, which C-Blosc2 takes as well.
            self.array = self.array.copy()
        self.contiguous = self.rng.randrange(3) == 0
        self.name = f"a{seed}"
        self.stored = pathlib.Path(src) / f"{self.name}.b2nd"
        make(self.rng, self.array, self.stored, self.contiguous)
        self.want = as_bytes(self.array)

    def describe(self):
        a = self.array
        return f"{self.name}: {a.dtype} {a.shape} contiguous={self.contiguous}"

    def check(self, mnt, view=True):
        path = pathlib.Path(mnt) / self.name
        assert path.stat().st_size == len(self.want), self.describe()
        assert path.read_bytes() == self.want, self.describe()
        check_ranges(self.rng, path, self.want, 20)
        if view:
            self.check_view(pathlib.Path(mnt) / f"{self.name}.npy")

    def check_view(self, path):
        # python-blosc2 may have named the holes of a structure.
        stored = blosc2.open(str(self.stored), mode="r")
        loaded = np.load(path)
        assert loaded.dtype == stored.dtype, self.describe()
        assert loaded.shape == self.array.shape, self.describe()
        assert as_bytes(loaded) == self.want, self.describe()
        if self.want:
            mapped = np.load(path, mmap_mode="r")
            assert as_bytes(mapped) == self.want, self.describe()
            del mapped

    def change(self, mnt):
        path = pathlib.Path(mnt) / self.name
        if self.contiguous:
            return
        self.want = write_ranges(self.rng, path, self.want, 20)
        assert path.read_bytes() == self.want, self.describe()

    def check_stock(self):
        assert stored_bytes(self.stored) == self.want, self.describe()


def run(seeds, scratch, view=True):
    """Makes, reads, writes and compares the arrays of @seeds."""
    cases = [Case(seed, scratch.source) for seed in seeds]
    for case in cases:
        case.check(scratch.path, view)
        case.change(scratch.path)
        case.check(scratch.path, view)
    scratch.remount()
    for case in cases:
        case.check_stock()
        case.check(scratch.path, view)
