#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames that C-Blosc2 changes while they are mounted."""
import errno
import mmap
import os
import pathlib
import shutil
import subprocess
import time

import blosc2

from mounting import BUILD, Mount, data, main, make, wait_until

CHUNK = 1 << 18


def read(path):
    return pathlib.Path(path).read_bytes()


def wait_for_tick():
    """The kernel asks again for attributes that are older than a second."""
    time.sleep(1.1)


def test_reopening_keeps_the_kernels_cache():
    os.mkdir("src")
    raw = make("src/a.b2frame", None)
    wait_for_tick()
    with Mount("src", "mnt", "-v") as m:
        assert read("mnt/a") == raw
        os.kill(m.pid, 10)
        for _ in range(5):
            assert read("mnt/a") == raw
        # Only the bytes of the first read are read from the frame.
        time.sleep(0.3)
        os.kill(m.pid, 10)
        time.sleep(0.3)
        lines = [x for x in m.log().splitlines() if "opens" in x]
        counts = [x.split("reads ")[1].split(" of ")[0] for x in lines]
        assert counts[0] == counts[1], lines


def change(kind):
    """A frame is appended to, updated and rewritten between two opens."""
    os.mkdir("src")
    name = "src/a.b2frame"
    raw = make(name, None, kind=kind, nbytes=CHUNK * 6)
    with Mount("src", "mnt"):
        assert read("mnt/a") == raw
        for step in range(3):
            s = blosc2.open(name, mode="a")
            piece = data(CHUNK, seed=50 + step)
            s.append_data(piece)
            raw += piece
            other = data(CHUNK, seed=70 + step)
            s.update_data(step, other, copy=True)
            raw = raw[:step * CHUNK] + other + raw[(step + 1) * CHUNK:]
            del s
            wait_for_tick()
            assert os.path.getsize("mnt/a") == len(raw)
            assert read("mnt/a") == raw, step
        raw = make(name, None, kind=kind, nbytes=CHUNK * 2 + 5, seed=9)
        wait_for_tick()
        assert read("mnt/a") == raw


def test_sparse_frame_changes():
    change("sparse")


def test_contiguous_frame_changes():
    change("contiguous")


def swap(new, old):
    """Replaces the frame @old by @new."""
    os.rename(old, old + ".old")
    os.rename(new, old)


def test_who_has_it_open_keeps_the_old_version():
    os.mkdir("src")
    os.mkdir("away")
    for kind in "sparse", "contiguous":
        name = f"src/{kind}.b2frame"
        shown = f"mnt/{kind}"
        old = make(name, None, kind=kind)
        new = make("away/new", None, kind=kind, seed=5, nbytes=2000003)
        with Mount("src", "mnt"):
            f = open(shown, "rb", buffering=0)
            assert f.read(1000) == old[:1000]
            mapped = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
            os.rename(name, "away/old")
            os.rename("away/new", name)
            wait_for_tick()
            assert read(shown) == new
            assert mapped[:] == old
            assert os.pread(f.fileno(), len(old) + 1, 0) == old
            assert os.fstat(f.fileno()).st_size == len(old)
            assert read(shown) == new
            mapped.close()
            f.close()
            assert read(shown) == new
        shutil.rmtree("away/old") if kind == "sparse" else os.unlink("away/old")


def test_open_readers_go_on_with_what_is_on_disk():
    """A new index in the same directory is seen within a second, in maps, too."""
    os.mkdir("src")
    for kind in "sparse", "contiguous":
        name, shown = f"src/{kind}.b2frame", f"mnt/{kind}"
        raw = make(name, None, kind=kind, nbytes=CHUNK * 4)
        with Mount("src", "mnt"):
            f = open(shown, "rb", buffering=0)
            ino = os.fstat(f.fileno()).st_ino
            assert f.read(len(raw)) == raw
            mapped = mmap.mmap(f.fileno(), CHUNK * 4, prot=mmap.PROT_READ)
            assert mapped[:] == raw
            s = blosc2.open(name, mode="a")
            piece, other = data(CHUNK, seed=3), data(CHUNK, seed=4)
            s.append_data(piece)
            s.update_data(1, other, copy=True)
            del s
            raw = raw[:CHUNK] + other + raw[2 * CHUNK:]
            wait_until(lambda: mapped[:] == raw, "the other's change")
            raw += piece
            assert os.pread(f.fileno(), len(raw) * 2, 0) == raw
            assert os.fstat(f.fileno()).st_size == len(raw)
            assert os.fstat(f.fileno()).st_ino == ino
            assert read(shown) == raw
            mapped.close()
            f.close()


