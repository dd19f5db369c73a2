#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs save over arrays of C-Blosc2, by NAME.npy and by NAME."""
import errno
import itertools
import os
import pathlib
import resource
import shutil
import subprocess
import time

import blosc2
import numpy as np

import saves
from committing import fsync
from mounting import Mount, error_of, main, wait_until
from npy_file import npy_bytes
from scratch import Scratch, bloscctl
from small import traced

SHAPE, CHUNKS = (70, 33), (32, 16)


def check_array(want, kind):
    """Checks the contents of the frame, of the file, and of its view."""
    a = blosc2.open("src/a.b2nd", mode="r")
    assert np.array_equal(a[:], want), kind
    assert a.schunk.vlmeta["unit"] == "K" and a.chunks == CHUNKS
    assert np.array_equal(np.load("mnt/a.npy"), want), kind
    assert pathlib.Path("mnt/a").read_bytes() == want.tobytes(), kind


def test_an_array_is_saved_over():
    """An array of the same shape and type is saved in place; another one changes
    nothing."""
    rng = np.random.default_rng(1)
    first, second = (rng.integers(0, 1000, SHAPE) for _ in range(2))
    os.mkdir("src")
    a = blosc2.asarray(first, urlpath="src/a.b2nd", mode="w",
                       contiguous=False, chunks=CHUNKS, blocks=(3, 5))
    a.schunk.vlmeta["unit"] = "K"
    del a
    with Mount("src", "mnt"):
        np.save("mnt/a.npy", second)
        check_array(second, "np.save")
        mapped = np.lib.format.open_memmap("mnt/a.npy", mode="w+",
                                           dtype=first.dtype, shape=SHAPE)
        assert not mapped.any()
        mapped[5:9, 3] = second[5:9, 3]
        mapped.flush()
        del mapped
        want = np.zeros_like(first)
        want[5:9, 3] = second[5:9, 3]
        check_array(want, "open_memmap")
        assert error_of(np.save, "mnt/a.npy", second.T) == errno.EPERM
        check_array(want, "in another order")
        f = open("mnt/a.npy", "wb")
        assert error_of(f.close) == errno.EPERM
        check_array(want, "opened")
        # In pieces smaller than the header, by another program.
        np.save("other.npy", first)
        subprocess.run(["dd", "if=other.npy", "of=mnt/a.npy", "bs=50",
                        "status=none"], check=True)
        check_array(first, "dd")


OTHERS = [(70, 33, "<f4"), (4, 33, "<i8"), (300, 500, "<i8"), (70, 33, "S7"),
          (5, "<u2"), (20, 30, 40, ">f8"), ("<i4",), (0, 3, "<i8")]


def stored(path):
    """Checks the frame with C-Blosc2: items, type, and kept metalayers."""
    a = blosc2.open(path, mode="r")
    assert a.schunk.vlmeta["unit"] == "K" and "mine" in a.schunk.meta
    assert a.schunk.meta["mine"] == b"stays"
    return a[()] if a.ndim == 0 else a[:]


def make_stored(path, items, contiguous=False):
    a = blosc2.asarray(items, urlpath=path, mode="w", contiguous=contiguous,
                       chunks=CHUNKS, blocks=(3, 5), meta={"mine": b"stays"})
    a.schunk.vlmeta["unit"] = "K"


def make_both(items):
    """The arrays a, which is sparse, and c, which is contiguous."""
    make_stored("src/a.b2nd", items)
    make_stored("src/c.b2nd", items, True)


def assert_same(got, want, kind):
    got = np.asarray(got)
    assert got.shape == want.shape and got.dtype == want.dtype, kind
    assert got.tobytes() == want.tobytes(), kind


def test_an_array_is_replaced_by_another_one():
    rng = np.random.default_rng(2)
    first = rng.integers(0, 1000, SHAPE)
    os.mkdir("src")
    make_stored("src/a.b2nd", first)
    with Mount("src", "mnt"):
        for *shape, dtype in OTHERS:
            other = rng.integers(0, 99, shape).astype(dtype)
            np.save("mnt/a.npy", other)
            assert_same(stored("src/a.b2nd"), other, other.dtype)
            assert_same(np.load("mnt/a.npy"), other, other.dtype)
            wait_until(lambda: pathlib.Path("mnt/a").read_bytes() ==
                       other.tobytes(), "the items")
        mapped = np.lib.format.open_memmap("mnt/a.npy", mode="w+",
                                           dtype="<f8", shape=(40, 50, 2))
        assert mapped.shape == (40, 50, 2) and not mapped.any()
        mapped[1:, 7] = 5
        mapped.flush()
        assert_same(stored("src/a.b2nd"), np.asarray(mapped), "open_memmap")
        del mapped


