# SPDX-License-Identifier: BSD-3-Clause
"""power - power cuts of the disk below a mount

Afterwards every file can be read and has its content of some moment, not before the
last change that was acknowledged as durable.
"""
import contextlib
import os
import pathlib
import random
import sqlite3
import threading

import blosc2

from mounting import Mount
from power_disk import Cuts, RecordedDisk, in_memory, mounted, why_not
from power_history import ABSENT, History, digest
from power_work import Work, sync_directory
from scratch import (INDEX, PLAIN, bloscctl, frames, make_contiguous,
                     stock_bytes)

# Wraps a daemon so that its syncs succeed without syncing.
CARELESS = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e",
            "trace=fsync,fdatasync,syncfs,sync", "-e",
            "inject=fsync,fdatasync,syncfs,sync:retval=0"]
# Seconds after which closed files are durable: the timer's, and a moment.
COMMIT, LATER = 1, 4


@contextlib.contextmanager
def neighbour(path, seed):
    """Another program that syncs on the same disk, in bursts.

    So at each step of the daemon the disk may have more than it has synced, mostly
    names without contents.
    """
    done = threading.Event()
    rng = random.Random(seed)

    def sync(fd):
        while not done.wait(rng.choice([0, 0, 0, 0.3]) * rng.random()):
            for _ in range(rng.randrange(40)):
                os.pwrite(fd, rng.randbytes(8), 0)
                os.fsync(fd)
                done.wait(rng.random() * 0.01)

    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    thread = threading.Thread(target=sync, args=(fd,))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        os.close(fd)


@contextlib.contextmanager
def shown(source, path, options=(), wrap=()):
    """The mount @path of @source; with B2F_PLAIN @source itself."""
    if PLAIN:
        yield source
        return
    with Mount(source, path, "-o", ",".join(["rw", *options]),
               wrap=wrap) as mount:
        yield mount.path


def is_read_by_its_maker(frame):
    """Can C-Blosc2 read @frame?  Some short last chunks of its own it cannot decode."""
    try:
        stock_bytes(frame)
    except RuntimeError:
        return False
    return True


def add_contiguous(source, rng, count=12):
    """Frames in one file each, made by C-Blosc2: their bytes by name."""
    made = {}
    for n in range(count):
        content = rng.randbytes(8) * rng.choice([0, 5, 8192, 50000, 200000])
        content += rng.randbytes(rng.choice([0, 99, 70000]))
        chunksize, typesize = rng.choice([4096, 1 << 16, 1 << 20]), \
            rng.choice([1, 8])
        frame = source / f"c{n}.b2frame"
        make_contiguous(frame, content, chunksize, typesize)
        if not is_read_by_its_maker(frame):
            frame.unlink()
            make_contiguous(frame, content, chunksize, 1)
        made[f"c{n}"] = content
    os.sync()
    return made


def wait_for_timer(history):
    history.step("wait for the timer")
    if not PLAIN:
        threading.Event().wait(LATER)
        for path in history.states:
            history.acknowledged(path)
    history.step("end")


def record(disk, rounds, seed, options, wrap=(), contiguous=False):
    """Works on a mount of a directory of @disk; returns the Work.

    @contiguous: on frames of C-Blosc2 as well.
    """
    history = History(disk.now)
    source = disk.path / "src"
    source.mkdir()
    made = add_contiguous(source, random.Random(seed)) if contiguous else {}
    sync_directory(disk.path)
    with shown(source, "mnt", [f"commit={COMMIT}", *options], wrap) as top, \
            neighbour(disk.path / "other", seed):
        work = Work(top, history, seed, mapped="direct_io" not in options)
        work.adopt(made)
        try:
            work.play(rounds)
        finally:
            work.close()
        wait_for_timer(history)
    return work


def record_changes(disk, seed, options):
    """Changes each frame of C-Blosc2 in place, with no other work."""
    history = History(disk.now)
    source = disk.path / "src"
    source.mkdir()
    made = add_contiguous(source, random.Random(seed), count=3)
    with shown(source, "mnt", [f"commit={COMMIT}", *options]) as top:
        work = Work(top, history, seed)
        work.tables.clear()
        work.adopt(made)
        work.do_all(2, work.changes)
        wait_for_timer(history)
    return work


