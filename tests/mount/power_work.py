# SPDX-License-Identifier: BSD-3-Clause
"""power_work - programs' ways to change files without losing data

Each operation tells a History each change before it begins, and each acknowledgement.
"""
import contextlib
import io
import mmap
import os
import random
import sqlite3
import subprocess

import numpy as np

from power_history import ABSENT

PIECE = 1 << 16


@contextlib.contextmanager
def opened(path, flags):
    fd = os.open(path, flags, 0o644)
    try:
        yield fd
    finally:
        os.close(fd)


def sync_directory(path):
    with opened(path, os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.fsync(fd)


class Table:
    """An SQLite database: rows that were added, and acknowledged rows."""

    def __init__(self, path, journal, now):
        self.path, self.now = path, now
        # [(moment, rows)]: begun, and acknowledged
        self.begun, self.acknowledged = [(0, 0)], [(0, 0)]
        self.rows = 0
        self.journal = journal
        self.db = None

    def open(self, top):
        self.db = sqlite3.connect(f"{top}/{self.path}", isolation_level=None)
        self.db.execute(f"pragma journal_mode={self.journal}")
        # FULL, and the deletion of a rollback journal made durable.
        self.db.execute("pragma synchronous=extra")
        self.db.execute("create table t(n integer primary key, b blob)")
        self.acknowledged.append((self.now(), 0))

    def add(self, rng):
        n = rng.randrange(1, 20)
        self.begun.append((self.now(), self.rows + n))
        self.db.execute("begin")
        self.db.executemany("insert into t values(?, ?)", (
            (self.rows + i, rng.randbytes(rng.randrange(500)))
            for i in range(n)))
        self.db.execute("commit")
        self.rows += n
        self.acknowledged.append((self.now(), self.rows))

    def checkpoint(self):
        self.db.execute("pragma wal_checkpoint(truncate)")

    def close(self):
        if self.db:
            self.db.close()

    def possible(self, moment):
        """(least, most) rows after a cut; None: not even a table."""
        least = [n for at, n in self.acknowledged[1:] if at <= moment]
        return (least[-1] if least else None,
                max(n for at, n in self.begun if at <= moment))


class Work:
    """Operations on the directory @top, random but for @seed.

    Without @mapped there are no shared maps of files.
    """

    def __init__(self, top, history, seed, mapped=True):
        self.top, self.history, self.mapped = str(top), history, mapped
        self.rng = random.Random(seed)
        # The files that programs see now.
        self.files = {}
        self.liked = []
        self.number = 0
        self.tables = [Table("rollback.db", "delete", history.now)]
        if mapped:
            self.tables.append(Table("wal.db", "wal", history.now))
        self.directories = [""]

    def adopt(self, files):
        """Notes existing durable @files, bytes by path; operations prefer them.
        """
        self.liked = [*files]
        for path, content in files.items():
            self.set(path, content)
            self.history.acknowledged(path)

    # Parts of operations

    def full(self, path):
        return f"{self.top}/{path}"

    def data(self, largest=3 * PIECE):
        n = self.rng.choice([1, 700, 4096, PIECE, largest])
        n = self.rng.randrange(n) + 1
        step = self.rng.randbytes(8)
        return self.rng.randbytes(n) if self.rng.randrange(2) else \
            (step * (n // 8 + 1))[:n]

    def new_path(self, suffix=""):
        self.number += 1
        return f"{self.rng.choice(self.directories)}f{self.number}{suffix}"

    def some_path(self):
        """An existing file, or a new one, made durable."""
        if not self.files:
            return self.make_durable()
        liked = [path for path in self.liked if path in self.files]
        if liked and self.rng.randrange(4):
            return self.rng.choice(liked)
        return self.rng.choice([*self.files])

    def set(self, path, content):
        self.history.change(path, content)
        self.files[path] = content

    def create(self, path):
        self.set(path, b"")
        return opened(self.full(path), os.O_RDWR | os.O_CREAT | os.O_TRUNC)

    def write(self, fd, path, data, off=0):
        """Writes in pieces, each of which the kernel passes on as one request."""
        at = 0
        while at < len(data):
            # Not across a multiple of PIECE.
            n = PIECE - (off + at) % PIECE
            piece = data[at:at + n]
            old = self.files[path]
            old += bytes(max(0, off + at - len(old)))
            self.set(path, old[:off + at] + piece +
                     old[off + at + len(piece):])
            assert os.pwrite(fd, piece, off + at) == len(piece)
            at += len(piece)

    def sync(self, fd, path):
        self.rng.choice([os.fsync, os.fdatasync])(fd)
        self.history.acknowledged(path)

    def sync_parent(self, path):
        sync_directory(os.path.dirname(self.full(path)))

    # Operations

    def make_durable(self):
        path = self.new_path()
        with self.create(path) as fd:
            self.write(fd, path, self.data(20 * PIECE))
            self.sync(fd, path)
        return path

    def make_empty(self):
        path = self.new_path()
        with self.create(path) as fd:
            self.sync(fd, path)

    def make_empty_and_sync_directory(self):
        path = self.new_path()
        with self.create(path):
            pass
        self.sync_parent(path)
        self.history.there(path)

    def make_and_sync_directory(self):
        path = self.new_path()
        with self.create(path) as fd:
            self.write(fd, path, self.data())
        self.sync_parent(path)
        self.history.there(path)

    def make_and_close(self):
        path = self.new_path()
        with self.create(path) as fd:
            self.write(fd, path, self.data(6 * PIECE))

    def overwrite(self):
        path = self.some_path()
        with opened(self.full(path), os.O_RDWR) as fd:
            for _ in range(self.rng.randrange(1, 4)):
                off = self.rng.randrange(len(self.files[path]) + 1)
                self.write(fd, path, self.data(), off)
            if self.rng.randrange(4):
                self.sync(fd, path)

    def append(self):
        path = self.some_path()
        with opened(self.full(path), os.O_WRONLY | os.O_APPEND) as fd:
            for _ in range(self.rng.randrange(1, 4)):
                self.write(fd, path, self.data(), len(self.files[path]))
                self.sync(fd, path)

    def write_synchronously(self):
        path = self.some_path()
        flag = self.rng.choice([os.O_SYNC, os.O_DSYNC])
        with opened(self.full(path), os.O_WRONLY | flag) as fd:
            self.write(fd, path, self.data(), len(self.files[path]))
            self.history.acknowledged(path)

    def write_mapped(self):
        """Overwrites bytes within one page, which the kernel passes on as one
        request."""
        path = self.some_path()
        old = self.files[path]
        if not self.mapped or not old:
            return
        off = self.rng.randrange(len(old))
        data = self.rng.randbytes(4096 - off % 4096)[:len(old) - off]
        with opened(self.full(path), os.O_RDWR) as fd, \
                mmap.mmap(fd, 0) as view:
            self.set(path, old[:off] + data + old[off + len(data):])
            view[off:off + len(data)] = data
            view.flush()
            self.history.acknowledged(path)

    def punch(self):
        path = self.some_path()
        old = self.files[path]
        off, size = 5000, 2 * PIECE
        if len(old) < off + size:
            return
        self.set(path, old[:off] + bytes(size) + old[off + size:])
        subprocess.run(["fallocate", "--punch-hole", "--offset", str(off),
                        "--length", str(size), self.full(path)], check=True)
        with opened(self.full(path), os.O_RDWR) as fd:
            self.sync(fd, path)

    def write_without_a_name(self):
        path = self.make_durable()
        with opened(self.full(path), os.O_RDWR) as fd:
            self.unlink(path)
            os.pwrite(fd, self.data(), 0)
            os.fsync(fd)

    def truncate(self):
        path = self.some_path()
        old = self.files[path]
        size = self.rng.choice([0, len(old) // 2, len(old) + 100000])
        self.set(path, old[:size] + bytes(max(0, size - len(old))))
        with opened(self.full(path), os.O_WRONLY) as fd:
            os.ftruncate(fd, size)
            if self.rng.randrange(2):
                self.sync(fd, path)

    def write_anew(self):
        """Like open(path, "w"): empty for a moment, on any filesystem."""
        path = self.some_path()
        with self.create(path) as fd:
            self.write(fd, path, self.data())
            self.sync(fd, path)

    def rename(self, old, new):
        move = self.history.rename(old, new)
        os.rename(self.full(old), self.full(new))
        self.files[new] = self.files.pop(old)
        if self.rng.randrange(2):
            self.sync_parent(old)
            self.sync_parent(new)
            self.history.renamed(*move)

    def replace(self, empty=False, durable=True):
        """Saves a file as editors do."""
        path, tmp = self.some_path(), self.new_path(".tmp")
        with self.create(tmp) as fd:
            if not empty:
                self.write(fd, tmp, self.data())
            if durable:
                self.sync(fd, tmp)
        self.rename(tmp, path)

    def replace_by_empty(self):
        self.replace(empty=True)

    def replace_carelessly(self):
        self.replace(durable=False)

    def move(self):
        self.rename(self.some_path(), self.new_path())

    def publish(self):
        """Makes a new file, whole or missing, that replaces none."""
        path = self.new_path()
        # Frames have links in their own directory only.
        tmp = f"{path}.tmp"
        with self.create(tmp) as fd:
            self.write(fd, tmp, self.data())
            self.sync(fd, tmp)
        move = self.history.rename(tmp, path)
        os.link(self.full(tmp), self.full(path))
        os.unlink(self.full(tmp))
        self.files[path] = self.files.pop(tmp)
        self.sync_parent(path)
        self.history.renamed(*move)

    def unlink(self, path=None):
        path = path or self.some_path()
        self.history.change(path, ABSENT)
        os.unlink(self.full(path))
        del self.files[path]
        if self.rng.randrange(2):
            self.sync_parent(path)
            self.history.acknowledged(path)

    def make_directory(self):
        path = self.new_path()
        os.mkdir(self.full(path))
        self.directories.append(f"{path}/")
        self.make_durable()

    def save_array(self):
        path = self.new_path(".npy")
        with io.BytesIO() as raw:
            np.save(raw, np.arange(self.rng.randrange(60000)) // 3)
            content = raw.getvalue()
        with self.create(path) as fd:
            self.write(fd, path, content)
            self.sync(fd, path)

    def change_array(self):
        names = [x for x in self.files if x.endswith(".npy")]
        if not names:
            return self.save_array()
        path = self.rng.choice(names)
        size = len(self.files[path])
        if size < 256:
            return None
        with opened(self.full(path), os.O_RDWR) as fd:
            self.write(fd, path, self.rng.randbytes(8),
                       128 + self.rng.randrange((size - 128) // 8) * 8)
            self.sync(fd, path)
        return None

    def add_rows(self):
        self.rng.choice(self.tables).add(self.rng)

    def checkpoint(self):
        self.tables[-1].checkpoint()

    def changes(self):
        """Operations that leave a file in its place."""
        return [self.overwrite, self.overwrite, self.append, self.append,
                self.write_synchronously, self.write_mapped, self.punch,
                self.truncate, self.write_anew]

    def operations(self):
        """The operations, each as often as it is to be chosen."""
        return [self.make_durable, self.make_empty,
                self.make_empty_and_sync_directory,
                self.make_and_sync_directory, self.make_and_close,
                self.overwrite, self.overwrite, self.append,
                self.write_synchronously, self.write_mapped, self.punch,
                self.write_without_a_name, self.truncate, self.write_anew,
                self.replace, self.replace, self.replace_by_empty,
                self.replace_carelessly, self.publish, self.move, self.unlink,
                self.unlink, self.make_directory, self.save_array,
                self.save_array, self.change_array,
                self.add_rows, self.add_rows, self.checkpoint]

    def play(self, rounds):
        """All operations, in any order, @rounds times."""
        for table in self.tables:
            self.history.step(f"open {table.path}")
            table.open(self.top)
        self.do_all(rounds, self.operations)

    def do_all(self, rounds, make_list):
        for _ in range(rounds):
            operations = make_list()
            self.rng.shuffle(operations)
            for operation in operations:
                self.history.step(operation.__name__)
                operation()

    def close(self):
        for table in self.tables:
            table.close()
