#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of a sealed frame that are whole, but not those that belong there"""
import os
import struct
import subprocess
import sys

from ctl import BLOSCCTL, ctl, get, info, items, noise, put, run_all

CHUNK = 20000


def cat(path, off, size):
    """The decoded bytes of a range, or None if bloscctl refuses them."""
    run = subprocess.run(
        [BLOSCCTL, "cat", "--offset", str(off), "--length", str(size), path],
        capture_output=True, stdin=subprocess.DEVNULL)
    assert run.returncode in (0, 1), (path, run.returncode, run.stderr)
    if run.returncode == 0:
        return run.stdout
    assert run.stderr, (path, off)
    return None


def chunk_file(path, n):
    return f"{path}/{info(path, '--chunks')['chunks'][n]['stored_at']}"


def swap(a, b):
    was = get(a)
    put(a, get(b))
    put(b, was)


def refused(path, data, chunksize=CHUNK):
    """Chunks that are not read; those that are have to be right."""
    bad = []
    for n, off in enumerate(range(0, len(data), chunksize)):
        got = cat(path, off, chunksize)
        if got is None:
            bad.append(n)
        else:
            assert got == data[off:off + chunksize], (path, n)
    return bad


def test_a_size_that_lies_moves_nothing():
    data = noise(3 * CHUNK) + bytes(CHUNK) + noise(3 * CHUNK + 800, seed=8)
    put("x", data)
    for n in (1, 5):
        ctl("compress", "--chunksize", CHUNK, "-o", f"s{n}", "x")
        swap(chunk_file(f"s{n}", n), chunk_file(f"s{n}", 7))
        assert refused(f"s{n}", data) == [n, 7]
    # As short as it is, as long as all others, and neither.
    for nbytes in (CHUNK, 801, 0):
        ctl("compress", "--chunksize", CHUNK, "-o", f"h{nbytes}", "x")
        name = chunk_file(f"h{nbytes}", 7)
        raw = bytearray(get(name))
        raw[4:8] = struct.pack("<I", nbytes)
        put(name, raw)
        assert refused(f"h{nbytes}", data) == [7]


if __name__ == "__main__":
    sys.exit(run_all(globals()))
