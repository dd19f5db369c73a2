#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A new file that becomes a directory keeps owner, mode, ACL, times and number."""
import os
import pathlib

from mounting import main, wait_until
from acl import ACCESS, DEFAULT, acl
from scratch import Scratch
from small import FRAME, LIMIT, SMALL, append, check, hidden, traced


def touch():
    """An empty file, which can become a directory."""
    pathlib.Path("mnt/f").touch()


def test_attributes_stay():
    with Scratch(SMALL):
        touch()
        os.setxattr("mnt/f", "user.mine", b"value")
        os.chmod("mnt/f", 0o640)
        if os.geteuid() == 0:
            os.chown("mnt/f", 12, 13)
        os.utime("mnt/f", (5, 6))
        before = os.stat("mnt/f")
        with open("mnt/f", "rb") as reader:
            fd = os.open("mnt/f", os.O_WRONLY)
            os.ftruncate(fd, 5 * LIMIT)
            after = os.stat("mnt/f")
            for what in "st_mode", "st_uid", "st_gid", "st_ino", "st_nlink":
                assert getattr(before, what) == getattr(after, what), what
            assert os.getxattr("mnt/f", "user.mine") == b"value"
            names = {x.name: x.inode() for x in os.scandir("mnt")}
            assert names == {"f": before.st_ino}
            os.utime("mnt/f", (7, 8))
            os.fchmod(fd, 0o600)
            os.close(fd)
            assert reader.read() == bytes(5 * LIMIT)
        after = os.stat("mnt/f")
        assert (after.st_mtime, after.st_mode & 0o777) == (8, 0o600)
        index = os.stat(FRAME / "chunks.b2frame")
        assert (index.st_mtime, index.st_mode & 0o777) == (8, 0o600)
        assert (index.st_uid, index.st_gid) == (before.st_uid, before.st_gid)


def test_what_belongs_to_others_stays_a_file():
    """The file stays one file if the daemon may not set these attributes."""
    with Scratch(SMALL) as scratch:
        touch()
        os.chown(FRAME, 12, 13)
        with open("mnt/f", "ab", buffering=0) as f:
            with traced(scratch, "fchown", "error=EPERM"):
                f.write(bytes(2 * LIMIT))
        check(bytes(2 * LIMIT), True)
        assert (FRAME.stat().st_uid, FRAME.stat().st_gid) == (12, 13)
        assert not hidden()


def test_access_is_that_of_the_file():
    """It keeps its ACL, and gets none from the directory's default ACL."""
    reader, enters = acl("u:6 u1235:4 g:4 m:4 o:0"), acl("u:7 u1235:5 g:5 m:5 o:0")
    os.mkdir("src")
    os.setxattr("src", DEFAULT, acl("u:7 u1234:7 g:7 m:7 o:0"))
    with Scratch(SMALL):
        for want in None, reader:
            touch()
            os.removexattr(FRAME, ACCESS)
            os.chmod(FRAME, 0o640)
            if want:
                os.setxattr(FRAME, ACCESS, want)
            append(bytes(2 * LIMIT))
            assert FRAME.is_dir()
            if want:
                assert os.getxattr(FRAME, ACCESS) == enters
                assert os.getxattr(FRAME / "chunks.b2frame", ACCESS) == want
            else:
                assert ACCESS not in os.listxattr(FRAME)
            os.unlink("mnt/f")


def test_only_what_it_was_is_a_leftover():
    """A kill can leave a file of another program under the hidden name."""
    os.mkdir("src")
    top = pathlib.Path("src/.bloscfs-deleted-new-0123456789abcdef-0")
    for is_ours in True, False:
        top.write_bytes(b"")
        number = top.stat().st_ino + (not is_ours)
        left = top.with_name(f"{top.name[:-1]}{number:x}")
        top.rename(left)
        with Scratch(SMALL) as scratch:
            assert os.listdir("mnt") == []
            assert left.exists() != is_ours
            log = scratch.mount.log()
            assert ("it is a copy, or another program" in log) != is_ours, log


def test_a_number_is_shown_once():
    """No other file gets the old inode number while the kernel may know it."""
    with Scratch(SMALL):
        touch()
        old = os.stat("mnt/f").st_ino
        append(bytes(2 * LIMIT))
        numbers = []
        for i in range(50):
            append(b"b", f"mnt/{i}")
            numbers.append(os.stat(f"mnt/{i}").st_ino)
            numbers.append(os.stat("mnt/f").st_ino)
        assert old not in numbers[::2]
        assert len(set(numbers)) == 51
        wait_until(lambda: os.stat("mnt/f").st_ino == os.stat(FRAME).st_ino,
                   "its own number")


main()
