#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""C-Blosc2 and the mount change a frame at the same time."""
import contextlib
import errno
import os
import shutil
import subprocess
import sys
import threading
import time

import blosc2
import numpy as np

from mounting import PATIENCE, error_of, failing, main
from scratch import (Scratch, check_same, check_stock, chunk_file,
                     index_entries, litter)

CHUNK = 1 << 16
FRAME = "src/a.b2frame"
LOCKING = {**os.environ, "BLOSC_LOCKING": "1"}

# Appends chunks filled with 100, 101 ...; tells of each when it is done.
APPENDER = """
import sys, time
import blosc2
s = blosc2.open("src/a.b2frame", mode="a")
for n in range(int(sys.argv[1])):
    s.append_data(bytes([100 + n]) * 65536)
    print(n, flush=True)
    time.sleep(0.02)
"""

# A reader without locks, which opens the frame once.  Each chunk is one number
# over and over, which only grows.  Tells of each round over all of them.
READER = """
import sys
import blosc2
import numpy as np
s = blosc2.open("src/a.b2frame", mode="r")
last, rounds, errors = [0] * s.nchunks, 0, []
print("open", flush=True)
while min(last) < int(sys.argv[1]) and len(errors) < 3:
    for n in range(s.nchunks):
        try:
            got = np.frombuffer(s.decompress_chunk(n), "<u8")
        except Exception as error:
            errors.append(f"round {rounds}, chunk {n}: {error}")
            continue
        if not (got == got[0]).all() or got[0] < last[n]:
            errors.append(f"round {rounds}, chunk {n}: {got} after {last[n]}")
        last[n] = int(got[0])
    rounds += 1
    print("round", flush=True)
print(rounds, errors, flush=True)
sys.exit(bool(errors))
"""


def noise(seed, n=CHUNK):
    return np.random.default_rng(seed).bytes(n)


def append(*data):
    schunk = blosc2.open(FRAME, mode="a")
    for one in data:
        schunk.append_data(one)


def make_by_stock(data):
    """A frame whose chunks have their numbers in order, and no tags."""
    schunk = blosc2.SChunk(chunksize=CHUNK, urlpath=FRAME, contiguous=False,
                           cparams={"typesize": 1})
    for at in range(0, len(data), CHUNK):
        schunk.append_data(bytes(data[at:at + CHUNK]))


@contextlib.contextmanager
def opened(nchunks, *options):
    """The mounted file of @nchunks chunks, and its content."""
    want = bytearray(noise(0, nchunks * CHUNK))
    with Scratch("chunksize=64k", "commit=600", "attr_timeout=0", *options):
        with open("mnt/a", "wb") as f:
            f.write(want)
        fd = os.open("mnt/a", os.O_RDWR)
        try:
            yield fd, want
        finally:
            os.close(fd)
    check_stock(FRAME, bytes(want))
    assert not litter(FRAME), litter(FRAME)


@contextlib.contextmanager
def refused(how, *options, make=None):
    """The block changes the mounted file of four chunks, beside another program: then
    @how is refused."""
    with Scratch("chunksize=64k", "commit=600", "attr_timeout=0", *options):
        want = bytearray(noise(0, 4 * CHUNK))
        if make:
            make(want)
        else:
            with open("mnt/a", "wb") as f:
                f.write(want)
        fd = os.open("mnt/a", os.O_RDWR)
        yield fd, want
        assert error_of(how, fd) == errno.ESTALE
        error_of(os.close, fd)
        check_stock(FRAME, bytes(want))


def rewrite(want, n, seed):
    """C-Blosc2 rewrites chunk @n."""
    want[n * CHUNK:(n + 1) * CHUNK] = noise(seed)
    blosc2.open(FRAME, mode="a").update_data(n, noise(seed), copy=True)


def overwrite(fd, want, n, seed):
    data = noise(seed)
    assert os.pwrite(fd, data, n * CHUNK) == CHUNK
    want[n * CHUNK:(n + 1) * CHUNK] = data


def test_appended_chunks_take_no_number_of_ours():
    with opened(6) as (fd, want):
        for i in range(8):
            overwrite(fd, want, i % 6, 10 + i)
            overwrite(fd, want, (i + 3) % 6, 20 + i)
            # Workers write complete chunks without waiting for a commit.
            time.sleep(0.05)
            data = noise(100 + i)
            append(data)
            os.fsync(fd)
            want += data
            check_stock(FRAME, bytes(want))


def test_more_chunks_than_are_left_to_others():
    """C-Blosc2 takes chunk ids of ours; our chunks get other ids."""
    with opened(6) as (fd, want):
        for i in range(6):
            overwrite(fd, want, i, 10 + i)
        time.sleep(0.1)
        data = [noise(100 + i) for i in range(24)]
        append(*data)
        os.fsync(fd)
        want += b"".join(data)
        check_stock(FRAME, bytes(want))


