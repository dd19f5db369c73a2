#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
""".npy files written into a mount are arrays; arrays have a .npy view."""
import errno
import os
import pathlib
import shutil
import subprocess
import threading
import time

import blosc2
import numpy as np

from arrays import DTYPES, as_bytes
from mounting import Mount, main, tmpfs, wait_until
from npy_file import npy_bytes
from scratch import SPARSE, Scratch

MNT, SRC = pathlib.Path("mnt"), pathlib.Path("src")


def items(shape, dtype, seed=0):
    """A random array whose items are any bytes."""
    dtype = np.dtype(dtype)
    n = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.random.default_rng(seed).integers(0, 2, n, dtype="u1")
    return np.frombuffer(raw.tobytes(), dtype).reshape(shape) if n \
        else np.zeros(shape, dtype)


def stored(name):
    """The frame of mnt/@name, opened by python-blosc2."""
    found = [p for p in SRC.iterdir() if p.name.rpartition(".")[0] == name]
    assert len(found) == 1, (name, list(SRC.iterdir()))
    return blosc2.open(str(found[0]), mode="r")


def check_array(name, array):
    """Checks that mnt/@name is an array equal to @array."""
    found = stored(name)
    assert isinstance(found, blosc2.NDArray), name
    assert found.shape == array.shape and found.dtype == array.dtype, name
    assert as_bytes(np.asarray(found[()])) == as_bytes(array), name
    assert as_bytes(np.load(MNT / name)) == as_bytes(array), name


def check_plain(name, data):
    assert (MNT / name).read_bytes() == data, name
    found = stored(name)
    assert isinstance(found, blosc2.SChunk), name
    assert b"".join(found.decompress_chunk(i)
                    for i in range(found.nchunks)) == data, name


def expect_eperm(action):
    try:
        action()
    except PermissionError:
        return
    raise AssertionError("it worked")


def test_every_kind_of_array():
    shapes = [(), (0,), (5, 0, 3), (1,), (7,), (4, 5), (2, 3, 4, 5),
              (1, 2, 1, 2, 1, 2, 1, 2)]
    with Scratch() as scratch:
        cases = []
        for i, dtype in enumerate(DTYPES):
            a = items(shapes[i % len(shapes)], dtype, i)
            cases.append((f"a{i}.npy", a))
            cases.append((f"b{i}.npy", items((300, 7), dtype, i)))
        for name, a in cases:
            np.save(MNT / name, a)
            assert (MNT / name).read_bytes() == npy_bytes(a), name
        for name, a in cases:
            check_array(name, a)
        scratch.remount()
        for name, a in cases:
            assert (MNT / name).read_bytes() == npy_bytes(a), name


def test_what_cannot_be_an_array_stays_as_it_is():
    objects = np.array([1, "two", None], dtype=object)
    fortran = np.asfortranarray(items((20, 30), "<f8"))
    with Scratch() as scratch:
        np.save(MNT / "o.npy", objects)
        np.save(MNT / "f.npy", fortran)
        scratch.remount()
        check_plain("o.npy", npy_bytes(objects))
        check_plain("f.npy", npy_bytes(fortran))
        assert list(np.load(MNT / "o.npy", allow_pickle=True)) == [1, "two",
                                                                   None]
        assert np.array_equal(np.load(MNT / "f.npy"), fortran)


def test_rows_longer_than_a_chunk():
    with Scratch("chunksize=64k") as scratch:
        for i, shape in enumerate([(3, 50001), (2, 3, 40007), (5, 7, 1999, 3)]):
            a = items(shape, "<f8", i)
            np.save(MNT / f"{i}.npy", a)
            mapped = np.load(MNT / f"{i}.npy", mmap_mode="r+")
            mapped[-1, ..., 5:] = mapped[0, ..., 5:][::-1]
            a = np.array(mapped)
            mapped.flush()
            del mapped
            scratch.remount()
            check_array(f"{i}.npy", a)


