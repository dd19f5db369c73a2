#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Listing folders: large ones, positions, and changes meanwhile."""
import ctypes
import os
import pathlib
import re
import shutil
import subprocess

from mounting import BUILD, SANITIZED, Mount, main, make, wait_until

libc = ctypes.CDLL(None, use_errno=True)
libc.fdopendir.restype = ctypes.c_void_p
for name in "readdir", "telldir", "rewinddir", "closedir", "seekdir":
    getattr(libc, name).argtypes = [ctypes.c_void_p]
libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
libc.seekdir.restype = libc.rewinddir.restype = None

# Where d_name begins in struct dirent.
NAME_AT = 19


class Dir:
    def __init__(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self.dir = libc.fdopendir(fd)

    def next(self):
        entry = libc.readdir(self.dir)
        return entry and os.fsdecode(ctypes.string_at(entry + NAME_AT))

    def rest(self):
        return list(iter(self.next, None))

    def tell(self):
        return libc.telldir(self.dir)

    def seek(self, pos):
        libc.seekdir(self.dir, pos)

    def rewind(self):
        libc.rewinddir(self.dir)

    def close(self):
        libc.closedir(self.dir)


def test_positions():
    os.mkdir("src")
    make("src/f0.b2frame", None, nbytes=1000)
    for i in range(1, 50):
        shutil.copytree("src/f0.b2frame", f"src/f{i}.b2frame")
    for i in range(2000):
        pathlib.Path(f"src/n{i}").touch()
    want = {".", "..", *(f"f{i}" for i in range(50)),
            *(f"n{i}" for i in range(2000))}
    with Mount("src", "mnt"):
        d = Dir("mnt")
        places = [(d.tell(), d.next()) for _ in range(len(want))]
        assert d.next() is None and d.next() is None
        names = [name for _, name in places]
        assert len(names) == len(set(names)) and set(names) == want
        for i in (0, 1, 700, 3, 2051, 1999, 0):
            d.seek(places[i][0])
            assert d.rest() == names[i:], i
        d.rewind()
        assert d.rest() == names
        # Unchanged names are listed once, whatever names come and go.
        d.rewind()
        first = [d.next() for _ in range(300)]
        for i in range(0, 2000, 2):
            os.unlink(f"src/n{i}")
        for i in range(500):
            pathlib.Path(f"src/late{i}").touch()
        names = first + d.rest()
        assert len(names) == len(set(names))
        stay = {f"n{i}" for i in range(1, 2000, 2)} | {
            f"f{i}" for i in range(50)}
        assert stay <= set(names)
        d.rewind()
        assert set(d.rest()) == stay | {".", ".."} | {
            f"late{i}" for i in range(500)}
        d.close()


def test_own_changes_while_a_folder_is_read():
    os.mkdir("src")
    make("frame", None, nbytes=1000, kind="contiguous")
    for i in range(1500):
        shutil.copy("frame", f"src/f{i}.b2frame")
    with Mount("src", "mnt"):
        assert len(os.listdir("mnt")) == len(os.listdir("mnt")) == 1500
        d = Dir("mnt")
        places = [(d.tell(), d.next()) for _ in range(400)]
        first = [name for _, name in places]
        for i in range(0, 1500, 10):
            os.unlink(f"mnt/f{i}")
            os.rename(f"mnt/f{i + 1}", f"mnt/g{i + 1}")
            pathlib.Path(f"mnt/f{i + 2}").write_bytes(b"longer" * 1000)
            pathlib.Path(f"mnt/h{i}").write_bytes(b"new")
        stay = {f"f{i}" for i in range(1500) if i % 10 > 1}
        names = first + d.rest()
        assert len(names) == len(set(names))
        assert stay <= set(names)
        want = stay | {f"g{i}" for i in range(1, 1500, 10)} | {
            f"h{i}" for i in range(0, 1500, 10)}
        d.rewind()
        assert set(d.rest()) == want | {".", ".."}
        d.seek(places[0][0])
        assert set(d.rest()) == want | {".", ".."}
        d.close()
        for _ in range(2):
            assert sorted(os.listdir("mnt")) == sorted(want)
    assert len(os.listdir("src")) == len(want)


def test_a_folder_without_positions():
    """SOURCE on a filesystem whose d_off is always 0, with names for several
    buffers."""
    os.mkdir("src")
    want = {".", "..", *(f"name {i:050}" for i in range(1000))}
    for name in want - {".", ".."}:
        pathlib.Path("src", name).touch()
    preload = ["env", f"LD_PRELOAD={BUILD}/no_positions.so",
               "ASAN_OPTIONS=verify_asan_link_order=0"]
    with Mount("src", "mnt", wrap=preload):
        d = Dir("mnt")
        places = [(d.tell(), d.next()) for _ in range(len(want))]
        assert d.next() is None
        names = [name for _, name in places]
        assert len(names) == len(set(names)) and set(names) == want
        for i in 0, 1, 700, 3, 999, 0:
            d.seek(places[i][0])
            assert d.rest() == names[i:], i
        d.close()


STRACE = ["strace", "-f", "-o", "calls", "-e", "trace=all"]


def calls_behind(nlines):
    """The names of the calls in the trace behind @nlines."""
    lines = pathlib.Path("calls").read_text().splitlines()[nlines:]
    return [re.sub(r"^\d+ +", "", x).split("(")[0] for x in lines
            if "unfinished" not in x]


def nlines():
    return sum(1 for _ in open("calls"))


def test_large_folders_cost_nothing_per_name():
    n = 10000 if SANITIZED else 100000
    os.mkdir("src")
    for i in range(n):
        os.close(os.open(f"src/name-{i:06}", os.O_CREAT | os.O_WRONLY))
    make("src/frame.b2frame", None, nbytes=1000)
    with Mount("src", "mnt", wrap=STRACE):
        before = nlines()
        out = subprocess.run(["ls", "-U", "mnt"], capture_output=True,
                             timeout=250)
        assert out.stdout.count(b"\n") == n + 1
        calls = calls_behind(before)
    # Some for every buffer of names, and for the one frame; the kernel asks
    # for the attributes of the first buffer.
    assert len(calls) < 2500 + n / 20, len(calls)
    opened = sum(x.startswith("open") for x in calls)
    assert opened < 500, opened


def check_few_calls(small, most):
    os.makedirs("src", exist_ok=True)
    with Mount("src", "mnt", "-o", f"rw,small={small}", wrap=STRACE):
        before = nlines()
        for i in range(100):
            pathlib.Path(f"mnt/{i}").write_bytes(b"small" * 100)
        calls = calls_behind(before)
    assert calls.count("getdents64") <= 2
    # A sanitizer has calls of its own.
    assert len(calls) < (most + 5 * SANITIZED) * 100, len(calls)
    return calls


def test_a_small_file_costs_few_calls():
    """The directory is read once, and no new file is read."""
    # A step that looks again at files that it has made takes 150.
    calls = check_few_calls("0", 115)
    # The ticker looks at a file that a slow machine has open for a second.
    assert calls.count("pread64") < 10
    shutil.rmtree("src")
    check_few_calls("64k", 85)


def test_inodes_are_forgotten():
    """Memory of a walk is given back, and descriptors are bounded."""
    os.mkdir("src")
    for i in range(300):
        os.makedirs(f"src/d{i}/e/f")
    limit = ["prlimit", "--nofile=64:64"]
    with Mount("src", "mnt", wrap=limit) as m:
        for _ in range(2):
            assert sum(1 for _ in os.walk("mnt")) == 901
            assert len(os.listdir(f"/proc/{m.pid}/fd")) < 64

        def inodes():
            said = len(re.findall(r"inodes \d+", m.log()))
            os.kill(m.pid, 10)
            wait_until(lambda: len(re.findall(r"inodes \d+", m.log())) > said,
                       "statistics are in the log")
            return int(re.findall(r"inodes (\d+)", m.log())[-1])

        pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")
        # The kernel tells of them later.
        wait_until(lambda: inodes() < 900, "inodes are forgotten")
        assert sum(1 for _ in os.walk("mnt")) == 901


def test_deep_folders():
    os.mkdir("src")
    top = os.getcwd()
    os.chdir("src")
    depth = 500
    for _ in range(depth):
        os.mkdir("some-long-name-of-a-folder")
        os.chdir("some-long-name-of-a-folder")
    raw = make("deep.b2frame", None, nbytes=1000)
    os.chdir(top)
    with Mount("src", "mnt", wrap=["prlimit", "--nofile=64:64"]):
        os.chdir("mnt")
        for _ in range(depth):
            os.chdir("some-long-name-of-a-folder")
        assert pathlib.Path("deep").read_bytes() == raw
        os.chdir(top)
    subprocess.run(["rm", "-rf", "src"], check=True)


main()
