# SPDX-License-Identifier: BSD-3-Clause
"""stock - what python-blosc2 reads"""
import blosc2
import numpy as np


def stored_bytes(path):
    """All data of the frame @path; of an array, its items in C order."""
    opened = blosc2.open(str(path), mode="r")
    if isinstance(opened, blosc2.NDArray):
        return np.ascontiguousarray(opened[()]).tobytes()
    return b"".join(opened.decompress_chunk(n) for n in range(opened.nchunks))
