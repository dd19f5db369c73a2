#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random arrays in a mount: reads and writes of their files."""
import arrays
from mounting import main
from scratch import Scratch


def test_random_arrays():
    with Scratch() as scratch:
        arrays.run(range(60), scratch)


main()
