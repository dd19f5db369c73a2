#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many processes make random calls in one tree.

The result is unknown.  But every call ends, without errors that a local filesystem
would not give, every frame is sound in the end, and a later mount shows the same.
"""
import collections
import errno
import os
import pathlib
import random
import subprocess
import time

from mounting import BUILD, SANITIZED, Mount, main
from scratch import check_same
from syscalls import fallocate, renameat2

SECONDS = float(os.environ.get("B2F_SECONDS", 5))
PROCESSES = 6
# Seconds, as by default.
ENTRY_TIMEOUT = 1
NAMES = ["a", "b", "c", "a.b2frame", "d", "e", "f", "g", "h"]
FOLDERS = ["", "", "one", "two"]
# By call; fuse/backing_name.h explains EEXIST.
ALLOWED = {
    "open": "ENOENT EISDIR EEXIST ENXIO ELOOP", "read": "EBADF EISDIR",
    "write": "EBADF", "truncate": "EINVAL EBADF", "fallocate": "EBADF ENODEV",
    "unlink": "ENOENT EISDIR", "mkdir": "EEXIST ENOENT",
    "rmdir": "ENOENT ENOTDIR ENOTEMPTY", "symlink": "EEXIST",
    "rename": "ENOENT EEXIST EINVAL EISDIR ENOTDIR ENOTEMPTY",
    "chmod": "ENOENT ELOOP", "stat": "ENOENT ELOOP", "list": "ENOENT",
    "setxattr": "ENOENT ELOOP", "fsync": "EINVAL", "close": "",
}


class Worker:
    def __init__(self, top, seed):
        self.top, self.rng, self.fds = top, random.Random(seed), []

    def path(self):
        return os.path.join(self.top, self.rng.choice(FOLDERS),
                            self.rng.choice(NAMES))

    def fd(self):
        return self.rng.choice(self.fds)

    def open(self):
        flags = self.rng.choice([
            os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT,
            os.O_RDWR | os.O_CREAT | os.O_TRUNC, os.O_WRONLY | os.O_APPEND])
        self.fds.append(os.open(self.path(), flags | os.O_NONBLOCK))

    def close(self):
        os.close(self.fds.pop(self.rng.randrange(len(self.fds))))

    def write(self):
        data = self.rng.randbytes(37) * self.rng.randrange(1, 4000)
        os.pwrite(self.fd(), data, self.rng.randrange(300000))

    def read(self):
        os.pread(self.fd(), self.rng.randrange(200000),
                 self.rng.randrange(300000))

    def truncate(self):
        os.ftruncate(self.fd(), self.rng.randrange(400000))

    def fallocate(self):
        fallocate(self.fd(), self.rng.choice([0, 1, 3, 16]),
                  self.rng.randrange(300000), self.rng.randrange(1, 200000))

    def fsync(self):
        os.fsync(self.fd())

    def unlink(self):
        os.unlink(self.path())

    def rename(self):
        renameat2(self.path(), self.path(), self.rng.choice([0, 0, 0, 1, 2]))

    def mkdir(self):
        os.mkdir(self.path())

    def rmdir(self):
        os.rmdir(self.path())

    def symlink(self):
        os.symlink("h", self.path())

    def chmod(self):
        os.chmod(self.path(), self.rng.choice([0o644, 0o600, 0o755]))

    def setxattr(self):
        os.setxattr(self.path(), "user.x", b"1")

    def stat(self):
        os.stat(self.path())

    def list(self):
        os.listdir(os.path.join(self.top, self.rng.choice(FOLDERS)))

    def run(self, seconds):
        """The forbidden results, and the number of calls."""
        calls = list(ALLOWED) + ["open"] * 4 + ["write"] * 4 + ["rename"] * 2
        wrong, ncalls = collections.Counter(), 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            call = self.rng.choice(calls)
            if not self.fds and call in ("close", "write", "read", "truncate",
                                         "fallocate", "fsync"):
                continue
            ncalls += 1
            try:
                getattr(self, call)()
            except OSError as e:
                name = errno.errorcode[e.errno]
                if name not in ALLOWED[call].split():
                    wrong[call, name] += 1
            while len(self.fds) > 8:
                self.close()
        while self.fds:
            self.close()
        return wrong, ncalls


def work(top, seed, seconds):
    """Runs the calls in a child process, which reports by its exit code."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        wrong, ncalls = Worker(top, seed).run(seconds)
        print(f"seed {seed}: {ncalls} calls", *wrong.items(), flush=True)
        code = bool(wrong)
    finally:
        os._exit(code)


def look(top):
    result = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            content = None
            if os.path.isfile(path) and not os.path.islink(path):
                content = pathlib.Path(path).read_bytes()
            result[os.path.relpath(path, top)] = st.st_mode, content
    return result


def look_settled(top):
    """With writeback_cache a size may be an older one (bloscfs(1)): as long as names may
    be out of date, and until the daemon has closed the file."""
    before, now = None, look(top)
    while before != now:
        time.sleep(ENTRY_TIMEOUT + 1)
        before, now = now, look(top)
    return now


def check_look(top, before):
    """Checks that @top looks as it did @before."""
    now = look(top)
    assert now.keys() == before.keys(), now.keys() ^ before.keys()
    for name, (mode, content) in before.items():
        assert now[name][0] == mode, (name, oct(mode), oct(now[name][0]))
        if content is not None:
            check_same(now[name][1], content, name)


def play(*options):
    os.makedirs("src/one", exist_ok=True)
    os.makedirs("src/two", exist_ok=True)
    options = (f"entry_timeout={ENTRY_TIMEOUT}", *options)
    text = ",".join(("chunksize=64k", "commit=1", "dirtysize=512k",
                     *options))
    seed = random.randrange(1 << 30)
    with Mount("src", "mnt", "-o", text):
        pids = [work("mnt", seed + i, SECONDS) for i in range(PROCESSES)]
        codes = [os.waitpid(pid, 0)[1] for pid in pids]
        assert codes == [0] * PROCESSES, codes
        before = (look_settled if "writeback_cache" in options else look)("mnt")
    assert ".bloscfs-deleted" not in os.listdir("src")
    subprocess.run([BUILD / "bloscctl", "verify", "-q", "-r", "src"],
                   check=True)
    with Mount("src", "mnt", "-o", "ro"):
        check_look("mnt", before)


def test_as_it_comes():
    play()


def test_with_writeback_cache():
    play("writeback_cache")


def test_with_one_thread():
    if not SANITIZED:
        play("attr_timeout=0,entry_timeout=0")


main()
