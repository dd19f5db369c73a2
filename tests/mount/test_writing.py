#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every way to write, with the kernel's writeback cache and without."""
import concurrent.futures
import ctypes
import errno
import json
import mmap
import os
import pathlib
import shutil
import subprocess
import threading
import time

import blosc2
import numpy as np

from committing import CHUNK, libc, mounted
from mounting import (BUILD, SANITIZED, SOURCE, data, error_of, main, make,
                      wait_until_stock)

KEEP, PUNCH, COLLAPSE, ZERO = 1, 2, 8, 16
MODES = [(), ("writeback_cache",)]


def fallocate(fd, mode, off, size):
    if libc.fallocate(fd, mode, ctypes.c_long(off), ctypes.c_long(size)):
        raise OSError(ctypes.get_errno(), "fallocate")


def in_both_modes(play):
    """@play gets the options of the mount, and a name for its files."""
    for n, options in enumerate(MODES):
        play(options, f"f{n}")


def read(path):
    return pathlib.Path(path).read_bytes()


def stock(name):
    """What C-Blosc2 reads."""
    s = blosc2.open(f"src/{name}.b2frame", mode="r")
    return b"".join(s.decompress_chunk(i) for i in range(s.nchunks))


def check(name, want):
    assert read(f"mnt/{name}") == want
    assert os.path.getsize(f"mnt/{name}") == len(want)
    assert stock(name) == want


def test_a_new_file():
    def play(options, name):
        want = data(1000000)
        with mounted(*options):
            pathlib.Path(f"mnt/{name}").write_bytes(want)
            check(name, want)
            subprocess.run(["cmp", f"mnt/{name}", "-"], input=want, check=True)
            # The items of the data are 8 bytes.
            assert blosc2.open(f"src/{name}.b2frame").typesize % 8 == 0
        with mounted("ro"):
            check(name, want)

    in_both_modes(play)


def test_settings_of_new_files():
    want = data(300000)
    with mounted("codec=lz4,clevel=9,filter=bitshuffle,typesize=4,"
                 "blocksize=8k"):
        pathlib.Path("mnt/a").write_bytes(want)
        check("a", want)
    s = blosc2.open("src/a.b2frame")
    assert s.cparams.codec == blosc2.Codec.LZ4 and s.cparams.clevel == 9
    assert s.typesize == 4 and s.chunksize == 65536 and s.blocksize == 8192
    assert blosc2.Filter.BITSHUFFLE in s.cparams.filters
    with mounted("filter=none,codec=zlib,typesize=1"):
        pathlib.Path("mnt/b").write_bytes(want)
        check("b", want)
    assert not any(f.value for f in blosc2.open("src/b.b2frame")
                   .cparams.filters)


def stored(frame):
    """The stored bytes of each chunk."""
    said = subprocess.run([BUILD / "bloscctl", "info", "--json", "--chunks",
                           frame], check=True, stdout=subprocess.PIPE).stdout
    return [chunk["cbytes"] for chunk in json.loads(said)["chunks"]]


def test_the_level_follows_the_writer():
    n = 48
    want = np.round(np.random.default_rng(5).normal(0, 3, n << 17), 3).tobytes()
    pathlib.Path("raw").write_bytes(want)
    for level in (1, 3):
        subprocess.run([BUILD / "bloscctl", "compress", "-q", f"-{level}",
                        "--typesize=8", "-o", f"at{level}", "raw"], check=True)
    fast, good = stored("at1"), stored("at3")
    assert all(a != b for a, b in zip(fast, good))
    with mounted("chunksize=1m,small=0,typesize=8,workers=1"):
        pathlib.Path("mnt/hasty").write_bytes(want)
    with mounted("chunksize=1m,small=0,typesize=8,workers=1"):
        with open("mnt/calm", "wb", buffering=0) as f:
            f.write(want[:1 << 20])
            os.fsync(f.fileno())
    with mounted("chunksize=1m,small=0,typesize=8,workers=1,clevel=3"):
        pathlib.Path("mnt/told").write_bytes(want)
    hasty = stored("src/hasty.b2frame")
    assert all(size in pair for size, *pair in zip(hasty, fast, good)), hasty
    # Chunks come faster than they are encoded, but for the last ones.
    assert sum(a == b for a, b in zip(hasty, fast)) > n // 2, hasty
    assert stored("src/calm.b2frame") == good[:1]
    assert stored("src/told.b2frame") == good
    for name in "hasty", "calm", "told":
        schunk = blosc2.open(f"src/{name}.b2frame")
        assert schunk[:] == want[:schunk.nbytes]
        assert schunk.cparams.clevel == 3 and schunk.blocksize == 65536


