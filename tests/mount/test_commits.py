#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""When written data are stored, and the results of a failure."""
import contextlib
import errno
import mmap
import os
import pathlib
import resource
import signal
import subprocess
import time

import blosc2

from committing import CHUNK, incompressible, mounted, small_disk, write
from mounting import (SANITIZED, data, error_of, main, make, of_threads, tmpfs,
                      wait_until, wait_until_stock)
from scratch import stock_bytes as stock


def change_below(n, content, path="src/a.b2frame"):
    """C-Blosc2 rewrites chunk @n."""
    blosc2.open(path, mode="a").update_data(n, content, copy=True)


def close_without_room():
    """Bytes that are in memory alone, as the disk is full: the close has failed."""
    write("mnt/a", b"before")
    pathlib.Path("src/fill").write_bytes(bytes((4 << 20) - 100000))
    new = incompressible(1000000)
    f = open("mnt/a", "wb", buffering=0)
    f.write(new)
    assert error_of(f.close) == errno.ENOSPC
    return new


def size_below(path="src/a.b2frame"):
    return blosc2.open(path, mode="r").nbytes


def test_only_commits_are_seen_below():
    want = data(300000)
    with mounted("commit=600"):
        with open("mnt/a", "wb", buffering=0) as f:
            f.write(want[:100000])
            assert size_below() == 0
            os.fsync(f.fileno())
            assert stock("src/a.b2frame") == want[:100000]
            f.write(want[100000:])
            assert os.fstat(f.fileno()).st_size == 300000
            assert stock("src/a.b2frame") == want[:100000]
            # Every close of a writer commits, not only the last one.
            os.close(os.dup(f.fileno()))
            assert stock("src/a.b2frame") == want
            f.write(b"more")
        assert stock("src/a.b2frame") == want + b"more"
        # A truncation by name has no close.
        os.truncate("mnt/a", 5000)
        assert stock("src/a.b2frame") == want[:5000]
        with open("mnt/a", "r+b") as f:
            mapped = mmap.mmap(f.fileno(), 0)
        mapped[0:5] = b"first"
        mapped.close()
        wait_until_stock(lambda: stock("src/a.b2frame")[:5] == b"first",
                         "the map")


def test_the_timer_commits():
    with mounted("commit=2"), open("mnt/a", "wb", buffering=0) as f:
        for i in range(3):
            f.write(data(1000))
            assert size_below() == i * 1000
            wait_until_stock(lambda: size_below() == (i + 1) * 1000, "commit")
    with mounted("commit=0"), open("mnt/a", "ab", buffering=0) as f:
        f.write(b"x")
        time.sleep(2.5)
        assert size_below() == 3000


def test_the_end_of_the_mount_stores_all():
    """A signal stores data, also of open files."""
    want = data(300000)
    for number, sig in enumerate([signal.SIGTERM, signal.SIGINT,
                                  signal.SIGHUP]):
        mount = mounted("commit=600", "writeback_cache" if number else "rw")
        mount.__enter__()
        fds = [os.open(f"mnt/{number}{i}", os.O_CREAT | os.O_RDWR)
               for i in range(3)]
        for fd in fds:
            os.write(fd, want)
        mapped = mmap.mmap(fds[0], 0)
        mapped[5:11] = b"mapped"
        os.kill(mount.pid, sig)
        assert mount.process.wait(20) == 0, mount.log()
        mapped.close()
        for fd in fds:
            error_of(os.close, fd)
        mount.log_file.close()
        for i in range(3):
            got = stock(f"src/{number}{i}.b2frame")
            assert got[11:] == want[11:], (number, i)
        assert stock(f"src/{number}0.b2frame")[5:11] == b"mapped"


def test_a_full_disk_does_not_stop_files_on_another_one():
    with tmpfs("src/full", "size=1m"), mounted("dirtysize=2m", "commit=600"):
        fds = [os.open(f"mnt/full/{n}", os.O_CREAT | os.O_RDWR)
               for n in range(3)]
        for n, fd in enumerate(fds):
            # Until a write fails for lack of room, or never: the disk and twice
            # dirtysize take 53 of them, if encoding is slow.
            for i in range(60):
                if error_of(os.write, fd, incompressible(100000, i)):
                    break
            assert i < 59, n
        # A program that writes elsewhere neither waits nor fails.
        many = incompressible(8 << 20, 5)
        write("mnt/elsewhere", many)
        assert stock("src/elsewhere.b2frame") == many
        for fd in fds:
            os.ftruncate(fd, 0)
        for fd in fds:
            os.pwrite(fd, b"there is room", 0)
            os.close(fd)
        assert stock("src/full/2.b2frame") == b"there is room"


