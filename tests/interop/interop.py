# SPDX-License-Identifier: BSD-3-Clause
"""interop.py - shared by the interop tests

C-Blosc2, through python-blosc2, writes frames.  bloscctl has to read the original data
from them, or, where C-Blosc2 loses bits (lossy filters), the data that C-Blosc2 reads
back.
"""
import pathlib
import sys

import blosc2
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from bloscctl import cat, ctl as bloscctl, info, workdir  # noqa: E402,F401
from build import (BLOSCCTL, BUILD, SANITIZED, SOURCE,  # noqa: E402,F401
                   environment)


def stock_bytes(schunk):
    return b"".join(schunk.decompress_chunk(n) for n in range(schunk.nchunks))


def check_info(path, schunk):
    """Checks that bloscctl and python-blosc2 tell the same facts."""
    said = info(path)
    for name in ("nbytes", "cbytes", "chunksize", "typesize", "nchunks"):
        assert said[name] == getattr(schunk, name), (path, name, said)
    cparams = schunk.cparams
    assert said["codec_id"] == cparams.codec.value, (path, said)
    assert said["clevel"] == cparams.clevel, (path, said)
    filters = [f.value for f in cparams.filters if f.value]
    assert [f["id"] for f in said["filters"]] == filters, (path, said)
    assert said["storage"] == \
        ("contiguous" if schunk.contiguous else "sparse"), (path, said)


def check(path, data, schunk):
    """Checks that @path holds @data, and has the facts of @schunk."""
    got = cat(path)
    assert got == data, (path, len(got), len(data))
    check_info(path, schunk)


def verify_tree(n):
    """Checks that all @n frames below the current directory are sound."""
    out, err = bloscctl("verify", "-r", ".")
    assert err == "", err
    lines = out.decode().splitlines()
    assert len(lines) == n, (len(lines), n)
    assert all(": ok, " in line for line in lines), out


def write(path, data, **options):
    """A new frame of @data; options of the frame, or of its compression."""
    storage = {name: options.pop(name)
               for name in ("chunksize", "contiguous", "meta")
               if name in options}
    cparams = {"nthreads": 1, **options}
    return blosc2.SChunk(data=data, urlpath=path, cparams=cparams, **storage)


def compressible(nbytes, typesize, seed=0):
    """Slowly growing items of @typesize bytes, with some noise."""
    rng = np.random.default_rng(seed)
    n = nbytes // typesize + 1
    items = np.zeros((n, typesize), "u1")
    steps = np.cumsum(rng.integers(0, 3, n))
    for i in range(min(typesize, 4)):
        items[:, i] = steps >> (8 * i)
    items[rng.integers(0, n, n // 50), rng.integers(0, typesize)] = 77
    return items.tobytes()[:nbytes]