def test_any_offset():
    def play(options, name):
        want = bytearray(5 * CHUNK)
        with mounted(*options), open(f"mnt/{name}", "w+b",
                                     buffering=0) as f:
            f.truncate(len(want))
            for i, off in enumerate([3 * CHUNK, 0, CHUNK - 1, 2 * CHUNK + 7,
                                     5 * CHUNK - 2, 1, 4 * CHUNK - 100]):
                piece = data(min(1000 * i + 1, len(want) - off), seed=i)
                os.pwrite(f.fileno(), piece, off)
                want[off:off + len(piece)] = piece
                assert os.pread(f.fileno(), 1 << 20, 0) == want
            # Beyond the end: what lies between is zeros.
            os.pwrite(f.fileno(), b"end", 9 * CHUNK)
            want += bytes(4 * CHUNK) + b"end"
            assert os.fstat(f.fileno()).st_size == len(want)
            os.fsync(f.fileno())
            check(name, want)

    in_both_modes(play)


def test_append():
    """Programs that append to one file, at the same time too."""
    def play(options, name):
        with mounted(*options):
            path = f"mnt/{name}"
            for i in range(5):
                subprocess.run(f"echo line {i} >>{path}", shell=True,
                               check=True)
            assert read(path) == b"".join(b"line %d\n" % i for i in range(5))
            with open(path, "ab", buffering=0) as f:
                f.seek(0)
                f.write(b"seeks are ignored\n")
                f.truncate(7)
                f.write(b"after\n")
            assert read(path) == b"line 0\nafter\n"
            os.unlink(path)
            writers = [subprocess.Popen(
                f"for i in $(seq 200); do echo {w}-$i; done >>{path}",
                shell=True) for w in "abcd"]
            assert not any(w.wait() for w in writers)
            lines = read(path).decode().split()
            assert sorted(lines) == sorted(f"{w}-{i}" for w in "abcd"
                                           for i in range(1, 201))
            for w in "abcd":
                mine = [x for x in lines if x[0] == w]
                assert mine == [f"{w}-{i}" for i in range(1, 201)]

    in_both_modes(play)


def test_truncate():
    def play(options, name):
        path = f"mnt/{name}"
        want = data(3 * CHUNK + 100)
        with mounted(*options):
            pathlib.Path(path).write_bytes(want)
            for size in (3 * CHUNK, 2 * CHUNK + 1, CHUNK, CHUNK - 1, 5000, 1,
                         0, 4 * CHUNK, 2 * CHUNK + 5, 1 << 32, 70000):
                os.truncate(path, size)
                want = want[:size]
                want += bytes(min(size, 1 << 20) - len(want))
                assert os.path.getsize(path) == size
                with open(path, "rb") as f:
                    assert f.read(1 << 20) == want
            check(name, want)
            with open(path, "r+b") as f:
                # What was cut away does not come back.
                f.write(b"x" * 70000)
                f.flush()
                f.truncate(10)
                f.truncate(200)
            check(name, b"x" * 10 + bytes(190))
            open(path, "wb").close()
            check(name, b"")
            with open(path, "wb") as f:
                f.write(b"anew")
                assert error_of(os.ftruncate, f.fileno(), -1) == errno.EINVAL
            check(name, b"anew")

    in_both_modes(play)


