# SPDX-License-Identifier: BSD-3-Clause
"""names - writes, cuts, renames, links and deletes a few files

One thread changes them, and checks each length and each byte against a model. Others
list and read meanwhile. If nothing changed from before their look until after it, they
check as exactly; otherwise only that the result is possible.
"""
import collections
import contextlib
import errno
import os
import pathlib
import shutil
import threading
import time

import numpy as np

from scratch import PLAIN, Scratch, check_same, check_stock
from syscalls import EXCHANGE, NOREPLACE, renameat2

NAMES = [f"n{i}" for i in range(8)]
SIZES = [1, 100, 4095, 4096, 8190, 8193, 16384, 20001, 50000]
LARGEST = 200000
READERS = 3
SMALL = "small=0", "small=8k"
AT_ONCE = ("attr_timeout=0", "entry_timeout=0")


def matrix():
    """The options of each run."""
    for times in (), AT_ONCE:
        for small in SMALL:
            yield (small, "chunksize=16k", "commit=1", *times)


def rename(old, new, flags):
    renameat2(f"mnt/{old}", f"mnt/{new}", flags)


class File:
    """Expected content of an inode.  While @times is odd, a change goes on."""

    def __init__(self):
        self.data = bytearray()
        self.times = 0
        self.nlinks = 1


