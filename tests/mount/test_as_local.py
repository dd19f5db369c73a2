#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random calls on the mount and on a local folder: same results, same trees.

The seed is printed; B2F_SEED and B2F_STEPS repeat or lengthen a run.
"""
import contextlib
import errno
import hashlib
import itertools
import os
import pathlib
import random
import stat

from mounting import Mount, main
from scratch import is_frame
from syscalls import EXCHANGE, KEEP, NOREPLACE, PUNCH, ZERO, fallocate, renameat2

STEPS = int(os.environ.get("B2F_STEPS", 1500))
SEED = int(os.environ.get("B2F_SEED", random.randrange(1 << 30)))
TOLD = int(os.environ.get("B2F_TOLD", 12))
NAMES = ["a", "b", "c", "a.b2frame", "b.b2nd", "a.b2frame.b2frame", "chunks",
         "chunks.b2frame", "d", "e", ".b2frame", "x.npy"]
CHUNK = 1 << 16


def outcome(call, *args):
    try:
        return 0, call(*args)
    except OSError as e:
        return e.errno, None


def brief(value):
    """A short form of a byte string, for messages."""
    if isinstance(value, bytes):
        runs = [len(list(g)) for _, g in itertools.groupby(
            hashlib.md5(value[i:i + 4096]).hexdigest()[:6]
            for i in range(0, len(value), 4096))]
        return len(value), hashlib.md5(value).hexdigest()[:6], runs[:20]
    if isinstance(value, (tuple, list)):
        return tuple(map(brief, value))
    return value


class Both:
    """A descriptor in the mount, and one in the local directory."""

    def __init__(self, fds, flags, path):
        self.fds, self.flags = fds, flags
        self.name = f"{path}@{fds[0]}"


class Model:
    def __init__(self, seed, tops):
        self.rng = random.Random(seed)
        self.tops = [pathlib.Path(t) for t in tops]
        self.open = []
        self.told = []

    # ---- where ----

    def path(self):
        folders = [""] + [d for d in ("d", "e", "d/e") if
                          (self.tops[1] / d).is_dir() and
                          not (self.tops[1] / d).is_symlink()]
        return os.path.join(self.rng.choice(folders),
                            self.rng.choice(NAMES))

    def place(self):
        return self.rng.choice([0, 1, 100, CHUNK - 1, CHUNK, CHUNK + 1,
                                self.rng.randrange(4 * CHUNK)])

    def bytes(self):
        n = self.rng.choice([1, 10, 4096, CHUNK, 3 * CHUNK])
        if self.rng.random() < .3:
            return bytes(n)
        return self.rng.randbytes(self.rng.randrange(1, 50)) * (n // 20 + 1)

    # ---- both ----

    def do(self, what, call, *args):
        """Makes the call in the mount, then in the local directory; the results must be
        the same."""
        self.told.append(f"{what}")
        got = outcome(call, 0, *args)
        if self.is_special(what, got[0]):
            self.told[-1] += " - a name that cannot be"
            return None
        want = outcome(call, 1, *args)
        assert got == want, f"{what}: {brief(got)}, locally {brief(want)}"
        return got

    def is_special(self, what, error):
        """Did the mount refuse a name because a frame has it in SOURCE, or because it
        is an index's?"""
        if what[0] not in ("open", "mkdir", "symlink", "mkfifo", "rename"):
            return False
        path = os.path.realpath(self.tops[0] / what[-1])
        below = path.replace(os.path.realpath(self.tops[0]),
                             os.path.realpath("src"))
        if error == errno.EPERM:
            return os.path.basename(path) == "chunks.b2frame"
        # A rename may replace a file that is stored under another name.
        replaces = what[:2] == ("rename", 0)
        return error == errno.EEXIST and \
            (replaces or not os.path.lexists(path)) and \
            is_frame(pathlib.Path(below))

    def two_paths(self, i, *paths):
        return [self.tops[i] / p for p in paths]

    # ---- calls ----

    def do_open(self):
        path = self.path()
        flags = self.rng.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
        for flag in os.O_CREAT, os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_APPEND:
            if self.rng.random() < .3:
                flags |= flag
        mode = self.rng.choice([0o644, 0o600, 0o666, 0o400])
        fds = [None, None]

        def call(i):
            fds[i] = os.open(self.tops[i] / path, flags | os.O_NONBLOCK, mode)

        try:
            self.do(("open", flags, path), call)
        finally:
            if None in fds:
                for fd in fds:
                    if fd is not None:
                        os.close(fd)
        if None in fds:
            return
        if not stat.S_ISREG(os.fstat(fds[1]).st_mode):
            for fd in fds:
                os.close(fd)
            return
        self.open.append(Both(fds, flags, path))
        if len(self.open) > 6:
            self.close(self.rng.randrange(len(self.open)))

    def close(self, i):
        both = self.open.pop(i)
        self.do(("close", both.name), lambda i: os.close(both.fds[i]))

    def on_open(self):
        return self.rng.choice(self.open) if self.open else None

    def do_close(self):
        if self.open:
            self.close(self.rng.randrange(len(self.open)))

    def do_write(self):
        both, data, off = self.on_open(), self.bytes(), self.place()
        if both:
            self.do(("pwrite", both.name, len(data), off),
                    lambda i: os.pwrite(both.fds[i], data, off))
            self.compare_open(both)

    def do_append(self):
        both, data = self.on_open(), self.bytes()
        if both and both.flags & os.O_APPEND:
            self.do(("append", both.name, len(data)),
                    lambda i: os.write(both.fds[i], data))
            self.compare_open(both)

    def do_truncate(self):
        both, size = self.on_open(), self.place()
        if both:
            self.do(("ftruncate", both.name, size),
                    lambda i: os.ftruncate(both.fds[i], size))
            self.compare_open(both)

    def do_fallocate(self):
        both, off, size = self.on_open(), self.place(), self.place() + 1
        mode = self.rng.choice([0, KEEP, KEEP | PUNCH, ZERO, ZERO | KEEP])
        if both:
            self.do(("fallocate", both.name, mode, off, size),
                    lambda i: fallocate(both.fds[i], mode, off, size))
            self.compare_open(both)

    def do_fsync(self):
        both = self.on_open()
        if both:
            self.do(("fsync", both.name), lambda i: os.fsync(both.fds[i]))

    def compare_open(self, both):
        """Compares by size alone; a descriptor for writing cannot read."""
        def call(i):
            st = os.fstat(both.fds[i])
            if both.flags & os.O_ACCMODE == os.O_WRONLY:
                return st.st_size
            return st.st_size, os.pread(both.fds[i], 1 << 24, 0)
        self.do(("look", both.name), call)

    def do_path_truncate(self):
        path, size = self.path(), self.place()
        self.do(("truncate", size, path),
                lambda i: os.truncate(self.tops[i] / path, size))

    def do_unlink(self):
        path = self.path()
        self.do(("unlink", path), lambda i: os.unlink(self.tops[i] / path))

    def do_mkdir(self):
        path = self.path()
        self.do(("mkdir", path), lambda i: os.mkdir(self.tops[i] / path))

    def do_rmdir(self):
        path = self.path()
        self.do(("rmdir", path), lambda i: os.rmdir(self.tops[i] / path))

    def do_symlink(self):
        path, target = self.path(), self.rng.choice(NAMES)
        self.do(("symlink", path),
                lambda i: os.symlink(target, self.tops[i] / path))

    def do_mkfifo(self):
        path = self.path()
        self.do(("mkfifo", path), lambda i: os.mkfifo(self.tops[i] / path))

    def do_rename(self):
        old, new = self.path(), self.path()
        flags = self.rng.choice([0, 0, 0, NOREPLACE])
        self.do(("rename", flags, old, new),
                lambda i: renameat2(*self.two_paths(i, old, new), flags))

    def do_exchange(self):
        old, new = self.path(), self.path()
        files = [(self.tops[1] / p) for p in (old, new)]
        # Exchange two files, or two others: a frame and another kind cannot be
        # exchanged.
        if len({f.is_file() and not f.is_symlink() for f in files}) == 1:
            self.do(("exchange", old, new),
                    lambda i: renameat2(*self.two_paths(i, old, new),
                                        EXCHANGE))

    def do_chmod(self):
        path, mode = self.path(), self.rng.choice(
            [0o644, 0o600, 0o777, 0o4755, 0o1777, 0o444, 0])
        self.do(("chmod", path), lambda i: os.chmod(self.tops[i] / path, mode))

    def do_chown(self):
        path, uid = self.path(), self.rng.choice([0, 1000, 65534])
        self.do(("chown", path),
                lambda i: os.chown(self.tops[i] / path, uid, uid + 1,
                                   follow_symlinks=False))

    def do_utime(self):
        path, t = self.path(), self.rng.randrange(1 << 31) * 10**9 + 7
        self.do(("utime", path),
                lambda i: os.utime(self.tops[i] / path, ns=(t, t + 1),
                                   follow_symlinks=False))

    def do_setxattr(self):
        path, value = self.path(), self.rng.randbytes(9)
        self.do(("setxattr", path),
                lambda i: os.setxattr(self.tops[i] / path, "user.x", value))

    def do_removexattr(self):
        path = self.path()
        self.do(("removexattr", path),
                lambda i: os.removexattr(self.tops[i] / path, "user.x"))

    # ---- trees ----

    def describe(self, i, path):
        full = self.tops[i] / path
        st = os.lstat(full)
        kind = stat.S_IFMT(st.st_mode)
        what = [kind, stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid]
        if kind == stat.S_IFREG:
            what += [st.st_size, full.read_bytes(), os.listxattr(full)]
        elif kind == stat.S_IFLNK:
            what.append(os.readlink(full))
        elif kind == stat.S_IFDIR:
            what.append(sorted(os.listdir(full)))
        return what

    def compare(self):
        def walk(top, below=""):
            for name in sorted(os.listdir(top / below)):
                path = os.path.join(below, name)
                yield path
                if (top / path).is_dir() and not (top / path).is_symlink():
                    yield from walk(top, path)
        trees = [list(walk(top)) for top in self.tops]
        assert trees[0] == trees[1], (trees[0], trees[1])
        for path in trees[0]:
            got, want = self.describe(0, path), self.describe(1, path)
            assert got == want, (path, brief(got), brief(want))

    def drop(self):
        """Closes all descriptors, so that the mount can end after a failure."""
        for both in self.open:
            for fd in both.fds:
                os.close(fd)

    def run(self, steps):
        calls = [getattr(self, n) for n in sorted(dir(self))
                 if n.startswith("do_")]
        calls += [self.do_open] * 4 + [self.do_write] * 4 + [self.do_rename]
        for step in range(steps):
            self.rng.choice(calls)()
            if step % 50 == 49:
                self.compare()
        while self.open:
            self.close(0)
        self.compare()


def play(*options, seed=SEED, steps=STEPS):
    print(f"B2F_SEED={seed} B2F_STEPS={steps}")
    os.mkdir("src")
    os.mkdir("local")
    model = Model(seed, ["mnt", "local"])
    os.umask(0o022)
    try:
        for _ in range(3):
            with Mount("src", "mnt", *options), \
                    contextlib.ExitStack() as stack:
                stack.callback(model.drop)
                model.run(steps // 3)
    except BaseException:
        print("\n".join(model.told[-TOLD:]))
        raise
    assert not os.path.exists("src/.bloscfs-deleted")


def test_as_it_comes():
    play("-o", "chunksize=64k")


def test_set_id_bits_given_while_a_file_is_written_stay():
    """These calls truncate a file of another user between chmod and close.  A daemon
    that writes as the file's earlier owner clears the set-user-ID bits."""
    play("-o", "chunksize=64k", seed=239901479, steps=1500)


def test_with_little_memory():
    play("-o", "chunksize=64k,dirtysize=256k,cachesize=4m,commit=1")


def test_with_writeback_cache():
    play("-o", "chunksize=64k,writeback_cache")


def test_without_timeouts():
    play("-o", "chunksize=64k,attr_timeout=0,entry_timeout=0")


main()