def test_an_array_that_is_not_saved_whole_stays():
    """The program or the daemon ends at any moment, after any write."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 1000, SHAPE)
    os.mkdir("src")
    make_stored("src/a.b2nd", first)
    for other in first[:9].astype("<f4"), first + 1:
        raw = npy_bytes(other)
        with Mount("src", "mnt", "-o", "commit=1"):
            for n in 0, 1, 50, 127, 129, 700, len(raw) - 1:
                f = open("mnt/a.npy", "wb", buffering=0)
                assert f.write(raw[:n]) == n
                if n == 700 and len(other) == 9:
                    time.sleep(2.2)
                assert_same(stored("src/a.b2nd"), first, n)
                assert error_of(f.close) == errno.EPERM, n
                wait_until(lambda: np.array_equal(np.load("mnt/a.npy"), first),
                           "the array before")


def write_half(m, fd, raw):
    """Ends the save of @raw half-way, while the daemon can open no file."""
    limit = resource.prlimit(m.pid, resource.RLIMIT_NOFILE)
    os.write(fd, raw[:len(raw) // 2])
    resource.prlimit(m.pid, resource.RLIMIT_NOFILE, (3, limit[1]))
    assert error_of(os.close, fd) == errno.EPERM
    return lambda: resource.prlimit(m.pid, resource.RLIMIT_NOFILE, limit)


def test_half_an_array_goes_once_the_stored_one_can_be_opened():
    first = np.arange(3000).reshape(60, 50)
    second = (first * 3 + 1).tobytes()
    os.mkdir("src")
    make_both(first)
    with Mount("src", "mnt", "-o", "commit=1") as m:
        for name in "a", "c":
            path = f"mnt/{name}"
            reader = os.open(path, os.O_RDONLY)
            fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
            restore = write_half(m, fd, second)
            m.wait_for_log("half an array was written")
            wait_until(lambda: error_of(os.pread, reader, 99, 0) == errno.EIO,
                       "half an array is not read")
            assert error_of(os.lseek, reader, 0, os.SEEK_DATA) == errno.EIO
            restore()
            wait_until(lambda: error_of(os.pread, reader, 99, 0) == 0,
                       "the ticker drops it")
            assert os.pread(reader, 1 << 20, 0) == first.tobytes()
            # The next writer drops it, too.
            fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
            write_half(m, fd, second)()
            with open(path, "wb") as f:
                f.write(second)
            assert os.pread(reader, 1 << 20, 0) == second
            os.close(reader)
    for name in "a", "c":
        assert blosc2.open(f"src/{name}.b2nd")[:].tobytes() == second


def test_another_writer_is_told_of_what_is_dropped():
    os.mkdir("src")
    blosc2.asarray(np.ones(100000, "u1"), urlpath="src/a.b2nd", mode="w",
                   contiguous=False, chunks=(10000,))
    with Mount("src", "mnt"):
        saves.drop_changes_of_others("mnt/a")
        assert blosc2.open("src/a.b2nd")[7:12].tobytes() == b"other"


def test_a_save_may_follow_a_broken_off_one_at_once():
    first = np.arange(30000).reshape(60, 500)
    os.mkdir("src")
    make_both(first)
    npy = npy_bytes(first + 2)
    with Mount("src", "mnt"):
        for name in "a", "c":
            for path, raw in (name, (first + 1).tobytes()), (f"{name}.npy", npy):
                saves.save_again_at_once(f"mnt/{path}", raw)


def test_writeback_cache_shows_no_empty_array():
    os.mkdir("src")
    items = np.arange(1000)
    blosc2.asarray(items, urlpath="src/a.b2nd", mode="w", contiguous=False)
    with Mount("src", "mnt", "-o", "writeback_cache"):
        for name in "mnt/a", "mnt/a.npy":
            size = os.path.getsize(name)
            assert error_of(os.open, name,
                            os.O_WRONLY | os.O_TRUNC) == errno.EPERM
            assert os.path.getsize(name) == size
        assert np.array_equal(np.load("mnt/a.npy"), items)
        assert pathlib.Path("mnt/a").read_bytes() == items.tobytes()


def test_the_items_of_an_array_are_written_anew():
    """As many bytes are saved in place; another number changes nothing."""
    rng = np.random.default_rng(4)
    first, second = (rng.integers(0, 1000, SHAPE) for _ in range(2))
    os.mkdir("src")
    make_both(first)
    npy = npy_bytes(first + 2)
    with Mount("src", "mnt"):
        for name in "a", "c":
            raw, stock = f"mnt/{name}", f"src/{name}.b2nd"
            second.tofile(raw)
            assert_same(stored(stock), second, "tofile")
            first.tofile("items")
            shutil.copyfile("items", raw)
            assert_same(stored(stock), first, "copyfile")
            np.zeros(SHAPE, "<i8").tofile("zeros")
            os.truncate("zeros", 0)
            os.truncate("zeros", first.nbytes)
            subprocess.run(["cp", "zeros", raw], check=True)
            assert not stored(stock).any()
            subprocess.run(["cp", "items", raw], check=True)
            for n in 0, 1, first.nbytes - 1, first.nbytes + 1:
                with open(raw, "wb", buffering=0) as f:
                    done = error_of(f.write, bytes(n))
                    assert done == (errno.EPERM if n > first.nbytes else 0)
                    assert error_of(f.close) == errno.EPERM, n
                assert_same(stored(stock), first, n)
            # The end comes with another write.
            with open(raw, "wb", buffering=0) as f:
                f.write(second.tobytes())
                assert error_of(f.write, b"x") == errno.EPERM
                assert error_of(f.close) == errno.EPERM
            assert_same(stored(stock), first, "one more")
            wait_until(lambda: pathlib.Path(raw).read_bytes() ==
                       first.tobytes(), "the items before")


def test_a_contiguous_array_is_replaced_by_another_one():
    rng = np.random.default_rng(5)
    first = rng.integers(0, 1000, SHAPE)
    os.mkdir("src")
    make_stored("src/a.b2nd", first, True)
    with Mount("src", "mnt"):
        for other in (first[:9].astype("<f4"), first, np.tile(first, (9, 9)),
                      first[:, 5]):
            np.save("mnt/a.npy", other)
            assert_same(stored("src/a.b2nd"), other, other.shape)
            assert_same(np.load("mnt/a.npy"), other, other.shape)
            bloscctl("verify", "-q", "src/a.b2nd")
        assert error_of(np.save, "mnt/a.npy", first) == errno.EPERM
        assert_same(stored("src/a.b2nd"), first[:, 5], "no room")


def make_tensors(items):
    """With each function of python-blosc2, in both kinds of storage."""
    shutil.rmtree("src", ignore_errors=True)
    os.mkdir("src")
    blosc2.save_array(items, "src/a.b2frame", mode="w")
    blosc2.save_tensor(items, "src/t.b2frame", mode="w", contiguous=False,
                       chunksize=4000)
    pathlib.Path("src/p.b2frame").write_bytes(blosc2.pack_array2(items))
    return "a", "t", "p"


def shows(path, want):
    """Does the file have @want?  Until an array is restored, a reader may see parts of
    both."""
    try:
        return np.array_equal(np.load(path), want)
    except ValueError:
        return False


def load_tensor(name):
    return blosc2.load_tensor(f"src/{name}.b2frame")


def test_what_save_array_made_is_saved_over():
    """An array replaces one of its shape and type as a whole, or not at all."""
    rng = np.random.default_rng(8)
    first, second = (rng.integers(0, 1000, SHAPE) for _ in range(2))
    np.save("other.npy", second)
    raw = pathlib.Path("other.npy").read_bytes()
    names = make_tensors(first)
    with Mount("src", "mnt", "-o", "commit=1"):
        for name in names:
            path = f"mnt/{name}.npy"
            for n in 0, 1, 50, 127, 129, 700, 9000, len(raw) - 1:
                f = open(path, "wb", buffering=0)
                assert f.write(raw[:n]) == n
                if n == 9000:
                    assert error_of(os.fsync, f.fileno()) == errno.EPERM
                    time.sleep(2.2)
                assert_same(load_tensor(name), first, (name, n))
                assert error_of(f.close) == errno.EPERM, (name, n)
                wait_until(lambda: shows(path, first), "the array before")
            for other in (first.T.copy(), first[:9], first.astype("f4"),
                          first.reshape(-1), np.zeros((0, 33), first.dtype)):
                assert error_of(np.save, path, other) == errno.EPERM, name
                assert_same(load_tensor(name), first, (name, other.shape))
            f = open(path, "wb", buffering=0)
            assert error_of(f.write, raw + b"x") in (0, errno.EPERM)
            assert error_of(f.close) == errno.EPERM, name
            assert_same(load_tensor(name), first, (name, "longer"))
            np.save(path, second)
            assert_same(load_tensor(name), second, name)
            assert_same(np.load(path), second, name)
            subprocess.run(["dd", "if=other.npy", f"of={path}", "bs=50",
                            "status=none"], check=True)
            assert_same(load_tensor(name), second, (name, "dd"))
            mapped = np.lib.format.open_memmap(path, mode="w+",
                                               dtype=first.dtype, shape=SHAPE)
            assert mapped.shape == SHAPE and not mapped.any()
            mapped[5:9, 3] = 7
            mapped.flush()
            assert_same(load_tensor(name), np.asarray(mapped), name)
            del mapped
            for frame in pathlib.Path("src").iterdir():
                bloscctl("verify", "-q", frame)


EMPTY = [(0,), (0, 3), (0, 3, 2), (0, 1, 1, 1), (3, 0, 2, 1, 4, 5), (0,) * 8]


def test_empty_arrays_of_any_shape_replace_each_other():
    """A longer header overwrites the trailer of the empty frame."""
    for options in (), ("small=0",):
        shutil.rmtree("src", ignore_errors=True)
        os.mkdir("src")
        with Scratch(*options):
            for i, (old, new) in enumerate(itertools.product(EMPTY, EMPTY)):
                path = f"mnt/{i}.npy"
                for shape in old, new, old:
                    np.save(path, np.zeros(shape))
                    fsync(path)
                    assert np.load(path).shape == shape, (options, old, new)
        bloscctl("verify", "-q", "-r", "src")


def test_random_arrays_are_saved_over_each_other():
    for seed, options in enumerate(saves.matrix()):
        shutil.rmtree("src", ignore_errors=True)
        saves.play(120, seed, options)


def save_killed(array, call, n, path="mnt/a.npy"):
    """Kills the daemon at its @n-th @call.  Returns whether it came that far."""
    scratch = Scratch()
    scratch.start()
    with traced(scratch, call, f"signal=SIGKILL:when={n}"):
        killed = bool(error_of(np.save, path, array))
    scratch.kill()
    return killed


def test_a_kill_leaves_what_save_array_made_or_the_new_one():
    rng = np.random.default_rng(9)
    arrays = [rng.integers(0, 1000, SHAPE) for _ in range(2)]
    for name in make_tensors(arrays[0])[:2]:
        os.rename(f"src/{name}.b2frame", "src/x.b2frame")
        for n in itertools.count(1):
            now = blosc2.load_tensor("src/x.b2frame")
            old = int(np.array_equal(now, arrays[1]))
            killed = save_killed(arrays[1 - old], "pwrite64", n, "mnt/x.npy")
            now = blosc2.load_tensor("src/x.b2frame")
            assert any(np.array_equal(now, a) for a in arrays), (name, n)
            if not killed:
                assert np.array_equal(now, arrays[1 - old])
                break
        if name == "a":
            os.unlink("src/x.b2frame")


def test_a_kill_leaves_the_old_array_or_the_new_one():
    rng = np.random.default_rng(6)
    arrays = [rng.integers(0, 1000, SHAPE), rng.random((31, 20))]
    for contiguous in False, True:
        made = set()
        shutil.rmtree("src", ignore_errors=True)
        os.mkdir("src")
        make_stored("src/a.b2nd", arrays[0], contiguous)
        for call in "pwrite64", "renameat,renameat2", "fsync,fdatasync":
            for n in itertools.count(1):
                old = int(stored("src/a.b2nd").dtype == "f8")
                killed = save_killed(arrays[1 - old], call, n)
                new = int(stored("src/a.b2nd").dtype == "f8")
                assert_same(stored("src/a.b2nd"), arrays[new], (call, n))
                bloscctl("verify", "-q", "src/a.b2nd")
                made.add((killed, old == new))
                if not killed:
                    assert new != old
                    break
        assert (True, True) in made, made


main()