def test_fallocate():
    def play(options, name):
        want = bytearray(os.urandom(4 * CHUNK))
        with mounted("attr_timeout=0", *options), \
                open(f"mnt/{name}", "w+b", buffering=0) as f:
            fd = f.fileno()
            f.write(want)
            os.fsync(fd)
            stored = os.fstat(fd).st_blocks
            fallocate(fd, PUNCH | KEEP, CHUNK, 2 * CHUNK)
            want[CHUNK:3 * CHUNK] = bytes(2 * CHUNK)
            fallocate(fd, ZERO, 100, 200)
            want[100:300] = bytes(200)
            fallocate(fd, ZERO | KEEP, 4 * CHUNK - 50, 1000)
            want[-50:] = bytes(50)
            assert os.pread(fd, 1 << 20, 0) == want
            fallocate(fd, ZERO, 4 * CHUNK, 1000)
            want += bytes(1000)
            fallocate(fd, 0, 4 * CHUNK, 3000)
            want += bytes(2000)
            fallocate(fd, 0, 0, 100)
            # Far more than there is room for.
            assert error_of(fallocate, fd, KEEP, 0, 1 << 50) == errno.ENOSPC
            assert error_of(fallocate, fd, 0, 0, 1 << 50) == errno.ENOSPC
            fallocate(fd, PUNCH | KEEP, 1 << 40, 10)
            os.posix_fallocate(fd, 0, len(want) + 1)
            want += bytes(1)
            assert os.pread(fd, 1 << 20, 0) == want
            for mode in COLLAPSE, PUNCH, 32:
                assert error_of(fallocate, fd, mode, 0, 4096) in (
                    errno.EOPNOTSUPP, errno.EINVAL)
            os.fsync(fd)
            check(name, want)
            assert os.fstat(fd).st_blocks < stored * .8

    in_both_modes(play)


def test_holes_are_told_of_when_no_program_writes():
    def play(options, name):
        path = f"mnt/{name}"
        with mounted(*options):
            with open(path, "wb", buffering=0) as f:
                f.write(data(CHUNK))
                os.pwrite(f.fileno(), data(CHUNK), 5 * CHUNK)
                # The kernel may have pages that we do not know of.
                assert os.lseek(f.fileno(), 2 * CHUNK, os.SEEK_DATA) == \
                    2 * CHUNK
            with open(path, "rb") as f:
                hole = os.lseek(f.fileno(), 0, os.SEEK_HOLE)
                assert hole == (6 if options else 1) * CHUNK
                if not options:
                    assert os.lseek(f.fileno(), CHUNK, os.SEEK_DATA) == \
                        5 * CHUNK
            subprocess.run(["cp", "--sparse=auto", path, "copy"], check=True)
            assert read("copy") == read(path)

    in_both_modes(play)


def test_mapped():
    def play(options, name):
        want = bytearray(data(3 * CHUNK))
        path = f"mnt/{name}"
        with mounted(*options):
            pathlib.Path(path).write_bytes(want)
            with open(path, "r+b") as f:
                mapped = mmap.mmap(f.fileno(), 0)
            mapped[10:20] = want[10:20] = b"first page"
            mapped[CHUNK - 3:CHUNK + 3] = want[CHUNK - 3:CHUNK + 3] = b"border"
            mapped.flush()
            # Reads and other maps see it, whichever program has it open.
            assert read(path) == want
            mapped[-4:] = want[-4:] = b"last"
            assert read(path) == want
            with open(path, "r+b", buffering=0) as f:
                os.pwrite(f.fileno(), b"write", 40000)
                want[40000:40005] = b"write"
                assert mapped[:] == want
            # No program has it open, the map has: what it writes is kept too.
            mapped[70000:70004] = want[70000:70004] = b"late"
            mapped.close()
            check_later(name, want)

    in_both_modes(play)


def check_later(name, want):
    """The last close of a map is not waited for."""
    wait_until_stock(lambda: stock(name) == want,
                     "the map's pages to be stored")
    check(name, want)