def test_growing_beside_updates():
    """One of the two writers changes the size."""
    with opened(4) as (fd, want):
        for i in range(4):
            data = noise(50 + i, 2 * CHUNK)
            os.pwrite(fd, data, len(want))
            rewrite(want, i, 60 + i)
            os.fsync(fd)
            want += data
            check_stock(FRAME, bytes(want))


def test_a_rewritten_chunk_is_found_whatever_its_times_say():
    """The clock seems not to tick between our commit and their write."""
    with refused(os.fsync) as (fd, want):
        overwrite(fd, want, 0, 1)
        os.fsync(fd)
        os.pwrite(fd, noise(2, 100), CHUNK)
        rewrite(want, 1, 3)
        os.utime(chunk_file(FRAME, index_entries(FRAME)[1]), ns=(0, 0))


def test_a_rewritten_chunk_without_a_tag_is_found_by_its_times():
    """Another program made the frame: nothing in its chunks tells versions."""
    def make(want):
        make_by_stock(want)
        # A clock that ticks slowly would give both versions one time.
        time.sleep(0.1)

    with refused(os.fsync, make=make) as (fd, want):
        os.pwrite(fd, noise(9, 100), CHUNK)
        rewrite(want, 1, 10)


def test_a_chunk_that_both_change_is_refused_at_a_close():
    """A new frame: its commits are only visible, so that nothing is synced."""
    with refused(os.close, "small=0") as (fd, want):
        os.pwrite(fd, noise(1, 100), CHUNK)
        rewrite(want, 1, 2)


def test_an_array_of_another_shape_is_not_merged():
    with Scratch("commit=600", "attr_timeout=0"):
        array = blosc2.asarray(np.arange(6000).reshape(60, 100), mode="w",
                               urlpath="src/a.b2nd", contiguous=False,
                               chunks=(20, 100), blocks=(20, 100))
        fd = os.open("mnt/a", os.O_RDWR)
        os.pwrite(fd, bytes(8), 0)
        array.resize((80, 100))
        array[60:] = 7
        assert error_of(os.fsync, fd) == errno.ESTALE
        error_of(os.close, fd)
        got = blosc2.open("src/a.b2nd")[:]
        assert (got[:60].ravel() == np.arange(6000)).all() and (got[60:] == 7).all()


def test_replaced_files_stay_until_the_next_commit():
    """A reader without locks may use the index before."""
    n = 80
    with opened(n) as (fd, want):
        os.fsync(fd)
        before = set(os.listdir(FRAME))
        for i in range(n):
            overwrite(fd, want, i, 1000 + i)
        os.fsync(fd)
        time.sleep(0.5)
        assert before <= set(os.listdir(FRAME))


def test_of_two_programs_that_change_the_size_the_second_is_refused():
    with refused(os.fsync) as (fd, want):
        os.ftruncate(fd, 2 * CHUNK)
        append(noise(2))
        want += noise(2)


def test_a_freed_number_that_another_program_takes():
    """C-Blosc2 has written the chunk, but not the index yet."""
    want = bytearray(noise(0, 6 * CHUNK))
    with Scratch("chunksize=64k", "commit=600", "attr_timeout=0"):
        make_by_stock(want)
        fd = os.open("mnt/a", os.O_RDWR)
        n = 5
        del want[n * CHUNK:]
        os.ftruncate(fd, len(want))
        os.fsync(fd)
        path = chunk_file(FRAME, max(index_entries(FRAME)) + 1)
        assert path.exists()
        theirs = blosc2.compress2(noise(7), typesize=1)
        path.write_bytes(theirs)
        for i in range(3):
            overwrite(fd, want, i % n, 30 + i)
            os.fsync(fd)
        os.close(fd)
    # The mount has removed what it has left itself.
    assert path.read_bytes() == theirs
    assert litter(FRAME) == [path.name], litter(FRAME)
    os.unlink(path)
    check_stock(FRAME, bytes(want))


def test_a_writer_goes_on_though_another_mount_had_the_frame_for_a_moment():
    with Scratch("small=0") as scratch:
        with open("mnt/a", "wb") as f:
            f.write(bytes(CHUNK))
        with open("mnt/a", "r+b", buffering=0) as f:
            other = blosc2.open(FRAME, mode="a")
            other.vlmeta["by"] = "another program"
            del other
            # The mount takes in that change, but is not the first to lock the frame.
            with failing(scratch.mount, "flock:error=EAGAIN"):
                os.stat("mnt/a")
                assert error_of(f.write, b"not") == errno.EBUSY
            f.write(b"new")
            os.fsync(f.fileno())
        check_stock(FRAME, b"new" + bytes(CHUNK - 3))


