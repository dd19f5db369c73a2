#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bloscpack reads the files that bloscctl makes for it."""
import io
import json
import os
import pathlib
import random
import struct
import sys

import blosc2
import numpy as np

from ctl import cat, ctl, info, run_all
from packing import (HEADER, SUMS, append, bloscpack, many, make_some,
                     some_bytes, unpack)

CODECS = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")


def unpack_array(path):
    return bloscpack.unpack_ndarray_from_file(str(path))


def test_random_data_are_read_by_bloscpack():
    rng = random.Random(7)
    for i in range(15):
        data = some_bytes(rng, rng.choice((1, 7, 8, 100, 4095, 70001, 600000)))
        typesize = rng.choice((1, 2, 3, 4, 7, 8, 12, 16, 17, 24, 100, 255))
        pathlib.Path("x").write_bytes(data)
        ctl("compress", "-f", "-q", f"--codec={rng.choice(CODECS)}",
            f"-{rng.randint(1, 9)}", f"--typesize={typesize}",
            f"--filter={rng.choice(('none', 'shuffle', 'bitshuffle'))}",
            f"--chunksize={rng.choice((1000, 65536, 1 << 20))}", "x")
        checksum = rng.choice([s.lower() for s in SUMS])
        ctl("convert", "-f", "--bloscpack", f"--checksum={checksum}",
            "x.b2frame")
        assert unpack("x.blp") == (data, None), (i, typesize, len(data))
        assert cat("x.blp") == data
        assert info("x.blp")["bloscpack"]["checksum"] == checksum
        # Spare offsets let Bloscpack append.
        pathlib.Path("more").write_bytes(data)
        append("x.blp", "more")
        assert unpack("x.blp")[0] == cat("x.blp") == data + data


def test_files_go_there_and_back():
    for i, rng in enumerate(many(3, 8)):
        data, array, meta = make_some(rng, "x.blp")
        ctl("convert", "-f", "-o", "y.b2frame", "x.blp")
        ctl("convert", "-f", "--bloscpack", "-o", "z.blp", "y.b2frame")
        if array is None:
            assert unpack("z.blp") == (data, meta), i
            continue
        back = unpack_array("z.blp")
        assert back.dtype == array.dtype and back.shape == array.shape
        assert back.tobytes() == array.tobytes()
        assert np.isfortran(back) == np.isfortran(array)


def test_arrays_become_arrays():
    fields = np.zeros((5, 2), dtype=[("a", "<i4"), ("b", "<f8", (2,))])
    fields["a"] = np.arange(10).reshape(5, 2)
    for array in (np.arange(60000.).reshape(200, 300), fields,
                  np.array(3.5), np.arange(7, dtype=">i2"),
                  np.array(["one", "three"])):
        np.save("a.npy", array)
        blosc2.remove_urlpath("a.b2nd")
        ctl("compress", "-f", "-q", "a.npy")
        frames = ["a.npy.b2nd"]
        if array.dtype.names is None and array.dtype.kind != "U":
            blosc2.asarray(array, urlpath="a.b2nd", mode="w")
            frames.append("a.b2nd")
        for frame in frames:
            ctl("convert", "-f", "--bloscpack", "-o", "a.blp", frame)
            back = unpack_array("a.blp")
            assert back.dtype == array.dtype and back.shape == array.shape
            assert back.tobytes() == array.tobytes(), frame


def check_b2nd(array, frame):
    """Checks that python-blosc2 and NumPy read the same array."""
    opened = blosc2.open(frame, mode="r")
    assert isinstance(opened, blosc2.NDArray)
    assert opened.shape == array.shape and opened.dtype == array.dtype
    assert opened[()].tobytes() == array.tobytes()
    out, _ = ctl("decompress", "-c", frame)
    loaded = np.load(io.BytesIO(out))
    assert loaded.dtype == array.dtype and loaded.shape == array.shape
    assert loaded.tobytes() == array.tobytes()


