#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A read of 4 KiB takes a block from the disk, not a chunk."""
import os
import pathlib
import re

from mounting import Mount, data, main

CHUNK = 4 << 20


def make_frame():
    """Returns the contents, and the stored bytes of the smallest chunk."""
    import blosc2
    os.mkdir("src")
    raw = data(CHUNK * 4)
    # Several threads would store blocks in the order in which they end.
    s = blosc2.SChunk(chunksize=CHUNK, urlpath="src/a.b2frame",
                      contiguous=False,
                      cparams={"typesize": 8, "blocksize": 1 << 17,
                               "nthreads": 1})
    for start in range(0, len(raw), CHUNK):
        s.append_data(raw[start:start + CHUNK])
    return raw, min(p.stat().st_size for p in
                    pathlib.Path("src/a.b2frame").glob("*.chunk"))


def trace_reads(raw, *offsets):
    """(call, chunk file, first number, second number) of each call on a chunk file."""
    strace = ["strace", "-f", "-y", "-o", "calls", "-e",
              "trace=pread64,fadvise64"]
    with Mount("src", "mnt", wrap=strace):
        fd = os.open("mnt/a", os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        for off in offsets:
            assert os.pread(fd, 4096, off) == raw[off:off + 4096]
        os.close(fd)
    said = pathlib.Path("calls").read_text()
    return [(m[1], m[2], int(m[3]), int(m[4])) for m in re.finditer(
        r"(pread64|fadvise64)\(\d+<[^>]*?(\w+\.chunk)>.*?, (\d+), (\d+)[,)]",
        said)]


def test_a_small_read_is_small_on_disk():
    raw, stored = make_frame()
    calls = trace_reads(raw, 2 * CHUNK + 1234567)
    # pread64(fd, bytes, size, offset)
    sizes = [size for call, _, size, _ in calls if call == "pread64"]
    print(f"{len(sizes)} reads, {sum(sizes)} of {stored} stored bytes")
    assert sizes and sum(sizes) < stored / 8, (sizes, stored)


def test_what_a_small_read_needs_is_asked_for_at_once():
    raw, stored = make_frame()
    calls = trace_reads(raw, 1234567, 2 * CHUNK + 2345678)
    calls = [c for c in calls if c[1] == "00000002.chunk"]
    hints = [(off, off + n) for call, _, off, n in calls
             if call == "fadvise64"]
    reads = [(off, off + n) for call, _, n, off in calls if call == "pread64"]
    assert hints and reads
    assert [c[0] for c in calls[:len(hints)]] == ["fadvise64"] * len(hints)
    assert sum(end - start for start, end in hints) < stored / 6, hints
    for start, end in reads:
        assert any(a <= start and end <= b or b >= stored - 4096 <= start
                   for a, b in hints), (hints, reads)


main()
