# SPDX-License-Identifier: BSD-3-Clause
"""rounds - a mount and C-Blosc2 change the same frame in turn

A round is a change through the mount, which stays mounted, and a change by
python-blosc2 in SOURCE, or both before either is committed.  After each round both have
to read the data of the model.  The frame keeps its chunk size: C-Blosc2 gets full
chunks, except for the last one.  Both use the locks of C-Blosc2, or neither does.

C-Blosc2 writes a contiguous frame in place, and may move our uncommitted chunks; so
there our commit may be refused even if C-Blosc2 changed other chunks.
"""
import errno
import os
import shutil
import time

import blosc2
import numpy as np

from mounting import error_of
from scratch import (PLAIN, Scratch, bloscctl, check_same, check_stock,
                     chunk_file, index_entries, is_sealed, litter,
                     make_contiguous, unsealed)

CHUNK = 1 << 16
FRAME = "src/a.b2frame"
SHOWN = "mnt/a"
# The desired number of chunks.
FEW, MANY = 6, 24
# Commits happen on request only.  With timeouts of 0 foreign changes are visible at
# once.
OPTIONS = ("chunksize=64k", "commit=600")
AT_ONCE = ("attr_timeout=0", "entry_timeout=0")


class Game:
    def __init__(self, seed, typesize, contiguous=False):
        self.rng = np.random.default_rng(seed)
        self.typesize = typesize
        self.contiguous = contiguous
        self.model = bytearray()
        # Rounds in which the changes of both were kept.
        self.merged = 0
        # The history, for the message of a failure.
        self.told = []

    # ---- data ----

    def below(self, n):
        return int(self.rng.integers(0, n))

    def data(self, n, kind=None):
        kind = self.below(4) if kind is None else kind
        if kind == 0:
            return bytes(n)
        if kind == 1:
            return self.rng.integers(0, 256, n, dtype="u1").tobytes()
        start = self.below(1 << 30)
        return np.arange(start, start + n // 4 + 1, dtype="<u4").tobytes()[:n]

    def nchunks(self):
        return -(-len(self.model) // CHUNK)

    def tell(self, *what):
        self.told.append(" ".join(map(str, what)))

    # ---- through the mount ----

    def pick_range(self):
        size = int(self.rng.choice([1, 100, 4096, 9999, CHUNK, 2 * CHUNK + 7]))
        return self.below(len(self.model) + CHUNK // 4), size

    def write(self, fd, off, data):
        self.tell("write", off, len(data))
        assert os.pwrite(fd, data, off) == len(data)
        if off > len(self.model):
            self.model += bytes(off - len(self.model))
        self.model[off:off + len(data)] = data

    def truncate(self, fd):
        size = self.below(min(len(self.model) + CHUNK, MANY * CHUNK))
        size = max(size, FEW * CHUNK)
        self.tell("truncate", size)
        os.ftruncate(fd, size)
        del self.model[size:]
        self.model += bytes(size - len(self.model))

    def change_through_mount(self):
        fd = os.open(SHOWN, os.O_RDWR)
        before, bare = index_entries(FRAME), unsealed(FRAME)
        for _ in range(1 + self.below(4)):
            off, size = self.pick_range()
            self.write(fd, off, self.data(size))
        if self.below(6) == 0 or self.nchunks() > MANY:
            self.truncate(fd)
        if self.below(2):
            self.tell("fsync")
            os.fsync(fd)
            self.check_frame()
        os.close(fd)
        self.tell("close")
        self.check_frame()
        self.mount.mount.wait_until_closed(FRAME)
        self.check_seals(before, bare)
        self.check_frame()

    def check_seals(self, before, bare):
        """Checks that new chunks are sealed.

        In a contiguous frame that has become shorter other chunks may have moved.
        """
        now = unsealed(FRAME)
        for n, entry in enumerate(index_entries(FRAME)):
            assert entry in before or n not in now or \
                self.contiguous and n in bare, (n, entry)

    # ---- behind its back ----

    def stock(self, change):
        schunk = blosc2.open(FRAME, mode="a")
        change(schunk)
        del schunk

    def stock_update(self, n, kind=None):
        last = n == self.nchunks() - 1
        size = CHUNK
        if last and self.below(2):
            size = self.typesize * (1 + self.below(CHUNK // self.typesize))
        data = self.data(size, kind)
        self.tell("stock update", n, size)
        self.stock(lambda s: s.update_data(n, data, copy=True))
        self.model[n * CHUNK:(n + 1) * CHUNK] = data
        return n

    def make_last_full(self):
        """Makes the last chunk full; otherwise C-Blosc2 would go on with variable
        chunks."""
        if len(self.model) % CHUNK:
            n = self.nchunks() - 1
            data = self.data(CHUNK)
            self.tell("stock fills the last chunk")
            self.stock(lambda s: s.update_data(n, data, copy=True))
            self.model[n * CHUNK:] = data

    def stock_append(self):
        self.make_last_full()
        size = CHUNK
        if self.below(3) == 0:
            size = self.typesize * (1 + self.below(1000))
        data = self.data(size)
        self.tell("stock append", size)
        self.stock(lambda s: s.append_data(data))
        self.model += data
        return self.nchunks() - 1

    def stock_insert(self):
        self.make_last_full()
        n = self.below(self.nchunks() + 1)
        data = self.data(CHUNK)
        self.tell("stock insert", n)
        self.stock(lambda s: s.insert_data(n, data, copy=True))
        self.model[n * CHUNK:n * CHUNK] = data
        return n

    def stock_delete(self):
        n = self.below(self.nchunks())
        self.tell("stock delete", n)
        self.stock(lambda s: s.delete_chunk(n))
        del self.model[n * CHUNK:(n + 1) * CHUNK]
        return None

    def change_behind(self):
        what = self.below(8)
        if self.nchunks() < FEW or what == 0:
            changed = self.stock_append()
        elif self.nchunks() > MANY or what == 1:
            changed = self.stock_delete()
        elif what == 2:
            changed = self.stock_insert()
        else:
            changed = self.stock_update(self.below(self.nchunks()))
        if changed is not None and not self.contiguous:
            entry = int(index_entries(FRAME)[changed])
            assert entry < 0 or not is_sealed(chunk_file(FRAME, entry)), \
                (changed, entry)
        self.check_frame()

    # ---- both at once ----

    def begin_ours(self, fd):
        """Makes uncommitted changes of whole chunks; returns them by number, None: cut
        off.
        """
        n = self.nchunks()
        kind = self.below(4)
        if kind == 0:
            # An odd end is a change of that chunk.
            cut = 1 + self.below(2)
            os.ftruncate(fd, (n - cut) * CHUNK)
            return {n - 1 - i: None for i in range(cut)}
        wanted = range(n, n + 1 + self.below(3)) if kind == 1 else \
            {self.below(n) for _ in range(1 + self.below(4))}
        ours = {i: self.data(CHUNK, kind=1) for i in wanted}
        for i, data in ours.items():
            assert os.pwrite(fd, data, i * CHUNK) == CHUNK
        if self.below(2):
            # Workers write complete chunks.
            time.sleep(0.02)
        return ours

    def change_theirs(self, sizes_differ):
        """The chunks that C-Blosc2 changes, with @sizes_differ not their row.
        """
        n = self.nchunks()
        kind = 2 if sizes_differ else self.below(4)
        if kind == 0:
            more = [self.data(CHUNK) for _ in range(1 + self.below(20))]
            self.tell("stock appends", len(more))
            self.stock(lambda s: [s.append_data(data) for data in more])
            self.model += b"".join(more)
            return set(range(n, n + len(more)))
        if kind == 1:
            self.tell("stock cuts one off, and maybe adds another one")
            self.stock(lambda s: s.delete_chunk(n - 1))
            del self.model[(n - 1) * CHUNK:]
            if self.below(2):
                data = self.data(CHUNK, kind=1)
                self.stock(lambda s: s.append_data(data))
                self.model += data
            return {n - 1}
        theirs = {self.below(n) for _ in range(1 + self.below(2))}
        for i in theirs:
            data = self.data(CHUNK, kind=1)
            self.tell("stock update", i)
            self.stock(lambda s: s.update_data(i, data, copy=True))
            self.model[i * CHUNK:(i + 1) * CHUNK] = data
        return theirs

    def end_ours(self, fd, same_chunk):
        """Commits what @fd has changed; returns whether it was refused."""
        got = error_of(os.fsync, fd)
        closed = error_of(os.close, fd)
        self.tell("ours gives", got)
        may = {errno.ESTALE} if same_chunk else {0}
        if self.contiguous:
            may.add(errno.ESTALE)
        assert got in may, f"fsync gives {got}, not {may}"
        assert closed in (0, got), f"close gives {closed}"
        # A reader that opens the file before the daemon has closed it would see the
        # refused data.
        self.mount.mount.wait_until_closed(FRAME)
        self.merged += not same_chunk and not got
        return got != 0

    def both(self):
        """A commit is refused only if both changed the same chunk."""
        self.make_last_full()
        fd = os.open(SHOWN, os.O_RDWR)
        n = self.nchunks()
        ours = self.begin_ours(fd)
        self.tell("ours, not committed", sorted(ours), "of", n)
        cut = None in ours.values()
        theirs = self.change_theirs(cut or max(ours) >= n)
        refused = self.end_ours(fd, bool(theirs & set(ours)))
        if not refused and cut:
            del self.model[min(ours) * CHUNK:]
        elif not refused:
            for i, data in sorted(ours.items()):
                self.model[i * CHUNK:(i + 1) * CHUNK] = data
        self.check_frame()

    def conflict(self):
        """Uncommitted changes in the mount while C-Blosc2 changes a chunk in SOURCE.

        Changes of different chunks are merged; of the same chunk, the change of
        C-Blosc2 stays.
        """
        ours, theirs = (self.below(self.nchunks() - 1) for _ in range(2))
        before = bytes(self.model)
        fd = os.open(SHOWN, os.O_RDWR)
        data = b"\1" + self.data(999)
        off = ours * CHUNK + self.below(CHUNK - 1000)
        self.tell("conflict", ours, theirs)
        self.write(fd, off, data)
        self.model[:] = before
        # Noise: zeros in the place of zeros would be no change.
        self.stock_update(theirs, kind=1)
        if not self.end_ours(fd, ours == theirs):
            self.model[off:off + len(data)] = data
        self.check_frame()

    def idle_writer(self):
        """The file is open for writing, without changes, while C-Blosc2 changes it."""
        fd = os.open(SHOWN, os.O_RDWR)
        first = self.pick_range()[0]
        self.write(fd, first, self.data(100))
        os.fsync(fd)
        self.stock_update(self.below(self.nchunks() - 1))
        if AT_ONCE[0] not in self.mount.options:
            time.sleep(1.1)
        off = self.below(len(self.model) - 100)
        before = bytes(self.model)
        got = error_of(self.write, fd, off, self.data(100)) or \
            error_of(os.fsync, fd)
        closed = error_of(os.close, fd)
        # The opened frame may be gone; then nothing was written.
        if got:
            self.model[:] = before
        assert got in (0, errno.ESTALE) and closed in (0, got), (got, closed)
        self.check_frame()

    # ---- the game ----

    def check_frame(self):
        check_stock(FRAME, bytes(self.model))

    def check_mount(self):
        if AT_ONCE[0] not in self.mount.options:
            time.sleep(1.1)
        with open(SHOWN, "rb") as f:
            got = f.read()
        check_same(got, bytes(self.model), "the mount")
        assert os.path.getsize(SHOWN) == len(self.model)

    def round(self):
        kind = self.below(8)
        self.told.clear()
        if kind == 0:
            self.conflict()
        elif kind == 1:
            self.idle_writer()
        elif kind < 5 and self.nchunks() >= FEW:
            self.both()
        else:
            self.change_through_mount()
            self.check_mount()
            self.change_behind()
        self.check_mount()
        assert bloscctl("cat", FRAME) == self.model

    def start(self):
        """Makes the frame, through the mount or by C-Blosc2."""
        shutil.rmtree("src", ignore_errors=True)
        os.mkdir("src")
        self.model += self.data(FEW * CHUNK + 8 * self.below(5000))
        if self.below(2):
            blosc2.SChunk(chunksize=CHUNK, data=bytes(self.model),
                          urlpath=FRAME, contiguous=self.contiguous,
                          cparams={"typesize": self.typesize, "nthreads": 1})
            return
        if self.contiguous:
            make_contiguous(FRAME, chunk=CHUNK, typesize=self.typesize)
        with Scratch(*OPTIONS, f"typesize={self.typesize}"), \
                open(SHOWN, "wb") as f:
            f.write(self.model)

    def play(self, rounds, slow, locking):
        """@slow: with the kernel's usual timeouts."""
        options = (*OPTIONS, *(() if slow else AT_ONCE),
                   "locking" if locking else "nolocking")
        # C-Blosc2 reads the variable at each open.
        os.environ["BLOSC_LOCKING"] = "1" if locking else "0"
        with Scratch(*options) as self.mount:
            for number in range(rounds):
                try:
                    self.round()
                except Exception as error:
                    raise AssertionError(
                        f"round {number} of this mount, options {options}: "
                        f"{self.told}") from error
        self.check_frame()
        assert os.path.isfile(FRAME) == self.contiguous
        # Without locks the last close leaves dead bytes that it has just made: another
        # program may be writing behind them.
        left = [x for x in litter(FRAME) if locking or "bytes" not in x]
        assert not self.contiguous or not left, left


def play(rounds, seed, each=10, slow_every=10, contiguous=False):
    """Plays @each rounds per mount; some mounts are slow, half have locks."""
    assert not PLAIN, "there is nothing to play on a plain folder"
    game = Game(seed, (1, 4, 8)[seed % 3], contiguous)
    game.start()
    for number in range(-(-rounds // each)):
        game.play(min(each, rounds - number * each),
                  number % slow_every == slow_every - 1,
                  (number + seed) % 2 == 0)
    print(f"{rounds} rounds, {game.merged} times changes of both were merged")
