#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Durability of small new files, which are one file each."""
import errno
import fcntl
import os
import pathlib
import re
import signal
import struct
import time

import blosc2
import numpy as np

from committing import Traced, fsync
from mounting import error_of, main, wait_until
from scratch import Scratch, bloscctl
from small import FRAME, LIMIT, SMALL, append, noise


def test_synced_arrays():
    """Their header is longer than that of the empty file, and overwrites its index."""
    with Scratch(SMALL):
        for n in 1, 2000, 7000:
            a = np.arange(n)
            with open("mnt/f.npy", "wb") as f:
                np.save(f, a)
                f.flush()
                os.fsync(f.fileno())
                path = pathlib.Path("src/f.npy.b2nd")
                bloscctl("verify", path)
                assert np.array_equal(blosc2.open(path)[:], a)
            bloscctl("verify", path)
            # Shorter again, and longer.
            for more in b"plain", b"":
                os.truncate("mnt/f.npy", 128 + a.nbytes)
                append(more, "mnt/f.npy")
                fsync("mnt/f.npy")
                bloscctl("verify", path)
            os.unlink("mnt/f.npy")


def test_what_grows_large_has_a_new_name_to_sync():
    """A new directory takes the name of the empty file, which was durable or not."""
    with Scratch(SMALL):
        pathlib.Path("mnt/durable").touch()
    with Traced(SMALL, "commit=600") as t:
        counts = set()
        for name in "durable", "new":
            with open(f"mnt/{name}", "ab", buffering=0) as f:
                f.write(noise(2 * LIMIT))
                counts.add(t.during(lambda f=f: os.fsync(f), "fsync"))
            assert os.path.isdir(f"src/{name}.b2frame")
        assert len(counts) == 1, counts
        # It would keep the old files open for a while.
        t.mount.end(signal.SIGTERM)


def is_on_disk(path):
    """Has the filesystem allocated the first byte of @path?  (FIEMAP)"""
    request = bytearray(struct.pack("=QQIIII56x", 0, 1, 0, 0, 1, 0))
    with open(path, "rb") as f:
        try:
            fcntl.ioctl(f, 0xC020660B, request)
        except OSError:
            return True
    n, flags = struct.unpack_from("=20xI48xI", request)
    return n == 0 or not flags & 4


def calls_of_writing(before=lambda: None, nbytes=30000, faults=()):
    """The daemon's calls that reserve or sync at each of three changes of a new file.

    before: called when the new file is open and empty.
    nbytes: of the first change.
    faults: for strace.
    """
    strace = ["strace", "-f", "-qq", "-o", "calls", "-e",
              "trace=sync_file_range,fsync,fallocate", *faults]
    with Scratch(SMALL, "commit=600", wrap=strace):
        with open("mnt/f", "wb") as f:
            before()
            f.write(noise(nbytes))
        for i in range(2):
            append(noise(nbytes // 10, i))
        os.unlink("mnt/f")
    return re.findall(
        r"(fsync|FALLOC_FL_KEEP_SIZE, 0|[A-Z_|]*SYNC_FILE_RANGE_WRITE[A-Z_|]*)",
        pathlib.Path("calls").read_text())


def check_first_close(expected, **how):
    """@expected: calls of the first close, unless the disk gives each file a place at
    once; those of the two next ones wait."""
    delays = False
    # Other programs may sync the disk at any moment.
    for n in range(20):
        pathlib.Path(f"any{n}").write_bytes(b"any")
        delays |= not is_on_disk(f"any{n}")
        calls = calls_of_writing(**how)
        waits = [i for i, call in enumerate(calls) if "WAIT_AFTER" in call]
        assert len(waits) >= 2 and waits[1] == waits[0] + 1, calls
        if calls[:waits[0]] == expected:
            return
    assert not delays and calls[:waits[0]] == ["fsync"], calls


def test_the_first_close_waits_for_no_disk():
    """A later close does, because an older state could be lost."""
    check_first_close(["FALLOC_FL_KEEP_SIZE, 0"])


def test_the_first_close_begins_to_write_what_has_no_single_place():
    """The disk gets the data in parts, and the header behind them."""
    check_first_close(["FALLOC_FL_KEEP_SIZE, 0", "SYNC_FILE_RANGE_WRITE"],
                      faults=["-e", "inject=fallocate:error=EOPNOTSUPP"])
    # Its data are on their way already.
    check_first_close(["SYNC_FILE_RANGE_WRITE"], nbytes=65500)


def test_the_first_close_asks_the_disk_for_nothing_if_one_block_has_all():
    """The disk has it with its header, or not at all."""
    check_first_close([], nbytes=300)


def test_the_first_close_syncs_if_the_disk_has_the_empty_file():
    """The new header overwrites that, and could reach the disk before the data."""
    def sync():
        with open(FRAME, "rb") as f:
            os.fsync(f.fileno())
    assert calls_of_writing(before=sync)[0] == "fsync"


def test_what_changes_while_the_timer_syncs_is_not_durable():
    def is_synced():
        return re.search(r"syncfs(\(\d+\)| resumed>\)) += 0",
                         pathlib.Path("trace").read_text())

    with Traced(SMALL, "commit=1", inject=["syncfs:delay_enter=3000000"]) as t:
        for name in "mnt/a", "mnt/old":
            append(b"any", name)
            fsync(name)
        append(b"any", "mnt/waits")
        # The sync begins after a second, and takes longer.
        time.sleep(1.7)
        assert not is_synced()
        append(b"anew", "mnt/tmp")
        os.rename("mnt/old", "mnt/new")
        wait_until(is_synced, "the sync")
        assert t.during(lambda: fsync("mnt/new"), "fsync") == 1
        assert t.during(lambda: os.rename("mnt/tmp", "mnt/a"), "fsync") == 1


def test_a_lost_block_is_damage():
    """A durable file of one block or of two, or an index, becomes zeros."""
    with Scratch(SMALL, "commit=600"):
        for name in "block", "blocks":
            append(noise(3000 if name == "block" else 9000), f"mnt/{name}")
    with Scratch("small=0"):
        append(b"any", "mnt/sparse")
    frames = [pathlib.Path("src/block.b2frame"),
              pathlib.Path("src/blocks.b2frame"),
              pathlib.Path("src/sparse.b2frame/chunks.b2frame")]
    for path in frames:
        with open(path, "r+b") as f:
            f.write(bytes(path.stat().st_size))
            f.flush()
            os.fsync(f.fileno())
    with Scratch(SMALL):
        for name in "block", "blocks", "sparse":
            assert error_of(open, f"mnt/{name}") == errno.EIO, name
            bloscctl("verify", "-q", f"src/{name}.b2frame", status=1)
            # As with any damage, truncation to 0 gives an empty file.
            pathlib.Path(f"mnt/{name}").write_bytes(b"anew")
            assert pathlib.Path(f"mnt/{name}").read_bytes() == b"anew"


def test_the_longest_names():
    """No lock file fits beside them."""
    names = ["n" * (255 - len(".b2frame") - k) for k in range(9)]
    with Scratch(SMALL):
        for i, name in enumerate(names):
            append(b"any", f"mnt/{name}")
            append(bytes(LIMIT if i % 2 else 9), f"mnt/{name}")
    with Scratch(SMALL):
        for i, name in enumerate(names):
            assert os.stat(f"mnt/{name}").st_size == \
                3 + (LIMIT if i % 2 else 9)


main()
