#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A flipped bit in a sealed frame is reported; scripts/soak does more."""
from flips import flip_many, make
from mounting import main


def test_zstd():
    flip_many(*make("a"), rounds=60, seed=1)


def test_lz4():
    flip_many(*make("a", "lz4"), rounds=60, seed=2)


main()
