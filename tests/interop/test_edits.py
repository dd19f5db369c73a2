#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_edits.py - frames that C-Blosc2 has changed after they were made"""
import sys

import blosc2
import numpy as np

from interop import (cat, check, check_info, compressible, info, stock_bytes,
                     verify_tree, workdir, write)

CHUNK = 8000
count = 0


def new(contiguous, nbytes=5 * CHUNK, **options):
    global count
    path = f"{count:04}.b2frame"
    count += 1
    data = compressible(nbytes, 8, seed=count)
    return path, write(path, data, contiguous=contiguous, chunksize=CHUNK,
                       typesize=8, **options)


def check_stock(path, schunk):
    """Checks that C-Blosc2 and bloscctl read the same data."""
    check(path, stock_bytes(schunk), schunk)


def chunk(seed, nbytes=CHUNK):
    return compressible(nbytes, 8, seed=1000 + seed)


def random_edits(contiguous, seed):
    """Appends, inserts, updates and deletes in random order."""
    rng = np.random.default_rng(seed)
    path, schunk = new(contiguous)
    model = [schunk.decompress_chunk(n) for n in range(schunk.nchunks)]
    for step in range(40):
        what = rng.integers(0, 4)
        data = bytes(CHUNK) if rng.integers(0, 5) == 0 else chunk(step)
        at = int(rng.integers(0, len(model))) if model else 0
        if what == 0 or not model:
            schunk.append_data(data)
            model.append(data)
        elif what == 1:
            schunk.insert_data(at, data, copy=True)
            model.insert(at, data)
        elif what == 2:
            schunk.update_data(at, data, copy=True)
            model[at] = data
        elif len(model) > 1:
            schunk.delete_chunk(at)
            del model[at]
        if step % 8 == 7:
            assert cat(path) == b"".join(model), (path, step)
    check(path, b"".join(model), schunk)


def short_last(contiguous):
    for extra in (8, 800, 4000, 7992):
        path, schunk = new(contiguous, 3 * CHUNK + extra)
        check_stock(path, schunk)


def variable(contiguous):
    """A chunk behind a short one makes all chunks variable."""
    path, schunk = new(contiguous, 3 * CHUNK + 800)
    schunk.append_data(chunk(1))
    check_stock(path, schunk)
    assert info(path)["chunksize"] == 0
    schunk.insert_data(2, chunk(2, 1600), copy=True)
    schunk.update_data(0, chunk(3, 2400), copy=True)
    check_stock(path, schunk)


def emptied(contiguous):
    path, schunk = new(contiguous)
    while schunk.nchunks:
        schunk.delete_chunk(0)
    assert cat(path) == b""
    assert info(path)["nchunks"] == 0


def special(contiguous):
    for value, expected in (
            (blosc2.SpecialValue.ZERO, bytes(CHUNK)),
            (blosc2.SpecialValue.NAN, np.full(CHUNK // 8, np.nan).tobytes()),
            (blosc2.SpecialValue.UNINIT, None)):
        global count
        path = f"{count:04}.b2frame"
        count += 1
        schunk = blosc2.SChunk(chunksize=CHUNK, urlpath=path,
                               contiguous=contiguous,
                               cparams={"typesize": 8, "nthreads": 1})
        schunk.fill_special(10_500, value)
        got = cat(path)
        assert len(got) == 84_000, len(got)
        if expected:
            assert got == (expected * 11)[:84_000], path
        check_info(path, schunk)
        schunk.update_data(3, chunk(1), copy=True)
        assert cat(path)[3 * CHUNK:4 * CHUNK] == chunk(1), path


def repeated(contiguous):
    """Chunks of one value: kept as such, with the value in them."""
    global count
    path = f"{count:04}.b2frame"
    count += 1
    schunk = blosc2.SChunk(chunksize=CHUNK, urlpath=path, contiguous=contiguous,
                           cparams={"typesize": 4, "nthreads": 1})
    schunk.fill_special(7000, blosc2.SpecialValue.VALUE, np.int32(305419896))
    assert cat(path) == np.full(7000, 305419896, "<i4").tobytes()
    kinds = {c["kind"] for c in info(path, "--chunks")["chunks"]}
    assert kinds == {"value"}, kinds


def rounded_blocks(contiguous):
    """Blocks that C-Blosc2 3.x cut smaller than the header says: the streams of runs
    decode to any size.  It reads them wrongly itself."""
    global count
    first = bytes(range(250)) * 16
    runs = [b"".join(bytes([i]) * n for i in (1, 2, 3)) for n in (1000, 900)]
    for chunks, typesize, blocksize in (
            ([first, bytes(1500) + b"ab"], 4, 0),
            ([first, b"\5" * 1500 + b"ab"], 4, 0),
            (runs[:1], 8, 1001), (runs[:1], 8, 1004), (runs[1:], 300, 1001)):
        path = f"{count:04}.b2frame"
        count += 1
        schunk = blosc2.SChunk(
            chunksize=len(chunks[0]), urlpath=path, contiguous=contiguous,
            cparams={"typesize": typesize, "filters": [blosc2.Filter.NOFILTER],
                     "nthreads": 1, "blocksize": blocksize})
        for data in chunks:
            schunk.append_data(data)
        assert cat(path) == b"".join(chunks), (path, typesize, blocksize)


def metalayers(contiguous):
    path, schunk = new(contiguous, meta={"one": 1, "two": "zwei"})
    schunk.vlmeta["a"] = "b" * 1000
    schunk.vlmeta["c"] = [1, 2, 3]
    schunk.meta["one"] = 2
    schunk.vlmeta["a"] = "short"
    schunk.append_data(chunk(5))
    said = info(path)
    assert [(m["name"], m["hex"]) for m in said["metalayers"]] == \
        [("one", "02"), ("two", "a47a776569")], said
    assert {m["name"]: m["hex"] for m in said["vlmetalayers"]} == \
        {"a": "a5" + b"short".hex(), "c": "93010203"}, said
    del schunk.vlmeta["c"]
    assert [m["name"] for m in info(path)["vlmetalayers"]] == ["a"]
    check_stock(path, schunk)


def main():
    with workdir():
        for contiguous in (False, True):
            for seed in range(6):
                random_edits(contiguous, seed)
            short_last(contiguous)
            variable(contiguous)
            emptied(contiguous)
            special(contiguous)
            repeated(contiguous)
            rounded_blocks(contiguous)
            metalayers(contiguous)
        verify_tree(count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