def wait_for_encoders():
    """Waits until all chunks are stored; a late one would find its room taken by later
    chunks."""
    before = None
    while before != (now := os.statvfs("src").f_bfree):
        before = now
        time.sleep(1)


def copy_too_much(name, want, flags=os.O_CREAT | os.O_TRUNC):
    """Writes @want, for which there is no room, to a file of a new mount."""
    mount = mounted("dirtysize=1m", "commit=600")
    mount.__enter__()
    fd = os.open(f"mnt/{name}", flags | os.O_RDWR)
    at, waits = 0, True
    with contextlib.suppress(OSError):
        while at < len(want):
            if waits and at >= 5 << 20:
                wait_for_encoders()
                waits = False
            # There may be room for a part of it.
            at += os.write(fd, want[at:at + CHUNK])
        raise AssertionError("it does fit")
    assert error_of(os.close, fd) == errno.ENOSPC
    subprocess.run(["umount", "mnt"], check=True)
    assert mount.process.wait(20) == 8
    mount.log_file.close()


def test_a_copy_that_did_not_fit_leaves_its_beginning():
    want = incompressible(8 << 20)
    with small_disk("6m"):
        copy_too_much("a", want)
        got = stock("src/a.b2frame")
        assert len(got) > 4 << 20 and got == want[:len(got)]
    # A chunk at the end that is not full may grow, and must not change.
    for old in incompressible(1 << 20, 1), incompressible(50000, 1):
        with small_disk("6m"):
            with mounted():
                write("mnt/a", old)
            copy_too_much("a", want)
            # The old data is not replaced by a part of the new.
            assert stock("src/a.b2frame") == old
            copy_too_much("a", want, os.O_APPEND)
            got = stock("src/a.b2frame")
            assert len(got) > 2 << 20 and got == (old + want)[:len(got)]


def test_what_a_close_could_not_store_is_kept():
    with small_disk(), mounted("dirtysize=16m", "commit=600") as m:
        new = close_without_room()
        m.wait_for_log("kept in memory")
        # Reads give the written data, and they are stored once there is room.
        assert pathlib.Path("mnt/a").read_bytes() == new
        os.unlink("src/fill")
        wait_until_stock(lambda: stock("src/a.b2frame") == new, "a later try")
        assert pathlib.Path("mnt/a").read_bytes() == new


def test_a_truncation_that_could_not_be_stored_is_undone():
    want = incompressible(1000000)
    with small_disk(), mounted("commit=1") as m:
        write("mnt/a", want)
        with open("src/fill", "wb", buffering=0) as f:
            while not error_of(f.write, bytes(4096)):
                pass
        assert error_of(os.truncate, "mnt/a", 500001) == errno.ENOSPC
        assert pathlib.Path("mnt/a").read_bytes() == want
        os.unlink("src/fill")
        write("mnt/b", b"later")
        time.sleep(2.5)
        assert stock("src/a.b2frame") == pathlib.Path("mnt/a").read_bytes() \
            == want, m.log()


def test_what_could_not_be_stored_keeps_an_unused_mount():
    with small_disk(), mounted("dirtysize=16m", "commit=600",
                               "timeout=1") as m:
        new = close_without_room()
        m.wait_for_log("kept in memory")
        time.sleep(4)
        assert m.process.poll() is None, m.log()
        os.unlink("src/fill")
        assert m.process.wait(150) == 0, m.log()
        m.ended = True
        assert stock("src/a.b2frame") == new


