#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""New small files are one file each; larger ones become directories."""
import fcntl
import itertools
import mmap
import os
import pathlib
import random
import shutil
import subprocess
import threading

import blosc2
import numpy as np

from kills import CHANGES
from mounting import Mount, error_of, main, wait_until
from scratch import (Scratch, bloscctl, check_same, check_stock,
                     litter, stock_bytes)
from small import (FRAME, LIMIT, SMALL, append, check, hidden, noise,
                   traced)

def shown():
    return sorted(x for x in os.listdir("src") if not x.startswith(".bloscfs"))


def test_it_is_the_default():
    with Scratch():
        append(noise(LIMIT))
        append(noise(LIMIT + 1), "mnt/g")
        assert FRAME.is_file() and not pathlib.Path("src/g.b2frame").is_file()


def test_small_files_are_one_file():
    rng = np.random.default_rng(1)
    model = {"empty": b"", "one": b"1", "text": b"words " * 5000,
             "whole": noise(LIMIT)}
    with Scratch(SMALL):
        for name, data in model.items():
            pathlib.Path("mnt", name).write_bytes(data)
        for n in 5, 7000:
            np.save(f"mnt/{n}.npy", rng.random(n))
        for name, data in model.items():
            assert pathlib.Path("mnt", name).read_bytes() == data
            assert pathlib.Path(f"src/{name}.b2frame").is_file()
        assert {x.name for x in os.scandir("mnt") if x.is_file()} == \
            {*model, "5.npy", "7000.npy"}
    for name, data in model.items():
        check(data, True, pathlib.Path(f"src/{name}.b2frame"))
    for n in 5, 7000:
        path = pathlib.Path(f"src/{n}.npy.b2nd")
        assert path.is_file() and blosc2.open(path).shape == (n,)


def test_what_is_large_at_first_is_a_directory():
    """Any call that makes it longer, however much is not stored yet."""
    def extend(how, fd):
        if how == "write":
            os.pwrite(fd, b"e", LIMIT)
        elif how == "append":
            append(bytes(LIMIT + 1))
        elif how == "truncate":
            os.truncate("mnt/f", LIMIT + 1)
        elif how == "ftruncate":
            os.ftruncate(fd, LIMIT + 1)
        elif how == "fallocate":
            os.posix_fallocate(fd, 0, LIMIT + 1)
        elif how == "copy":
            pathlib.Path("other").write_bytes(noise(3 * LIMIT))
            with open("other", "rb") as f:
                os.sendfile(fd, f.fileno(), 0, 3 * LIMIT)

    with Scratch(SMALL):
        for how in ("write", "append", "truncate", "ftruncate", "fallocate",
                    "copy"):
            for n in 0, 1, 5000, LIMIT:
                data = noise(n)
                fd = os.open("mnt/f", os.O_RDWR | os.O_CREAT)
                number = os.fstat(fd).st_ino
                os.write(fd, data)
                assert FRAME.is_file()
                extend(how, fd)
                model = pathlib.Path("mnt/f").read_bytes()
                assert len(model) > LIMIT and FRAME.is_dir(), (how, n)
                if how != "copy":
                    assert model[:n] == data
                assert os.fstat(fd).st_ino == os.stat("mnt/f").st_ino == number
                os.close(fd)
                assert os.stat("mnt/f").st_ino == number
                assert [x.inode() for x in os.scandir("mnt")] == [number]
                check(model, False)
                # After a cut it keeps its form.
                os.truncate("mnt/f", 3)
                check(model[:3], False)
                assert not hidden()
                os.unlink("mnt/f")
    assert os.listdir("src") == []


