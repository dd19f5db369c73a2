#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_arrays.py - b2nd arrays: their items in C order, and their shapes"""
import sys

import blosc2
import numpy as np

from interop import cat, check_info, info, verify_tree, workdir

# Shape, chunks, blocks; some are multiples of each other.
SHAPES = [
    ((), None, None),
    ((0,), None, None),
    ((1000,), (300,), (70,)),
    ((1024,), (256,), (64,)),
    ((37, 53), (10, 20), (4, 7)),
    ((5, 0, 7), None, None),
    ((12, 13, 14), (5, 6, 7), (2, 3, 4)),
    ((6, 5, 4, 7), (3, 5, 2, 4), (2, 2, 2, 2)),
    ((2, 2, 2, 2, 2, 2, 2, 2), (2, 1, 2, 1, 2, 1, 2, 1), (1,) * 8),
    ((10,), (100,), (7,)),
]
DTYPES = ["u1", "<i2", ">i4", "<f8", "<c16", "<U3", "S5", "<M8[us]", "?",
          [("a", "<i4"), ("b", "<f8", (2,))]]
count = 0


def items(shape, dtype):
    rng = np.random.default_rng(count)
    dtype = np.dtype(dtype)
    n = int(np.prod(shape, dtype=int))
    raw = rng.integers(0, 2 if dtype.kind == "b" else 50,
                       n * dtype.itemsize, dtype="u1")
    return np.frombuffer(raw.tobytes(), dtype).reshape(shape)


def in_c_order(array):
    return np.ascontiguousarray(array[()]).tobytes()


def check_array(path, array):
    global count
    count += 1
    schunk = array.schunk
    assert cat(path) == in_c_order(array), path
    check_info(path, schunk)
    said = info(path)["array"]
    assert said["shape"] == list(array.shape), (path, said)
    assert said["chunks"] == list(array.chunks), (path, said)
    assert said["blocks"] == list(array.blocks), (path, said)
    if array.dtype.fields is None:
        assert said["dtype"] == array.dtype.str, (path, said)


def make(shape, chunks, blocks, dtype):
    path = f"{count:04}.b2nd"
    array = blosc2.asarray(items(shape, dtype), urlpath=path, mode="w",
                           chunks=chunks, blocks=blocks,
                           contiguous=count % 2 == 1,
                           cparams={"nthreads": 1})
    check_array(path, array)


def resized():
    """Resizes insert and delete chunks in the middle of the index."""
    path = f"{count:04}.b2nd"
    array = blosc2.zeros((20, 20), dtype="<i4", chunks=(7, 6), blocks=(3, 4),
                         urlpath=path, mode="w", contiguous=False)
    array[:] = np.arange(400, dtype="<i4").reshape(20, 20)
    array.resize((33, 29))
    array[25:, 20:] = 5
    check_array(path, array)
    array.resize((11, 40))
    array[3:5, 30:] = 6
    assert cat(path) == in_c_order(array)


def cells_larger_than_their_blocks():
    for shape, blocks, side in (((11,), (5,), 8), ((9, 9), (3, 3), 4),
                                ((4, 3, 4, 8), (3, 1, 3, 4), 3)):
        path = f"{count:04}.b2nd"
        data = np.linspace(0, 3, int(np.prod(shape))).round(1).astype("f4")
        array = blosc2.asarray(
            data.reshape(shape), urlpath=path, mode="w", chunks=shape,
            blocks=blocks, cparams={"filters": [blosc2.Filter.NDMEAN],
                                    "filters_meta": [side],
                                    "codec": blosc2.Codec.ZSTD})
        check_array(path, array)


def constructors():
    # Not empty(): its content is undefined.
    for make_array in (blosc2.zeros, blosc2.ones, blosc2.nans):
        path = f"{count:04}.b2nd"
        array = make_array((50, 60), dtype="<f4", chunks=(20, 20),
                           blocks=(6, 7), urlpath=path, mode="w",
                           contiguous=False)
        check_array(path, array)


def main():
    with workdir():
        for shape, chunks, blocks in SHAPES:
            make(shape, chunks, blocks, "<i4")
            make(shape, chunks, blocks, "<f8")
        for dtype in DTYPES:
            make((37, 53), (10, 20), (4, 7), dtype)
        resized()
        cells_larger_than_their_blocks()
        constructors()
        verify_tree(count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
