#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Eight readers of a quarter of a gigabyte stay within the configured memory."""
import errno
import os
import random
import re
import threading
import zlib

from mounting import (SANITIZED, Mount, data, error_of, in_threads, main,
                      wait_until)
from users import ALICE, as_user

MB = 1 << 20
TOTAL = 256 * MB
PIECE = 8 * MB


def make_large(path):
    """Makes a frame; returns a checksum of each piece."""
    import blosc2
    s = blosc2.SChunk(chunksize=MB, urlpath=path, contiguous=False,
                      cparams={"typesize": 8, "clevel": 1})
    pieces = [data(PIECE, seed=i) for i in range(4)]
    for i in range(TOTAL // PIECE):
        for off in range(0, PIECE, MB):
            s.append_data(pieces[i % 4][off:off + MB])
    return [zlib.crc32(p) for p in pieces]


def read(start, sums, bad, done):
    buf = bytearray(MB)
    fd = os.open("mnt/large", os.O_RDONLY)
    n = TOTAL // PIECE
    for k in range(n):
        i = (start + k) % n
        crc = 0
        for off in range(0, PIECE, MB):
            assert os.preadv(fd, [buf], i * PIECE + off) == MB
            crc = zlib.crc32(buf, crc)
        if crc != sums[i % 4]:
            bad.append(i)
    os.close(fd)
    done.append(start)


def measure(*options):
    bad, done = [], []
    with Mount("src", "mnt", "-o", ",".join(("cachesize=64m", *options))) as m:
        in_threads(8, lambda i: read(i * 8, SUMS, bad, done))
        rss = m.rss()
    assert len(done) == 8, "a reader has failed"
    print(options, {k: v // MB for k, v in rss.items()})
    assert not bad, bad
    # A sanitizer keeps freed memory on purpose.
    if not SANITIZED:
        assert rss["VmHWM"] <= 128 * MB, rss


def test_memory_stays_within_its_bounds():
    global SUMS
    os.mkdir("src")
    SUMS = make_large("src/large.b2frame")
    measure()
    if not SANITIZED:
        measure("direct_io")


BLOCKS = 64


def poor(seed):
    """Hardly compressible bytes also need memory for a block's stored bytes."""
    import numpy as np
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << 12, 2 * MB, dtype=np.uint32).tobytes()


def read_at_random(seed, bad):
    rng = random.Random(seed)
    fd = os.open("mnt/blocks", os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for _ in range(100):
        off = rng.randrange(BLOCKS * 4 * MB // 4096) * 4096
        at = off % (8 * MB)
        if os.pread(fd, 4096, off) != PIECES[off // (8 * MB) % 2][at:at + 4096]:
            bad.append(off)
    os.close(fd)


def test_large_blocks_stay_within_them_too():
    """Blocks so large that each has memory of its own."""
    global PIECES
    import blosc2
    os.mkdir("src")
    PIECES = [poor(i) for i in range(2)]
    s = blosc2.SChunk(chunksize=8 * MB, urlpath="src/blocks.b2frame",
                      contiguous=False,
                      cparams={"typesize": 4, "clevel": 1, "nthreads": 1,
                               "codec": blosc2.Codec.LZ4,
                               "blocksize": 4 * MB})
    for i in range(BLOCKS // 2):
        s.append_data(PIECES[i % 2])
    bad = []
    with Mount("src", "mnt", "-o", "cachesize=64m") as m:
        for turn in range(5):
            in_threads(4, lambda i, turn=turn: read_at_random(4 * turn + i, bad))
        rss = m.rss()
    print({k: v // MB for k, v in rss.items()})
    assert not bad, bad
    if not SANITIZED:
        assert rss["VmHWM"] <= 128 * MB, rss


def write_at_random(chunksize):
    rng = random.Random(1)
    page = data(4096)
    with Mount("src", "mnt", "-o", f"chunksize={chunksize},codec=lz4,commit=0,"
               "cachesize=16m,dirtysize=4m") as m:
        with open("mnt/written", "w+b", buffering=0) as f:
            f.truncate(4096 * MB)
            for _ in range(12000):
                os.pwrite(f.fileno(), page, rng.randrange(MB) * 4096)
            rss = m.rss()
            f.truncate(0)
    print(chunksize, {k: v // MB for k, v in rss.items()})
    if not SANITIZED:
        assert rss["VmHWM"] <= 40 * MB, rss


def test_so_do_pages_of_many_chunks_that_are_written_to():
    os.mkdir("src")
    write_at_random("64k")
    write_at_random("1m")


def test_so_do_holes():
    """A hole takes no room on the disk, but its entry does in memory."""
    def grow(f, size):
        try:
            f.truncate(size)
            return 0
        except OSError as e:
            return e.errno

    os.mkdir("src")
    with Mount("src", "mnt", "-o", "cachesize=32m") as m:
        files = [open(f"mnt/{n}", "w+b", buffering=0) for n in range(4)]
        assert [grow(f, 1 << 44) for f in files] == 4 * [errno.EFBIG]
        # In small steps too.
        n = 0
        while not grow(files[0], (n + 1) << 36):
            n += 1
        assert 10 < n < 25, n
        assert grow(files[1], 1 << 38) == errno.EFBIG
        # A file of data is not affected.
        for _ in range(20):
            files[1].write(data(MB))
        assert os.pread(files[0].fileno(), 1, (n << 36) - 1) == b"\0"
        # There is room again when holes are cut, or their files are closed.
        assert grow(files[0], 1 << 30) == 0
        assert grow(files[2], 1 << 39) == 0
        files[2].close()
        wait_until(lambda: not grow(files[3], 1 << 39), "the close")
        assert grow(files[1], 1 << 39) == 0
        for f in files:
            f.close()
        rss = m.rss()
    print({k: v // MB for k, v in rss.items()})
    if not SANITIZED:
        assert rss["VmHWM"] <= 100 * MB, rss
    with Mount("src", "mnt", "-o", "cachesize=2m"):
        with open("mnt/2", "r+b") as f, open("mnt/3", "r+b"):
            try:
                open("mnt/1", "r+b").close()
                raise AssertionError("three of them")
            except OSError as e:
                assert e.errno == errno.ENOMEM
            f.write(b"x")
        assert open("mnt/3", "rb").read(10) == bytes(10)


def claims():
    """Hostile frames: of some hundred bytes, or with large repeated blocks."""
    import blosc2
    import numpy as np

    def make(name, chunksize, n, **cparams):
        s = blosc2.SChunk(chunksize=chunksize, urlpath=f"src/{name}.b2frame",
                          contiguous=True,
                          cparams={"typesize": 1, "clevel": 1, "nthreads": 1,
                                   "codec": blosc2.Codec.LZ4, **cparams})
        if n:
            s.fill_special(n, blosc2.SpecialValue.ZERO)
        return s

    make("many", 4096, 4096 << 27)
    make("giant", 1 << 30, 2 << 30)
    claim_entries("entries", 1 << 24)
    claim_entries("long", 1 << 20)
    claim_entries("array", 1 << 25, b2nd=b"")
    size = 500 * MB
    ramp = np.arange(251, dtype=np.uint8)
    s = make("block", size, 0, blocksize=size, filters=[blosc2.Filter.NOFILTER])
    s.append_data(np.tile(ramp, size // 251 + 1)[:size])
    # Four of these need more than there is, but each has enough alone.
    size = 20 * MB
    s = make("large", size, 0, blocksize=size, typesize=4)
    for i in range(4):
        s.append_data(np.roll(np.tile(ramp, size // 251 + 1)[:size], i))


def claim_entries(name, n, **meta):
    """A frame of chunks that are holes: its index takes 8 bytes for each."""
    import blosc2
    import numpy as np
    path = f"src/{name}.b2frame"
    s = blosc2.SChunk(chunksize=4096, urlpath=path, contiguous=True,
                      cparams={"typesize": 1}, meta=meta)
    s.fill_special(4096 * n, blosc2.SpecialValue.ZERO)
    raw = open(path, "rb").read()
    start = int.from_bytes(raw[11:15], "big")
    trailer = raw[start + int.from_bytes(raw[start + 12:start + 16], "little"):]
    entries = np.full(n, 0x81 << 56, np.uint64)
    entries[-1] = 0x82 << 56
    index = blosc2.compress2(entries, typesize=8, blocksize=1 << 14)
    size = start + len(index) + len(trailer)
    with open(path, "wb") as f:
        f.write(raw[:16] + size.to_bytes(8, "big") + raw[24:start])
        f.write(index + trailer)


def ask_too_much(name, write):
    fd = os.open(f"mnt/{name}", os.O_RDONLY if not write else os.O_RDWR)
    try:
        if write:
            os.pwrite(fd, b"x", 5)
        else:
            os.pread(fd, 4096, 400 * MB)
    finally:
        os.close(fd)


def expect_error(codes, name, write):
    try:
        ask_too_much(name, write)
    except OSError as e:
        assert e.errno in codes, e
    else:
        raise AssertionError(name)


def use_other_file():
    """A second file is in use meanwhile, and must get no error."""
    page = data(MB)
    with open("mnt/other", "w+b", buffering=0) as f:
        i = 0
        while not os.path.exists("done") or i < 20:
            f.seek(i % 50 * MB)
            f.write(page)
            os.fsync(f.fileno())
            assert os.pread(f.fileno(), MB, i % 50 * MB) == page
            i += 1


def read_large(i, bad):
    with open("mnt/large", "rb", buffering=0) as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for k in range(8):
            at = (i + k) % 4
            off = 9 * MB + k * 4096
            want = bytes((off - at + j) % (20 * MB) % 251 for j in range(64))
            try:
                if os.pread(f.fileno(), 64, at * 20 * MB + off) != want:
                    bad.append((i, k))
            except OSError as e:
                bad.append((i, k, e))


def test_claims_of_a_frame_take_no_memory():
    os.chmod(".", 0o755)
    os.mkdir("src")
    os.chmod("src", 0o777)
    claims()
    bad, codes = [], []
    with Mount("src", "mnt", "-o",
               "allow_other,cachesize=64m,dirtysize=16m") as m:
        other = threading.Thread(target=lambda: codes.append(
            as_user(ALICE, ALICE, use_other_file)))
        other.start()
        try:
            for _ in range(3):
                expect_error({errno.ENOMEM, errno.EFBIG}, "many", True)
                expect_error({errno.EFBIG}, "giant", True)
                expect_error({errno.EIO}, "block", False)
                expect_error({errno.EFBIG}, "entries", False)
                expect_error({errno.EFBIG}, "entries", True)
                os.stat("mnt/array")
                ask_too_much("long", False)
                ask_too_much("long", True)
            in_threads(4, lambda i: read_large(i, bad))
        finally:
            open("done", "w").close()
            other.join()
        rss = m.rss()
        log = m.log()
    assert codes == [0], codes
    print({k: v // MB for k, v in rss.items()})
    assert not bad, bad
    assert log.count("of memory") >= 2, log
    if not SANITIZED:
        assert rss["VmHWM"] <= (64 + 16 + 64) * MB, rss


def test_nor_do_their_vlmetalayers():
    import blosc2
    os.mkdir("src")
    s = blosc2.SChunk(urlpath="src/f.b2frame", contiguous=True)
    s.append_data(b"data")
    for name, size in ("large", 60 * MB), ("small", MB):
        s.vlmeta.set_vlmeta(name, bytes(size), typesize=1)
    with Mount("src", "mnt", "-o", "cachesize=16m") as m:
        def get(name):
            return error_of(os.getxattr, "mnt/f",
                            f"user.blosc2.vlmeta_raw.{name}")

        assert get("large") == errno.EFBIG
        # No attribute is so long.
        assert get("small") == errno.E2BIG
        assert "user.blosc2.vlmeta.large" not in os.listxattr("mnt/f")
        rss = m.rss()
    if not SANITIZED:
        assert rss["VmHWM"] < 48 * MB, rss


def test_memory_goes_back_when_files_do():
    os.mkdir("src")
    piece = data(MB)
    with Mount("src", "mnt", "-o", "cachesize=256m,codec=lz4") as m:
        kept = open("mnt/kept", "w+b")
        for name in "one", "two":
            with open(f"mnt/{name}", "w+b", buffering=0) as f:
                for i in range(192):
                    f.write(piece)
                os.fsync(f.fileno())
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                # Not in order, because blocks of a sequential reader would not stay.
                for i in range(192):
                    os.pread(f.fileno(), MB, i * 37 % 192 * MB)
        # There is memory to give back, however much the kernel has cached.
        assert m.rss()["VmHWM"] > 64 * MB, m.rss()
        os.unlink("mnt/one")
        os.unlink("mnt/two")
        # With another one open, and without any.
        for end in False, True:
            if end:
                kept.close()
            if not SANITIZED:
                wait_until(lambda: m.rss()["VmRSS"] < 48 * MB,
                           "memory to go back")


def test_names_that_the_kernel_forgets_take_no_memory():
    os.mkdir("src")
    # Sanitizers keep freed memory: then only the forgetting itself is tested.
    names = [f"{n:0100}" for n in range(300 if SANITIZED else 30000)]
    for n in names:
        open(f"src/{n}", "w").close()
    with Mount("src", "mnt", "-o", "cachesize=32m") as m:
        empty = m.rss()["VmRSS"]
        for n in names:
            os.stat(f"mnt/{n}")
        # Other tests have the kernel drop its caches: names may be gone by now.
        # The last ones stay, behind the others in memory.
        for n in names[:-9]:
            os.unlink(f"mnt/{n}")
        if not SANITIZED:
            wait_until(lambda: m.rss()["VmRSS"] < empty + 6 * MB,
                       "memory to go back")


def test_long_read_takes_little_memory():
    os.mkdir("src")
    piece = data(MB)
    with Mount("src", "mnt", "-o", "cachesize=256m,codec=lz4"):
        with open("mnt/x", "wb") as f:
            for i in range(192):
                f.write(piece)
    with Mount("src", "mnt", "-o", "cachesize=256m") as m:
        with open("mnt/x", "rb", buffering=0) as f:
            while f.read(MB):
                pass
            if not SANITIZED:
                assert m.rss()["VmHWM"] < 96 * MB, m.rss()


def test_array_that_is_read_in_order_leaves_few_blocks():
    import blosc2
    import numpy as np
    rng = np.random.default_rng(4)
    a = np.round(rng.normal(0, 20, (4000, 2000))) / 64
    os.mkdir("src")
    blosc2.asarray(a, urlpath="src/a.b2nd", mode="w", contiguous=False,
                   chunks=(500, 500), blocks=(50, 500))
    # All of it would fit.  Reads out of order by the kernel, and read-ahead, may
    # leave much of it on a busy machine, but not each time.
    for _ in range(5):
        with Mount("src", "mnt", "-o", "cachesize=128m"):
            with open("mnt/a", "rb", buffering=0) as f:
                assert np.array_equal(np.fromfile(f), a.reshape(-1))
                cached = cached_bytes()
        if cached < a.nbytes * 3 // 4:
            break
    else:
        raise AssertionError(cached)
    with Mount("src", "mnt", "-o", "cachesize=128m"):
        # Rows in random order each need a row of blocks, which stays.
        view = np.memmap("mnt/a", np.float64, "r", shape=a.shape)
        for row in rng.permutation(4000)[:200]:
            assert np.array_equal(view[row], a[row])
        del view


def cached_bytes():
    said = os.getxattr("mnt", "user.bloscfs.stats").decode()
    return int(re.search(r'cached_bytes"?\D+(\d+)', said)[1])


main()
