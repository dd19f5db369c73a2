#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A read of 4 KiB takes a block from the disk, not a chunk."""
import errno
import os
import pathlib
import re
import shutil

from mounting import Mount, data, error_of, main
from bloscctl import ctl

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
        r"(pread64|fadvise64)\(\d+<[^>]*?(\w+\.chunk|a\.b2frame)>"
        r".*?, (\d+), (\d+)[,)]", said)]


def make_floats(contiguous=False, dtype="<f8"):
    """A frame as python-blosc2 makes it, of floats with noise in six of eight bytes."""
    import blosc2
    import numpy as np
    os.mkdir("src")
    items = np.arange(4 * CHUNK // 8)
    noise = np.random.default_rng(1).normal(0, .3, len(items))
    raw = (np.sin(items / 1000) * 100 + noise).astype(dtype).tobytes()
    blosc2.SChunk(chunksize=CHUNK, data=raw, urlpath="src/a.b2frame",
                  contiguous=contiguous,
                  cparams={"typesize": 8, "codec": blosc2.Codec.LZ4,
                           "blocksize": 1 << 19, "nthreads": 1})
    return raw


def stored_bytes(calls):
    """The bytes of all reads but those of a chunk's head."""
    return sum(n for call, _, n, off in calls
               if call == "pread64" and n != 4096)


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


def test_a_small_read_of_noise_reads_a_part_of_the_block():
    for contiguous in False, True:
        raw = make_floats(contiguous)
        # The last page of a block, and two pages of one excerpt.
        offsets = [3 * CHUNK + (1 << 19) + 5 * 4096, 2 * CHUNK - 4096,
                   1234567 & -4096, 2 * CHUNK + 45056, 2 * CHUNK + 36864]
        calls = trace_reads(raw, *offsets)
        print(len(calls), "calls,", stored_bytes(calls), "bytes")
        assert 0 < stored_bytes(calls) < 4 * (64 << 10), calls
        shutil.rmtree("src") if not contiguous else os.unlink("src/a.b2frame")


def test_the_second_small_read_of_a_chunk_reads_the_block():
    raw = make_floats()
    few = stored_bytes(trace_reads(raw, CHUNK + 40960))
    block = stored_bytes(trace_reads(raw, CHUNK + 40960, CHUNK + 409600,
                                     CHUNK + 204800, CHUNK + 4096))
    assert few < 64 << 10 < 300 << 10 < block < 500 << 10, (few, block)


def test_where_noise_is_not_first_blocks_are_read():
    raw = make_floats(dtype=">f8")
    offsets = [n * CHUNK + 40960 for n in range(4)]
    calls = trace_reads(raw, *offsets)
    hints = [n for call, _, _, n in calls if call == "fadvise64"]
    assert stored_bytes(calls) > 4 * 300 << 10, calls
    # Only the first of four reads has tried to read less.
    assert sum(n < 65536 for n in hints) < 20, hints


def test_a_small_read_of_a_sealed_chunk_is_checked():
    """All kinds of checksums cover more bytes than a small read needs."""
    raw = make_floats()
    ctl("seal", "src/a.b2frame")
    pathlib.Path("raw").write_bytes(raw)
    ctl("compress", "--format=blp", "--codec=lz4", "--typesize=8",
        "--blocksize=512k", "--chunksize=4m", "-o", "src/b.blp", "raw")
    first = min(pathlib.Path("src/a.b2frame").glob("*.chunk"))
    for stored in first, pathlib.Path("src/b.blp"):
        flipped = bytearray(stored.read_bytes())
        # In the third stream of the first block, which is noise.
        flipped[3 * 65536] ^= 1
        stored.write_bytes(flipped)
    with Mount("src", "mnt"):
        for name in "a", "b":
            fd = os.open(f"mnt/{name}", os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            assert error_of(os.pread, fd, 4096, 40960) == errno.EIO, name
            off = 3 * CHUNK + 40960
            assert os.pread(fd, 4096, off) == raw[off:off + 4096]
            os.close(fd)


main()