def test_what_is_small_at_first_stays_one_file():
    """For each first commit, and each way to grow."""
    def commit(how):
        with open("mnt/f", "wb", buffering=0) as f:
            f.write(noise(10))
            if how == "fsync":
                os.fsync(f.fileno())
            elif how == "timer":
                wait_until(lambda: FRAME.stat().st_size > 300, "a commit")
            if how != "close":
                f.write(noise(5 * LIMIT))

    with Scratch(SMALL, "commit=1"):
        for how in "fsync", "timer", "close":
            commit(how)
            number = os.stat("mnt/f").st_ino
            append(noise(5 * LIMIT, 2))
            os.truncate("mnt/f", 7 << 20)
            os.truncate("mnt/f", 0)
            shutil.copyfile("/bin/bash", "mnt/f")
            assert os.stat("mnt/f").st_ino == number == FRAME.stat().st_ino
            check(pathlib.Path("/bin/bash").read_bytes(), True)
            os.unlink("mnt/f")
        # An empty file has no form yet, whoever has made it.
        pathlib.Path("mnt/f").touch()
    with Scratch(SMALL):
        append(noise(LIMIT + 1))
        check(noise(LIMIT + 1), False)


GROWN = {
    "head": "head -c {n} <data >mnt/{to}",
    "tee": "head -c {n} data | tee mnt/{to} >tee",
    "dd": "dd if=data of=mnt/{to} bs=4k status=none",
    "cat": "for i in $(seq 0 17); do dd if=data bs=4k count=1 skip=$i "
           "status=none >>mnt/{to}; done",
    "cp": "cp data mnt/{to}",
    "tar": "cp data {to}; tar cf - {to} | tar xf - -C mnt; rm {to}",
}


def test_the_index_tells_what_is_stored():
    """However a file becomes larger than a small one."""
    data = noise(LIMIT + 4096 + 100)
    pathlib.Path("data").write_bytes(data)

    def write(fsync):
        with open("mnt/pieces", "wb", buffering=0) as f:
            for i in range(0, len(data), 3000):
                f.write(data[i:i + 3000])
                if fsync:
                    os.fsync(f.fileno())

    for options in (SMALL,), (SMALL, "chunksize=64k"), ("small=0",):
        shutil.rmtree("src", ignore_errors=True)
        with Scratch(*options):
            for name, command in GROWN.items():
                subprocess.run(["bash", "-c", command.format(
                    n=len(data), to=name)], check=True)
            shutil.copyfile("data", "mnt/copyfile")
            write(False)
            os.rename("mnt/pieces", "mnt/unsynced")
            write(True)
        for path in pathlib.Path("src").iterdir():
            cbytes = blosc2.open(str(path)).cbytes
            # The told size includes the ids, and in one file the earlier chunks.
            most = len(data) + 2000
            if path.is_file():
                most = 2 * len(data) + LIMIT
            assert len(data) < cbytes < most, (options, path, cbytes)
            check_stock(path, data)


