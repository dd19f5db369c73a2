#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_damage.py - frames of C-Blosc2 that were damaged afterwards

With any damage bloscctl ends without a signal and reports an error, or the bytes are
right.  Frames of C-Blosc2 have no checksums, so a flipped bit in the data of a chunk
has to be noticed only if the codec has a checksum (zlib).
"""
import os
import pathlib
import shutil
import subprocess
import sys

import blosc2
import numpy as np

from interop import (BLOSCCTL, SANITIZED, bloscctl, compressible, environment, workdir,
                     write)

CHUNK = 16_000


def run(*args):
    """Status, output and messages of a run, which must not end by a signal."""
    done = subprocess.run([BLOSCCTL, *args], capture_output=True, timeout=60,
                          stdin=subprocess.DEVNULL, env=environment(args[0]))
    assert done.returncode >= 0, (args, done.returncode, done.stderr)
    return done.returncode, done.stdout, done.stderr.decode()


def make():
    data = compressible(5 * CHUNK + 800, 8, seed=1)
    for name, contiguous in (("s.b2frame", False), ("c.b2frame", True)):
        schunk = write(name, data, contiguous=contiguous, chunksize=CHUNK,
                       typesize=8, codec=blosc2.Codec.ZLIB)
        schunk.vlmeta["note"] = "x" * 100
    return data


def fresh(name):
    """A copy of frame @name to be damaged."""
    copy = pathlib.Path("bad.b2frame")
    if copy.is_dir():
        shutil.rmtree(copy)
    elif copy.exists():
        copy.unlink()
    if os.path.isdir(name):
        shutil.copytree(name, copy)
    else:
        shutil.copyfile(name, copy)
    return copy


def must_tell(what):
    """Checks that bloscctl notices the damage."""
    status, out, err = run("verify", "bad.b2frame")
    assert status == 1, (what, status, out, err)
    assert err.startswith("bloscctl: bad.b2frame: "), (what, err)
    status, _, err = run("cat", "bad.b2frame")
    assert status == 1 and err, (what, status, err)


def chunk_files():
    for n in range(6):
        name = f"{n:08X}.chunk"
        where = fresh("s.b2frame") / name
        where.unlink()
        must_tell(("missing", name))
        for part in (0, 10, 31, 40, 100):
            where = fresh("s.b2frame") / name
            os.truncate(where, part)
            must_tell(("cut", name, part))


def flip(path, rng, low, high):
    at = int(rng.integers(low, high))
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1 << int(rng.integers(0, 8))
    path.write_bytes(raw)
    return at


def bits_of_streams(data):
    """Flips bits behind header and table of a chunk, where all bytes are zlib streams
    or their lengths."""
    rng = np.random.default_rng(11)
    silent = 0
    for _ in range(60):
        path = fresh("s.b2frame") / f"{rng.integers(0, 6):08X}.chunk"
        flip(path, rng, 40, path.stat().st_size)
        status, out, err = run("cat", "bad.b2frame")
        assert status == 1 or out == data, (path, status, err)
        silent += status == 0
        want = 0 if status == 0 else 1
        assert run("verify", "bad.b2frame")[0] == want, path
    assert silent < 10, silent


def bits_anywhere():
    """Flips any bit: nothing worse than a message may happen."""
    rng = np.random.default_rng(12)
    for name in ("s.b2frame", "c.b2frame"):
        for _ in range(50 if SANITIZED else 150):
            copy = fresh(name)
            path = copy / "chunks.b2frame" if copy.is_dir() else copy
            at = flip(path, rng, 0, path.stat().st_size)
            for command in ("info", "verify", "cat"):
                status, _, err = run(command, "bad.b2frame")
                assert status in (0, 1, 2), (name, at, command, status)
                assert (status == 0) or err, (name, at, command)


def cut_index():
    size = os.path.getsize("s.b2frame/chunks.b2frame")
    for part in range(0, size, 9 if SANITIZED else 3):
        path = fresh("s.b2frame") / "chunks.b2frame"
        os.truncate(path, part)
        must_tell(("cut index", part))
    for part in range(120, os.path.getsize("c.b2frame"),
                      291 if SANITIZED else 97):
        os.truncate(fresh("c.b2frame"), part)
        must_tell(("cut frame", part))


def main():
    with workdir():
        data = make()
        bloscctl("verify", "s.b2frame", "c.b2frame")
        chunk_files()
        bits_of_streams(data)
        bits_anywhere()
        cut_index()
    return 0


if __name__ == "__main__":
    sys.exit(main())
