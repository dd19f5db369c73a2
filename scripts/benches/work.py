# SPDX-License-Identifier: BSD-3-Clause
"""work - the operations that are timed: on files, and the same with C-Blosc2

Each method takes the directory that a column yielded and the data.Set, and
returns the seconds, or a dictionary of figures.  Methods of rows that open
columns themselves take a function instead of the directory: it opens the column
for a with statement.  A row names the method.
"""
import contextlib
import errno
import mmap
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import threading
import time

import blosc2
import numpy as np

from data import (MIB, append, drop_caches, matrix_columns, sync_files,
                  timed, write)
from disk import used

RANDOM_READS = 400
OVERWRITES = 2000
COMMITS = 100
# Files that the methods below write, removed before the next sample.
WRITTEN = "new", "new.npy", "new.b2frame"
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
    """Offsets of 4 KiB each, the same for all columns."""
    rng = np.random.default_rng(5)
    return [int(x) * 4096 for x in rng.integers(0, size // 4096, n)]


def changes(size, parts):
    return [(off, parts[off // 4096 % len(parts)][-4096:])
            for off in offsets(size, OVERWRITES)]


def shell(*command, cwd=None):
    subprocess.run([str(c) for c in command], check=True, cwd=cwd,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def spread(times):
    times = list(times)
    return {"seconds": statistics.median(times),
            "p99": float(np.percentile(times, 99))}


def each(n, action, *args):
    """The median time of @n calls, which get their number as first argument."""
    return statistics.median(timed(action, i, *args) for i in range(n))


def create_files(top, numbers):
    for i in numbers:
        (top / f"{i}").write_bytes(b"%d is a number\n" % i * 5)


def append_line(path, i, is_durable):
    with open(path, "ab") as f:
        f.write(b"%d: a line of a log, with a number\n" % i)
        f.flush()
        if is_durable:
            os.fsync(f.fileno())


def commits(path, journal):
    """The median time of a durable transaction of SQLite."""
    base = sqlite3.connect(path, isolation_level=None)
    base.execute(f"PRAGMA journal_mode={journal}")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE t (a, b)")
    seconds = each(COMMITS, lambda i: base.execute(
        "INSERT INTO t VALUES (?, ?)", (i, "x" * 100)))
    base.close()
    return seconds


def replace_file(source, path):
    """Writes the bytes of @source as @path, again and again, durably."""
    raw = source.read_bytes()

    def replace(i):
        new = path.with_name("new")
        with open(new, "wb", buffering=0) as f:
            f.write(raw)
            os.fsync(f.fileno())
        os.rename(new, path)
        os.fsync(folder)

    folder = os.open(path.parent, os.O_RDONLY)
    seconds = each(20, replace)
    os.close(folder)
    return seconds


class Work:
    """The operations on files and with C-Blosc2."""
    # The daemon's, if there is one.
    pid = None

    def sequential(self, top, data):
        return timed(self.read, top / "data")

    def four(self, top, data):
        return timed(together, self.read, [top / f"{i}" for i in range(4)])

    def two(self, top, data):
        """Two readers of the same file."""
        return timed(together, self.read, [top / "data"] * 2)

    def random(self, top, data):
        times = []
        with self.reader(top / "data") as read:
            for off in offsets(data.size, RANDOM_READS):
                times.append(timed(read, off))
        return spread(times)

    def append(self, top, data):
        return timed(self.write, top / "new", data)

    def overwrite(self, top, data):
        self.write(top / "new", data)
        return timed(self.edit, top / "new", changes(data.size, data.parts))

    def life(self, opened, data):
        """Writes a file, reads it when nothing is cached, and changes it."""
        got, before = {}, used(data.place)
        with opened() as top:
            got["seconds"] = self.append(top, data)
        got["stored"] = used(data.place) - before
        drop_caches()
        with opened() as top:
            got["read"] = timed(self.read, top / "new")
        with opened() as top:
            got["edit"] = timed(self.edit, top / "new",
                                changes(data.size, data.parts))
        return got


class Files(Work):
    def read(self, path):
        read_all(path)

    @contextlib.contextmanager
    def reader(self, path):
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        yield lambda off: os.pread(fd, 4096, off)
        os.close(fd)

    def write(self, path, data):
        write(path, data.parts, data.size)

    def edit(self, path, edits):
        fd = os.open(path, os.O_RDWR)
        for off, piece in edits:
            os.pwrite(fd, piece, off)
        os.fsync(fd)
        os.close(fd)

    def append_4k(self, top, data):
        """Like dd with bs=4k conv=fsync."""
        return timed(write, top / "new", data.parts, data.size, 4096)

    def sync_one(self, top, data):
        """Times a change of 4 KiB and fsync; then a close, and a read of the first
        byte."""
        path = top / "data"
        fd = os.open(path, os.O_RDWR)

        def change(i):
            os.pwrite(fd, b"%d changed" % i * 300, i * 4096)
            os.fsync(fd)

        first = timed(change, 0)
        seconds = each(20, change)
        os.close(fd)

        def read_first(i):
            with open(path, "rb", buffering=0) as f:
                f.read(1)
        return {"seconds": seconds, "reopen": each(5, read_first),
                "first": first}

    def array(self, top, data):
        return timed(np.fromfile, top / "data")

    def column(self, top, data, advice=None):
        """Reads one column of a memmap for the first time."""
        size = os.path.getsize(top / "data")
        columns = matrix_columns(size)
        start = time.perf_counter()
        with open(top / "data", "rb") as f:
            mapped = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        if advice is not None:
            mapped.madvise(advice)
        view = np.frombuffer(mapped).reshape(-1, columns)
        view[:, 77].sum()
        return time.perf_counter() - start

    def column_random(self, top, data):
        return self.column(top, data, mmap.MADV_RANDOM)

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

    def cat_again(self, top, data):
        """What is left is to open and close the files."""
        self.untar(top, data)
        files = ["find", top / "new", "-type", "f", "-exec", "cat", "{}", "+"]
        shell(*files)
        return timed(shell, *files)

    def clone(self, top, data):
        return timed(shell, "git", "clone", "-q", "--no-local", GIT_SOURCE,
                     top / "new")

    def many(self, opened, data):
        """Creates, lists and removes files in one directory."""
        got = {}
        with opened() as mount:
            top = mount / "many"
            top.mkdir()
            got["seconds"] = timed(create_files, top, range(data.size))
            shell("ls", "-f", top)
            got["hot"] = timed(shell, "ls", "-f", top)
            create_files(top, [data.size])
            got["again"] = timed(shell, "ls", "-f", top)
        drop_caches()
        with opened() as mount:
            got["cold"] = timed(shell, "ls", "-f", mount / "many")
            got["remove"] = timed(shell, "rm", "-r", mount / "many")
        return got

    def open_files(self, top, data):
        """The number of files that can be open at once."""
        opened = []
        try:
            for i in range(data.size):
                opened.append(os.open(top / f"{i}", os.O_RDONLY))
                os.pread(opened[-1], 1, 0)
        except OSError as e:
            if e.errno not in (errno.EMFILE, errno.ENFILE):
                raise
        finally:
            for fd in opened:
                os.close(fd)
        return {"opened": len(opened)}

    def commit(self, top, data):
        place = top / "new"
        place.mkdir()
        return {"seconds": commits(place / "one", "DELETE"),
                "wal": commits(place / "two", "WAL"),
                "log": each(COMMITS, lambda i: append_line(
                    place / "log", i, True)),
                "close": each(COMMITS, lambda i: append_line(
                    place / "lines", i, False))}

    def pgbench(self, top, data):
        """Seconds for 1,000 durable transactions of one PostgreSQL client."""
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
                 place / "log", "-o", "-c listen_addresses= -c "
                 "unix_socket_directories=/tmp", "start")
        try:
            bench = [programs / "pgbench", "-h", "/tmp", "postgres"]
            postgres(*bench, "-i", "-q")
            said = postgres(*bench, "-T", "10")
        finally:
            postgres(programs / "pg_ctl", "-D", place / "db", "-w", "-m",
                     "fast", "stop")
        return 1000 / float(re.search(r"tps = ([\d.]+)", said)[1])


class Stock(Work):
    """The same with C-Blosc2, whose files need no mount."""

    def __init__(self, nthreads, codec, clevel):
        self.nthreads, self.codec, self.clevel = nthreads, codec, clevel

    def cparams(self, data):
        return data.cparams(self.codec, self.nthreads, self.clevel)

    def open_frame(self, path, suffix="b2frame", mode="r"):
        return blosc2.open(f"{path}.{suffix}", mode=mode,
                           dparams={"nthreads": self.nthreads},
                           cparams={"nthreads": self.nthreads})

    def read(self, path):
        schunk = self.open_frame(path)
        buffer = bytearray(MIB)
        for i in range(schunk.nchunks):
            schunk.decompress_chunk(i, dst=buffer)

    @contextlib.contextmanager
    def reader(self, path):
        schunk = self.open_frame(path)
        yield lambda off: schunk[off // 8:(off + 4096) // 8]

    def write(self, path, data):
        """Syncs all files."""
        append(f"{path}.b2frame", data.parts, data.size, self.cparams(data))
        sync_files(f"{path}.b2frame")

    def edit(self, path, edits):
        schunk = self.open_frame(path, mode="a")
        for off, piece in edits:
            chunk = bytearray(schunk.decompress_chunk(off // MIB))
            chunk[off % MIB:off % MIB + len(piece)] = piece
            schunk.update_data(off // MIB, bytes(chunk), copy=True)
        sync_files(f"{path}.b2frame")

    def array(self, top, data):
        array = self.open_frame(top / "data", "b2nd")
        return timed(array.__getitem__, slice(None))

    def save(self, top, data):
        path = str(top / "new.b2frame")
        return timed(lambda: blosc2.asarray(
            data.a, urlpath=path, mode="w", contiguous=False,
            cparams=self.cparams(data))) + timed(sync_files, path)