def test_many_threads():
    """One file, many writers: each finds what it has written."""
    def play(options, name):
        path, n, rounds = f"mnt/{name}", 12, 6 if SANITIZED else 25
        size = n * 30000
        failures = []

        def work(me):
            try:
                fd = os.open(path, os.O_RDWR)
                for i in range(rounds):
                    piece = bytes([me + 1, i]) * 15000
                    os.pwrite(fd, piece, me * 30000)
                    assert os.pread(fd, 30000, me * 30000) == piece
                    if i % 7 == me % 7:
                        os.fsync(fd)
                os.close(fd)
            except BaseException as e:
                failures.append((me, e))

        with mounted("dirtysize=256k", *options):
            pathlib.Path(path).write_bytes(bytes(size))
            threads = [threading.Thread(target=work, args=(i,))
                       for i in range(n)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert not failures, failures
            check(name, b"".join(bytes([me + 1, rounds - 1]) * 15000
                                 for me in range(n)))

    in_both_modes(play)


def look_on(name, end):
    while time.monotonic() < end:
        os.lstat(name)
        for entry in os.scandir("mnt"):
            entry.stat()


def test_sizes_that_are_looked_at_while_they_change():
    """A look from before a close must not bring its size back afterwards."""
    for options in (), ("entry_timeout=0",):
        with mounted(*options), \
                concurrent.futures.ThreadPoolExecutor() as pool:
            path = pathlib.Path("mnt/looked_at")
            path.write_bytes(b"")
            end = time.monotonic() + 1.5
            looks = [pool.submit(look_on, path, end) for _ in range(3)]
            n = 0
            while time.monotonic() < end:
                n += 1
                want = data(1 + n % 7)
                path.write_bytes(want)
                got = path.read_bytes()
                assert got == want, (n, got, want)
            for look in looks:
                look.result()


def test_ways_to_open():
    def play(options, name):
        path = f"mnt/{name}"
        with mounted(*options):
            pathlib.Path(path).write_bytes(b"0123456789" * 1000)
            fd = os.open(path, os.O_WRONLY)
            assert error_of(os.read, fd, 1) == errno.EBADF
            os.pwrite(fd, b"ab", 4095)
            os.close(fd)
            fd = os.open(path, os.O_RDONLY)
            assert error_of(os.write, fd, b"x") == errno.EBADF
            os.close(fd)
            for flag in os.O_SYNC, os.O_DSYNC, os.O_NOATIME:
                fd = os.open(path, os.O_RDWR | flag)
                os.pwrite(fd, b"cd", 8191)
                os.close(fd)
            fd = os.open(path, os.O_RDWR | os.O_DIRECT)
            block = mmap.mmap(-1, 4096)
            block[:] = b"D" * 4096
            os.pwrite(fd, block, 4096)
            assert os.preadv(fd, [block], 0) == 4096
            os.close(fd)
            want = bytearray(b"0123456789" * 1000)
            want[4095:4097] = b"ab"
            want[8191:8193] = b"cd"
            want[4096:8192] = b"D" * 4096
            assert block[:] == want[:4096]
            check(name, want)
            with open("plain", "wb") as f:
                f.write(bytes(range(256)) * 5000)
            with open("plain", "rb") as a, open(path, "wb") as b:
                os.sendfile(b.fileno(), a.fileno(), 0, 600000)
                os.sendfile(b.fileno(), a.fileno(), 600000, 680000)
            check(name, read("plain"))

    in_both_modes(play)


def test_other_files_are_written_to_as_well():
    def play(options, name):
        os.makedirs("src", exist_ok=True)
        below, path = pathlib.Path(f"src/{name}"), f"mnt/{name}"
        below.write_text("line 0\n")
        with mounted(*options):
            with open(path, "a") as f:
                f.write("line 1\n")
                f.flush()
                if not options:
                    # Others may append below at the same time.
                    with open(below, "a") as g:
                        g.write("line 2\n")
                f.write("line 3\n")
            lines = read(below).decode().split("\n")
            assert lines == ["line 0", "line 1"] + [
                "line 2"] * (not options) + ["line 3", ""]
            with open(path, "r+b", buffering=0) as f:
                f.truncate(CHUNK)
                mapped = mmap.mmap(f.fileno(), 0)
                mapped[5000:5004] = b"mmap"
                os.pwrite(f.fileno(), b"pwrite", 100)
                mapped.flush()
                mapped.close()
                fallocate(f.fileno(), PUNCH | KEEP, 8192, 4096)
                fallocate(f.fileno(), 0, CHUNK, 4096)
                os.fsync(f.fileno())
            got = read(below)
            assert got[5000:5004] == b"mmap" and got[100:106] == b"pwrite"
            assert len(got) == CHUNK + 4096
            assert read(path) == got
            # A writer that appends, and a map of the same file.
            with open(path, "r+b") as f, open(path, "ab", buffering=0) as g:
                mapped = mmap.mmap(f.fileno(), 0)
                mapped[0:5] = b"first"
                g.write(b"appended")
                mapped[10:15] = b"again"
                mapped.flush()
                mapped.close()
            got = read(below)
            assert got[:15] == b"first" + got[5:10] + b"again"
            assert got.endswith(b"appended") and len(got) == CHUNK + 4104
            os.truncate(path, 3)
            assert read(below) == b"fir"

    in_both_modes(play)


def test_frames_that_cannot_be_written_to():
    os.mkdir("src")
    # Of blocks of variable length.
    shutil.copy(SOURCE / "tests/data/golden/cframes/vlblocks.b2frame",
                "src/flat.b2")
    with mounted():
        for flags in os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC:
            assert error_of(os.open, "mnt/flat", flags) == errno.EROFS
        assert error_of(os.truncate, "mnt/flat", 5) == errno.EROFS
        raw = read("mnt/flat")
        assert len(raw) == 5238
        # Everything else is as for any file.
        os.chmod("mnt/flat", 0o600)
        os.utime("mnt/flat", (1, 1))
        os.rename("mnt/flat", "mnt/moved")
        assert read("mnt/moved") == raw
        os.unlink("mnt/moved")


def change_what_stock_wrote(kind):
    os.makedirs("src", exist_ok=True)
    name = f"a-{kind}"
    want = bytearray(make(f"src/{name}.b2frame", None, nbytes=1000003,
                          kind=kind))
    with mounted():
        with open(f"mnt/{name}", "r+b", buffering=0) as f:
            for off in 0, 262143, 500000, 999999:
                piece = b"changed"
                os.pwrite(f.fileno(), piece, off)
                want[off:off + 7] = piece
        check(name, want)
        os.truncate(f"mnt/{name}", 300000)
        del want[300000:]
        with open(f"mnt/{name}", "ab") as f:
            f.write(data(600000, seed=1))
            want += data(600000, seed=1)
        check(name, want)
        os.truncate(f"mnt/{name}", 0)
        check(name, b"")
        pathlib.Path(f"mnt/{name}").write_bytes(want)
        check(name, want)


def test_what_stock_wrote_is_changed():
    change_what_stock_wrote("sparse")


def test_a_contiguous_frame_of_stock_is_changed():
    change_what_stock_wrote("contiguous")
    # It ends where the frame ends, with the mtime of the last write.
    path = "src/a-contiguous.b2frame"
    with open(path, "rb") as f:
        frame_len = int.from_bytes(f.read(24)[16:], "big")
    assert os.path.getsize(path) == frame_len


def test_zeros_that_are_no_whole_items():
    """C-Blosc2 looks at the first chunk when it opens a frame."""
    sizes = 1, 5, 33, 8004, CHUNK - 3, 300001
    with mounted("typesize=8"):
        for n in sizes:
            with open(f"mnt/z{n}", "wb") as f:
                f.truncate(n)
            with open(f"mnt/w{n}", "wb") as f:
                f.write(data(n))
            with open(f"mnt/w{n}", "r+b") as f:
                f.write(bytes(n))
        for n in sizes:
            check(f"z{n}", bytes(n))
            check(f"w{n}", bytes(n))


def test_chunks_that_are_no_whole_items():
    """No entry can stand for such a chunk of zeros."""
    want = bytearray(data(5005))
    os.makedirs("src")
    s = blosc2.SChunk(chunksize=1001, urlpath="src/a.b2frame", mode="w",
                      contiguous=False, cparams={"typesize": 8})
    for i in range(0, 5005, 1001):
        s.append_data(bytes(want[i:i + 1001]))
    with mounted():
        with open("mnt/a", "r+b", buffering=0) as f:
            fallocate(f.fileno(), PUNCH | KEEP, 1001, 2002)
            want[1001:3003] = bytes(2002)
            os.fsync(f.fileno())
            check("a", want)
            for size in 8008, 8011, 4004, 9999:
                f.truncate(size)
                want = want[:size] + bytes(max(0, size - len(want)))
                os.fsync(f.fileno())
                check("a", want)
            assert error_of(f.truncate, 1 << 40) == errno.EFBIG
            os.pwrite(f.fileno(), b"end", 15000)
            want += bytes(15000 - len(want)) + b"end"
            os.fsync(f.fileno())
            check("a", want)
            fallocate(f.fileno(), PUNCH | KEEP, 0, len(want))
        check("a", bytes(len(want)))


main()
