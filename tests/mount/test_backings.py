#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Filesystems of SOURCE that keep less than ext4."""
import contextlib
import os
import time

import power_disk
from mounting import Mount, data, main, overlay, wait_until
from scratch import SPARSE


@contextlib.contextmanager
def ntfs():
    """A FUSE filesystem in ./disk, in which all users may do everything."""
    with open("image", "wb") as f:
        f.truncate(64 << 20)
    power_disk.run("mkntfs", "-Q", "-q", "-F", "image")
    os.mkdir("disk")
    power_disk.run("ntfs-3g", "image", "disk")
    try:
        yield
    finally:
        power_disk.unmount("disk")


def test_frames_are_written_and_nothing_else_stays():
    with ntfs():
        os.mkdir("disk/src")
        pieces = {n: data(300000, seed=n) for n in range(4)}
        with Mount("disk/src", "mnt") as m:
            assert "is on a FUSE filesystem" in m.log(), m.log()
            for n, piece in pieces.items():
                with open(f"mnt/{n}", "wb") as f:
                    f.write(piece)
                    os.fsync(f.fileno())
            with open("mnt/0", "rb") as f:
                os.unlink("mnt/0")
                assert f.read() == pieces[0]
            os.rename("mnt/1", "mnt/2")
            # A FUSE server hears of a close later than the kernel, and hides a deleted
            # file until then.
            wait_until(lambda: sorted(os.listdir("mnt")) == ["2", "3"],
                       "no other name")
        assert sorted(os.listdir("disk/src")) == ["2.b2frame", "3.b2frame"]
        with Mount("disk/src", "mnt"):
            for name, n in (("2", 1), ("3", 3)):
                with open(f"mnt/{name}", "rb") as f:
                    assert f.read() == pieces[n]


def test_a_file_of_a_lower_layer_stays_one_file_when_it_is_written_to():
    """The copy in the upper layer has another creation time."""
    os.mkdir("low")
    forms = {"small": "small=64k", "sparse": SPARSE}
    for name, form in forms.items():
        with Mount("low", "mnt", "-o", form), open(f"mnt/{name}", "wb") as f:
            f.write(b"old")
    # The copy is made later.
    time.sleep(.1)
    with overlay("low"), Mount("src", "mnt", "-o", "entry_timeout=0") as m:
        for name in forms:
            with open(f"mnt/{name}", "r+b", buffering=0) as f:
                f.write(b"new")
                os.fsync(f.fileno())
                f.write(b"not stored yet")
                assert os.stat(f"mnt/{name}").st_size == 17, name
                with open(f"mnt/{name}", "r+b") as other:
                    assert other.read() == b"newnot stored yet"
        # An open that succeeded is no error.
        assert "changed while" not in m.log(), m.log()


def test_disk_that_keeps_all_is_not_warned_of():
    os.mkdir("src")
    with Mount("src", "mnt") as m:
        assert "BACKINGS" not in m.log(), m.log()


main()