def test_one_file_is_not_much_longer_than_a_copy():
    """While a program writes to it, and others read it."""
    rng = random.Random(7)
    model = bytearray(noise(8 << 20))
    seen, ended = [], threading.Event()
    # All written versions of each page, and the index of the last version known to be
    # stored.
    written = {at: [bytes(model[at:at + 4096])] for at in range(0, len(model), 4096)}
    stored = dict.fromkeys(written, 0)

    def read(path):
        """Checks that each page has its stored version or a later one."""
        while not ended.is_set():
            page = rng.randrange(len(model) >> 12) << 12
            first = stored[page]
            with open(path, "rb") as f:
                f.seek(page)
                data = f.read(4096)
            if data not in written[page][first:]:
                seen.append((path, page, data in written[page]))

    def overwrite(fd, n):
        for _ in range(n):
            at = rng.randrange((len(model) >> 12) - 1) << 12
            written[at].append(rng.randbytes(4096))
            os.pwrite(fd, written[at][-1], at)
            stored[at] = len(written[at]) - 1
            model[at:at + 4096] = os.pread(fd, 4096, at)

    def check_length(what):
        got = FRAME.stat()
        assert got.st_size < 2 * len(model), (what, got.st_size, len(model))
        assert got.st_blocks * 512 < 1.3 * len(model), (what, got.st_blocks)
        # While a commit is written, the frame has the time of that write.
        wait_until(lambda: os.stat("mnt/f").st_mtime == FRAME.stat().st_mtime,
                   f"{what}: its time in SOURCE")

    with Scratch("small=1g", "chunksize=256k", "commit=1", "codec=lz4"):
        pathlib.Path("mnt/f").write_bytes(model)
        with Mount("src", "other", "-o", "ro"), open("mnt/f", "rb") as held:
            threads = [threading.Thread(target=read, args=("mnt/f",))]
            for thread in threads:
                thread.start()
            for i in range(6):
                fd = os.open("mnt/f", os.O_RDWR)
                overwrite(fd, 300)
                if i % 2:
                    os.fsync(fd)
                    overwrite(fd, 50)
                mtime = os.fstat(fd).st_mtime_ns
                os.close(fd)
                # Until a commit the time may be that of the last write in SOURCE.
                wait_until(lambda: os.stat("mnt/f").st_mtime_ns == mtime, "its time")
                check_length(i)
                assert held.seek(0) == 0 and held.read() == model
                wait_until(lambda: pathlib.Path("other/f").read_bytes() ==
                           model, "what was written")
            ended.set()
            for thread in threads:
                thread.join()
            assert not seen, seen
            for i in range(100):
                append(noise(5000, i))
                model += noise(5000, i)
            check_length("appended")
            with open("mnt/f", "ab", buffering=0) as f:
                for i in range(300):
                    f.write(noise(4096, i))
                    model += noise(4096, i)
                    if i % 20 == 0:
                        os.fsync(f.fileno())
            check_length("appended and synced")
        bloscctl("verify", FRAME)
    check(bytes(model), True)


def test_so_it_is_with_many_chunks():
    """The blocks of each file are known, though not all sizes are read."""
    rng = random.Random(3)
    model = bytearray(noise(20 << 20))
    with Scratch("small=1g", "chunksize=16k", "dirtysize=1m", "codec=lz4") as scratch:
        pathlib.Path("mnt/f").write_bytes(model)
        for _ in range(2):
            with open("mnt/f", "r+b", buffering=0) as f:
                for _ in range(2500):
                    at = rng.randrange(len(model) - 100)
                    f.seek(at)
                    model[at:at + 100] = rng.randbytes(100)
                    f.write(model[at:at + 100])
            got = FRAME.stat()
            assert got.st_size < 2 * len(model), got.st_size
            assert got.st_blocks * 512 < 1.3 * len(model), got.st_blocks
        assert "stays taken" not in scratch.mount.log()
    check(bytes(model), True)


def split_modes(paths):
    """Split modes of the headers, as C-Blosc2 counts: 1 always, 4 as Blosc 1."""
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            path /= "chunks.b2frame"
        with open(path, "rb") as f:
            yield (f.read(29)[28] & 3) + 1


def test_python_blosc2_2_0_0_opens_new_frames():
    """An older python-blosc2 knows no split mode 4, which means the same as 3."""
    pathlib.Path("data").write_bytes(noise(3 * LIMIT))
    for options in (SMALL,), ("small=0",):
        with Scratch(*options):
            name = f"{options[0]}"
            for n in 0, 9, 3 * LIMIT:
                pathlib.Path(f"mnt/{name}{n}").write_bytes(noise(n))
                np.save(f"mnt/{name}{n}.npy", np.arange(n))
    for form in "sparse", "contiguous":
        bloscctl("compress", f"--format={form}", "-o", f"src/{form}.b2frame",
                 "data")
    os.mkdir("src/lost.b2frame")
    shutil.copy("src/sparse.b2frame/00000000.chunk", "src/lost.b2frame")
    bloscctl("repair", "-o", "src/found.b2frame", "src/lost.b2frame")
    shutil.rmtree("src/lost.b2frame")
    paths = [*pathlib.Path("src").iterdir()]
    assert len(paths) == 15 and {*split_modes(paths)} == {3}


