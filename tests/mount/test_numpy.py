#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads through numpy, mmap and lseek equal the plain bytes."""
import mmap
import os

import numpy as np

from mounting import Mount, main, make

CHUNK = 1 << 18


def frames():
    os.mkdir("src")
    return {
        "sparse": make("src/sparse.b2frame", None),
        "flat": make("src/flat.b2", None, kind="contiguous", seed=1),
        "holes": make("src/holes.b2frame", None, zeros="2:7"),
        "ends": make("src/ends.b2frame", None, zeros="9:12", seed=2),
        "zeros": make("src/zeros.b2frame", None, nbytes=CHUNK * 3, zeros="0:3"),
    }


def test_numpy_reads_the_same():
    contents = frames()
    with Mount("src", "mnt"):
        for name, raw in contents.items():
            whole = np.frombuffer(raw, "u1")
            assert (np.fromfile(f"mnt/{name}", "u1") == whole).all()
            n = len(raw) // 8
            words = np.frombuffer(raw[:n * 8], "<i8")
            assert (np.fromfile(f"mnt/{name}", "<i8", n) == words).all()
            part = np.fromfile(f"mnt/{name}", "<i8", 100, offset=8 * 33000)
            assert (part == words[33000:33100]).all()
            view = np.memmap(f"mnt/{name}", "<i8", "r", shape=(n,))
            picks = np.random.default_rng(1).integers(0, n, 500)
            assert (view[picks] == words[picks]).all()
            assert (view == words).all()
            del view


def test_an_npy_file_inside_a_frame_loads():
    os.mkdir("src")
    array = np.arange(200000.).reshape(500, 400)
    np.save("plain.npy", array)
    with open("plain.npy", "rb") as f:
        content = f.read()
    import blosc2
    s = blosc2.SChunk(chunksize=CHUNK, urlpath="src/x.npy.b2frame",
                      contiguous=False, cparams={"typesize": 1})
    for start in range(0, len(content), CHUNK):
        s.append_data(content[start:start + CHUNK])
    with Mount("src", "mnt"):
        for mode in None, "r", "c":
            loaded = np.load("mnt/x.npy", mmap_mode=mode)
            assert (loaded == array).all()
            del loaded
    with Mount("src", "mnt", "-o", "direct_io"):
        assert (np.load("mnt/x.npy") == array).all()


def test_mmap_reads_the_same():
    contents = frames()
    with Mount("src", "mnt"):
        for name, raw in contents.items():
            with open(f"mnt/{name}", "rb") as f:
                shared = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
                private = mmap.mmap(f.fileno(), 0, flags=mmap.MAP_PRIVATE,
                                    prot=mmap.PROT_READ | mmap.PROT_WRITE)
            # The file is closed; its maps are not.
            for start in 0, 5, CHUNK - 3, len(raw) - 9:
                assert shared[start:start + 9] == raw[start:start + 9]
            assert shared[:] == raw and private[:] == raw
            private[7:9] = b"xx"
            assert shared[:] == raw and private[7:9] == b"xx"
            shared.close()
            private.close()


def walk(path):
    """The ranges that lseek(2) reports as data."""
    parts, fd = [], os.open(path, os.O_RDONLY)
    pos, size = 0, os.fstat(fd).st_size
    while pos < size:
        try:
            start = os.lseek(fd, pos, os.SEEK_DATA)
        except OSError as e:
            assert e.errno == 6, e
            break
        pos = os.lseek(fd, start, os.SEEK_HOLE)
        assert start < pos <= size
        parts.append((start, pos))
    os.close(fd)
    return parts


def test_holes_are_where_zero_chunks_are():
    contents = frames()
    n = len(contents["holes"])
    with Mount("src", "mnt"):
        assert walk("mnt/sparse") == [(0, n)]
        assert walk("mnt/flat") == [(0, n)]
        assert walk("mnt/holes") == [(0, 2 * CHUNK), (7 * CHUNK, n)]
        assert walk("mnt/ends") == [(0, 9 * CHUNK)]
        assert walk("mnt/zeros") == []
        fd = os.open("mnt/holes", os.O_RDONLY)
        assert os.lseek(fd, 3 * CHUNK + 1, os.SEEK_HOLE) == 3 * CHUNK + 1
        assert os.lseek(fd, 3 * CHUNK + 1, os.SEEK_DATA) == 7 * CHUNK
        assert os.lseek(fd, 8 * CHUNK, os.SEEK_HOLE) == n
        for whence in os.SEEK_DATA, os.SEEK_HOLE:
            for off in n, n + 1:
                try:
                    os.lseek(fd, off, whence)
                    raise AssertionError("no ENXIO")
                except OSError as e:
                    assert e.errno == 6
        os.close(fd)


main()
