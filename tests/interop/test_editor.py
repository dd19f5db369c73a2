#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Chunks that we insert, update, delete and move: stock reads every state"""
import itertools
import os
import subprocess
import sys

import blosc2
import numpy as np

from interop import (BUILD, SANITIZED, bloscctl, cat, compressible, environment, info,
                     workdir, write)

EDIT = str(BUILD / "edit_frame")
CREATE = str(BUILD / "create_frame")


def edit(path, *ops, status=0):
    run = subprocess.run([EDIT, path, *map(str, ops)], capture_output=True,
                         env=environment("edit", status))
    assert run.returncode == status, (ops, run.returncode, run.stderr)
    return run.stderr.decode()


def put(name, data):
    with open(name, "wb") as f:
        f.write(data)
    return name


def places(path):
    """Chunk file numbers in the order of the index; -1 is an entry alone."""
    at = [c["stored_at"] for c in info(path, "--chunks")["chunks"]]
    return [int(name[:8], 16) if name else -1 for name in at]


def check_stock(path, chunks):
    schunk = blosc2.open(path, mode="r")
    assert schunk.nchunks == len(chunks), (schunk.nchunks, len(chunks))
    for n, chunk in enumerate(chunks):
        assert schunk.decompress_chunk(n) == chunk, (path, n)


def check(*frames):
    """Checks pairs of a path and its chunks, with one process of bloscctl."""
    paths = [path for path, _ in frames]
    for path, chunks in frames:
        check_stock(path, chunks)
    out, _ = bloscctl("cat", *paths)
    at = 0
    for path, chunks in frames:
        data = b"".join(chunks)
        assert out[at:at + len(data)] == data, path
        at += len(data)
    assert at == len(out), (at, len(out))
    out, err = bloscctl("verify", *paths)
    assert out.count(b": ok, ") == len(frames) and not err, (out, err)


def chunk(seed, typesize=4, nbytes=4000):
    return compressible(nbytes, typesize, seed)


def test_examples():
    """We give the ids that C-Blosc2 would, but leave it 16 ids after each commit."""
    for make in ("ours", "stock"):
        chunks = [chunk(n) for n in range(4)]
        if make == "ours":
            subprocess.run([CREATE, make, "4", "-1", "0", "5", "5", "4", "1"],
                           check=True)
            ops = []
            for n, data in enumerate(chunks):
                ops += ["append", put(f"c{n}", data)]
            edit(make, *ops, "commit")
        else:
            write(make, b"".join(chunks), contiguous=False, typesize=4,
                  chunksize=4000)
        check((make, chunks))
        assert places(make) == [0, 1, 2, 3], places(make)
        chunks.insert(2, chunk(9))
        edit(make, "insert", 2, put("new", chunks[2]), "commit")
        check((make, chunks))
        assert places(make) == [0, 1, 20, 2, 3], places(make)
        del chunks[2]
        edit(make, "delete", 2, "commit")
        check((make, chunks))
        chunks = [chunks[n] for n in (3, 1, 0, 2)]
        edit(make, "reorder", "3,1,0,2", "commit")
        check((make, chunks))
        assert places(make) == [3, 1, 0, 2], places(make)
        # Stock goes on with it.
        schunk = blosc2.open(make, mode="a")
        schunk.insert_data(1, chunk(20), True)
        schunk.append_data(chunk(21))
        del schunk
        chunks = [chunks[0], chunk(20), *chunks[1:], chunk(21)]
        check((make, chunks))


def stock_edit(path, chunks, rng, size, typesize):
    """C-Blosc2 changes what we have written.

    C-Blosc2 takes the size of a single short chunk as the chunk size.
    """
    if len(chunks[0]) < size:
        return
    schunk = blosc2.open(path, mode="a")
    data = chunk(int(rng.integers(1 << 20)), typesize, size)
    at = int(rng.integers(0, len(chunks)))
    whole = all(len(c) == size for c in chunks)
    what = rng.choice(["update", "append", "insert", "delete", "metalayer"])
    if what == "update" and len(chunks[at]) == size:
        schunk.update_data(at, data, True)
        chunks[at] = data
    elif what == "append" and whole:
        schunk.append_data(data)
        chunks.append(data)
    elif what == "insert" and whole:
        schunk.insert_data(at, data, True)
        chunks.insert(at, data)
    elif what == "delete" and len(chunks) > 1:
        schunk.delete_chunk(at)
        del chunks[at]
    elif what == "metalayer":
        schunk.vlmeta["n"] = "x" * int(rng.integers(0, 300))


def begin(path, typesize, size, codec, contiguous):
    """Makes a frame; returns its chunks: none in a frame of ours, or in a contiguous
    one the single chunk from which C-Blosc2 takes the chunk size."""
    if contiguous:
        first = chunk(999, typesize, size)
        write(path, first, contiguous=True, typesize=typesize, chunksize=size,
              codec=blosc2.Codec(codec))
        return [first]
    subprocess.run([CREATE, path, str(typesize), str(size), "0", str(codec),
                    "5", "4", "1"], check=True)
    return []