class Check:
    """Checks the state after a cut at @moment; collects failures."""

    def __init__(self, work, moment, source, top):
        self.work, self.history, self.moment = work, work.history, moment
        self.source, self.top = source, top
        self.failures = []
        # path -> bytes, or None
        self.found = {}
        # Files that were never synced, and that cannot be read
        self.unreadable = 0

    def fail(self, what):
        self.failures.append(what)

    def names(self):
        """All files in the mount."""
        for top, directories, files in os.walk(self.top):
            for name in files:
                yield os.path.relpath(os.path.join(top, name), self.top)

    def read_all(self):
        for path in [*self.names()]:
            try:
                self.found[path] = (self.top / path).read_bytes()
            except OSError as error:
                self.found[path] = None
                self.check_unreadable(path, error)

    def check_unreadable(self, path, error):
        """Only a file that was never synced may be unreadable; it can be deleted
        then."""
        if self.is_of_table(path):
            # SQLite's own check counts.  SQLite makes the -shm file anew; the
            # damaged one would end the daemon with an error.
            self.unreadable += 1
            if path.endswith("-shm"):
                (self.top / path).unlink()
            return
        if path not in self.history.states or \
                self.history.is_kept(path, self.moment):
            self.fail(f"{path}: {error.strerror}")
            return
        self.unreadable += 1
        try:
            (self.top / path).unlink()
            (self.top / path).write_bytes(b"new")
            assert (self.top / path).read_bytes() == b"new"
        except OSError as again:
            self.fail(f"{path}: {error.strerror}, then {again.strerror}")

    def is_of_table(self, path):
        return path.startswith(tuple(x.path for x in self.work.tables))

    def check_file(self, path):
        content = self.found.get(path, ABSENT)
        if content is None:
            return
        possible = self.history.possible(path, self.moment)
        # Plain filesystems keep parts of unsynced data.
        if PLAIN and len(possible) > 1:
            return
        if digest(content) not in possible:
            self.fail(f"{path}: {digest(content)}, not one of {possible}")

    def check_files(self):
        known = self.history.states
        for path in known:
            self.check_file(path)
        for path in self.found:
            if path not in known and not self.is_of_table(path):
                self.fail(f"{path}: it was never made")
        for old, new, states in self.history.moved(self.moment):
            contents = [self.found.get(x, ABSENT) for x in (old, new)]
            if not any(x is not None and digest(x) in states
                       for x in contents):
                self.fail(f"{old}, renamed to {new}, is at neither")

    def check_frames(self):
        """Checks that C-Blosc2 reads the data that the mount shows."""
        contiguous = [path for path in self.source.rglob("*.b2frame")
                      if path.is_file() and path.name != INDEX]
        for frame in frames(self.source) + contiguous:
            path = str(frame.relative_to(self.source).with_suffix(""))
            index = frame if frame.is_file() else frame / INDEX
            # An unreadable file was reported before.  A file never synced
            # may have an index without content: it is empty, for us alone.
            if self.found.get(path) is None or not any(index.read_bytes()):
                continue
            try:
                same = stock_bytes(frame) == self.found[path]
            except (RuntimeError, ValueError) as error:
                self.fail(f"{frame.name}, C-Blosc2: {error}")
                continue
            if not same:
                self.fail(f"{frame.name}: other bytes for C-Blosc2")

    def ask(self, table):
        """(SQLite's own check of @table, its rows); adds a row."""
        path = self.top / table.path
        with contextlib.closing(sqlite3.connect(path)) as db:
            ok = db.execute("pragma integrity_check").fetchall()
            rows = db.execute("select count(*) from t").fetchone()[0]
            db.execute("insert into t values(-1, 'still here')")
            db.commit()
            return ok, rows

    def check_table(self, table):
        least, most = table.possible(self.moment)
        if least is None:
            return
        try:
            ok, rows = self.ask(table)
        except sqlite3.Error as error:
            self.fail(f"{table.path}: {error}")
            return
        if ok != [("ok",)]:
            self.fail(f"{table.path}: {ok}")
        if not least <= rows <= most:
            self.fail(f"{table.path}: {rows} rows, not {least} to {most}")

    def check_writing(self):
        """Each file can be changed."""
        for path, content in self.found.items():
            if content is None or path not in self.history.states:
                continue
            try:
                with open(self.top / path, "ab") as f:
                    f.write(b"!")
                    f.flush()
                    os.fsync(f.fileno())
                now = (self.top / path).read_bytes()
            except OSError as error:
                self.fail(f"{path}, appending: {error.strerror}")
                continue
            if now != content + b"!":
                self.fail(f"{path}: wrong after an append")

    def run(self):
        self.read_all()
        self.check_files()
        self.check_frames()
        for table in self.work.tables:
            self.check_table(table)
        self.check_writing()


