#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A growing frame is seen within a second; mounts report statistics."""
import contextlib
import json
import os
import subprocess
import time

import blosc2
import numpy as np

from mounting import Mount, main, wait_until
from scratch import bloscctl

def soon(condition, what):
    """Waits a second, or three on a busy machine."""
    start = time.monotonic()
    wait_until(condition, what, seconds=3)
    return time.monotonic() - start


@contextlib.contextmanager
def tail():
    """tail(1) follows mnt/log, and writes to the file seen."""
    with open("seen", "wb") as out, subprocess.Popen(
            ["tail", "-c", "+1", "-s", "0.1", "-f", "mnt/log"],
            stdout=out) as process:
        try:
            yield
        finally:
            process.terminate()


def test_tail_follows_what_another_process_appends():
    os.mkdir("src")
    schunk = blosc2.SChunk(chunksize=1 << 12, contiguous=False,
                           urlpath="src/log.b2frame",
                           cparams={"typesize": 1})
    schunk.append_data(b"begin\n" + b"x" * 4089 + b"\n")
    with Mount("src", "mnt"), tail():
        soon(lambda: os.path.getsize("seen") == 4096, "the first chunk")
        for n in range(3):
            schunk.append_data(bytes([65 + n]) * 4096)
            soon(lambda n=n: os.path.getsize("seen") == 4096 * (n + 2),
                 f"chunk {n + 1}")
    with open("seen", "rb") as f:
        assert f.read()[4096:] == b"A" * 4096 + b"B" * 4096 + b"C" * 4096


def test_tail_follows_what_is_written_into_the_mount():
    os.mkdir("src")
    with Mount("src", "mnt"), open("mnt/log", "wb", buffering=0) as log:
        log.write(b"one\n")
        with tail():
            soon(lambda: os.path.getsize("seen") == 4, "the first line")
            log.write(b"two\n")
            soon(lambda: os.path.getsize("seen") == 8, "the second line")


def test_an_array_that_grows():
    os.mkdir("src")
    array = blosc2.asarray(np.arange(1000.0), urlpath="src/a.b2nd", mode="w",
                           contiguous=False, chunks=(1000,))
    with Mount("src", "mnt"):
        assert np.array_equal(np.load("mnt/a.npy"), np.arange(1000.0))
        array.resize((2000,))
        array[1000:] = np.arange(1000.0, 2000.0)
        soon(lambda: os.stat("mnt/a").st_size == 16000, "the new size")
        soon(lambda: len(np.load("mnt/a.npy")) == 2000, "the new shape")
        soon(lambda: np.array_equal(np.load("mnt/a.npy"), np.arange(2000.0)),
             "the new items")


def test_mounts_and_their_statistics():
    os.mkdir("src")
    with Mount("src", "mnt") as m:
        with open("mnt/f", "wb") as f:
            f.write(b"0123456789abcdef" * (1 << 18))
        with open("mnt/f", "rb") as f:
            f.read()
        here = os.path.realpath("mnt")
        mine = [x for x in json.loads(bloscctl("mounts", "--json"))
                if x["mountpoint"] == here]
        assert len(mine) == 1 and mine[0]["pid"] == m.pid, mine
        assert mine[0]["source"] == os.path.realpath("src"), mine
        assert any(x.startswith(here + "  ") and x.endswith(f"  rw  {m.pid}")
                   for x in bloscctl("mounts").decode().splitlines())
        stats = json.loads(bloscctl("stats", "--json", "mnt"))
        zstd = stats["codecs"]["zstd"]
        assert stats["written_bytes"] == 4 << 20, stats
        assert zstd["encoded_bytes"] == 4 << 20 > zstd["stored_bytes"] > 0
        assert zstd["encode_seconds"] > 0, zstd
        assert stats["memory_bytes"] > 1 << 20 and "dirty_bytes" in stats
        text = bloscctl("stats", "mnt").decode()
        assert text.startswith("mnt\n  reads") and "ratio" in text, text
    said = json.loads(bloscctl("stats", "--json", "mnt", status=1))
    assert "no bloscfs is mounted there" in said["error"], said


def holds(m, path):
    """Does the daemon have a descriptor of it?"""
    for fd in os.listdir(f"/proc/{m.pid}/fd"):
        try:
            if os.readlink(f"/proc/{m.pid}/fd/{fd}") == os.path.realpath(path):
                return True
        except OSError:
            pass
    return False


def first_byte():
    with open("mnt/long", "rb") as f:
        return f.read(1)


def make_long(first):
    """A frame of so many chunks that reading its index takes a while."""
    schunk = blosc2.SChunk(chunksize=1 << 12, contiguous=False, mode="w",
                           urlpath="src/long.b2frame", cparams={"typesize": 1})
    schunk.fill_special(20000 << 12, blosc2.SpecialValue.ZERO)
    schunk.update_data(0, first * 4096, copy=True)
    return schunk


def test_a_long_index_that_stays_after_the_close_is_never_an_old_one():
    os.mkdir("src")
    schunk = make_long(b"A")
    with Mount("src", "mnt") as m:
        frame = "src/long.b2frame"
        assert first_byte() == b"A"
        wait_until(lambda: not holds(m, frame), "it is let go of")
        assert first_byte() == b"A"
        schunk.update_data(0, b"B" * 4096, copy=True)
        assert first_byte() == b"B"
        # Another frame in its place.
        os.rename(frame, "old")
        make_long(b"C")
        wait_until(lambda: first_byte() == b"C", "the other frame")
        # Writers use the new frame, too.
        with open("mnt/long", "r+b") as f:
            f.write(b"D")
        assert blosc2.open(frame)[:1] == b"D"
        blosc2.open(frame, mode="a").update_data(0, b"E" * 4096, copy=True)
        assert first_byte() == b"E"
        os.unlink("mnt/long")
        assert not os.path.exists(frame)


main()
