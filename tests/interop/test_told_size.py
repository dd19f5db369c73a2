#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The compressed size that an index tells stays large enough for stock

C-Blosc2 refuses sparse frames with a chunk id above that size less 32.  When it makes a
chunk smaller, it subtracts the difference from that size.
"""
import shutil
import subprocess
import sys

import blosc2
import numpy as np

from interop import BUILD, SOURCE, bloscctl, cat, info, workdir

EDIT = str(BUILD / "edit_frame")
CREATE = str(BUILD / "create_frame")
OLD = str(SOURCE / "tests/data/untagged.b2frame")
CHUNK = 4000


def noise(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, CHUNK, dtype="u1").tobytes()


def few(seed):
    """A chunk that takes few bytes, but is not special."""
    return bytes([1 + seed % 250]) + bytes(CHUNK - 1)


def put(data):
    with open("data", "wb") as f:
        f.write(data)
    return "data"


def edit(path, *ops):
    subprocess.run([EDIT, path, *map(str, ops)], check=True)


def new(path, chunks):
    subprocess.run([CREATE, path, "1", "-1", "0", "5", "5", "4", "1"],
                   check=True)
    for data in chunks:
        edit(path, "append", put(data), "commit")


def real_size(path):
    return sum(c["cbytes"] for c in info(path, "--chunks")["chunks"]
               if c["stored_at"])


def ids(path):
    at = [c["stored_at"] for c in info(path, "--chunks")["chunks"]]
    return [int(name[:8], 16) for name in at if name]


def check(path, chunks):
    schunk = blosc2.open(path, mode="r")
    assert [schunk.decompress_chunk(n) for n in range(len(chunks))] == chunks
    assert cat(path) == b"".join(chunks)
    out, err = bloscctl("verify", path)
    assert b": ok, " in out and not err, (out, err)


def stock_update(path, n, data):
    schunk = blosc2.open(path, mode="a")
    schunk.update_data(n, data, copy=True)


def test_stock_makes_chunks_smaller():
    """C-Blosc2 makes any number of chunks smaller, after one commit of ours or between
    two."""
    for special in (True, False):
        path = f"smaller-{special}"
        chunks = [noise(n) for n in range(6)]
        new(path, chunks)
        # A chunk with a large id takes few bytes.
        for n in range(2):
            chunks[5] = few(n)
            edit(path, "update", 5, put(chunks[5]), "commit")
        assert max(ids(path)) > 60, ids(path)
        for n in range(5):
            chunks[n] = bytes(CHUNK) if special else few(n)
            stock_update(path, n, chunks[n])
            check(path, chunks)
        chunks[1] = few(99)
        edit(path, "update", 1, put(chunks[1]), "commit")
        check(path, chunks)
        chunks[1] = bytes(CHUNK)
        stock_update(path, 1, chunks[1])
        check(path, chunks)


def test_what_is_told_does_not_drift():
    """Each index of ours tells the same margin, whichever program wrote in between."""
    chunks = [noise(n) for n in range(4)]
    new("drift", chunks)
    for n in range(30):
        edit("drift", "update", n % 4, put(noise(n)), "commit")
        if n % 3 == 0:
            stock_update("drift", n % 4, noise(n + 50))
            edit("drift", "update", (n + 1) % 4, put(noise(n)), "commit")
        told = info("drift")["cbytes"]
        assert told == real_size("drift") + max(ids("drift")) + 32, n


def test_indexes_without_the_margin_get_it():
    """Frames of older versions, and of stock."""
    shutil.copytree(OLD, "old")
    schunk = blosc2.SChunk(chunksize=CHUNK, data=noise(0) + noise(1),
                           urlpath="stock", contiguous=False,
                           cparams={"typesize": 1, "nthreads": 1})
    del schunk
    for path in ("old", "stock"):
        assert info(path)["fingerprint_type"] in (0, 3)
        assert info(path)["cbytes"] == real_size(path)
        size = info(path)["chunksize"]
        edit(path, "update", 0, put(bytes([1]) + bytes(size - 1)), "commit")
        told = info(path)["cbytes"]
        assert told == real_size(path) + max(ids(path)) + 32, path


def test_ids_stay_low_where_there_is_little_data():
    new("low", [few(0)])
    for n in range(100):
        edit("low", "update", 0, put(few(n + 1)), "commit")
    assert max(ids("low")) <= 128, ids("low")
    # By one writer: replaced chunk files stay for some seconds.
    ops = []
    for n in range(300):
        ops += ["update", 0, put(few(n)), "commit"]
    edit("low", *ops)
    assert max(ids("low")) <= 256, ids("low")
    stock_update("low", 0, few(7))
    check("low", [few(7)])


def main():
    with workdir():
        test_stock_makes_chunks_smaller()
        test_what_is_told_does_not_drift()
        test_indexes_without_the_margin_get_it()
        test_ids_stay_low_where_there_is_little_data()
    return 0


if __name__ == "__main__":
    sys.exit(main())
