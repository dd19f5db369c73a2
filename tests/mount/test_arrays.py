#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays: what a mount shows of them, and what becomes of what is written."""
import arrays
from mounting import main
from scratch import Scratch


def test_random_arrays():
    with Scratch() as scratch:
        arrays.run(range(60), scratch)


main()
