#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_frame - writes a frame with C-Blosc2, and its bytes as a plain file

usage: make_frame.py FRAME RAW [KEY=VALUE...]

  kind=sparse|contiguous   sparse
  nbytes=N                 3000005
  chunk=BYTES              262144
  seed=N                   0
  zeros=FIRST:LAST         chunks that are zeros, LAST excluded
"""
import sys

import blosc2
import numpy as np


def data(nbytes, seed=0):
    """Bytes that compress, but differ everywhere."""
    n = nbytes // 8 + 1
    noise = np.random.default_rng(seed).integers(0, 1 << 12, n)
    return ((np.arange(n) << 13) + noise).astype("<i8").tobytes()[:nbytes]


def make(frame, raw, kind="sparse", nbytes=3000005, chunk=1 << 18, seed=0,
         zeros=None):
    content = bytearray(data(nbytes, seed))
    if zeros:
        first, last = (int(x) * chunk for x in zeros.split(":"))
        content[first:last] = bytes(min(last, nbytes) - first)
    content = bytes(content)
    # Whole zero chunks become special ones by themselves.
    s = blosc2.SChunk(chunksize=chunk, urlpath=frame, mode="w",
                      contiguous=kind == "contiguous",
                      cparams={"typesize": 1, "nthreads": 1})
    for start in range(0, nbytes, chunk):
        s.append_data(content[start:start + chunk])
    if raw:
        with open(raw, "wb") as f:
            f.write(content)
    return content


if __name__ == "__main__":
    args = dict(arg.split("=") for arg in sys.argv[3:])
    make(sys.argv[1], sys.argv[2], **{
        k: v if k in ("kind", "zeros") else int(v) for k, v in args.items()})