def test_both_with_locks():
    """Both write as fast as they can; the mount shrinks the file, too."""
    n = 60
    with opened(8, "locking") as (fd, want):
        # Numbers that are free, and about to be deleted.
        del want[4 * CHUNK:]
        os.ftruncate(fd, len(want))
        os.fsync(fd)
        with subprocess.Popen([sys.executable, "-c", APPENDER, str(n)],
                              env=LOCKING, stdout=subprocess.PIPE) as stock:
            commits = 0
            while stock.poll() is None:
                overwrite(fd, want, commits % 4, 1000 + commits)
                os.fsync(fd)
                commits += 1
            assert stock.wait() == 0 and stock.stdout.read().count(b"\n") == n
        assert commits > 1, commits
        for i in range(n):
            want += bytes([100 + i]) * CHUNK
        check_same(open("mnt/a", "rb").read(), bytes(want), "the mount")



class Rounds:
    """Counts the rounds of READER; @said is its last line."""

    def __init__(self, pipe):
        self.pipe, self.count, self.said = pipe, 0, ""
        self.told = threading.Condition()
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        for line in self.pipe:
            with self.told:
                self.count += 1
                self.said = line
                self.told.notify()
        with self.told:
            self.pipe = None
            self.told.notify()

    def wait_for(self, count):
        """Waits for @count rounds, or the end of READER; returns the number."""
        with self.told:
            self.told.wait_for(lambda: self.count >= count or not self.pipe,
                               PATIENCE)
            return self.count


def test_a_reader_without_locks():
    """The mount commits as often as it can, and readers see the new data."""
    def chunk(number):
        return np.full(CHUNK // 8, number, "<u8").tobytes()

    ncommits, nrounds, last = 300, 100, 10**6
    with opened(0) as (fd, want):
        want[:] = b"".join(chunk(0) for _ in range(8))
        os.pwrite(fd, want, 0)
        os.fsync(fd)
        with subprocess.Popen([sys.executable, "-c", READER, str(last)],
                              stdout=subprocess.PIPE, text=True) as stock:
            assert stock.stdout.readline() == "open\n"
            rounds = Rounds(stock.stdout)
            i = done = 0
            while i < ncommits or rounds.count < nrounds:
                # 64 replaced files stay: one round may not take longer.
                if i % 24 == 0:
                    done = rounds.wait_for(done + 1)
                if not rounds.pipe:
                    break
                i += 1
                n = i % 8
                want[n * CHUNK:(n + 1) * CHUNK] = chunk(i)
                os.pwrite(fd, chunk(i), n * CHUNK)
                os.fsync(fd)
            for n in range(8):
                want[n * CHUNK:(n + 1) * CHUNK] = chunk(last)
                os.pwrite(fd, chunk(last), n * CHUNK)
            os.fsync(fd)
            rounds.thread.join()
            assert stock.wait(PATIENCE) == 0, rounds.said


# Opens once, and reads the chunk whose first byte it is told, when it is told to.
PATIENT = """
import sys
import blosc2
opened = blosc2.open(sys.argv[1], mode="r")
s = getattr(opened, "schunk", opened)
print("open", flush=True)
for line in sys.stdin:
    try:
        print(s.decompress_chunk(int(line))[0], flush=True)
    except Exception as error:
        print("error", error, flush=True)
"""


def follow(path, make):
    """A commit of ours, a change of theirs, a commit of ours; returns the answer.

    A reader without locks has looked at the first and at the last one.
    """
    def ours(number):
        fd = os.open("mnt/a", os.O_RDWR)
        os.pwrite(fd, bytes([number]) * CHUNK, 0)
        os.fsync(fd)
        os.close(fd)

    def ask(stock):
        stock.stdin.write("0\n")
        stock.stdin.flush()
        return stock.stdout.readline()

    with Scratch("chunksize=64k", "commit=600", "attr_timeout=0") as scratch:
        make(path)
        ours(1)
        scratch.mount.wait_until_closed(path)
        with subprocess.Popen([sys.executable, "-c", PATIENT, path],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as stock:
            assert stock.stdout.readline() == "open\n"
            first = ask(stock)
            assert first == "1\n", first
            opened = blosc2.open(path, mode="a")
            getattr(opened, "schunk", opened).update_data(1, bytes(CHUNK),
                                                          copy=True)
            ours(2)
            scratch.mount.wait_until_closed(path)
            answer = ask(stock)
            stock.stdin.close()
            stock.wait()
    shutil.rmtree("src")
    return answer


def make_array(path):
    data = np.frombuffer(noise(0, 6 * CHUNK), "<u8").reshape(48, -1)
    blosc2.asarray(data, urlpath=path, contiguous=False, mode="w",
                   chunks=(8, data.shape[1]), blocks=(8, data.shape[1]))


def make_plain(path):
    blosc2.SChunk(chunksize=CHUNK, data=noise(0, 6 * CHUNK), urlpath=path,
                  contiguous=False, cparams={"typesize": 8, "nthreads": 1})


def test_a_reader_without_locks_is_not_stuck_at_a_length_that_comes_again():
    """An index has the old length by chance once in 1,024 times."""
    for path, make in (FRAME, make_plain), ("src/a.b2nd", make_array):
        answers = [follow(path, make) for _ in range(3)]
        assert answers.count("2\n") >= 2, answers


main()
