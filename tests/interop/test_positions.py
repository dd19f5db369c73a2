#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every byte is found at its position, whatever the sizes and the order of chunks.

Frames by python-blosc2 whose short chunk was moved, or whose chunks have many sizes,
and such frames without a chunk file: a byte is right, or its position is unknown and an
error.
"""
import os
import random
import subprocess
import sys
import tempfile

import blosc2
import numpy as np

from interop import BUILD, bloscctl, environment, info

BLOSCCTL = str(BUILD / "bloscctl")


def cat(path, offset=0, length=None):
    """Decoded bytes of a range, or None if bloscctl fails."""
    args = [BLOSCCTL, "cat", "--offset", str(offset)]
    if length is not None:
        args += ["--length", str(length)]
    run = subprocess.run(args + [path], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=environment("cat"))
    return run.stdout if run.returncode == 0 else None


def chunk_of(i, nbytes):
    rng = np.random.default_rng(i)
    return rng.integers(0, 60, nbytes, dtype=np.uint8).tobytes()


def new_schunk(path, chunksize):
    return blosc2.SChunk(chunksize=chunksize, urlpath=path, contiguous=False,
                         cparams={"typesize": 4})


def expect_all(path, data, what):
    assert cat(path) == data, what
    rng = random.Random(what)
    for _ in range(10):
        off = rng.randrange(len(data))
        n = rng.randrange(1, len(data) - off + 1)
        assert cat(path, off, n) == data[off:off + n], (what, off, n)


def short_chunk_moved(tmp):
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [1, 3, 2, 0]):
        path = os.path.join(tmp, "moved.b2frame")
        blosc2.remove_urlpath(path)
        schunk = new_schunk(path, 4000)
        parts = [chunk_of(i, 4000 if i < 3 else 1200) for i in range(4)]
        for part in parts:
            schunk.append_data(part)
        schunk.reorder_offsets(np.array(order, dtype=np.int64))
        data = b"".join(parts[i] for i in order)
        expect_all(path, data, str(order))
        for option in "--sparse", "--contiguous":
            copy = path + option
            bloscctl("convert", option, "--no-seal", "-f", "-o", copy, path)
            expect_all(copy, data, copy + str(order))


def short_special_moved(tmp):
    """No reader can tell which special chunk is the short one: reads fail instead of
    giving wrong bytes."""
    path = os.path.join(tmp, "special.b2frame")
    schunk = new_schunk(path, 4000)
    parts = [chunk_of(1, 4000), bytes(4000), chunk_of(2, 4000),
             chunk_of(3, 4000), bytes(1200)]
    for part in parts:
        schunk.append_data(part)
    order = [0, 4, 2, 1, 3]
    schunk.reorder_offsets(np.array(order, dtype=np.int64))
    data = b"".join(parts[i] for i in order)
    nright = 0
    for off in range(0, len(data), 400):
        got = cat(path, off, 400)
        assert got in (None, data[off:off + 400]), off
        nright += got is not None
    assert nright >= 20, nright


def short_chunk_before_a_special(tmp):
    """The special chunk at the end is whole, as a stored one is short."""
    parts = [chunk_of(1, 4000), bytes(4000), chunk_of(2, 1200)]
    for contiguous in False, True:
        for order in [2, 0, 1], [0, 2, 1], [1, 2, 0]:
            path = os.path.join(tmp, f"before{contiguous}{order}.b2frame")
            schunk = blosc2.SChunk(chunksize=4000, urlpath=path,
                                   contiguous=contiguous,
                                   cparams={"typesize": 4})
            for part in parts:
                schunk.append_data(part)
            schunk.reorder_offsets(np.array(order, dtype=np.int64))
            del schunk
            data = b"".join(parts[i] for i in order)
            expect_all(path, data, path)
            assert not info(path)["writable"], path
            # Where chunks are does not tell any more what was short.
            for command in ("convert", "-o", path + "-copy"), ("seal",):
                bloscctl(*command, path, status=order != [1, 2, 0])
                expect_all(path, data, path)
            bloscctl("recompress", path)
            expect_all(path, data, path)
            assert info(path)["writable"], path


def short_chunk_behind_a_special(tmp):
    """The special chunk is whole, although the index tells a wrong total."""
    parts = [chunk_of(1, 4000), bytes(4000), chunk_of(2, 1200)]
    for add in -100, 100, 2800:
        path = os.path.join(tmp, f"behind{add}.b2frame")
        schunk = new_schunk(path, 4000)
        for part in parts:
            schunk.append_data(part)
        del schunk
        with open(os.path.join(path, "chunks.b2frame"), "r+b") as f:
            f.seek(30)
            f.write((9200 + add).to_bytes(8, "big"))
        for i, start in enumerate(starts_of(parts)[:2]):
            assert cat(path, start, 4000) == parts[i], (add, i)
        assert cat(path, 8000, 200) is None, add


def many_sizes(tmp):
    path = os.path.join(tmp, "sizes.b2frame")
    schunk = new_schunk(path, 4000)
    parts = []
    for i, nbytes in enumerate([4000, 4000, 800, 12000, 4, 4000, 100]):
        parts.append(chunk_of(i, nbytes))
        schunk.append_data(parts[-1])
    expect_all(path, b"".join(parts), "sizes")
    return path, parts


def starts_of(parts):
    at, starts = 0, []
    for part in parts:
        starts.append(at)
        at += len(part)
    return starts


def one_missing(path, parts):
    """The size of one missing chunk follows from the total."""
    name = os.path.join(path, "00000003.chunk")
    os.rename(name, name + ".away")
    for i, (start, part) in enumerate(zip(starts_of(parts), parts)):
        got = cat(path, start, len(part))
        assert got == (None if i == 3 else part), i
    os.rename(name + ".away", name)


def two_missing(path, parts):
    """Bytes between two missing chunks cannot be found; all others can."""
    names = [os.path.join(path, f"{i:08X}.chunk") for i in (2, 5)]
    for name in names:
        os.rename(name, name + ".away")
    for i, (start, part) in enumerate(zip(starts_of(parts), parts)):
        got = cat(path, start, len(part))
        assert got == (None if 2 <= i <= 5 else part), i
    for name in names:
        os.rename(name + ".away", name)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        short_chunk_moved(tmp)
        short_special_moved(tmp)
        short_chunk_before_a_special(tmp)
        short_chunk_behind_a_special(tmp)
        path, parts = many_sizes(tmp)
        one_missing(path, parts)
        two_missing(path, parts)
    return 0


sys.exit(main())