def test_an_open_sees_changes_at_once():
    """Also if other programs have it open, whatever the kernel has cached."""
    os.mkdir("src")
    raw = bytearray(make("src/a.b2frame", None, nbytes=CHUNK * 4))
    options = "-o", "attr_timeout=0,entry_timeout=0"
    with Mount("src", "mnt", *options), open("mnt/a", "rb") as held:
        assert held.read() == raw
        for step in range(8):
            s = blosc2.open("src/a.b2frame", mode="a")
            other = data(CHUNK, seed=90 + step)
            s.update_data(step % 4, other, copy=True)
            del s
            raw[step % 4 * CHUNK:(step % 4 + 1) * CHUNK] = other
            assert read("mnt/a") == raw, step


def delete(name):
    shutil.rmtree(name)


def replace(name):
    make("src/new.b2frame", None)
    os.rename(name, "src/old.b2frame")
    os.rename("src/new.b2frame", name)
    delete("src/old.b2frame")


def recompress(name):
    subprocess.run([BUILD / "bloscctl", "recompress", "-1", name], check=True)


def errors_of_reads(f, size):
    """Errors of reads of a part of each chunk."""
    errors = set()
    for off in range(0, size, CHUNK):
        try:
            os.pread(f.fileno(), 100, off)
        except OSError as e:
            errors.add(e.errno)
    return errors


def test_what_others_delete_or_replace_is_stale_and_not_damaged():
    os.mkdir("src")
    for what in delete, replace, recompress:
        raw = make("src/a.b2frame", None, nbytes=CHUNK * 12)
        options = "cachesize=1m,readahead=0,dirtysize=256k"
        with Mount("src", "mnt", "-o", options) as m:
            before = len(m.log())
            with open("mnt/a", "rb", buffering=0) as f:
                assert f.read(10) == raw[:10]
                what("src/a.b2frame")
                assert errors_of_reads(f, len(raw)) == {errno.ESTALE}
            m.wait_for_log("deleted or replaced")
            assert "missing" not in m.log()[before:]
            if what != delete:
                assert read("mnt/a")[:10] != b""
        shutil.rmtree("src/a.b2frame", ignore_errors=True)


def test_a_writer_of_what_others_delete_is_told():
    os.mkdir("src")
    make("src/a.b2frame", None, nbytes=CHUNK * 2)
    with Mount("src", "mnt") as m:
        f = open("mnt/a", "r+b", buffering=0)
        f.write(b"lost")
        delete("src/a.b2frame")
        for call in lambda: os.fsync(f.fileno()), f.close:
            try:
                call()
                raise AssertionError("said to be stored")
            except OSError as e:
                assert e.errno == errno.ESTALE, e
        # The data are dropped, and the end of the mount reports no loss.
        m.wait_for_log("changes are lost")


def test_frame_on_a_file_that_changes():
    raw = make("a.b2frame", None)
    pathlib.Path("file").touch()
    p = subprocess.Popen([BUILD / "bloscfs", "-f", "a.b2frame", "file"])
    try:
        wait_until(lambda: os.path.getsize("file"), "the mount")
        assert read("file") == raw
        f = open("file", "rb", buffering=0)
        assert f.read(5) == raw[:5]
        s = blosc2.open("a.b2frame", mode="a")
        piece = data(7, seed=3)
        s.append_data(piece)
        del s
        wait_for_tick()
        f.close()
        wait_for_tick()
        now = read("file")
        assert now[:len(raw)] == raw and len(now) > len(raw)
        shutil.rmtree("a.b2frame")
        raw = make("a.b2frame", None, seed=8, nbytes=500001)
        wait_for_tick()
        assert read("file") == raw
    finally:
        subprocess.run(["umount", "file"], check=True)
        assert p.wait(10) == 0


def test_other_files_change():
    os.mkdir("src")
    path = pathlib.Path("src/text")
    path.write_text("one")
    with Mount("src", "mnt"):
        assert read("mnt/text") == b"one"
        path.write_text("another")
        wait_for_tick()
        assert read("mnt/text") == b"another"
        # Replaced while it is open: the reader gets to its end.
        path.write_bytes(b"x" * 300000)
        wait_for_tick()
        f = open("mnt/text", "rb", buffering=0)
        assert f.read(10) == b"x" * 10
        os.unlink(path)
        path.write_text("third")
        wait_for_tick()
        rest = b""
        while part := f.read(65536):
            rest += part
        assert rest == b"x" * 299990, len(rest)
        f.close()
        assert read("mnt/text") == b"third"


main()
