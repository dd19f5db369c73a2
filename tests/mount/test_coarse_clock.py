#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Changes within one second, with SOURCE on a filesystem whose times are full seconds

An ext4 with inodes of 128 bytes has such times, as ext2 and ext3 have.
"""
import os
import pathlib
import time

import blosc2

import power_disk
from mounting import main, wait_until
from scratch import Scratch
from stock_writer import (CHUNK, FORMS, check_chunk, chunk_bytes, locking, make)


def stamps(frame):
    """The times of the index and its chunks."""
    paths = [frame] if frame.is_file() else sorted(frame.iterdir())
    found = [os.stat(path) for path in paths]
    return [(st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
            for st in found]


def update(frame, version):
    """Updates a chunk in place; the length stays, because even versions are noise."""
    opened = blosc2.open(str(frame), mode="a")
    schunk = getattr(opened, "schunk", opened)
    schunk.update_data(1, chunk_bytes(1, version), copy=True)


def begin_second():
    wait_until(lambda: time.time() % 1 < 0.1, "a second begins")


def change_unseen(frame, version, look):
    """Changes the frame before and after @look, with the same stamps."""
    while True:
        begin_second()
        update(frame, version)
        before = stamps(frame)
        assert before[0][3] % 1000000000 == 0, "times are not full seconds"
        look()
        version += 2
        update(frame, version)
        if stamps(frame) == before:
            return version
        version += 2


def shown(scratch):
    """The second chunk of a file that is open for this read alone."""
    with open(scratch.path / "a", "rb") as f:
        data = os.pread(f.fileno(), CHUNK, CHUNK)
    scratch.mount.wait_for_closes()
    return data


def check_seen(scratch, version):
    data = shown(scratch)
    check_chunk(1, data, "the mount")
    assert data == chunk_bytes(1, version), (data[:8], version)


def check_form(source, form):
    frame = source / ("a.b2nd" if "b2nd" in form else "a.b2frame")
    make(frame, form, locks=False)
    with locking(False), Scratch("ro", "attr_timeout=0", "entry_timeout=0",
                                 source=source) as scratch:
        version = change_unseen(frame, 2, lambda: shown(scratch))
        check_seen(scratch, version)
        with open(scratch.path / "a", "rb") as f:
            version = change_unseen(
                frame, version + 2, lambda: os.pread(f.fileno(), CHUNK, CHUNK))
            wait_until(lambda: os.pread(f.fileno(), CHUNK, CHUNK) ==
                       chunk_bytes(1, version), f"{form}: seen while open")
            with open(scratch.path / "a", "rb") as other:
                assert os.pread(other.fileno(), CHUNK, CHUNK) == \
                    chunk_bytes(1, version)
    power_disk.run("rm", "-r", str(frame))


def test_a_change_within_the_second_of_a_look_is_seen():
    with power_disk.ext4(64 << 20, "-I", "128"):
        source = pathlib.Path("disk/src").absolute()
        source.mkdir()
        for form in FORMS:
            check_form(source, form)


def check_plain(source):
    """A file that is no frame."""
    plain = source / "plain"
    with Scratch("ro", "attr_timeout=0", "entry_timeout=0",
                 source=source) as scratch:
        while True:
            begin_second()
            plain.write_bytes(b"before")
            before = os.stat(plain).st_ctime_ns
            with open(scratch.path / "plain", "rb") as f:
                assert os.pread(f.fileno(), 9, 0) == b"before"
                with open(plain, "r+b") as other:
                    other.write(b"behind")
                if os.stat(plain).st_ctime_ns == before:
                    wait_until(lambda: os.pread(f.fileno(), 9, 0) == b"behind",
                               "a plain file is seen while open")
                    return


def test_a_change_of_a_plain_file_is_seen_too():
    with power_disk.ext4(64 << 20, "-I", "128"):
        source = pathlib.Path("disk/src").absolute()
        source.mkdir()
        check_plain(source)


main()