def test_arrays():
    """.npy files are directories from the start if their header tells a large size."""
    rng = np.random.default_rng(2)
    with Scratch(SMALL):
        for n in 1, 8000, 9000, 3, 100000, 2:
            a = rng.random(n)
            np.save("mnt/f.npy", a)
            assert np.array_equal(np.load("mnt/f.npy"), a)
            b = blosc2.open("src/f.npy.b2nd")
            assert isinstance(b, blosc2.NDArray) and np.array_equal(b[:], a)
        os.unlink("mnt/f.npy")
        small = rng.random(100)
        np.save("mnt/f.npy", small)
        whole = pathlib.Path("mnt/f.npy").read_bytes()
        for more in b"x", noise(2 * LIMIT):
            append(more, "mnt/f.npy")
            whole += more
            check(whole, True, pathlib.Path("src/f.npy.b2nd"))
        os.truncate("mnt/f.npy", 128 + small.nbytes)
        assert np.array_equal(blosc2.open("src/f.npy.b2nd")[:], small)
        wide = np.zeros(5, [(f"field{i}", "f8") for i in range(40)])
        np.save("mnt/wide.npy", wide)
        assert np.array_equal(np.load("mnt/wide.npy"), wide)


def test_names_come_and_go_while_it_is_open():
    a, b = noise(900), noise(3 * LIMIT, 1)
    with Scratch(SMALL):
        with open("mnt/gone", "wb+", buffering=0) as f:
            f.write(a)
            os.unlink("mnt/gone")
            f.write(b)
            os.fsync(f.fileno())
            f.seek(0)
            assert f.read() == a + b
            assert os.fstat(f.fileno()).st_nlink == 0
        assert shown() == []
        with open("mnt/old", "wb", buffering=0) as f:
            f.write(a)
            os.rename("mnt/old", "mnt/f")
            f.write(b)
        check(a + b, False)
        # Over one of the other form.
        append(b"small", "mnt/s")
        os.rename("mnt/s", "mnt/f")
        check(b"small", True)
        append(b, "mnt/l")
        os.rename("mnt/l", "mnt/f")
        check(b, False)
        os.unlink("mnt/f")
        assert shown() == [] and not hidden()
        # A hard link to a file.
        append(a)
        os.link("mnt/f", "mnt/g")
        append(b)
        for name in "f", "g":
            assert pathlib.Path("mnt", name).read_bytes() == a + b
            check(a + b, True, pathlib.Path(f"src/{name}.b2frame"))


def test_readers_go_on():
    """A reader that has opened the empty file sees its data, here and elsewhere."""
    model = bytearray()
    with Scratch(SMALL):
        pathlib.Path("mnt/f").touch()
        with Mount("src", "other", "-o", "ro"), open("mnt/f", "rb") as here:
            assert pathlib.Path("other/f").read_bytes() == b""
            for size in 5 * LIMIT, LIMIT // 2, 9:
                data = noise(size)
                append(data)
                model += data
                wait_until(lambda: here.seek(0) == 0 and
                           here.read() == model, f"{size} more bytes")
                assert FRAME.is_dir()
                wait_until(lambda: pathlib.Path("other/f").read_bytes() ==
                           model, f"{size} more bytes elsewhere")
    check(bytes(model), False)


def test_a_writer_that_waits_elsewhere():
    """The open gets the directory, not the file that was there at its beginning."""
    with Scratch(SMALL), Mount("src", "other", "-o", "rw") as other:
        with open("mnt/f", "ab", buffering=0) as f:
            def write():
                with open("other/f", "r+b") as g:
                    g.write(b"other")
                    os.fsync(g.fileno())

            thread = threading.Thread(target=write)
            thread.start()
            # The other mount has opened the file, and waits for its lock.
            wait_until(lambda: str(FRAME.absolute()) in other.open_paths(),
                       "an open elsewhere")
            f.write(bytes(2 * LIMIT))
        thread.join()
        want = b"other" + bytes(2 * LIMIT - 5)
        wait_until(lambda: pathlib.Path("mnt/f").read_bytes() == want,
                   "what was written elsewhere")
    check(want, False)


