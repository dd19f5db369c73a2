#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock python-blosc2 reads and edits frames whose index we wrote."""
import os
import shutil
import subprocess
import sys
import tempfile

import blosc2

from interop import BUILD, SOURCE

GOLDEN = str(SOURCE / "tests/data/golden")
REWRITE = str(BUILD / "rewrite_index")

# Frames that stock reads, chunk by chunk, without an error or a crash.
NAMES = ["codec0", "codec1", "codec2", "codec4", "codec5", "dict", "edited",
         "empty", "fill-nans", "fill-zeros", "many", "meta", "meta-no-chunks",
         "one-chunk", "short-last", "specials", "split1", "split2"]
ARRAYS = ["d1", "d2", "d3", "d4", "struct", "scalar", "zeros", "grown"]


def contents(path):
    # The array has to live as long as its schunk is used.
    opened = blosc2.open(path, mode="r")
    schunk = getattr(opened, "schunk", opened)
    return [schunk.decompress_chunk(i) for i in range(schunk.nchunks)]


def edit(path):
    """The results of C-Blosc2 for an append and a deletion; it fails on some."""
    schunk = blosc2.open(path, mode="a")
    if hasattr(schunk, "schunk") or schunk.nchunks == 0:
        return None
    try:
        schunk.append_data(schunk.decompress_chunk(0))
        schunk.delete_chunk(0)
        del schunk
        return contents(path)
    except (RuntimeError, ValueError) as error:
        return str(error).replace(path, "")


def compare(source, tmp):
    copy, pristine = (os.path.join(tmp, n) for n in ("copy", "pristine"))
    shutil.copytree(source, copy)
    shutil.copytree(source, pristine)
    index = os.path.join(copy, "chunks.b2frame")
    subprocess.run([REWRITE, index, index + ".new"], check=True)
    os.replace(index + ".new", index)
    assert contents(copy) == contents(pristine), source
    assert edit(copy) == edit(pristine), source
    shutil.rmtree(copy)
    shutil.rmtree(pristine)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        for name in NAMES:
            compare(os.path.join(GOLDEN, "sframes", name + ".b2frame"), tmp)
        for name in ARRAYS:
            compare(os.path.join(GOLDEN, "b2nd", name + "-s.b2nd"), tmp)
    print(f"{len(NAMES) + len(ARRAYS)} frames with an index of ours are read "
          "and edited")
    return 0


sys.exit(main())