def test_the_end_tries_again_for_a_moment():
    with mounted("dirtysize=16m", "commit=600") as m:
        limit = resource.prlimit(m.pid, resource.RLIMIT_NOFILE)
        new = incompressible(1000000)
        f = open("mnt/a", "wb", buffering=0)
        f.write(new)
        resource.prlimit(m.pid, resource.RLIMIT_NOFILE, (3, limit[1]))
        assert error_of(f.close) == errno.EMFILE
        subprocess.run(["umount", "mnt"], check=True)
        time.sleep(1)
        resource.prlimit(m.pid, resource.RLIMIT_NOFILE, limit)
        assert m.process.wait(20) == 0, m.log()
        m.ended = True
        assert stock("src/a.b2frame") == new


def test_a_mount_that_could_not_store_all_says_so():
    with small_disk():
        mount = mounted("dirtysize=16m", "commit=600")
        mount.__enter__()
        new = close_without_room()
        subprocess.run(["umount", "mnt"], check=True)
        assert mount.process.wait(20) == 8
        assert "changes are lost" in mount.log()
        mount.log_file.close()
        # Or as much of the new data as fitted a small file.
        left = stock("src/a.b2frame")
        assert left == b"before" or new.startswith(left), len(left)


def test_two_writers():
    """Two mounts of one frame: only one of them writes at a time."""
    with mounted(), mounted(path="other"):
        write("mnt/a", b"one")
        f = open("mnt/a", "r+b", buffering=0)
        start = time.monotonic()
        assert error_of(open, "other/a", "r+b") == errno.EBUSY
        assert time.monotonic() - start < 10
        assert pathlib.Path("other/a").read_bytes() == b"one"
        # The mount waits for the program that has just closed it.
        closer = subprocess.Popen(["sleep", "1"])
        f.write(b"two")
        f.close()
        closer.wait()
        write("other/a", b"three")
        wait_until(lambda: pathlib.Path("mnt/a").read_bytes() == b"three",
                   "the other's changes")


def check_conflict(f, theirs):
    """Checks that the data written to @f are refused, and that @theirs stays and is
    shown."""
    assert error_of(os.fsync, f.fileno()) == errno.ESTALE
    assert error_of(f.close) == errno.ESTALE
    assert stock("src/a.b2frame") == theirs
    wait_until(lambda: pathlib.Path("mnt/a").read_bytes() == theirs,
               "the other's change")


def test_changes_of_different_chunks_are_merged():
    """Without timeouts at once; the kernel's cache does not hide them, either."""
    for options in ("attr_timeout=0,entry_timeout=0",), ():
        with mounted("commit=600", *options):
            want = bytearray(data(4 * CHUNK))
            write("mnt/a", want)
            with open("mnt/a", "r+b", buffering=0) as f:
                f.write(b"ours")
                want[:4] = b"ours"
                # The kernel caches pages now, with the time of that write.
                assert pathlib.Path("mnt/a").read_bytes() == want
                want[2 * CHUNK:3 * CHUNK] = data(CHUNK, seed=5)
                change_below(2, data(CHUNK, seed=5))
                os.fsync(f.fileno())
                assert stock("src/a.b2frame") == want
                if options:
                    assert pathlib.Path("mnt/a").read_bytes() == want
                wait_until(lambda: os.pread(f.fileno(), len(want), 0) == want,
                           "the other's change")
            assert pathlib.Path("mnt/a").read_bytes() == want


def test_of_two_changes_of_a_chunk_the_foreign_one_stays():
    with mounted("attr_timeout=0,entry_timeout=0", "commit=600"):
        want = bytearray(data(4 * CHUNK))
        write("mnt/a", want)
        f = open("mnt/a", "r+b", buffering=0)
        f.write(b"lost")
        want[:CHUNK] = data(CHUNK, seed=5)
        change_below(0, data(CHUNK, seed=5))
        check_conflict(f, want)


def test_the_end_tells_of_refused_changes():
    """No program could be told."""
    with mounted("commit=600") as mount:
        write("mnt/a", data(CHUNK))
        f = open("mnt/a", "r+b", buffering=0)
        f.write(b"lost")
        change_below(0, data(CHUNK, seed=5))
        mount.end(signal.SIGTERM, 8)
        assert "changes are lost" in mount.log()
    error_of(f.close)


