#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays made by save_array() of python-blosc2 have shape, dtype and a .npy view."""
import errno
import json
import os
import pathlib
import subprocess

import blosc2
import numpy as np

from mounting import BUILD, Mount, error_of, main

ARRAYS = {
    "flat": np.arange(100, dtype="f4"),
    "grid": np.arange(1000.).reshape(10, 100),
    "scalar": np.array(5.0),
    "none": np.zeros((0, 3)),
    "text": np.array(["one", "three"]),
    "big": np.arange(24, dtype=">i2").reshape(2, 3, 4),
    "fields": np.zeros((3, 2), dtype=[("a", "<i4"), ("b", "<f8", (2,)),
                                      ("c", "<U5")]),
}


def make():
    os.mkdir("src")
    for name, array in ARRAYS.items():
        blosc2.save_array(array, f"src/{name}.b2frame", mode="w")
    blosc2.save_tensor(ARRAYS["grid"], "src/tensor.b2frame", mode="w",
                       contiguous=False)
    pathlib.Path("src/packed.b2frame").write_bytes(
        blosc2.pack_array2(ARRAYS["grid"]))
    return {**ARRAYS, "tensor": ARRAYS["grid"], "packed": ARRAYS["grid"]}


def info(path):
    return json.loads(subprocess.check_output(
        [BUILD / "bloscctl", "info", "--json", path]))


def test_views_of_packed_arrays():
    arrays = make()
    with Mount("src", "mnt"):
        for name, array in arrays.items():
            assert pathlib.Path(f"mnt/{name}").read_bytes() == array.tobytes()
            loaded = np.load(f"mnt/{name}.npy")
            assert loaded.dtype == array.dtype and \
                loaded.shape == array.shape, (name, loaded.dtype)
            assert loaded.tobytes() == array.tobytes()
            said = info(f"mnt/{name}")["tensor"]
            assert said == info(f"src/{name}.b2frame")["tensor"]
            assert said["shape"] == list(array.shape)
        assert os.getxattr("mnt/grid", "user.blosc2.shape") == b"[10, 100]"
        assert os.getxattr("mnt/grid", "user.blosc2.dtype") == b"<f8"
        assert error_of(os.getxattr, "mnt/grid",
                        "user.blosc2.chunks") == errno.ENODATA


def test_packed_arrays_are_written_to():
    make()
    with Mount("src", "mnt"):
        array = np.load("mnt/tensor.npy", mmap_mode="r+")
        array[3, 4] = -1
        array.flush()
        del array
        assert np.load("mnt/tensor.npy")[3, 4] == -1
        # A file that no longer fits the array's shape has no view.
        with open("mnt/tensor", "ab") as f:
            f.write(bytes(8))
        assert error_of(os.stat, "mnt/tensor.npy") == errno.ENOENT
        os.truncate("mnt/tensor", ARRAYS["grid"].nbytes)
        assert np.load("mnt/tensor.npy")[3, 4] == -1
    assert blosc2.load_tensor("src/tensor.b2frame")[3, 4] == -1


def test_what_does_not_fit_is_plain_data():
    os.mkdir("src")
    for i, meta in enumerate([("numpy", (3, 3), "<i4"), ("numpy", (-1,), "<i4"),
                              ("numpy", (2**62, 4), "<i4"), "text", 5, (),
                              ("numpy", (2, 2)), ("numpy", "x", "<i4"),
                              ("numpy", (1,) * 17, "<i4"), ("numpy", (4,), 7),
                              ("numpy", (4,), [("a'b", "<i4")]),
                              ("numpy", (4,), [[1, 2]])]):
        schunk = blosc2.SChunk(urlpath=f"src/{i}.b2frame", mode="w",
                               data=np.arange(4, dtype="i4"))
        schunk.vlmeta["__pack_tensor__"] = meta
    with Mount("src", "mnt"):
        for i in range(12):
            assert pathlib.Path(f"mnt/{i}").read_bytes() == \
                np.arange(4, dtype="i4").tobytes()
            assert error_of(os.stat, f"mnt/{i}.npy") == errno.ENOENT, i


if __name__ == "__main__":
    main()
