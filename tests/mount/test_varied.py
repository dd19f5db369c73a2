#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames of chunks of different sizes, written to by the mount and by C-Blosc2

Existing chunks keep their sizes; appended data go into new chunks.
"""
import errno
import json
import os
import random

import blosc2
import numpy as np

from mounting import error_of, main
from scratch import Scratch

SIZES = [400, 12000, 40, 8000, 2400]
ROUNDS = 8


def some(rng, n, zeros=True):
    """Random data.  C-Blosc2 gets no zeros: it cannot read its own chunks of them."""
    kind = rng.random()
    if zeros and kind < 0.2:
        return bytes(n)
    if kind < 0.6:
        return rng.randbytes(n)
    return (np.arange(n) // 50 % 255 + 1).astype("u1").tobytes()


def make(path, contiguous, sizes=SIZES, seed=1):
    """Makes a frame of chunks of @sizes; returns its data."""
    rng = random.Random(seed)
    pieces = [some(rng, n, zeros=False) for n in sizes]
    made = blosc2.SChunk(chunksize=8000, urlpath=path, contiguous=contiguous,
                         cparams={"typesize": 4, "clevel": 1})
    for piece in pieces:
        made.append_data(piece)
    return bytearray(b"".join(pieces))


def chunks(path):
    opened = blosc2.open(path, mode="r")
    return [opened.decompress_chunk(i) for i in range(opened.nchunks)]


def sizes(path):
    return [len(x) for x in chunks(path)]


def in_both_storages(test):
    def run():
        for contiguous in False, True:
            name = f"{test.__name__}-{contiguous}"
            os.makedirs(f"{name}/src")
            path = f"{name}/src/x.b2frame"
            model = make(path, contiguous)
            with Scratch("chunksize=10000", "attr_timeout=0",
                         "entry_timeout=0", source=f"{name}/src",
                         path=f"{name}/mnt") as scratch:
                test(path, scratch.path / "x", model, scratch.mount)
    return run


def check_where_bytes_go(path, shown, model, _):
    assert json.loads(os.getxattr(shown, "user.blosc2.info"))["writable"]
    with open(shown, "r+b", buffering=0) as f:
        # Parts of two chunks, and the whole chunk between them.
        f.seek(12300)
        f.write(b"x" * 300)
        model[12300:12600] = b"x" * 300
        os.fsync(f.fileno())
        assert sizes(path) == SIZES
        f.seek(0, os.SEEK_END)
        # 25,000 bytes, in two commits: to chunks of 10,000.
        for n in 14000, 11000:
            f.write(b"y" * n)
            os.fsync(f.fileno())
        model += b"y" * 25000
    assert sizes(path) == SIZES + [10000, 10000, 5000]
    os.truncate(shown, 12000)
    assert sizes(path) == [400, 11600]
    os.truncate(shown, 400)
    os.truncate(shown, 900)
    assert sizes(path) == [400, 500]
    assert shown.read_bytes() == model[:400] + bytes(500)
    # Its chunks stay variable: C-Blosc2 does not make them fixed either.
    shown.write_bytes(model)
    assert sizes(path)[:-1] == [10000] * (len(model) // 10000)
    assert b"".join(chunks(path)) == model


def write_beside(path, shown, theirs):
    """Writes 4 bytes of ours, while @theirs changes the frame.

    Returns the error of our fsync.
    """
    fd = os.open(shown, os.O_RDWR)
    os.pwrite(fd, b"ours", 500)
    theirs(blosc2.open(path, mode="a"))
    err = error_of(os.fsync, fd)
    assert error_of(os.close, fd) == err
    return err


def check_both_writers(path, shown, model, mount):
    if os.path.isfile(path):
        # Their change has moved data that we have not committed.
        assert write_beside(path, shown, lambda x: x.append_data(
            b"theirs")) == errno.ESTALE
        return
    assert not write_beside(path, shown, lambda x: x.append_data(b"theirs"))
    model[500:504] = b"ours"
    model += b"theirs"
    assert b"".join(chunks(path)) == model
    assert shown.read_bytes() == model
    # An inserted chunk has moved all data behind it.
    assert write_beside(path, shown, lambda x: x.insert_data(
        0, b"first", False)) == errno.ESTALE
    assert b"".join(chunks(path)) == b"first" + model


def change(rng, f, model):
    """Makes one change through the mount."""
    kind = rng.random()
    if kind < 0.7:
        at = rng.randrange(len(model) + 1)
        if kind < 0.15:
            at = len(model) + rng.randrange(3000)
        data = some(rng, rng.randrange(1, 9000))
        model += bytes(max(0, at - len(model)))
        model[at:at + len(data)] = data
        f.seek(at)
        f.write(data)
    else:
        size = max(1, len(model) + rng.randrange(-9000, 12000))
        os.ftruncate(f.fileno(), size)
        del model[size:]
        model += bytes(size - len(model))
    if rng.random() < 0.3:
        os.fsync(f.fileno())
    if rng.random() < 0.3:
        f.seek(0)
        assert f.read() == model


def change_theirs(rng, path, model):
    """Makes one change by C-Blosc2."""
    starts = np.cumsum([0, *sizes(path)]).tolist()
    n = rng.randrange(len(starts) - 1)
    data = some(rng, rng.randrange(1, 3000) * 4, zeros=False)
    opened = blosc2.open(path, mode="a")
    kind = rng.randrange(4)
    if kind == 0:
        opened.append_data(data)
        model += data
    elif kind == 1:
        opened.insert_data(n, data, False)
        model[starts[n]:starts[n]] = data
    elif kind == 2:
        opened.update_data(n, data, False)
        model[starts[n]:starts[n + 1]] = data
    elif len(starts) > 3:
        opened.delete_chunk(n)
        del model[starts[n]:starts[n + 1]]


def check_mixed_rounds(path, shown, model, mount):
    rng = random.Random(7)
    for _ in range(ROUNDS):
        with open(shown, "r+b", buffering=0) as f:
            for _ in range(rng.randrange(1, 12)):
                change(rng, f, model)
        assert b"".join(chunks(path)) == model, "python-blosc2 reads otherwise"
        for _ in range(rng.randrange(4)):
            change_theirs(rng, path, model)
        assert shown.read_bytes() == model


test_where_bytes_go = in_both_storages(check_where_bytes_go)
test_both_writers = in_both_storages(check_both_writers)
test_mixed_rounds = in_both_storages(check_mixed_rounds)


def test_chunks_without_a_length():
    """C-Blosc2 stores no length of a chunk of zeros."""
    os.mkdir("src")
    make("src/x.b2frame", contiguous=False)
    for n in 800, 400:
        opened = blosc2.open("src/x.b2frame", mode="a")
        opened.append_data(bytes(n))
        opened.append_data(b"word" * n)
    with Scratch() as scratch:
        shown = scratch.path / "x"
        told = json.loads(os.getxattr(shown, "user.blosc2.info"))
        assert told["why"] == "its chunks do not fit together", told
        assert not shown.stat().st_mode & 0o222
        assert error_of(os.open, shown, os.O_RDWR) == errno.EROFS


main()
