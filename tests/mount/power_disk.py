# SPDX-License-Identifier: BSD-3-Clause
"""power_disk - the contents of a disk after a power cut at any moment

A filesystem lives on a loop device over tests/tools/record_disk.c, which notes
every write and every flush.  A moment is a position in that log.
"""
import contextlib
import mmap
import os
import pathlib
import random
import shutil
import struct
import subprocess

from mounting import BUILD, wait_until

ENTRY = struct.Struct("=QII")
WRITE, FLUSH = 0, 1
PAGE = 4096

# No discards: a loop device over FUSE has none, and they are not replayed.
MAKE = {
    "ext4": (96 << 20, ["mkfs.ext4", "-q", "-E",
                        "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]),
    "xfs": (320 << 20, ["mkfs.xfs", "-q", "-K"]),
}


def why_not():
    """Why such a disk cannot be made here, or None."""
    if os.geteuid() != 0:
        return "only root can mount a disk"
    if not os.path.exists("/dev/loop-control"):
        return "there are no loop devices"
    return None


def run(*args):
    env = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin")
    subprocess.run(args, check=True, env=env)


def unmount(path):
    """Unmounts; a loop device keeps its file open for a moment after its last use."""
    wait_until(lambda: subprocess.run(
        ["umount", path], stderr=subprocess.DEVNULL).returncode == 0,
        f"umount {path}")


def copy(source, target):
    run("cp", "--sparse=always", source, target)


@contextlib.contextmanager
def in_memory(path):
    """Works in a new tmpfs, where a flush costs nothing."""
    os.mkdir(path)
    run("mount", "-t", "tmpfs", "power", path)
    here = os.getcwd()
    try:
        os.chdir(path)
        yield
    finally:
        os.chdir(here)
        unmount(path)
        os.rmdir(path)


@contextlib.contextmanager
def mounted(image, path, kind):
    """The filesystem in the file @image; its loop device goes with it."""
    os.makedirs(path, exist_ok=True)
    run("mount", "-t", kind, "-o", "loop,noatime", image, path)
    try:
        yield pathlib.Path(path).absolute()
    finally:
        unmount(path)


class RecordedDisk:
    """A new filesystem, mounted at self.path while this is entered."""

    def __init__(self, kind):
        self.kind = kind
        self.base = pathlib.Path("base.img").absolute()
        self.log = pathlib.Path("disk.log").absolute()
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        size, make = MAKE[self.kind]
        with open("disk.img", "wb") as f:
            f.truncate(size)
        run(*make, "disk.img")
        copy("disk.img", self.base)
        with self.stack as stack:
            stack.enter_context(self.recorder())
            self.path = stack.enter_context(
                mounted("recorded/disk", "disk", self.kind))
            self.stack = stack.pop_all()
        return self

    @contextlib.contextmanager
    def recorder(self):
        os.mkdir("recorded")
        process = subprocess.Popen([BUILD / "record_disk", "disk.img",
                                    self.log, "recorded"])
        try:
            wait_until(lambda: os.path.exists("recorded/disk"),
                       "record_disk")
            yield
        finally:
            unmount("recorded")
            process.wait(60)

    def __exit__(self, *exception):
        self.stack.close()
        os.unlink("disk.img")

    def now(self):
        """The present moment: all acknowledged writes are in the log up to here."""
        return os.stat(self.log).st_size


class Cuts:
    """The contents of a disk, after cuts at ascending moments."""

    def __init__(self, disk, seed):
        self.rng = random.Random(seed)
        self.image = pathlib.Path("replayed.img").absolute()
        shutil.move(disk.base, self.image)
        with open(disk.log, "rb") as f:
            self.log = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        # (end, kind, offset on the disk, offset of the bytes in the log, size)
        self.entries = [*self.read_entries()]
        self.done = 0

    def read_entries(self):
        at = 0
        while at < len(self.log):
            off, size, kind = ENTRY.unpack_from(self.log, at)
            at += ENTRY.size
            yield at + size, kind, off, at, size
            at += size

    def flushes(self):
        return [end for end, kind, *_ in self.entries if kind == FLUSH]

    def moments(self):
        return [end for end, *_ in self.entries]

    def write(self, fd, entry):
        _, kind, off, at, size = entry
        if kind == WRITE:
            os.pwrite(fd, self.log[at:at + size], off)

    def cut(self, moment, path):
        """Makes the image @path: the power fails at @moment.

        Each page written after the last flush may be on it or not.
        """
        end = self.done
        while end < len(self.entries) and self.entries[end][0] <= moment:
            end += 1
        flushed = end
        while flushed > self.done and \
                self.entries[flushed - 1][1] != FLUSH:
            flushed -= 1
        fd = os.open(self.image, os.O_RDWR)
        for entry in self.entries[self.done:flushed]:
            self.write(fd, entry)
        os.close(fd)
        self.done = flushed
        copy(self.image, path)
        self.lose_some(path, self.entries[flushed:end])

    def lose_some(self, path, entries):
        """Writes all pages of @entries, none, or some."""
        share = self.rng.choice([0, 0.5, 1])
        fd = os.open(path, os.O_RDWR)
        for end, kind, off, at, size in entries:
            for n in range(0, size, PAGE):
                if self.rng.random() < share:
                    self.write(fd, (end, kind, off + n, at + n,
                                    min(PAGE, size - n)))
        os.close(fd)

    def close(self):
        self.log.close()
        self.image.unlink()


@contextlib.contextmanager
def ext4(size, *options):
    """An ext4 of @size bytes on ./disk."""
    with open("image", "wb") as f:
        f.truncate(size)
    run("mkfs.ext4", "-q", *options, "image")
    os.mkdir("disk")
    run("mount", "-o", "loop", "image", "disk")
    try:
        yield
    finally:
        unmount("disk")
