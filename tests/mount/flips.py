# SPDX-License-Identifier: BSD-3-Clause
"""flips - one flipped bit anywhere in a sealed frame

A reader of it gets an error and a message, or the right bytes.
"""
import errno
import os
import pathlib
import random
import shutil
import subprocess

import blosc2
import numpy as np

from mounting import BUILD, Mount
from scratch import Scratch, make_contiguous, unsealed

CHUNK = 1 << 16
# Damaged, not a frame any more, an unknown feature, too large.
TOLD = errno.EIO, errno.EINVAL, errno.EOPNOTSUPP, errno.EFBIG


def content():
    """Chunks of all kinds: numbers, noise, text, zeros, one value, mixtures."""
    rng = np.random.default_rng(3)
    numbers = np.cumsum(rng.integers(0, 9, CHUNK // 8)).astype("<i8").tobytes()
    noise = rng.integers(0, 256, CHUNK, dtype="u1").tobytes()
    text = (b"all work and no play makes jack a dull boy\n" * 2000)[:CHUNK]
    value = b"\7" * CHUNK
    half = noise[:CHUNK // 2] + bytes(CHUNK // 2)
    return b"".join((numbers, noise, bytes(CHUNK), text, value, half, numbers,
                     noise[:777] + numbers[:9999]))


def make(name, codec="zstd", contiguous=False):
    """Writes src/@name.b2frame through a mount, with seals."""
    raw = content()
    frame = pathlib.Path(f"src/{name}.b2frame")
    if contiguous:
        frame.parent.mkdir()
        make_contiguous(frame, codec=blosc2.Codec[codec.upper()])
    with Scratch("chunksize=64k", "typesize=8", f"codec={codec}"), \
            open(f"mnt/{name}", "wb") as f:
        f.write(raw)
    assert frame.is_file() == contiguous
    assert not unsealed(frame), unsealed(frame)
    return frame, raw


def flip(frame, rng):
    """Flips a bit; returns its place: the index as often as all chunks together."""
    path = frame
    if frame.is_dir():
        files = sorted(frame.iterdir())
        files += [frame / "chunks.b2frame"] * (len(files) - 2)
        path = rng.choice(files)
    raw = bytearray(path.read_bytes())
    at, bit = rng.randrange(len(raw)), rng.randrange(8)
    if frame.is_file() and rng.randrange(2):
        # The header, or the index and what follows it.
        index = 97 + int.from_bytes(raw[39:47], "big")
        at = rng.choice([rng.randrange(97), rng.randrange(index, len(raw))])
    raw[at] ^= 1 << bit
    path.write_bytes(raw)
    return f"{path}, byte {at} of {len(raw)}, bit {bit}"


def read_with_ctl(frame):
    """The bytes that bloscctl reads, or None if it reports an error."""
    run = subprocess.run([BUILD / "bloscctl", "cat", frame],
                         capture_output=True, timeout=60,
                         stdin=subprocess.DEVNULL)
    assert run.returncode in (0, 1), (run.returncode, run.stderr)
    if run.returncode == 0:
        return run.stdout
    assert run.stderr.startswith(b"bloscctl: "), run.stderr
    return None


def read_with_mount(path):
    try:
        with open(path, "rb", buffering=0) as f:
            return f.read()
    except OSError as error:
        assert error.errno in TOLD, error
        return None


def copy_frame(frame, copy):
    if frame.is_file():
        shutil.copyfile(frame, copy)
    else:
        shutil.copytree(frame, copy)


def stored(path):
    """The bytes of a file that is shown as a plain file because it is no frame any
    more."""
    return pathlib.Path(path).read_bytes()


def flip_many(frame, raw, rounds, seed, batch=50):
    """@rounds copies with a flip each; a mount shows a batch of them."""
    rng = random.Random(seed)
    counts = {"told": 0, "right": 0}
    for first in range(0, rounds, batch):
        os.mkdir("bad")
        where = {}
        for i in range(first, min(first + batch, rounds)):
            copy = pathlib.Path(f"bad/{i}.b2frame")
            copy_frame(frame, copy)
            where[i] = flip(copy, rng)
            got = read_with_ctl(copy)
            assert got in (None, raw), f"wrong bytes: {where[i]}"
            counts["told" if got is None else "right"] += 1
        with Mount("bad", "shown", "-o", "ro"):
            names = os.listdir("shown")
            assert len(names) == len(where), names
            for i in where:
                # A file that is no frame any more keeps its full name.
                name = f"{i}" if f"{i}" in names else f"{i}.b2frame"
                if os.path.isdir(f"shown/{name}"):
                    continue
                got = read_with_mount(f"shown/{name}")
                want = raw if name == f"{i}" else stored(f"bad/{name}")
                assert got in (None, want), f"mount, wrong bytes: {where[i]}"
        shutil.rmtree("bad")
    print(f"{rounds} flips: {counts}")
    # A flip in most bytes is noticed.
    assert counts["told"] > rounds // 2, counts
