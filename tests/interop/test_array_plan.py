#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""python-blosc2 makes arrays of the geometry that we plan, with the metalayer
that we write, and can resize them."""
import math
import os
import random
import subprocess
import sys

import blosc2
import numpy as np

from interop import BUILD, workdir

TOOL = str(BUILD / "npy_header")
SHAPES = [(), (0,), (1,), (1000,), (997,), (0, 5), (5, 0), (5, 0, 7), (0, 0),
          (1, 1, 1000), (37, 53), (3, 100003), (100, 9, 8, 7), (2,) * 16,
          (1,) * 15 + (300,)]


def plan(shape, itemsize, chunk, block):
    words = ["plan", str(itemsize), str(chunk), str(block),
             ",".join(map(str, shape)) or "-"]
    run = subprocess.run([TOOL], input=" ".join(words) + "\n", text=True,
                         capture_output=True, check=True)
    status, *answer = run.stdout.split()
    assert status == "0", (words, status)
    chunks, blocks = (() if word == "-" else tuple(map(int, word.split(",")))
                      for word in answer[:2])
    return chunks, blocks, bytes.fromhex(answer[2])


def raw_metalayer(path, like):
    """The b2nd metalayer of a file, without its dtype."""
    with open(path, "rb") as file:
        raw = file.read()
    at = raw.index(b"\x97" + like[1:3])
    return b"\x95" + raw[at + 1:at + len(like)]


def check(shape, itemsize, chunk, block):
    chunks, blocks, meta = plan(shape, itemsize, chunk, block)
    if os.path.exists("a.b2nd"):
        os.unlink("a.b2nd")
    array = blosc2.zeros(shape, chunks=chunks, blocks=blocks,
                         dtype=f"V{itemsize}", urlpath="a.b2nd")
    assert array.chunks == chunks and array.blocks == blocks
    assert raw_metalayer("a.b2nd", meta) == meta, (shape, meta.hex())
    assert array[()].shape == shape
    if 0 < len(shape) < 8:
        larger = tuple(n + 2 for n in shape)
        array.resize(larger)
        ones = np.full(larger, b"\x01" * itemsize, dtype=f"V{itemsize}")
        array[...] = ones
        assert blosc2.open("a.b2nd")[...].tobytes() == ones.tobytes()


def main():
    rng = random.Random(7)
    count = 0
    with workdir():
        for shape in SHAPES:
            for itemsize in (1, 8, 24):
                nbytes = math.prod(shape) * itemsize
                chunk = max(rng.choice([1, 100, 5000, 1 << 20]), nbytes // 20)
                block = max(rng.choice([1, 64, 1000, 1 << 16]), chunk // 20)
                check(shape, itemsize, chunk, block)
                count += 1
    print(f"{count} arrays as planned")
    return 0


sys.exit(main())
