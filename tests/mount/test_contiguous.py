#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes to contiguous frames that C-Blosc2 has made

After each change C-Blosc2 reads all data from the same file.
"""
import contextlib
import ctypes
import errno
import fcntl
import os
import pathlib
import re
import shutil

import blosc2
import numpy as np

from committing import Traced
from flips import flip_many, make as make_sealed
from forms import CHUNK, OPTIONS, SRC, Contiguous, File, Shown
from fsx_runs import run_one
from kills import kill, kill_at_calls
from mounting import Mount, SANITIZED, data, error_of, main
from rounds import play
from scratch import (Scratch, bloscctl, check_stock, litter,
                     make_contiguous, stock_bytes, unsealed)
from syscalls import map_all

FRAME, SHOWN = "src/a.b2frame", "mnt/a"
SIZE = 10 * CHUNK + 12345


def begin(size=SIZE, name="a", typesize=1, content=None):
    """A new frame of C-Blosc2, shown as mnt/@name."""
    SRC.mkdir(exist_ok=True)
    content = content or data(size)
    make_contiguous(SRC / f"{name}.b2frame", content, CHUNK, typesize)
    return File(Shown(Contiguous(), None), name, content)


@contextlib.contextmanager
def mounted(*options):
    with Scratch(*OPTIONS, *options) as scratch:
        yield scratch
        scratch.mount.wait_for_closes()


def test_pages_that_are_written_after_the_close():
    """No call waits for the commit of mapped pages, and another program may be writing.

    So dead ranges stay: C-Blosc2 may be moving chunks there.
    """
    f = begin(10 * CHUNK)
    piece = os.urandom(CHUNK)
    with Scratch(*OPTIONS, wrap=("strace", "-f", "-qq", "-o", "trace", "-e",
                                 "trace=fallocate,ftruncate")) as scratch:
        with f.opened() as fd:
            at, unmap = map_all(fd, len(f.model))
        ctypes.memmove(at + 5 * CHUNK, piece, CHUNK)
        f.note(piece, 5 * CHUNK)
        unmap()
        scratch.mount.wait_for_closes()
        assert stock_bytes(FRAME) == f.model
        # An old strace also shows calls that it does not know.
        assert not re.search("fallocate|ftruncate",
                             pathlib.Path("trace").read_text())
        # The next close waits for its commit.
        with f.opened() as fd:
            f.write(fd, b"next", 0)
        scratch.mount.wait_for_closes()
        assert "PUNCH_HOLE" in pathlib.Path("trace").read_text()
    f.check_left()


def test_an_npy_file_becomes_plain():
    """A converted .npy file that outgrows its array becomes plain."""
    os.mkdir("src")
    with mounted():
        np.save("mnt/x.npy", np.arange(1000.0))
        want = bytearray(pathlib.Path("mnt/x.npy").read_bytes())
    path = next(pathlib.Path("src").iterdir())
    if path.is_dir():
        bloscctl("convert", "-o", "src/y.npy.b2f", path)
        shutil.rmtree(path)
        path = pathlib.Path("src/y.npy.b2f")
    shown = pathlib.Path("mnt", path.name.removesuffix(path.suffix))
    with mounted(), open(shown, "ab", buffering=0) as f:
        f.write(b"more")
        os.fsync(f.fileno())
        want += b"more"
        assert shown.read_bytes() == want
    assert path.is_file() and not litter(path), litter(path)
    check_stock(path, bytes(want))


def test_renaming():
    begin(3 * CHUNK, "b")
    with mounted():
        # Each kind replaces the other.
        for name in "new", "other":
            pathlib.Path("mnt", name).write_bytes(name.encode() * 100000)
        os.rename("mnt/new", "mnt/b")
        assert pathlib.Path("mnt/b").read_bytes() == b"new" * 100000
        begin(CHUNK, "d")
        os.rename("mnt/d", "mnt/other")
        assert pathlib.Path("mnt/other").read_bytes() == data(CHUNK)
        assert sorted(os.listdir("mnt")) == ["b", "other"]
    assert sorted(os.listdir("src")) == ["b.b2frame", "other.b2frame"]


def test_the_lock_is_beside_the_present_name():
    f = begin()
    pathlib.Path(f"{FRAME}.b2lock").touch()
    with mounted(), f.opened() as fd:
        f.write(fd, b"old name", 0)
        os.fsync(fd)
        os.rename(SHOWN, "mnt/c")
        with open("src/c.b2frame.b2lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            f.write(fd, b"new name", CHUNK)
            assert error_of(os.fsync, fd) == errno.EAGAIN
        os.fsync(fd)
    f.name = "c"
    f.check_left()


def test_the_present_name_below_a_mount_over_it():
    """The daemon finds the frame's lock below a mount that covers SOURCE, without a
    request to itself."""
    f = begin()
    pathlib.Path(f"{FRAME}.b2lock").touch()
    os.mkdir("src/d")
    below = os.open("src", os.O_RDONLY)
    with Scratch(*OPTIONS, path="src") as scratch:
        f.path = pathlib.Path("src/a")
        with f.opened() as fd:
            for name in "c", "d/e":
                f.write(fd, b"old name", 0)
                os.fsync(fd)
                os.rename("src/c" if name == "d/e" else "src/a", f"src/{name}")
                path = f"/proc/self/fd/{below}/{name}.b2frame.b2lock"
                with open(path, "w") as lock:
                    fcntl.flock(lock, fcntl.LOCK_SH)
                    f.write(fd, b"new name", CHUNK)
                    assert error_of(os.fsync, fd) == errno.EAGAIN, name
                os.fsync(fd)
        scratch.mount.wait_for_closes()
    os.close(below)
    f.name = "d/e"
    f.check_left()


def test_a_tail_is_no_part_of_it():
    """The next change removes bytes that a crash left behind the end."""
    f = begin()
    size = os.path.getsize(FRAME)
    with open(FRAME, "ab") as tail:
        tail.write(os.urandom(9999))
    with mounted():
        assert f.read() == f.model
        assert os.path.getsize(FRAME) == size + 9999
        with f.opened() as fd:
            f.write(fd, b"x", 0)
    f.check_left()


def test_seals():
    """Our chunks have a checksum; chunks that C-Blosc2 changes in place lose it."""
    f = begin(typesize=8)
    rng = np.random.default_rng(1)
    assert len(unsealed(FRAME)) == 11
    with mounted():
        for n in (2, 5, 10):
            with f.opened() as fd:
                f.write(fd, b"sealed", n * CHUNK + 5)
        assert unsealed(FRAME) == {0, 1, 3, 4, 6, 7, 8, 9}
        # C-Blosc2 leaves earlier seals in place, and moves those behind the change.
        for n, piece in ((5, rng.bytes(CHUNK)), (2, bytes(CHUNK)),
                         (5, data(CHUNK)), (10, data(8000))):
            schunk = blosc2.open(FRAME, mode="a")
            schunk.update_data(n, piece, True)
            del schunk
            f.model[n * CHUNK:(n + 1) * CHUNK] = piece
            f.check()
        with f.opened() as fd:
            f.write(fd, b"ours again", 5 * CHUNK + 77)
        assert 5 not in unsealed(FRAME)
    f.check_left()


def test_a_reader_that_stays_open():
    """C-Blosc2 notices each commit by another length of the file."""
    f = begin()
    reader = blosc2.open(FRAME, mode="r")
    with mounted(), f.opened() as fd:
        lengths = [b""]
        # Until the room of replaced chunks is used again.
        for n in range(150):
            f.write(fd, os.urandom(CHUNK), 0)
            os.close(os.dup(fd))
            lengths.append(pathlib.Path(FRAME).read_bytes()[16:24])
            assert lengths[-1] not in lengths[-5:-1], n
            assert reader.decompress_chunk(0) == f.model[:CHUNK], n
    with mounted():
        for n in range(12):
            with f.opened() as fd:
                f.write(fd, os.urandom(500), (n * 3 % 10) * CHUNK + 9)
            for k in range(10):
                assert reader.decompress_chunk(k) == \
                    f.model[k * CHUNK:(k + 1) * CHUNK], (n, k)
        del reader
    f.check_left()


def test_the_size_stays_bounded():
    """The room of dead ranges is freed."""
    f = begin(20 * CHUNK)
    rng = np.random.default_rng(2)
    with mounted():
        for _ in range(120):
            with f.opened() as fd:
                f.write(fd, rng.bytes(4096),
                        int(rng.integers(0, 20 * CHUNK - 4096)))
        used = os.stat(FRAME).st_blocks * 512
        assert used < 3 * len(f.model), used
        assert f.read() == f.model
    f.check_left()


def test_without_holes_it_gets_shorter():
    """Without hole punching, chunks move, and the file gets shorter."""
    f = begin(20 * CHUNK)
    rng = np.random.default_rng(3)
    ino = os.stat(FRAME).st_ino
    with Traced(*OPTIONS, "locking",
                inject=["fallocate:error=EOPNOTSUPP"]) as traced:
        with f.opened() as fd:
            for _ in range(4):
                f.write(fd, rng.bytes(20 * CHUNK), 0)
                os.fsync(fd)
            long = os.path.getsize(FRAME)
        assert long > 4 * len(f.model), long
        # The end of that writer moves the chunks, and the next one cuts the file.
        traced.mount.wait_for_closes()
        with f.opened() as fd:
            f.write(fd, b"some", 77)
        traced.mount.wait_for_closes()
        assert os.path.getsize(FRAME) < 2.1 * len(f.model)
        assert f.read() == f.model
    assert os.stat(FRAME).st_ino == ino
    assert os.stat(FRAME).st_blocks * 512 < 2.2 * len(f.model)
    f.check_left()


def test_reader_of_another_mount():
    """Another mount has the file open, and unsealed chunks get other bytes.

    The room of one is used for another chunk, in the very same place.
    """
    f = begin()
    with mounted(), Mount("src", "other") as other:
        with open("other/a", "rb", buffering=0) as file:
            reader = file.fileno()
            assert os.pread(reader, 1, 0) == f.model[:1]
            with f.opened() as fd:
                versions = [os.urandom(CHUNK) for _ in range(40)]
                for version in versions:
                    f.write(fd, version, 3 * CHUNK)
                    os.fsync(fd)
                f.write(fd, bytes(range(256)) * (CHUNK // 256), 7 * CHUNK)
                os.fsync(fd)
                got = os.pread(reader, CHUNK, 3 * CHUNK)
                assert got != f.model[7 * CHUNK:8 * CHUNK], "another chunk"
                # A version that existed since it was opened.
                assert got in versions
            assert pathlib.Path("other/a").read_bytes() == f.model
        # It has read again without a message.
        assert ": chunk " not in other.log(), other.log()
        other.wait_for_closes()
    f.check_left()


def test_free_room_is_used_when_the_frame_is_on_disk():
    """The frame on disk may still be the old one, with chunks in those ranges."""
    begin()
    opened_by_stock = blosc2.open(FRAME, mode="a")
    for _ in range(6):
        opened_by_stock.delete_chunk(0)
    del opened_by_stock
    with Traced(*OPTIONS) as traced:
        fds = []
        assert traced.during(lambda: fds.append(os.open(SHOWN, os.O_RDWR)),
                             "fsync") == 1
        os.close(*fds)


def test_emptying_what_is_mostly_dead():
    """The remaining chunk is moved; the removed chunks behind it are not."""
    f = begin(content=os.urandom(60 * CHUNK))
    opened_by_stock = blosc2.open(FRAME, mode="a")
    for n in range(59, 0, -1):
        opened_by_stock.delete_chunk(n)
    del opened_by_stock
    f.cut(CHUNK)
    check_stock(FRAME, bytes(f.model))
    before = os.stat(FRAME).st_size
    assert before > 50 * CHUNK
    with mounted():
        with f.opened() as fd:
            os.ftruncate(fd, 0)
            os.fsync(fd)
            assert os.stat(FRAME).st_size < before + 3 * CHUNK
            f.cut(0)
            f.write(fd, b"more", 0)
    f.check_left()


def test_beside_c_blosc2():
    for seed in range(3):
        play(4 if SANITIZED else 10, seed, contiguous=True)


def test_kills():
    kill(3 if SANITIZED else 8, seed=1, contiguous=True)


def test_kills_at_any_call():
    kill_at_calls(range(5, 100, 13), seed=1, contiguous=True)


def test_flips():
    flip_many(*make_sealed("a", contiguous=True), rounds=60, seed=1)


def test_random_changes():
    for writeback in (), ("writeback_cache",):
        run_one(["chunksize=64k", "typesize=8", *writeback], "64k",
                1000 if SANITIZED else 3000, 1, 700, contiguous=True)


main()
