# SPDX-License-Identifier: BSD-3-Clause
"""saves - saves random arrays over each other, beside a model

Each name is an array of one form: a .npy file of the mount, an array of C-Blosc2 in
either storage, by its view, or an array by save_array().  A save replaces the whole
array, or is refused with EPERM, and the old array stays.
"""
import errno
import os
import pathlib
import random
import threading

import blosc2
import numpy as np

from mounting import error_of, wait_until
from scratch import Scratch, bloscctl

DTYPES = ["<i4", "|u1", "<f8", "|S7", ">i2", "<c16",
          [("a name that takes room", "<i4"), ("b", "<f8", (2,))],
          [("one name", "|u1"), ("another long name", "|u1"),
           ("a third name, longer still", "|u1")]]
# Is the frame one file?
STOCK = {"grid": False, "flat": True}
TENSOR = "tensor"
# These names take any array.
OWN = ["plain", "other"]


def some_array(rng, like=None):
    if like is not None and rng.random() < 0.4:
        shape, dtype = like.shape, like.dtype
    else:
        shape = [rng.choice((0, 1, 2, 3, 5, 9, 40))
                 for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 8, 9)))]
        while np.prod(shape, dtype=float) > 20000:
            shape[rng.randrange(len(shape))] //= 2
        dtype = np.dtype(rng.choice(DTYPES))
    n = int(np.prod(shape, dtype=int)) * dtype.itemsize
    raw = rng.choice((rng.randbytes, bytes, b"\1".__mul__))(n)
    return np.frombuffer(raw, dtype).reshape(shape)


def check(path, want, what):
    got = np.load(path)
    assert got.shape == want.shape and got.dtype == want.dtype, (
        what, got.shape, got.dtype, want.shape, want.dtype)
    assert got.tobytes() == want.tobytes(), what


class Play:
    def __init__(self, seed, scratch):
        self.rng = random.Random(seed)
        self.scratch = scratch
        items = np.arange(600.).reshape(20, 30)
        for name, contiguous in STOCK.items():
            blosc2.asarray(items, urlpath=f"src/{name}.b2nd", mode="w",
                           contiguous=contiguous)
        blosc2.save_array(items, f"src/{TENSOR}.b2frame", mode="w")
        self.model = {name: items for name in (*STOCK, TENSOR)}

    def save(self, name, path, what):
        array = some_array(self.rng, self.model.get(name))
        err = error_of(np.save, path, array)
        assert err == 0 or (err == errno.EPERM and name not in OWN), (what, err)
        if not err:
            self.model[name] = array

    def break_off(self, name, path, what):
        """Writes a part of a .npy file; the close fails unless the name takes any
        array."""
        np.save("part.npy", some_array(self.rng, self.model[name]))
        raw = pathlib.Path("part.npy").read_bytes()
        # A header alone is what open_memmap() writes.
        part = raw[:self.rng.randrange(len(raw) if name in OWN else 60)]
        f = open(path, "wb", buffering=0)
        f.write(part)
        err = error_of(f.close)
        assert err == (0 if name in OWN else errno.EPERM), (what, err)
        if name in OWN:
            assert pathlib.Path(path).read_bytes() == part, what
            np.save(path, self.model[name])

    def step(self, i):
        name = self.rng.choice((*STOCK, TENSOR, *OWN))
        path, what, act = f"mnt/{name}.npy", (i, name), self.rng.random()
        if act < 0.7 or name not in self.model:
            self.save(name, path, what)
        elif act < 0.8:
            self.break_off(name, path, what)
        elif act < 0.95:
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
        else:
            self.scratch.remount()
        if name in self.model:
            check(path, self.model[name], what)


def play(steps, seed, options=()):
    with Scratch(*options) as scratch:
        game = Play(seed, scratch)
        for i in range(steps):
            game.step(i)
            if i % 50 == 49:
                for name, want in game.model.items():
                    check(f"mnt/{name}.npy", want, (i, name, "again"))
    for path in pathlib.Path("src").iterdir():
        bloscctl("verify", "-q", path)
    for name in STOCK:
        opened, want = blosc2.open(f"src/{name}.b2nd"), game.model[name]
        assert opened.shape == want.shape and opened.dtype == want.dtype, name
        assert np.asarray(opened[()]).tobytes() == want.tobytes(), name


def matrix():
    return (), ("small=0",), ("small=8k", "chunksize=64k")


def drop_changes_of_others(path):
    """Writes half of an array of ones anew: another writer is told what that drops."""
    other = os.open(path, os.O_RDWR)
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    assert os.write(fd, bytes(50000)) == 50000
    assert os.pwrite(other, b"other", 7) == 5
    assert error_of(os.fsync, other) == errno.EBUSY
    assert error_of(os.close, fd) == errno.EPERM
    wait_until(lambda: os.pread(other, 9, 4) == b"\1" * 9, "the old one")
    assert error_of(os.fsync, other) == errno.ESTALE
    assert os.pwrite(other, b"other", 7) == 5
    os.fsync(other)
    os.close(other)


def save_again_at_once(path, new):
    """Saves the bytes @new while the mount still has to end a save that was broken
    off: it hears of the last close later than the program (here of another one)."""
    old = pathlib.Path(path).read_bytes()
    for opened_last in True, False:
        half = os.open(path, os.O_WRONLY | os.O_TRUNC)
        assert os.write(half, new[:len(new) // 2]) == len(new) // 2
        fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
        ends = threading.Timer(0 if opened_last else 0.3, error_of,
                               (os.close, half))
        ends.start()
        if opened_last:
            ends.join()
            reader = os.open(path, os.O_RDONLY)
            wait_until(lambda: os.pread(reader, len(old), 0) == old, "the old")
            os.close(reader)
        assert os.write(fd, new) == len(new)
        os.close(fd)
        ends.join()
        assert pathlib.Path(path).read_bytes() == new, opened_last
        old, new = new, old
