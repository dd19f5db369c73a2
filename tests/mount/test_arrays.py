#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in a mount: reads and writes of their files."""
import pathlib

import blosc2
import numpy as np

import arrays
from mounting import Mount, main
from scratch import Scratch


def test_random_arrays():
    with Scratch() as scratch:
        arrays.run(range(60), scratch)


def test_what_is_written_to_an_array_with_delta_is_read_in_parts():
    """C-Blosc2 would read wrong numbers if the new chunks had that filter."""
    values = np.arange(10000, dtype="f4").reshape(100, 100)
    pathlib.Path("src").mkdir()
    for name, contiguous, filters in (
            ("sparse", False, [blosc2.Filter.DELTA]),
            ("one", True, [blosc2.Filter.BITSHUFFLE, blosc2.Filter.DELTA])):
        blosc2.asarray(values, chunks=(50, 50), blocks=(10, 25),
                       urlpath=f"src/{name}.b2nd", contiguous=contiguous,
                       cparams={"filters": filters})
    with Mount("src", "mnt"):
        for name in "sparse", "one":
            with open(f"mnt/{name}", "r+b") as f:
                f.write((values * 2).tobytes())
    for name in "sparse", "one":
        stored = blosc2.open(f"src/{name}.b2nd")
        for part in np.s_[...], np.s_[33:50, 33:50], np.s_[1:99:7, 3:4]:
            assert (stored[part] == (values * 2)[part]).all(), (name, part)


main()