def test_maps():
    with Scratch(SMALL), open("mnt/f", "wb+", buffering=0) as f:
        f.write(bytes(5000))
        with mmap.mmap(f.fileno(), 5000) as m:
            m[10:14] = b"here"
            f.seek(0, 2)
            f.write(bytes(LIMIT))
            m[20:25] = b"there"
            m.flush()
            os.fsync(f.fileno())
        want = bytearray(5000 + LIMIT)
        want[10:14], want[20:25] = b"here", b"there"
        check_stock(FRAME, bytes(want))


def test_beside_c_blosc2():
    """A frame that C-Blosc2 has changed, or may lock, stays one file."""
    large = noise(2 * LIMIT)
    with Scratch(SMALL):
        pathlib.Path("mnt/f").touch()
        stock = blosc2.open(FRAME, mode="a")
        stock.vlmeta["theirs"] = 1
        append(large)
        stock = blosc2.open(FRAME)
        assert stock.vlmeta["theirs"] == 1
        check(large, True)
        pathlib.Path("mnt/locked").touch()
        pathlib.Path("src/locked.b2frame.b2lock").touch()
        append(large, "mnt/locked")
        check(large, True, pathlib.Path("src/locked.b2frame"))
        # The same holds for a lock made after the file was opened.
        with open("mnt/late", "wb", buffering=0) as f:
            f.write(b"x")
            pathlib.Path("src/late.b2frame.b2lock").touch()
            f.write(large)
        check(b"x" + large, True, pathlib.Path("src/late.b2frame"))
        blosc2.SChunk(data=b"z", urlpath="src/stock.b2frame", contiguous=True)
        os.truncate("mnt/stock", 2 * LIMIT)
        check(b"z" + bytes(2 * LIMIT - 1), True,
              pathlib.Path("src/stock.b2frame"))


def test_recompressed():
    """The frame stays one file, also when it grows."""
    with Scratch(SMALL):
        append(b"words " * 1000)
    bloscctl("recompress", "-9", "--codec=lz4hc", FRAME)
    check(b"words " * 1000, True)
    with Scratch(SMALL):
        append(bytes(LIMIT))
    check(b"words " * 1000 + bytes(LIMIT), True)


def test_where_names_cannot_be_exchanged():
    """The frame stays one file, which is as good."""
    with Scratch(SMALL) as scratch, \
            traced(scratch, "renameat2", "error=EINVAL"):
        append(bytes(LIMIT + 1))
        append(bytes(LIMIT), "mnt/g")
    check(bytes(LIMIT + 1), True)
    check(bytes(LIMIT), False, pathlib.Path("src/g.b2frame"))


def test_directories_from_the_start():
    """Options that ask for directories, or that one file cannot satisfy."""
    for options in ("small=0",), (SMALL, "noseal"), (SMALL, "locking"):
        with Scratch(*options):
            append(b"any")
            assert FRAME.is_dir(), options
            os.unlink("mnt/f")


def test_a_leftover_that_is_being_deleted():
    """A leftover that another mount has locked to delete does not get the name."""
    with Scratch(SMALL) as scratch:
        with open("mnt/f", "ab", buffering=0) as f:
            thread = threading.Thread(target=f.write, args=(bytes(LIMIT + 1),))
            with traced(scratch, "flock", "delay_enter=500000"):
                thread.start()
                wait_until(hidden, "a directory without a lock")
                fd = os.open(f"src/{hidden()[0]}", os.O_RDONLY)
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                thread.join()
            os.close(fd)
        check(bytes(LIMIT + 1), True)
        assert not hidden()


def test_a_file_that_is_being_made():
    """Data that another mount writes to it at that moment stays.

    That can only happen on a filesystem without O_TMPFILE.
    """
    os.mkdir("below")
    with Mount("below", "src", "-o", "rw"), Scratch(SMALL) as scratch, \
            Mount("src", "other", "-o", "rw"):
        thread = threading.Thread(target=append, args=(b"first",))
        with traced(scratch, "pwrite64", "delay_enter=1000000:when=1"):
            thread.start()
            wait_until(FRAME.exists, "a new file")
            append(b"other", "other/f")
            thread.join()
        found = pathlib.Path("mnt/f").read_bytes()
        assert sorted((found[:5], found[5:])) == [b"first", b"other"], found
        check(found, True)