def check_cut(cuts, work, moment, kind):
    """Returns the failures, and the number of unsynced files that cannot be read."""
    # A new file: mount(8) would take the loop device that the last one had.
    image = pathlib.Path(f"cut-{moment}.img")
    cuts.cut(moment, image)
    failures, unreadable = [], 0
    log = pathlib.Path("log")
    log.unlink(missing_ok=True)
    try:
        with mounted(image, "cut", kind) as disk:
            source = disk / "src"
            with shown(source, "after") as top:
                check = Check(work, moment, source, top)
                check.run()
            failures, unreadable = check.failures, check.unreadable
            if not failures and not unreadable and not PLAIN:
                bloscctl("verify", "-r", source)
    except Exception as error:
        failures.append(f"{type(error).__name__}: {error}")
    image.unlink()
    if failures and log.exists():
        failures += log.read_text().splitlines()
    return failures, unreadable


def choose(cuts, work, count, rng):
    """@count moments: at acknowledgements, at flushes, and random ones; None: all."""
    first = work.history.steps[0][0]
    if count is None:
        return [at for at in cuts.moments() if at >= first]
    acknowledged = sorted({at for marks in work.history.marks.values()
                           for at, _ in marks} |
                          {at for table in work.tables
                           for at, _ in table.acknowledged})
    moments = set()
    for share, among in ((2, acknowledged), (4, cuts.flushes()),
                         (4, cuts.moments())):
        among = [at for at in among if at >= first]
        moments.update(rng.sample(among, min(count // share, len(among))))
    return sorted(moments)


def tell(work, moment, failures):
    print(f"cut at {moment}, after {work.history.last_steps(moment)}")
    for failure in failures:
        print(f"    {failure}")


def check_cuts(disk, work, count, seed):
    """Returns the number of cuts, of @count or all, that left failures, plus one if too
    many unsynced files cannot be read."""
    cuts = Cuts(disk, seed)
    moments = choose(cuts, work, count, random.Random(seed))
    bad, unreadable = 0, 0
    for moment in moments:
        failures, lost = check_cut(cuts, work, moment, disk.kind)
        if failures:
            tell(work, moment, failures)
        bad += bool(failures)
        unreadable += lost
    print(f"{disk.kind}, seed {seed}: {len(cuts.entries)} writes and flushes, "
          f"{len(work.history.steps)} operations, {len(moments)} cuts, "
          f"{bad} with failures; {unreadable} files cannot be read that were "
          "never synced")
    cuts.close()
    # A journal can end between the names of chunk files and the index's name.
    return bad + (unreadable > len(moments) // 10)


def cut(kind, count, seed, recording, *args):
    """Makes @count cuts, or all, of what @recording does to a disk.  Returns the number
    that left failures."""
    reason = why_not()
    assert not reason, f"this test cannot run here: {reason}"
    blosc2.set_nthreads(1)
    with in_memory("power"):
        with RecordedDisk(kind) as disk:
            work = recording(disk, *args)
        return check_cuts(disk, work, count, seed)


def cut_power(kind, count, seed, rounds, options=(), wrap=(),
              contiguous=False):
    return cut(kind, count, seed, record, rounds, seed, options, wrap, contiguous)


def cut_at_each_write(kind, seed, options=()):
    """A cut after each write and flush of changes to contiguous frames."""
    return cut(kind, None, seed, record_changes, seed, options)
