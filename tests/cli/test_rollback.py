#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whole files of a sealed frame that belong to another version or frame"""
import json
import os
import shutil
import struct
import subprocess
import sys

import blosc2
import numpy as np

from ctl import (BLOSCCTL, SOURCE, check_frame, ctl, get, info, items, noise,
                 put, remove, run_all, stock_bytes)

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
    """The numbers of chunks that are refused; the data of all others have to be
    right."""
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
    # Its own length, the length of all others, and neither.
    for nbytes in (CHUNK, 801, 0):
        ctl("compress", "--chunksize", CHUNK, "-o", f"h{nbytes}", "x")
        name = chunk_file(f"h{nbytes}", 7)
        raw = bytearray(get(name))
        raw[4:8] = struct.pack("<I", nbytes)
        put(name, raw)
        assert refused(f"h{nbytes}", data) == [7]


def verify(path, status=0):
    return json.loads(ctl("verify", "--json", path, status=status)[0])


def compress(path, data, *options):
    put("x", data)
    ctl("compress", "--chunksize", CHUNK, *options, "-o", path, "x")


def marks(path):
    return {get(f"{path}/{name}")[-4:] for name in os.listdir(path)
            if name.endswith(".chunk")}


def test_frames_with_seals_of_before():
    """Early frames had no tags: an older chunk file of the same id is not noticed."""
    untagged = SOURCE / "tests/data/untagged.b2frame"
    data = stock_bytes(untagged)
    shutil.copytree(untagged, "u")
    assert marks("u") == {b"B2S1"}
    check_frame("u", data)
    said = verify("u")
    assert said["index_sealed"] and said["nsealed"] == 4, said
    swap("u/00000000.chunk", "u/00000002.chunk")
    assert refused("u", data, 4096) == [0, 3]
    swap("u/00000000.chunk", "u/00000002.chunk")
    ctl("seal", "u")
    assert marks("u") == {b"B2S2"}
    check_frame("u", data)
    before = sorted((n, os.stat(f"u/{n}").st_ino) for n in os.listdir("u"))
    ctl("seal", "u")
    assert before == sorted((n, os.stat(f"u/{n}").st_ino)
                            for n in os.listdir("u"))
    first, name = chunk_file("u", 0), chunk_file("u", 3)
    # The same chunk of the same frame, with the earlier kind of seal.
    shutil.copy(f"{untagged}/00000000.chunk", first)
    assert refused("u", data, 4096) == [0]
    # Without its seal, though the index names a tag.
    raw = get(name)
    put(name, raw[:struct.unpack("<I", raw[12:16])[0]])
    assert refused("u", data, 4096) == [0, 3]


def test_what_stock_changes_is_no_damage():
    data = items(6 * CHUNK, 8) + noise(800)
    new = noise(CHUNK, seed=9)

    def whole(n):
        return data[n * CHUNK:(n + 1) * CHUNK]

    changes = {
        "append": (lambda s: s.append_data(new), data + new),
        "update": (lambda s: s.update_data(2, new, True),
                   data[:2 * CHUNK] + new + data[3 * CHUNK:]),
        "insert": (lambda s: s.insert_data(1, new, True),
                   data[:CHUNK] + new + data[CHUNK:]),
        "delete": (lambda s: s.delete_chunk(1),
                   data[:CHUNK] + data[2 * CHUNK:]),
        "reorder": (lambda s: s.reorder_offsets(
            np.array([6, 0, 1, 2, 3, 4, 5])), data[6 * CHUNK:] +
            data[:6 * CHUNK]),
        "zeros": (lambda s: s.update_data(2, bytes(CHUNK), True),
                  data[:2 * CHUNK] + bytes(CHUNK) + data[3 * CHUNK:]),
        "vlmeta": (lambda s: s.vlmeta.__setitem__("unit", "K" * 300), data),
    }
    for name, (change, after) in changes.items():
        compress(name, data, "--typesize", 8)
        schunk = blosc2.open(name, mode="a")
        change(schunk)
        del schunk
        check_frame(name, after)
        said = verify(name)
        assert not said["index_sealed"], said
        assert said["nsealed"] >= 5, (name, said)
        # Chunks that it did not write keep their seals.
        raw = bytearray(get(chunk_file(name, len(said["chunks"]) - 2)))
        raw[len(raw) // 2] ^= 1
        shutil.copytree(name, "copy")
        put(chunk_file("copy", len(said["chunks"]) - 2), raw)
        assert verify("copy", status=1)["ndamaged"] == 1, name
        remove("copy")
        # A second seal keeps sealed files, and reports swapped ones.
        inodes = {os.stat(f"{name}/{n}").st_ino for n in os.listdir(name)}
        ctl("seal", name)
        said = verify(name)
        assert said["index_sealed"] and said["nunsealed"] == 0, said
        kept = inodes & {os.stat(f"{name}/{n}").st_ino
                         for n in os.listdir(name)}
        assert len(kept) >= 5, (name, len(kept))
        check_frame(name, after)
        swap(chunk_file(name, 3), chunk_file(name, 4))
        said = verify(name, status=1)
        assert said["chunks"][3:5] == ["damaged", "damaged"], (name, said)


def test_no_program_sees_the_list_of_tags():
    compress("s", items(5 * CHUNK, 8), "--typesize", 8)
    schunk = blosc2.open("s", mode="r")
    assert len(schunk.vlmeta) == 0 and len(schunk.meta) == 0
    del schunk
    said = info("s")
    assert said.get("vlmetalayers", {}) in ({}, []), said


if __name__ == "__main__":
    sys.exit(run_all(globals()))