def random_edits(typesize, seed, contiguous=False, with_stock=False):
    """Makes many edits of all kinds; yields the frame and its chunks after each
    commit."""
    rng = np.random.default_rng(seed)
    path = f"r{typesize}-{seed}-{int(contiguous)}{int(with_stock)}"
    size, serial = 40 * typesize * 25, 1000
    chunks = begin(path, typesize, size, int(rng.choice([0, 1, 2, 4, 5])),
                   contiguous)
    for step in range(40):
        ops = []
        for _ in range(rng.integers(1, 4)):
            serial += 1
            n = len(chunks)
            whole = all(len(c) == size for c in chunks)
            at = int(rng.integers(0, n + (1 if whole else 0))) if n else 0
            data = chunk(serial, typesize, size)
            what = rng.choice(["append", "insert", "update", "delete",
                               "reorder", "resize", "special", "short"])
            if what == "append" and whole:
                ops += ["append", put(f"d{serial}", data)]
                chunks.append(data)
            elif what == "insert" and (n and at < n):
                ops += ["insert", at, put(f"d{serial}", data)]
                chunks.insert(at, data)
            elif what == "update" and n and len(chunks[at % n]) == size:
                ops += ["update", at % n, put(f"d{serial}", data)]
                chunks[at % n] = data
            elif what == "delete" and n:
                ops += ["delete", at % n]
                del chunks[at % n]
            elif what == "reorder" and n > 1:
                order = list(rng.permutation(n if whole else n - 1))
                order += [] if whole else [n - 1]
                ops += ["reorder", ",".join(map(str, order))]
                chunks = [chunks[i] for i in order]
            elif what == "resize" and n:
                total = int(rng.integers(0, 2 * n * size))
                ops += ["resize", total]
                joined = b"".join(chunks).ljust(total, b"\0")[:total]
                chunks = [joined[i:i + size] for i in range(0, total, size)]
            elif what == "special" and whole:
                ops += ["zeros", size]
                chunks.append(bytes(size))
            elif what == "short" and whole:
                data = data[:int(rng.integers(1, size))]
                ops += ["append", put(f"d{serial}", data)]
                chunks.append(data)
        if ops:
            edit(path, *ops, "commit")
        yield path, chunks
        if not contiguous:
            left = [n for n in os.listdir(path) if n.endswith(".chunk")]
            assert len(left) <= len(chunks), (left, len(chunks))
        if with_stock and chunks:
            stock_edit(path, chunks, rng, size, typesize)
            yield path, chunks
    assert os.path.isfile(path) == contiguous


def test_random_edits():
    """Makes a step of all frames at a time, so that one process checks all of them."""
    runs = [random_edits(typesize, seed, contiguous=seed == 3)
            for typesize in (1, 3, 8, 300)
            for seed in ((0, 3) if SANITIZED else range(4))]
    runs += [random_edits(4, 7, contiguous, with_stock=True)
             for contiguous in (False, True)]
    for states in itertools.zip_longest(*runs):
        check(*filter(None, states))


def test_encoded():
    """Inserts chunks of stock unchanged."""
    data = [chunk(n, 8, 8000) for n in range(5)]
    subprocess.run([CREATE, "e", "8", "-1", "0", "5", "5", "4", "1"],
                   check=True)
    ops = []
    for n, codec in enumerate((blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4,
                               blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB,
                               blosc2.Codec.ZSTD)):
        raw = blosc2.compress2(data[n], typesize=8, codec=codec, nthreads=1)
        ops += ["encoded", put(f"raw{n}", raw)]
    edit("e", *ops, "commit")
    check(("e", data))
    codecs = [c["codec"] for c in info("e", "--chunks")["chunks"]]
    assert codecs == ["blosclz", "lz4", "lz4hc", "zlib", "zstd"], codecs
    edit("e", "encoded", put("bad", b"\x05" * 100), status=1)
    other = blosc2.compress2(data[0], typesize=4, nthreads=1)
    edit("e", "encoded", put("other", other), status=1)
    edit("e", "nan", 8000, "uninit", 8000, "commit")
    assert cat("e")[40000:48000] == np.full(1000, np.nan).tobytes()


def test_a_reader_that_stays_open():
    """Without locks C-Blosc2 notices changes of a frame only by its length."""
    chunks = [chunk(n) for n in range(3)]
    subprocess.run([CREATE, "o", "4", "-1", "0", "5", "5", "4", "1"],
                   check=True)
    ops = []
    for n, data in enumerate(chunks):
        ops += ["append", put(f"c{n}", data)]
    edit("o", *ops, "commit")
    reader = blosc2.open("o", mode="r")
    for n in range(12):
        chunks[n % 3] = chunk(n + 10)
        edit("o", "update", n % 3, put("c", chunks[n % 3]), "commit")
        for k in range(3):
            assert reader.decompress_chunk(k) == chunks[k], (n, k)
    # The same for commits of one writer.
    ops = ["update", 1, "c0", "commit", "update", 1, "c1", "commit"] * 2
    edit("o", *ops, "update", 2, "c0", "commit")
    assert reader.decompress_chunk(1) == chunk(1)
    assert reader.decompress_chunk(2) == chunk(0)


def main():
    with workdir():
        test_a_reader_that_stays_open()
        test_examples()
        test_encoded()
        test_random_edits()
    return 0


if __name__ == "__main__":
    sys.exit(main())