def test_a_file_is_seen_when_it_is_whole():
    """On a filesystem with O_TMPFILE."""
    with Scratch(SMALL) as scratch:
        thread = threading.Thread(target=append, args=(b"first",))
        with traced(scratch, "pwrite64", "delay_enter=300000:when=1"):
            thread.start()
            wait_until(FRAME.exists, "a new file")
            assert FRAME.stat().st_size > 0
            thread.join()
    check(b"first", True)


ALL = f"{CHANGES},mkdirat,dup3"


def form_killed(durable, first, second, call):
    """Kills the daemon at its @call-th change.  Returns whether it came that far, and
    the number of acknowledged fsyncs."""
    shutil.rmtree("src", ignore_errors=True)
    told = 0
    scratch = Scratch(SMALL, "commit=0")
    scratch.start()
    with traced(scratch, ALL, f"signal=SIGKILL:when={call}"):
        try:
            with open("mnt/f", "wb", buffering=0) as f:
                f.write(first)
                if durable:
                    os.fsync(f.fileno())
                    told = 1
                f.write(second)
                os.fsync(f.fileno())
                told = 2
        except OSError:
            pass
        killed = scratch.mount.process.poll() is not None or told < 2
    scratch.kill()
    return killed, told


def test_a_kill_leaves_what_was_committed():
    first, second = noise(3000), noise(2 * LIMIT, 1)
    for durable in False, True:
        states = set()
        for call in itertools.count(1):
            killed, told = form_killed(durable, first, second, call)
            names = [x for x in os.listdir("src")
                     if not x.startswith(".bloscfs")]
            if told or names:
                assert names == [FRAME.name], (call, names)
                # The daemon was killed after the create, before any write.
                blank = FRAME.stat().st_size == 0
                found = b"" if blank else stock_bytes(FRAME)
                bloscctl("verify", FRAME)
                # The kernel cuts a write into several, and each may be the last.
                least = (0, len(first), len(first + second))[told]
                assert (first + second).startswith(found), (call, told)
                assert len(found) >= least, (call, told, len(found))
                states.add(FRAME.is_file())
                # The next mount reads it, and leaves nothing behind.
                with Scratch(SMALL):
                    check_same(pathlib.Path("mnt/f").read_bytes(), found, call)
                    append(b"more")
                assert os.listdir("src") == [FRAME.name], (call, hidden())
                assert not litter(FRAME)
                check_stock(FRAME, found + b"more")
            if not killed:
                break
        assert states == ({True} if durable else {False, True}), states


def test_an_error_leaves_what_can_be_used():
    """After one failure of any call the file has all acknowledged data."""
    first, second = noise(3000), noise(2 * LIMIT, 1)
    calls = ("mkdirat", "renameat2", "linkat", "fsync", "fdatasync", "fchmod",
             "pwrite64")
    kinds = set()
    for durable in False, True:
        for call in calls:
            shutil.rmtree("src", ignore_errors=True)
            with Scratch(SMALL, "commit=0") as scratch:
                with open("mnt/f", "ab", buffering=0) as f, traced(
                        scratch, call, "error=ENOSPC:when=1"):
                    done = error_of(f.write, first)
                    if durable:
                        done = done or error_of(os.fsync, f.fileno())
                    done = error_of(f.write, second) or done
                    done = error_of(os.fsync, f.fileno()) or done
                    # Refused data is still in memory, and this fsync stores it.
                    # strace counts the calls of each thread.
                    wait_until(lambda: not error_of(os.fsync, f.fileno()),
                               f"an fsync after {call}")
                    found = pathlib.Path("mnt/f").read_bytes()
                    if not done:
                        check_same(found, first + second, call)
                    kinds.add(FRAME.is_file())
            check_same(stock_bytes(FRAME), found, call)
            bloscctl("verify", FRAME)
            assert not litter(FRAME), (call, litter(FRAME))
    assert kinds == {False, True}


main()
