# SPDX-License-Identifier: BSD-3-Clause
"""work - what is done, and timed: on files, and the same with C-Blosc2

Each method takes the directory that a column yielded and the data.Set, and
returns the seconds.  A row names the method.
"""
import os
import pathlib
import re
import statistics
import subprocess
import threading
import time

import blosc2
import numpy as np

from data import (CORES, MIB, SIDE, append, cparams, drop_caches, pieces,
                  sync_files, timed, walk, write)

RANDOM_READS = 400
OVERWRITES = 2000
# What the methods below write, and the next sample must not find.
WRITTEN = "new", "new.npy", "stock.b2frame"
GIT_SOURCE = pathlib.Path(__file__).parent.parent.parent


def read_all(path):
    buffer = bytearray(MIB)
    with open(path, "rb", buffering=0) as f:
        while f.readinto(buffer):
            pass


def together(action, many):
    threads = [threading.Thread(target=action, args=(x,)) for x in many]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def offsets(size, n):
    """Of 4 KiB each, the same ones for all."""
    rng = np.random.default_rng(5)
    return [int(x) * 4096 for x in rng.integers(0, size // 4096, n)]


def changes(size, parts):
    return [(off, parts[off // 4096 % len(parts)][-4096:])
            for off in offsets(size, OVERWRITES)]


def overwrite(path, edits):
    fd = os.open(path, os.O_RDWR)
    for off, piece in edits:
        os.pwrite(fd, piece, off)
    os.fsync(fd)
    os.close(fd)


def shell(*command, cwd=None):
    subprocess.run([str(c) for c in command], check=True, cwd=cwd,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Files:
    # Of the daemon, where there is one.
    pid = None

    def sequential(self, top, data):
        return timed(read_all, top / "data")

    def four(self, top, data):
        return timed(together, read_all, [top / f"{i}" for i in range(4)])

    def two(self, top, data):
        """Both of the same file."""
        return timed(together, read_all, [top / "data"] * 2)

    def random(self, top, data):
        """The median of one read."""
        fd = os.open(top / "data", os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        times = [timed(os.pread, fd, 4096, off)
                 for off in offsets(data.size, RANDOM_READS)]
        os.close(fd)
        return statistics.median(times)

    def array(self, top, data):
        return timed(np.fromfile, top / "data")

    def column(self, top, data):
        """One column of a memmap that nobody has read before."""
        size = os.path.getsize(top / "data")
        columns = round((size / 16) ** 0.5 / SIDE) * SIDE
        start = time.perf_counter()
        view = np.memmap(top / "data", np.float64, "r").reshape(-1, columns)
        view[:, 77].sum()
        return time.perf_counter() - start

    def append(self, top, data):
        return timed(write, top / "new", data.parts, data.size)

    def overwrite(self, top, data):
        write(top / "new", data.parts, data.size)
        return timed(overwrite, top / "new", changes(data.size, data.parts))

    def save(self, top, data):
        def save(path, a):
            with open(path, "wb") as f:
                np.save(f, a)
                f.flush()
                os.fsync(f.fileno())
        return timed(save, top / "new.npy", data.a)

    def names(self, top, data):
        return timed(shell, "ls", "-lR", top)

    def names_again(self, top, data):
        shell("ls", "-lR", top)
        return timed(shell, "ls", "-lR", top)

    def find(self, top, data):
        return timed(shell, "find", top, "-size", "+1")

    def find_again(self, top, data):
        self.find(top, data)
        return self.find(top, data)

    def untar(self, top, data):
        (top / "new").mkdir()
        return timed(shell, "tar", "xf", data.top / "names.tar", "-C",
                     top / "new")

    def clone(self, top, data):
        return timed(shell, "git", "clone", "-q", "--no-local", GIT_SOURCE,
                     top / "new")

    def pgbench(self, top, data):
        """Seconds for 1,000 transactions of one client; durable."""
        place = pathlib.Path(top) / "new"
        programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"),
                       default=None)
        if not programs:
            raise RuntimeError("PostgreSQL is not installed")
        place.mkdir()
        shell("chown", "postgres", place)

        def postgres(*command):
            return subprocess.run(
                ["runuser", "-u", "postgres", "--", *map(str, command)],
                check=True, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, cwd="/").stdout
        postgres(programs / "initdb", "-D", place / "db")
        postgres(programs / "pg_ctl", "-D", place / "db", "-w", "-l",
                 place / "log", "-o", f"-c listen_addresses= -c "
                 "unix_socket_directories=/tmp", "start")
        try:
            bench = [programs / "pgbench", "-h", "/tmp", "postgres"]
            postgres(*bench, "-i", "-q")
            said = postgres(*bench, "-T", "10")
        finally:
            postgres(programs / "pg_ctl", "-D", place / "db", "-w", "-m",
                     "fast", "stop")
        return 1000 / float(re.search(r"tps = ([\d.]+)", said)[1])


class Stock:
    """The same with C-Blosc2, whose files need no mount."""
    pid = None

    def __init__(self, nthreads):
        self.nthreads = nthreads

    def open_frame(self, top, name, suffix="b2frame", mode="r"):
        return blosc2.open(str(top / f"{name}.{suffix}"), mode=mode,
                           dparams={"nthreads": self.nthreads},
                           cparams={"nthreads": self.nthreads})

    def read_frame(self, path):
        schunk = self.open_frame(path.parent, path.name)
        buffer = bytearray(MIB)
        for i in range(schunk.nchunks):
            schunk.decompress_chunk(i, dst=buffer)

    def sequential(self, top, data):
        return timed(self.read_frame, top / "data")

    def four(self, top, data):
        return timed(together, self.read_frame,
                     [top / f"{i}" for i in range(4)])

    def random(self, top, data):
        schunk = self.open_frame(top, "data")
        times = [timed(schunk.__getitem__,
                       slice(off // 8, (off + 4096) // 8))
                 for off in offsets(data.size, RANDOM_READS)]
        return statistics.median(times)

    def array(self, top, data):
        array = self.open_frame(top, "data", "b2nd")
        return timed(array.__getitem__, slice(None))

    def append(self, top, data):
        """What fsync promises: all files are."""
        path = str(top / "stock.b2frame")
        return timed(append, path, data.parts, data.size, data.codec) + \
            timed(sync_files, path)

    def overwrite(self, top, data):
        append(top / "stock.b2frame", data.parts, data.size, data.codec)
        schunk = self.open_frame(top, "stock", mode="a")

        def update():
            for off, piece in changes(data.size, data.parts):
                chunk = bytearray(schunk.decompress_chunk(off // MIB))
                chunk[off % MIB:off % MIB + len(piece)] = piece
                schunk.update_data(off // MIB, bytes(chunk), copy=True)
        return timed(update)

    def save(self, top, data):
        path = str(top / "stock.b2frame")
        return timed(lambda: blosc2.asarray(
            data.a, urlpath=path, mode="w", contiguous=False,
            cparams=cparams(data.codec))) + timed(sync_files, path)
