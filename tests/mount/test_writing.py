#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ways to write that only some forms have; test_matrix.py has the others."""
import concurrent.futures
import errno
import json
import mmap
import os
import pathlib
import resource
import shutil
import subprocess
import time

import blosc2
import numpy as np

from committing import CHUNK, mounted
from mounting import BUILD, SOURCE, data, error_of, main
from scratch import stock_bytes
from syscalls import KEEP, PUNCH, fallocate

MODES = [(), ("writeback_cache",)]


def in_both_modes(play):
    """Calls @play with the options of each mount, and a name for its files."""
    for n, options in enumerate(MODES):
        play(options, f"f{n}")


def read(path):
    return pathlib.Path(path).read_bytes()


def check(name, want):
    assert read(f"mnt/{name}") == want
    assert os.path.getsize(f"mnt/{name}") == len(want)
    assert stock_bytes(f"src/{name}.b2frame") == want


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
    # Chunks come faster than they are encoded, except for the last ones.
    assert sum(a == b for a, b in zip(hasty, fast)) > n // 2, hasty
    assert stored("src/calm.b2frame") == good[:1]
    assert stored("src/told.b2frame") == good
    for name in "hasty", "calm", "told":
        schunk = blosc2.open(f"src/{name}.b2frame")
        assert schunk[:] == want[:schunk.nbytes]
        assert schunk.cparams.clevel == 3 and schunk.blocksize == 65536


def look_on(name, end):
    while time.monotonic() < end:
        os.lstat(name)
        for entry in os.scandir("mnt"):
            entry.stat()


def test_sizes_that_are_looked_at_while_they_change():
    """A lookup that began before a close must not bring the old size back."""
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
    # A frame with blocks of variable length.
    shutil.copy(SOURCE / "tests/data/golden/cframes/vlblocks.b2frame",
                "src/flat.b2")
    with mounted():
        for flags in os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC:
            assert error_of(os.open, "mnt/flat", flags) == errno.EROFS
        assert error_of(os.truncate, "mnt/flat", 5) == errno.EROFS
        raw = read("mnt/flat")
        assert len(raw) == 5238
        # Other operations work as with any file.
        os.chmod("mnt/flat", 0o600)
        os.utime("mnt/flat", (1, 1))
        os.rename("mnt/flat", "mnt/moved")
        assert read("mnt/moved") == raw
        os.unlink("mnt/moved")


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
    """A chunk of zeros of that length needs a chunk file."""
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


def test_the_daemon_may_not_write_files_so_large():
    """RLIMIT_FSIZE would end it by a signal, and lose the data of all files."""
    # In a worker, the signal would wait.
    want = os.urandom(CHUNK // 2)
    with mounted("commit=600", "small=16m") as mount:
        fd = os.open("mnt/x", os.O_CREAT | os.O_RDWR)
        limit = resource.prlimit(mount.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(mount.pid, resource.RLIMIT_FSIZE, (CHUNK // 4, limit[1]))
        os.pwrite(fd, want, 0)
        assert error_of(os.fsync, fd) == errno.EFBIG
        assert os.pread(fd, len(want), 0) == want
        resource.prlimit(mount.pid, resource.RLIMIT_FSIZE, limit)
        os.fsync(fd)
        os.close(fd)
        check("x", want)


main()