def test_arrays_become_those_of_b2nd_and_back():
    rng = np.random.default_rng(4)
    shapes = (7,), (300, 500), (4, 1, 9, 30), (2, 70000), (140000, 3), (5, 0), ()
    for i, shape in enumerate(shapes):
        for order in "CF":
            array = np.asarray(rng.integers(0, 90, shape), order=order,
                               dtype=("<f8", ">i2", "<c16")[i % 3])
            bloscpack.pack_ndarray_to_file(array, "a.blp")
            ctl("convert", "-f", "--b2nd", "a.blp")
            check_b2nd(array, "a.b2nd")
            ctl("convert", "--bloscpack", "-o", "back.blp", "-f", "a.b2nd")
            back = unpack_array("back.blp")
            assert back.dtype == array.dtype
            assert np.array_equal(back, array), (shape, order)
    fields = np.zeros((6, 3), dtype=[("a", "<i4"), ("b", "<f8", (2,))], order="F")
    fields["a"] = np.arange(18).reshape(6, 3)
    bloscpack.pack_ndarray_to_file(fields, "a.blp")
    ctl("convert", "-f", "--b2nd", "a.blp")
    out, _ = ctl("decompress", "-c", "a.b2nd")
    loaded = np.load(io.BytesIO(out))
    assert loaded.dtype == fields.dtype and loaded.tobytes() == fields.tobytes()


def test_what_becomes_no_array():
    bloscpack.pack_bytes_to_file(b"x" * 1000, "x.blp")
    _, err = ctl("convert", "--b2nd", "x.blp", status=1)
    assert "no metadata describe its data" in err, err
    assert not os.path.exists("x.b2nd")
    ctl("convert", "--b2nd", "--rm", "x.blp", status=2)
    array = np.arange(50000.)
    bloscpack.pack_ndarray_to_file(array, "a.blp")
    raw = bytearray(pathlib.Path("a.blp").read_bytes())
    raw[-9] ^= 1
    pathlib.Path("a.blp").write_bytes(raw)
    _, err = ctl("convert", "--b2nd", "a.blp", status=1)
    assert "its adler32 is" in err and not os.path.exists("a.b2nd"), err


def test_nothing_is_a_file_too():
    pathlib.Path("x").touch()
    ctl("compress", "x")
    ctl("convert", "--bloscpack", "x.b2frame")
    assert cat("x.blp") == b"" and unpack("x.blp") == (b"", None)
    assert os.stat("x.blp").st_size == 32


def test_what_is_refused():
    pathlib.Path("x").write_bytes(b"x" * 1000)
    ctl("compress", "x")
    _, err = ctl("convert", "--bloscpack", "--checksum=sha3", "x.b2frame",
                 status=2)
    assert "sha3" in err, err
    _, err = ctl("convert", "--bloscpack", "--rm", "x.b2frame", status=2)
    assert "--bloscpack" in err, err
    ctl("convert", "--bloscpack", "x.b2frame")
    _, err = ctl("convert", "--bloscpack", "x.b2frame", status=1)
    assert "x.blp" in err, err
    os.chmod("x.b2frame/chunks.b2frame", 0o640)
    ctl("convert", "-f", "--bloscpack", "x.b2frame")
    assert os.stat("x.blp").st_mode & 0o777 == 0o640
    # A damaged chunk leaves nothing.
    chunk = pathlib.Path("x.b2frame/00000000.chunk")
    if chunk.exists():
        chunk.write_bytes(chunk.read_bytes()[:-5])
        os.unlink("x.blp")
        ctl("convert", "--bloscpack", "x.b2frame", status=1)
        assert not os.path.exists("x.blp")


def test_the_header_tells_what_is_there():
    pathlib.Path("x").write_bytes(bytes(range(256)) * 1000)
    ctl("compress", "--chunksize=100000", "--typesize=4", "x")
    ctl("convert", "--bloscpack", "x.b2frame")
    raw = pathlib.Path("x.blp").read_bytes()
    assert struct.unpack(HEADER, raw[:32]) == (
        b"blpk", 3, 1, 1, 4, 100000, 56000, 3, 30)
    listed = json.loads(ctl("ls", "--json", "x.blp")[0])
    assert listed[0]["nbytes"] == 256000


if __name__ == "__main__":
    sys.exit(run_all(globals()))
