#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A read of 4 KiB takes a block from the disk, not a chunk."""
import os
import pathlib
import re

from mounting import Mount, data, main

CHUNK = 4 << 20


def test_a_small_read_is_small_on_disk():
    import blosc2
    os.mkdir("src")
    raw = data(CHUNK * 4)
    s = blosc2.SChunk(chunksize=CHUNK, urlpath="src/a.b2frame",
                      contiguous=False,
                      cparams={"typesize": 8, "blocksize": 1 << 17})
    for start in range(0, len(raw), CHUNK):
        s.append_data(raw[start:start + CHUNK])
    stored = min(p.stat().st_size for p in
                 pathlib.Path("src/a.b2frame").glob("*.chunk"))
    strace = ["strace", "-f", "-y", "-o", "calls", "-e", "trace=pread64"]
    with Mount("src", "mnt", wrap=strace):
        fd = os.open("mnt/a", os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        off = 2 * CHUNK + 1234567
        assert os.pread(fd, 4096, off) == raw[off:off + 4096]
        os.close(fd)
    sizes = [int(m[1]) for m in re.finditer(
        r"pread64\(\d+<[^>]*\.chunk>.* = (\d+)", pathlib.Path("calls").read_text())]
    print(f"{len(sizes)} reads, {sum(sizes)} of {stored} stored bytes")
    assert sizes and sum(sizes) < stored / 8, (sizes, stored)


main()