class Game:
    def __init__(self, seed, pause):
        self.rng = np.random.default_rng(seed)
        # Seconds between two looks of the other threads.
        self.between = pause
        self.names = {}
        # Like File.times, for each name.
        self.moves = dict.fromkeys(NAMES, 0)
        # (descriptor, file)
        self.open = []
        self.told = collections.deque(maxlen=60)
        self.failed = None
        self.ended = False
        self.nlooks = self.nexact = 0

    def below(self, n):
        return int(self.rng.integers(0, n))

    def pick(self, some):
        return some[self.below(len(some))]

    def tell(self, *what):
        self.told.append(" ".join(map(str, what)))

    def any_data(self):
        n = self.pick(SIZES)
        if self.below(2):
            return self.rng.integers(0, 256, n, dtype="u1").tobytes()
        start = self.below(1 << 30)
        return np.arange(start, start + n // 4 + 1, dtype="<u4").tobytes()[:n]

    @contextlib.contextmanager
    def changing(self, *names, file=None):
        for name in names:
            self.moves[name] += 1
        if file:
            file.times += 1
        yield
        if file:
            file.times += 1
        for name in names:
            self.moves[name] += 1

    # ---- operations on a file ----

    def some_fd(self):
        """(descriptor, file, is it new?): an open file if there is any, or one opened
        now."""
        if self.open and self.below(3):
            return *self.pick(self.open), False
        if not self.names:
            self.create()
        name = self.pick(sorted(self.names))
        self.tell("open", name)
        return os.open(f"mnt/{name}", os.O_RDWR), self.names[name], True

    def leave(self, fd, file, is_new):
        """Closes the file, or keeps it open."""
        if not is_new:
            return
        if len(self.open) < 4 and self.below(3) == 0:
            self.open.append((fd, file))
        else:
            self.tell("close")
            os.close(fd)

    def write(self, fd, file):
        data = self.any_data()
        off = self.pick([0, len(file.data), self.below(len(file.data) + 9000)])
        off = min(off, LARGEST)
        self.tell("write", fd, off, len(data), "of", len(file.data))
        with self.changing(file=file):
            assert os.pwrite(fd, data, off) == len(data)
            if off > len(file.data):
                file.data += bytes(off - len(file.data))
            file.data[off:off + len(data)] = data

    def cut(self, fd, file):
        size = self.pick([0, self.below(len(file.data) + 1),
                          self.below(len(file.data) + 20000)])
        self.tell("cut", fd, size, "of", len(file.data))
        with self.changing(file=file):
            os.ftruncate(fd, size)
            del file.data[size:]
            file.data += bytes(size - len(file.data))

    def read(self, fd, file):
        self.tell("read", fd, len(file.data))
        size = os.fstat(fd).st_size
        got = os.pread(fd, LARGEST * 2, 0)
        check_same(got, bytes(file.data), f"descriptor {fd}")
        assert size == len(got), (size, len(got))

    def sync(self, fd, _):
        self.tell("fsync", fd)
        os.fsync(fd)

    def with_fd(self):
        action = self.pick([self.write] * 6 + [self.cut] * 2 +
                           [self.read] * 3 + [self.sync])
        fd, file, is_new = self.some_fd()
        action(fd, file)
        self.leave(fd, file, is_new)

    def close(self):
        if self.open:
            fd, _ = self.open.pop(self.below(len(self.open)))
            self.tell("close", fd)
            os.close(fd)

    # ---- operations on names ----

    def create(self):
        """Makes a new file, or empties an existing one."""
        name = self.pick(NAMES)
        file = self.names.get(name)
        self.tell("create", name, "which is" if file else "which is not")
        with self.changing(name, file=file):
            fd = os.open(f"mnt/{name}", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            if not file:
                self.names[name] = file = File()
                file.times = 1
            file.data.clear()
            if file.times == 1:
                file.times = 2
                file = None
        file = self.names[name]
        if self.below(2):
            self.write(fd, file)
        self.leave(fd, file, True)

    def cut_by_name(self):
        if not self.names:
            return
        name = self.pick(sorted(self.names))
        file = self.names[name]
        size = self.below(len(file.data) + 20000)
        self.tell("cut", name, size, "of", len(file.data))
        with self.changing(file=file):
            os.truncate(f"mnt/{name}", size)
            del file.data[size:]
            file.data += bytes(size - len(file.data))

    def unlink(self):
        if not self.names:
            return
        name = self.pick(sorted(self.names))
        self.tell("unlink", name)
        with self.changing(name):
            os.unlink(f"mnt/{name}")
            self.names.pop(name).nlinks -= 1

    def move(self):
        """Renames a file, replacing or not, or exchanges two."""
        if not self.names:
            return
        old, new = self.pick(sorted(self.names)), self.pick(NAMES)
        source, target = self.names[old], self.names.get(new)
        flags = self.pick([0, 0, 0, NOREPLACE] + [EXCHANGE] * bool(target))
        if flags == NOREPLACE and target:
            return
        self.tell("rename", old, new, flags)
        with self.changing(*{old, new}):
            rename(old, new, flags)
            if source is target:
                return
            self.names[new] = source
            if flags == EXCHANGE:
                self.names[old] = target
                return
            del self.names[old]
            if target:
                target.nlinks -= 1

    def link(self):
        free = [x for x in NAMES if x not in self.names]
        if not free or not self.names:
            return
        old, new = self.pick(sorted(self.names)), self.pick(free)
        self.tell("link", old, new)
        with self.changing(old, new):
            os.link(f"mnt/{old}", f"mnt/{new}")
            self.names[new] = self.names[old]
            self.names[new].nlinks += 1

    # ---- checks ----

    def check(self):
        """Checks one name, by a new open."""
        name = self.pick(NAMES)
        file = self.names.get(name)
        self.tell("check", name)
        if not file:
            assert not os.path.exists(f"mnt/{name}"), name
            return
        st = os.stat(f"mnt/{name}")
        data = pathlib.Path(f"mnt/{name}").read_bytes()
        check_same(data, bytes(file.data), name)
        assert st.st_size == len(data), (name, st.st_size, len(data))
        assert st.st_nlink == file.nlinks, (name, st.st_nlink, file.nlinks)

    def check_all(self):
        assert sorted(os.listdir("mnt")) == sorted(self.names)
        for name, file in self.names.items():
            data = pathlib.Path(f"mnt/{name}").read_bytes()
            check_same(data, bytes(file.data), name)

    def check_stored(self):
        """Checks the frames with C-Blosc2, after the end of the mount."""
        for name, file in {} if PLAIN else self.names.items():
            check_stock(f"src/{name}.b2frame", bytes(file.data))

    # ---- the others ----

    def list_once(self):
        before = dict(self.moves), set(self.names)
        listed = os.listdir("mnt")
        after = dict(self.moves), set(self.names)
        assert len(listed) == len(set(listed)), listed
        assert set(listed) <= set(NAMES), listed
        for name in NAMES:
            times = before[0][name]
            if times % 2 == 0 and times == after[0][name]:
                assert (name in listed) == (name in before[1]), (name, listed)

    def look_once(self, rng):
        """Checks length and bytes of a file that may change meanwhile."""
        name = NAMES[rng.integers(len(NAMES))]
        moves, file = self.moves[name], self.names.get(name)
        times = file.times if file else 0
        want = bytes(file.data) if file else None
        size = got = None
        try:
            size = os.stat(f"mnt/{name}").st_size
            got = pathlib.Path(f"mnt/{name}").read_bytes()
        except OSError as error:
            assert error.errno == errno.ENOENT, error
        still = moves % 2 == 0 and self.moves[name] == moves and (
            not file or times % 2 == 0 and file.times == times)
        self.nlooks += 1
        if not still:
            assert len(got or b"") <= LARGEST * 2
            return
        self.nexact += 1
        if not file:
            assert got is None, f"{name} is there, {len(got)} bytes"
            return
        assert got is not None, f"{name} is not there"
        check_same(got, want, f"{name} for another thread")
        assert size == len(want), (name, size, len(want))

    def look_on(self, seed):
        rng = np.random.default_rng(seed)
        try:
            while not self.ended:
                if rng.integers(3) == 0:
                    self.list_once()
                else:
                    self.look_once(rng)
                time.sleep(self.between)
        except Exception as error:  # raised by step()
            self.failed = self.failed or error

    # ---- the game ----

    def step(self):
        """Does one operation."""
        if self.failed:
            raise self.failed
        self.pick([self.with_fd] * 8 + [self.check] * 6 + [self.close] * 2 +
                  [self.create] * 3 + [self.move] * 3 +
                  [self.unlink, self.cut_by_name, self.link])()
        if self.below(50) == 0:
            # Pause, so that commits of the timer happen.
            self.pause()

    def pause(self):
        time.sleep(self.pick([0.005, 0.02, 0.1]))

    def close_all(self):
        for fd, _ in self.open:
            os.close(fd)
        self.open.clear()

    def play(self, count, options):
        """@count operations on one mount."""
        self.failed, self.ended = None, False
        with Scratch(*options):
            readers = [threading.Thread(target=self.look_on, args=(i,))
                       for i in range(READERS)]
            self.check_all()
            for thread in readers:
                thread.start()
            try:
                for _ in range(count):
                    self.step()
            finally:
                self.ended = True
                for thread in readers:
                    thread.join()
                self.close_all()
            if self.failed:
                raise self.failed
            self.check_all()
        self.check_stored()


def play(count, seed, options, each=2000, pause=0):
    """@count operations, with a remount after @each."""
    shutil.rmtree("src", ignore_errors=True)
    game = Game(seed, pause)
    for first in range(0, count, each):
        try:
            game.play(min(each, count - first), options)
        except Exception as error:
            raise AssertionError(f"seed {seed}, options {options}, mount "
                                 f"{first // each}: {[*game.told]}") from error
    print(f"{count} operations, {game.nexact} of {game.nlooks} looks of "
          "others were exact")
