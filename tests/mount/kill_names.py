# SPDX-License-Identifier: BSD-3-Clause
"""kill_names - SIGKILL for a daemon while small files get and lose names

Each step ends before the next one begins.  After a kill the result of the earlier steps
is there, and each name that the last step touches has its content from before or after
that step, or a beginning of the data being written.
"""
import mmap
import os
import pathlib
import random
import shutil

from mounting import Mount, error_of
from scratch import (Scratch, bloscctl, check_stock, frames, is_frame,
                     litter)
from small import traced
from syscalls import exchange

CHANGES = ("pwrite64", "ftruncate", "fallocate", "fsync", "fdatasync",
           "sync_file_range", "renameat", "renameat2", "unlinkat", "linkat",
           "symlinkat", "mkdirat", "fchmod", "utimensat", "dup3")
SMALL = "small=16k"
FEW, MANY = 3000, 40000


def path(name):
    return pathlib.Path("mnt", name)


def write(name, data, flags=os.O_CREAT):
    fd = os.open(path(name), os.O_WRONLY | flags)
    try:
        done = 0
        while done < len(data):
            done += os.write(fd, data[done:])
    finally:
        os.close(fd)


def write_unlinked(name, data):
    with open(path(name), "r+b", buffering=0) as f, \
            open(path(name), "rb", buffering=0) as g:
        os.unlink(path(name))
        f.write(data)
        os.fsync(f.fileno())
        assert g.read() == data


def write_mapped(name, data):
    with open(path(name), "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
        m[:len(data)] = data
        m.flush()


class Steps:
    """The state of the files, and the change by each step."""

    def __init__(self, seed):
        self.rng, self.files, self.before = random.Random(seed), {}, {}

    def data(self, size):
        return self.rng.randbytes(size)

    def do(self, change, files):
        self.before, self.files = self.files, files
        change()

    def make(self, name, size):
        data = self.data(size)
        self.do(lambda: write(name, data), {**self.files, name: data})

    def append(self, name, size, also=()):
        data = self.files[name] + (more := self.data(size))
        self.do(lambda: write(name, more, os.O_APPEND),
                {**self.files, **dict.fromkeys((name, *also), data)})

    def cut(self, name, size):
        data = self.data(size)
        self.do(lambda: write(name, data, os.O_TRUNC),
                {**self.files, name: data})

    def map(self, name, size):
        data = self.data(size)
        self.do(lambda: write_mapped(name, data),
                {**self.files, name: data + self.files[name][size:]})

    def link(self, name, new):
        self.do(lambda: os.link(path(name), path(new)),
                {**self.files, new: self.files[name]})

    def rename(self, name, new):
        files = {k: v for k, v in self.files.items() if k != name}
        self.do(lambda: os.rename(path(name), path(new)),
                {**files, new: self.files[name]})

    def exchange(self, a, b):
        self.do(lambda: exchange(path(a), path(b)), {**self.files, a: self.files[b],
                                         b: self.files[a]})

    def unlink(self, name, written=0):
        files = {k: v for k, v in self.files.items() if k != name}
        if written:
            data = self.data(written)
            self.do(lambda: write_unlinked(name, data), files)
        else:
            self.do(lambda: os.unlink(path(name)), files)

    def run(self):
        self.make("a", FEW)
        self.link("a", "b")
        # A file with two names stays one file.
        self.append("a", MANY, also="b")
        self.unlink("b")
        self.append("a", 10)
        self.make("c", FEW)
        self.rename("c", "a")
        self.make("d", MANY)
        self.rename("d", "a")
        self.make("e", FEW)
        self.cut("e", 2 * FEW)
        self.map("e", FEW)
        self.make("f", 10)
        self.rename("e", "f")
        self.exchange("f", "a")
        self.append("a", MANY)
        self.unlink("f", written=FEW + MANY)
        self.make("f", FEW)
        self.cut("f", MANY)
        self.unlink("f")


def may_be(found, before, after):
    if found in (before, after):
        return True
    # A new file may be incomplete; a file that is cut may be unchanged.
    return found is not None and (
        (after or b"").startswith(found) or
        (before or b"").startswith(found) and after is None)


def check(steps, call):
    """The contents of src now, by C-Blosc2 and by the next mount."""
    for frame in frames("src"):
        # The next mount deletes hidden files.
        if frame.name[0] != "." and (frame.is_dir() or frame.stat().st_size):
            bloscctl("verify", frame)
    with Scratch(SMALL):
        shown = {x.name: x.read_bytes() for x in path("").iterdir()}
        for name in {*shown, *steps.files, *steps.before}:
            assert may_be(shown.get(name), steps.before.get(name),
                          steps.files.get(name)), (
                call, name, {k: len(v) for k, v in shown.items()},
                {k: len(v) for k, v in steps.before.items()},
                {k: len(v) for k, v in steps.files.items()})
        for name in shown:
            write(name, b"more", os.O_APPEND)
        # Some names are of one file.
        now = {name: path(name).read_bytes() for name in shown}
    for name, data in now.items():
        assert data.startswith(shown[name] + b"more"), (call, name)
        frame = pathlib.Path("src", f"{name}.b2frame")
        assert is_frame(frame) and not litter(frame), (call, name)
        check_stock(frame, data)
    names = {f"{name}.b2frame" for name in shown}
    assert {*os.listdir("src")} == names, (call, os.listdir("src"))


def kill_at(call, number, seed):
    """Kills the daemon at the @number-th @call.  Returns whether the steps came that
    far."""
    shutil.rmtree("src", ignore_errors=True)
    steps = Steps(seed)
    scratch = Scratch()
    # One thread answers all requests, so that its calls are always the same.
    scratch.mount = Mount("src", "mnt", "-s", "-o",
                          f"rw,{SMALL},chunksize=16k,commit=0").__enter__()
    with traced(scratch, call, f"signal=SIGKILL:when={number}"):
        killed = error_of(steps.run) != 0
    scratch.kill()
    if not killed:
        steps.before = steps.files
    check(steps, (call, number))
    return killed


def kill_all(seed, first=1, step=1):
    """Kills at every @step-th call of each kind from @first on, until the steps end
    before it."""
    n = 0
    for call in CHANGES:
        number = first
        while kill_at(call, number, seed):
            n, number = n + 1, number + step
    print(f"{n} kills")