def test_every_mmap_mode():
    a = items((200, 300), "<i4")
    with Scratch() as scratch:
        np.save(MNT / "x.npy", a)
        for mode in "r", "c", "r+":
            mapped = np.load(MNT / "x.npy", mmap_mode=mode)
            assert np.array_equal(mapped, a), mode
            del mapped
        mapped = np.load(MNT / "x.npy", mmap_mode="r+")
        mapped[17:19] = 12345
        mapped.flush()
        del mapped
        a = a.copy()
        a[17:19] = 12345
        new = np.lib.format.open_memmap(MNT / "new.npy", "w+", "<f4", (99, 77))
        new[:] = np.arange(99 * 77).reshape(99, 77)
        new.flush()
        del new
        scratch.remount()
        check_array("x.npy", a)
        check_array("new.npy",
                    np.arange(99 * 77, dtype="<f4").reshape(99, 77))


def test_bytes_that_are_no_array_for_a_while():
    a, b = items((400, 500), "<f8"), items((10, 10), "<i2")
    raw = npy_bytes(a)
    with Scratch() as scratch:
        with open(MNT / "two.npy", "wb") as f:
            np.save(f, a)
            np.save(f, b)
        (MNT / "short.npy").write_bytes(raw[:-1])
        (MNT / "long.npy").write_bytes(raw + b"x")
        (MNT / "magic.npy").write_bytes(raw[:6])
        scratch.remount()
        check_plain("two.npy", raw + npy_bytes(b))
        check_plain("short.npy", raw[:-1])
        check_plain("long.npy", raw + b"x")
        check_plain("magic.npy", raw[:6])
        with open(MNT / "short.npy", "ab") as f:
            f.write(raw[-1:])
        os.truncate(MNT / "long.npy", len(raw))
        (MNT / "magic.npy").write_bytes(raw)
        scratch.remount()
        for name in "short.npy", "long.npy", "magic.npy":
            check_array(name, a)
        with open(MNT / "long.npy", "r+b") as f:
            f.seek(3)
            f.write(b"???")
        os.truncate(MNT / "short.npy", len(raw) // 2)
        scratch.remount()
        check_plain("long.npy", raw[:3] + b"???" + raw[6:])
        check_plain("short.npy", raw[:len(raw) // 2])


def test_in_any_order_and_with_gaps():
    a = items((300, 400), "<i4")
    raw = npy_bytes(a)
    with Scratch() as scratch:
        with open(MNT / "back.npy", "wb", buffering=0) as f:
            for start in reversed(range(0, len(raw), 7777)):
                f.seek(start)
                f.write(raw[start:start + 7777])
        zeros = npy_bytes(np.zeros((300, 400), "<i4"))
        with open(MNT / "gap.npy", "wb", buffering=0) as f:
            f.write(zeros[:128])
            f.seek(len(zeros) - 1)
            f.write(zeros[-1:])
        with open(MNT / "cut.npy", "wb", buffering=0) as f:
            f.write(zeros[:128])
            f.truncate(len(zeros))
        scratch.remount()
        check_array("back.npy", a)
        check_array("gap.npy", np.zeros((300, 400), "<i4"))
        check_array("cut.npy", np.zeros((300, 400), "<i4"))


def test_fsync_in_the_middle():
    a = items((1000, 500), "<f8")
    raw = npy_bytes(a)
    with Scratch() as scratch:
        with open(MNT / "x.npy", "wb", buffering=0) as f:
            for start in range(0, len(raw), 1000000):
                f.write(raw[start:start + 1000000])
                os.fsync(f.fileno())
                assert (MNT / "x.npy").stat().st_size == \
                    min(len(raw), start + 1000000)
        check_array("x.npy", a)
        scratch.remount()
        check_array("x.npy", a)


def test_written_anew_and_renamed():
    a, b = items((100, 200), "<f8"), items((50, 3), "<i4", 1)
    with Scratch() as scratch:
        np.save(MNT / "x.npy", a)
        np.save(MNT / "x.npy", b)
        check_array("x.npy", b)
        (MNT / "x.npy").write_bytes(b"no array at all")
        scratch.remount()
        check_plain("x.npy", b"no array at all")
        np.save(MNT / "x.npy", a)
        # rsync and careful programs write a new file and rename it.
        np.save(MNT / ".x.tmp.npy", b)
        os.rename(MNT / ".x.tmp.npy", MNT / "x.npy")
        check_array("x.npy", b)
        os.rename(MNT / "x.npy", MNT / "x.dat")
        assert (MNT / "x.dat").read_bytes() == npy_bytes(b)
        (MNT / "tmp").write_bytes(npy_bytes(a))
        os.rename(MNT / "tmp", MNT / "y.npy")
        subprocess.run(["cp", "-p", MNT / "y.npy", MNT / "z.npy"], check=True)
        assert (MNT / "y.npy").stat().st_mtime_ns == \
            (MNT / "z.npy").stat().st_mtime_ns
        scratch.remount()
        check_array("y.npy", a)
        check_array("z.npy", a)
        assert isinstance(stored("x.dat"), blosc2.NDArray)
        assert sorted(p.name for p in SRC.iterdir()) == [
            "x.dat.b2nd", "y.npy.b2nd", "z.npy.b2nd"]


def test_metadata_of_others_survive():
    a, b = items((60, 50), "<i4"), items((10, 20), "<f8", 1)
    with Scratch(SPARSE) as scratch:
        np.save(MNT / "x.npy", a)
        scratch.stop()
        found = blosc2.open("src/x.npy.b2nd", mode="a")
        found.schunk.vlmeta["unit"] = "K"
        del found
        scratch.start()
        with open(MNT / "x.npy", "ab") as f:
            f.write(b"more")
        scratch.remount()
        check_plain("x.npy", npy_bytes(a) + b"more")
        found = stored("x.npy")
        assert found.vlmeta["unit"] == "K"
        del found
        np.save(MNT / "x.npy", b)
        scratch.remount()
        check_array("x.npy", b)
        found = stored("x.npy")
        assert found.schunk.vlmeta["unit"] == "K"


def test_a_damaged_beginning_is_no_obstacle():
    with Scratch("chunksize=64k", "noseal") as scratch:
        data = np.random.default_rng(1).bytes(300000)
        (MNT / "f").write_bytes(data)
        scratch.stop()
        chunk = SRC / "f.b2frame/00000000.chunk"
        chunk.write_bytes(b"?" * 40)
        scratch.start()
        with open(MNT / "f", "r+b") as f:
            f.seek(200000)
            f.write(b"changed")
        scratch.remount()
        with open(MNT / "f", "rb") as f:
            f.seek(200000)
            assert f.read(7) == b"changed"


def stock_array(path, contiguous=False):
    a = np.arange(200 * 300, dtype="<i4").reshape(200, 300)
    blosc2.asarray(a, urlpath=str(path), contiguous=contiguous, mode="w",
                   chunks=(70, 80))
    return a


def test_the_view_of_an_array():
    (SRC / "d").mkdir(parents=True)
    a = stock_array(SRC / "a.b2nd")
    stock_array(SRC / "d/c.b2nd", True)
    blosc2.SChunk(data=b"x" * 1000, urlpath="src/plain.b2frame",
                  contiguous=False)
    with Scratch():
        assert sorted(os.listdir(MNT)) == ["a", "d", "plain"]
        assert not (MNT / "plain.npy").exists()
        for name in "a.npy", "d/c.npy":
            assert (MNT / name).read_bytes() == npy_bytes(a)
            for mode in None, "r", "c":
                loaded = np.load(MNT / name, mmap_mode=mode)
                assert np.array_equal(loaded, a)
                del loaded
        assert os.stat(MNT / "a").st_ino != os.stat(MNT / "a.npy").st_ino
        assert os.getxattr(MNT / "a.npy", "user.blosc2.shape") == b"[200, 300]"
        for action in (lambda: os.unlink(MNT / "a.npy"),
                       lambda: os.rename(MNT / "a.npy", MNT / "z"),
                       lambda: os.truncate(MNT / "a.npy", 0),
                       lambda: os.truncate(MNT / "a", 0),
                       lambda: open(MNT / "a.npy", "wb").close(),
                       lambda: open(MNT / "a", "ab", 0).write(b"x"),
                       lambda: open(MNT / "a.npy", "ab", 0).write(b"x")):
            expect_eperm(action)
        with open(MNT / "a.npy", "r+b", buffering=0) as f:
            head = f.read(128)
            f.seek(0)
            assert f.write(head) == 128
            f.seek(3)
            expect_eperm(lambda: f.write(b"?"))
        assert (MNT / "a.npy").read_bytes() == npy_bytes(a)
        os.rename(MNT / "a", MNT / "b")
        assert np.array_equal(np.load(MNT / "b.npy"), a)
        assert not (MNT / "a.npy").exists()
        # A real file wins.
        (MNT / "real").write_bytes(b"a file")
        os.rename(MNT / "real", MNT / "b.npy")
        assert (MNT / "b.npy").read_bytes() == b"a file"
        os.unlink(MNT / "b.npy")
        assert np.array_equal(np.load(MNT / "b.npy"), a)


def test_what_one_name_writes_the_other_shows():
    SRC.mkdir()
    a = stock_array(SRC / "a.b2nd")
    with Scratch():
        with open(MNT / "a", "r+b", buffering=0) as f, \
                open(MNT / "a.npy", "r+b", buffering=0) as view:
            assert f.read() == as_bytes(a)
            assert view.read() == npy_bytes(a)
            view.seek(128 + 4000)
            view.write(b"view")
            f.seek(8000)
            f.write(b"file")
            raw = bytearray(as_bytes(a))
            raw[4000:4004], raw[8000:8004] = b"view", b"file"

            def shown(handle, start):
                handle.seek(start)
                return handle.read(len(raw)) == bytes(raw)
            # The kernel drops pages a little after the answer.
            wait_until(lambda: shown(f, 0), "the file shows both")
            wait_until(lambda: shown(view, 128), "the view shows both")
        mapped = np.load(MNT / "a.npy", mmap_mode="r+")
        mapped[100] = 77
        mapped.flush()
        del mapped
        got = np.fromfile(MNT / "a", "<i4").reshape(a.shape)
        assert (got[100] == 77).all()
        want = np.frombuffer(bytes(raw), "<i4").reshape(a.shape).copy()
        want[100] = 77
        assert np.array_equal(got, want)
    assert np.array_equal(blosc2.open("src/a.b2nd")[:], want)


def chunk_files():
    """All chunk files below SRC, whose directories may be deleted meanwhile."""
    return [name for _, _, names in os.walk(SRC) for name in names
            if name.endswith(".chunk")]


def test_a_deleted_array_leaves_no_data_behind():
    """Whatever program has used the view, and whatever the kernel still has cached."""
    SRC.mkdir()
    stock_array(SRC / "a.b2nd")
    stock_array(SRC / "b.b2nd")
    with Scratch():
        assert np.load(MNT / "a.npy", mmap_mode="r").shape == (200, 300)
        os.getxattr(MNT / "a.npy", "user.blosc2.shape")
        os.chmod(MNT / "a.npy", 0o640)
        assert (MNT / "a").stat().st_mode & 0o777 == 0o640
        assert np.load(MNT / "b.npy").shape == (200, 300)
        os.unlink(MNT / "a")
        os.rename(MNT / "b", MNT / "c")
        assert not (MNT / "a.npy").exists()
        assert not (MNT / "b.npy").exists()
        assert np.load(MNT / "c.npy").shape == (200, 300)
        os.unlink(MNT / "c")
        wait_until(lambda: not chunk_files(), "the space is free")


def test_a_large_array_of_holes():
    size = 40 << 30
    head = npy_bytes(np.zeros(0, "u1")).replace(
        b"(0,), }", b"(%d,), }" % size)
    head = head[:128].rstrip(b" \n").ljust(127) + b"\n"
    with Scratch() as scratch:
        with open(MNT / "x.npy", "wb", buffering=0) as f:
            f.write(head)
            f.truncate(len(head) + size)
        assert isinstance(stored("x.npy"), blosc2.NDArray)
        with open(MNT / "x.npy", "ab", buffering=0) as f:
            f.write(b"!")
        scratch.remount()
        assert isinstance(stored("x.npy"), blosc2.SChunk)
        with open(MNT / "x.npy", "rb") as f:
            assert f.read(len(head)) == head
            f.seek(len(head) + size)
            assert f.read() == b"!"


def test_torn_geometry_is_an_error():
    """An array as left by C-Blosc2 in the middle of a resize, or damaged."""
    SRC.mkdir()
    shape = (200).to_bytes(8, "big"), (300).to_bytes(8, "big")
    patches = {
        "rows": (shape[0], (201).to_bytes(8, "big")),
        "more": (shape[0], (2000).to_bytes(8, "big")),
        "negative": (shape[1], (-1).to_bytes(8, "big", signed=True)),
        "huge": (shape[1], (1 << 62).to_bytes(8, "big")),
        "blocks": (b"\xd2" + (70).to_bytes(4, "big"), b"\xd2" + bytes(4)),
    }
    for name in patches:
        for contiguous in False, True:
            stock_array(SRC / f"{name}{contiguous:d}.b2nd", contiguous)
    for name, (old, new) in patches.items():
        for path in (SRC / f"{name}0.b2nd/chunks.b2frame",
                     SRC / f"{name}1.b2nd"):
            raw = path.read_bytes()
            assert old in raw[:400], name
            path.write_bytes(raw.replace(old, new, 1))
    a = stock_array(SRC / "good.b2nd")
    with Scratch() as scratch:
        for name in patches:
            # The last rows are in chunks that are there anyway.
            sound = name == "rows"
            for i in "01":
                path = MNT / f"{name}{i}"
                assert path.exists()
                try:
                    size = len(path.read_bytes())
                    assert sound and size == 201 * 300 * 4, (name, size)
                except OSError as error:
                    assert not sound and error.errno == errno.EIO, (name,
                                                                    error)
                    scratch.mount.wait_for_log(f"{name}{i}.b2nd: not readable "
                                               "as an array")
        assert np.array_equal(np.load(MNT / "good.npy"), a)


def test_an_old_view_does_not_tell_others_its_shape():
    SRC.mkdir()
    a = np.arange(1000.0).reshape(100, 10)
    blosc2.asarray(a, urlpath="src/a.b2nd", contiguous=False, mode="w")
    with Scratch():
        old = np.load(MNT / "a.npy", mmap_mode="r")
        assert old[0, 0] == 0
        blosc2.open("src/a.b2nd", mode="a").resize((200, 10))
        time.sleep(2.5)
        with open(MNT / "a.npy", "rb", buffering=0) as new:
            # The header and the first items are in one page.
            assert old[0, 1] == 1
            assert b"(200, 10)" in new.read(128)
        del old


def test_the_view_of_an_array_that_is_deleted():
    SRC.mkdir()
    a = stock_array(SRC / "a.b2nd")
    with Scratch(), open(MNT / "a.npy", "rb") as f:
        size = os.fstat(f.fileno()).st_size
        os.unlink(MNT / "a")
        time.sleep(1.5)
        assert os.fstat(f.fileno()).st_size == size
        assert np.array_equal(np.load(f), a)


def test_the_view_of_an_array_that_another_program_makes_anew():
    """The new array may get the inode number of the old one."""
    SRC.mkdir()
    for contiguous in True, False:
        with Scratch():
            for n in range(3):
                a = np.arange(n, n + 1000)
                blosc2.asarray(a, urlpath="src/a.b2nd", mode="w",
                               contiguous=contiguous)
                assert np.array_equal(np.load(MNT / "a.npy"), a), (contiguous, n)
                # The kernel keeps the inode of this version.
                os.stat(MNT / "a")
        blosc2.remove_urlpath("src/a.b2nd")


def test_views_are_listed_if_asked_for():
    SRC.mkdir()
    a = stock_array(SRC / "a.b2nd")
    stock_array(SRC / "taken.b2nd")
    (SRC / "taken.npy").write_bytes(b"a file")
    with Scratch("npy=list"):
        np.save(MNT / "x.npy", a)
        names = sorted(os.listdir(MNT))
        assert names == ["a", "a.npy", "taken", "taken.npy", "x.npy"], names
        assert (MNT / "taken.npy").read_bytes() == b"a file"
        for i in range(300):
            stock_array(SRC / f"many{i}.b2nd") if i < 3 else \
                (MNT / f"file{i}").touch()
        assert len(os.listdir(MNT)) == 5 + 6 + 297
    with Scratch("npy=off"):
        assert not (MNT / "a.npy").exists()
        assert (MNT / "x.npy").exists()
    with Mount("src/a.b2nd", "mnt", "-o", "npy=list"):
        assert sorted(os.listdir(MNT)) == ["a", "a.npy"]
        assert np.array_equal(np.load(MNT / "a.npy"), a)


def test_a_view_ends_when_the_array_gets_a_header():
    """An open view then shows the bytes of the file itself."""
    SRC.mkdir()
    for first in "read", "write", "punch":
        a = stock_array(SRC / f"{first}.b2nd")
        with Scratch():
            fd = os.open(MNT / f"{first}.npy", os.O_RDWR)
            try:
                stored = blosc2.open(f"src/{first}.b2nd", mode="a")
                stored.schunk.vlmeta["npy"] = "a comment"
                if first == "read":
                    (MNT / first).stat()
                    wait_until(lambda: (MNT / first).stat().st_size > a.nbytes,
                               "the header of the file itself")
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    os.pread(fd, 8, 128)
                elif first == "write":
                    os.pwrite(fd, b"\xff" * 8, 128)
                else:
                    subprocess.run(
                        ["fallocate", "-p", "-o", "128", "-l", "8",
                         f"/proc/{os.getpid()}/fd/{fd}"],
                        check=True, stderr=subprocess.PIPE)
                raise AssertionError("it worked")
            except OSError as e:
                assert e.errno == errno.ESTALE, e
            except subprocess.CalledProcessError as e:
                assert b"Stale" in e.stderr, e.stderr
            finally:
                os.close(fd)
            assert (MNT / first).read_bytes() == npy_bytes(a)
        found = blosc2.open(f"src/{first}.b2nd", mode="r")
        assert np.array_equal(found[...], a)


def test_no_view_without_a_header():
    """Such an array has no view, and its view's name is free."""
    a = np.arange(6, dtype="<f8")
    strange = {
        # Without a dtype, C-Blosc2 stores this one, for items of any size.
        "c": b"|u1", "none": b"\0\0\0", "object": b"|O8"}
    SRC.mkdir()
    for name, dtype in strange.items():
        path = SRC / f"{name}.b2nd"
        blosc2.asarray(a, contiguous=False, urlpath=str(path))
        index = path / "chunks.b2frame"
        index.write_bytes(index.read_bytes().replace(b"<f8", dtype))
    with Scratch("npy=list"):
        assert sorted(os.listdir(MNT)) == sorted(strange)
        for name in strange:
            assert (MNT / name).read_bytes() == a.tobytes()
            assert not (MNT / f"{name}.npy").exists()
            np.save(MNT / f"{name}.npy", a)
            check_array(f"{name}.npy", a)


def test_stores_of_python_blosc2_are_trees():
    SRC.mkdir()
    tree = blosc2.TreeStore("src/tree.b2d", mode="w")
    a = np.arange(5000, dtype="<f8").reshape(50, 100)
    tree["/group/a"] = blosc2.asarray(a, urlpath=None)
    big = np.arange(400000, dtype="<f8").reshape(400, 1000)
    tree["/group/big"] = big
    tree.close()
    with Scratch():
        leaves = [p for p in MNT.rglob("*") if p.is_file()]
        assert leaves, list(SRC.rglob("*"))
        found = [p for p in leaves if p.stat().st_size == big.nbytes]
        assert found, [(p, p.stat().st_size) for p in leaves]
        for p in found:
            assert np.array_equal(np.load(f"{p}.npy"), big)


def stored_shape(name):
    """The shape as python-blosc2 reads it; None: not an array."""
    return getattr(stored(name), "shape", None)


def test_half_an_array_is_never_stored():
    """A close by another program meets the write of a header."""
    head = npy_bytes(np.arange(4096))[:128]
    gate, ended = threading.Barrier(2), []

    def close(fd):
        while gate.wait() >= 0 and not ended:
            os.close(os.dup(fd))
            gate.wait()

    with Scratch("commit=3600"):
        fd = os.open(MNT / "x.npy", os.O_RDWR | os.O_CREAT)
        thread = threading.Thread(target=close, args=(fd,))
        thread.start()
        end, found = time.monotonic() + 5, None
        while time.monotonic() < end and not found:
            os.ftruncate(fd, 0)
            os.fsync(fd)
            gate.wait()
            os.pwrite(fd, head, 0)
            gate.wait()
            found = stored_shape("x.npy")
        ended.append(True)
        gate.wait()
        thread.join()
        os.close(fd)
        assert not found, found


def test_half_an_array_is_not_stored_by_a_synchronous_write():
    """The array behind a view is replaced by a whole one."""
    old, new = (items((300, 60), "<f8") + n for n in (0, 1))
    raw = npy_bytes(new)
    SRC.mkdir()
    blosc2.asarray(old, urlpath="src/a.b2nd", contiguous=False)
    with Scratch("direct_io", "commit=3600"):
        fd = os.open(MNT / "a.npy", os.O_WRONLY | os.O_TRUNC | os.O_SYNC)
        os.write(fd, raw[:100000])
        assert np.array_equal(stored("a")[()], old)
        os.write(fd, raw[100000:])
        os.fsync(fd)
        assert np.array_equal(stored("a")[()], new)
        os.close(fd)


def test_attributes_while_the_form_changes():
    """Attributes come from the current index, even if an older version is open."""
    raw = npy_bytes(items((300, 60), "<f8"))
    ended = []

    def flip(fd):
        while not ended:
            os.ftruncate(fd, len(raw) - 1)
            os.pwrite(fd, raw[-1:], len(raw) - 1)
            # A close commits, too, and blocks no other request as fsync does.
            os.close(os.dup(fd))

    with Scratch("chunksize=16k"):
        (MNT / "x.npy").write_bytes(raw)
        fd = os.open(MNT / "x.npy", os.O_RDWR)
        thread = threading.Thread(target=flip, args=(fd,))
        thread.start()
        end = time.monotonic() + 4
        try:
            while time.monotonic() < end:
                os.utime(MNT / "x.npy", (1, 1))
                os.chmod(MNT / "x.npy", 0o640)
        finally:
            ended.append(True)
            thread.join()
            os.close(fd)
        assert (MNT / "x.npy").read_bytes() == raw


def test_no_room_for_an_array_too():
    """Chunks that are stored already are not stored again by a commit."""
    raw = npy_bytes(np.random.default_rng(0).integers(0, 256, 16 << 20, "u1"))
    with tmpfs(SRC, "size=24m"), Scratch() as scratch:
        with open(MNT / "x.npy", "wb") as f:
            os.pwrite(f.fileno(), raw[128:], 128)
            # With this much stored, there is no room for an array; the other
            # chunks are encoded while the commit tries to make it.
            wait_until(lambda: shutil.disk_usage(SRC).used > 9 << 20,
                       "the first chunks are stored")
            os.pwrite(f.fileno(), raw[:128], 0)
            os.fsync(f.fileno())
        scratch.remount()
        check_plain("x.npy", raw)


def test_wide_items_that_are_no_array_any_more():
    """A hole is a whole number of items, as stock wants it."""
    raw = npy_bytes(items((5,), "V9000"))
    with Scratch("chunksize=4k"):
        (MNT / "x.npy").write_bytes(raw)
        os.truncate(MNT / "x.npy", 100000)
        with open(MNT / "x.npy", "r+b") as f:
            f.seek(99000)
            f.write(b"end")
        check_plain("x.npy", raw + bytes(99000 - len(raw)) + b"end" +
                    bytes(100000 - 99003))


def test_wide_items_are_no_way_to_fill_the_memory():
    """Stored as plain data they are many chunks, each of which takes memory."""
    text = b"{'descr': '|V536866816', 'fortran_order': False, " \
        b"'shape': (1024,), }"
    head = b"\x93NUMPY\x01\x00v\x00" + text.ljust(117) + b"\n"
    size = len(head) + 1024 * 536866816

    def expect_efbig(action):
        try:
            action()
        except OSError as e:
            assert e.errno == errno.EFBIG, e
            return
        raise AssertionError("it worked")

    def make(name):
        (MNT / name).write_bytes(head)
        os.truncate(MNT / name, size)

    with Scratch("chunksize=1m") as scratch:
        make("x.npy")
        scratch.stop()
        scratch.options = ("chunksize=4k",)
        scratch.start()
        before = scratch.mount.rss()["VmHWM"]
        with open(MNT / "x.npy", "r+b", buffering=0) as f:
            expect_efbig(lambda: f.write(b"x"))
            expect_efbig(lambda: f.truncate(size - 1))
            os.fsync(f.fileno())
            f.seek(size - 5)
            assert f.read() == bytes(5)
        expect_efbig(lambda: make("y.npy"))
        assert scratch.mount.rss()["VmHWM"] < before + (200 << 20)
        scratch.remount()
        assert stored_shape("x.npy") == (1024,)
        check_plain("y.npy", head)


def test_geometry_that_breaks_while_open():
    a = np.arange(6000, dtype="i4").reshape(100, 60)
    SRC.mkdir()
    blosc2.asarray(a, chunks=(30, 25), blocks=(10, 10), contiguous=False,
                   urlpath="src/x.b2nd")
    with Scratch() as scratch, open(MNT / "x", "rb") as f:
        index = SRC / "x.b2nd" / "chunks.b2frame"
        broken = index.read_bytes().replace(
            b"\xd3" + (100).to_bytes(8, "big"),
            b"\xd3" + (300).to_bytes(8, "big"))
        index.write_bytes(broken)
        scratch.mount.wait_for_log("not readable as an array")
        # A read may give the old data or an error, but no raw chunks.
        try:
            data = os.pread(f.fileno(), 1 << 20, 0)
            assert data == a.tobytes()
        except OSError as e:
            assert e.errno == errno.EIO
        try:
            (MNT / "x").read_bytes()
            raise AssertionError("it can be read")
        except OSError as e:
            assert e.errno == errno.EIO


main()