def test_a_reader_does_not_keep_what_was_refused():
    """A reader opens the file before the last close of the writer."""
    with mounted("attr_timeout=0,entry_timeout=0", "commit=600"):
        want = bytearray(data(4 * CHUNK))
        write("mnt/a", want)
        f = open("mnt/a", "r+b", buffering=0)
        f.write(b"lost")
        os.ftruncate(f.fileno(), 5 * CHUNK)
        want[:CHUNK] = data(CHUNK, seed=5)
        change_below(0, bytes(want[:CHUNK]))
        with open("mnt/a", "rb", buffering=0) as reader:
            assert reader.read(4) == b"lost"
            assert error_of(f.close) == errno.ESTALE
            wait_until(lambda: os.pread(reader.fileno(), 6 * CHUNK, 0) == want,
                       "what is on disk")
            # The next writer goes on from there.
            with open("mnt/a", "r+b", buffering=0) as f:
                f.write(b"next")
                os.fsync(f.fileno())
            want[:4] = b"next"
            assert stock("src/a.b2frame") == want
            assert os.pread(reader.fileno(), 6 * CHUNK, 0) == want


def test_a_chunk_that_others_took_away():
    """The frame to append to is gone: a conflict, and no damage."""
    with mounted("attr_timeout=0,entry_timeout=0", "commit=600"):
        want = bytearray(data(4 * CHUNK))
        write("mnt/a", want)
        for gone in (1, 0):
            f = open("mnt/a", "r+b", buffering=0)
            os.pwrite(f.fileno(), b"lost", gone * CHUNK + 10)
            s = blosc2.open("src/a.b2frame", mode="a")
            s.delete_chunk(gone)
            del s
            del want[gone * CHUNK:(gone + 1) * CHUNK]
            check_conflict(f, want)


def change_the_last_hole(size):
    """The last chunk is a short hole; here it gets another length."""
    want = bytearray(data(CHUNK) + bytes(CHUNK // 2))
    write("mnt/a", want)
    f = open("mnt/a", "r+b", buffering=0)
    os.ftruncate(f.fileno(), size)
    theirs = data(CHUNK // 2, seed=5)
    change_below(1, theirs)
    want[CHUNK:] = theirs
    check_conflict(f, want)


def test_a_hole_that_others_fill_while_its_length_changes():
    with mounted("attr_timeout=0,entry_timeout=0", "commit=600"):
        for size in (CHUNK + 100, 2 * CHUNK, 3 * CHUNK + 7):
            change_the_last_hole(size)


def append_beside(end):
    """C-Blosc2 appends a chunk while another one is not committed yet."""
    want = bytearray(data(4 * CHUNK))
    write("mnt/a", want)
    before = set(os.listdir("src/a.b2frame"))
    with open("mnt/a", "r+b", buffering=0) as f:
        want[:CHUNK] = data(CHUNK, seed=6)
        f.write(want[:CHUNK])
        wait_until(lambda: set(os.listdir("src/a.b2frame")) - before,
                   "a chunk file")
        s = blosc2.open("src/a.b2frame", mode="a")
        s.append_data(data(CHUNK, seed=7))
        end(s)
        want[4 * CHUNK:] = b"".join(s.decompress_chunk(n)
                                    for n in range(4, s.nchunks))
        del s
        os.fsync(f.fileno())
    assert stock("src/a.b2frame") == want
    assert pathlib.Path("mnt/a").read_bytes() == want


def test_others_append_for_a_while():
    with mounted("attr_timeout=0,entry_timeout=0", "commit=600"):
        append_beside(lambda s: None)
        append_beside(lambda s: s.delete_chunk(4))
        append_beside(lambda s: s.update_data(4, bytes(CHUNK), copy=True))


def test_an_idle_mount_does_nothing():
    os.mkdir("src")
    make("src/a.b2frame", None, nbytes=1000)
    with mounted() as m:
        assert len(pathlib.Path("mnt/a").read_bytes()) == 1000
        time.sleep(2.5)

        def switches():
            total = 0
            for text in of_threads(m.pid, "status"):
                for line in text.split("\n"):
                    if "ctxt_switches" in line:
                        total += int(line.split()[1])
            return total

        def is_quiet():
            before = switches()
            time.sleep(2)
            return switches() == before

        # The thread sanitizer has a thread of its own.
        assert SANITIZED or any(is_quiet() for _ in range(20))


main()
