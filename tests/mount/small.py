# SPDX-License-Identifier: BSD-3-Clause
"""small - a mount whose small files are one file each"""
import pathlib
import random

from scratch import check_stock, litter

SMALL = "small=64k"
LIMIT = 64 << 10
FRAME = pathlib.Path("src/f.b2frame")


def noise(n, seed=0):
    return random.Random(seed).randbytes(n)


def append(data, path="mnt/f"):
    with open(path, "ab", buffering=0) as f:
        assert f.write(data) == len(data)


def check(want, is_one_file, path=FRAME):
    """What C-Blosc2 reads, and whether the frame is one file."""
    check_stock(path, want)
    assert path.is_file() == is_one_file
    assert not litter(path), litter(path)
